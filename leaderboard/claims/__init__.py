"""Published numbers as data."""

from leaderboard.claims.library import load, names
from leaderboard.claims.model import (
    Acknowledgement,
    Aliases,
    Claim,
    ClaimSet,
    Delta,
    Scope,
    Settings,
    Spread,
    TextClaim,
    Where,
)

__all__ = [
    "Acknowledgement",
    "Aliases",
    "Claim",
    "ClaimSet",
    "Delta",
    "Scope",
    "Settings",
    "Spread",
    "TextClaim",
    "Where",
    "load",
    "names",
]
