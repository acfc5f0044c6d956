"""Text → token ids: GPT-2's byte-level BPE read from its two files, and plain byte and character tokenizers.

Source of the BPE: Radford et al. 2019, §2.2; the pre-tokenisation pattern and the byte alphabet are those of
openai/gpt-2 `src/encoder.py`. Special tokens are never made from text: `<|endoftext|>` in a story is ordinary text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from benchmark.errors import DataError

END = "<|endoftext|>"
MAX_FILE = 64 << 20
MAX_CACHED_WORDS = 1 << 20


class Tokenizer(Protocol):
    """What `load_tokens` needs."""

    @property
    def vocabulary(self) -> int:
        """Number of ids, the end token's included."""

    @property
    def end(self) -> int:
        """Id put after each row."""

    @property
    def key(self) -> str:
        """Hex digest that changes whenever the same text would get other ids."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without the end token."""

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; the end token is left out."""


@dataclass(frozen=True)
class ByteTokenizer:
    """UTF-8 bytes as ids 0 to 255; 256 ends a row."""

    vocabulary: int = 257
    end: int = 256
    key: str = hashlib.sha256(b"bytes").hexdigest()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, one per byte."""
        return list(text.encode())

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; bytes that are not UTF-8 become U+FFFD."""
        return bytes(number for number in ids if number != self.end).decode(errors="replace")


@dataclass(frozen=True)
class CharacterTokenizer:
    """The characters of a text as ids in code point order, then the end token, then one id for all others."""

    characters: str
    """Known characters, sorted."""

    @classmethod
    def fit(cls, rows: Iterable[str]) -> CharacterTokenizer:
        """A tokenizer that knows every character of `rows`."""
        return cls("".join(sorted(set().union(*rows))))

    @property
    def vocabulary(self) -> int:
        """Number of ids."""
        return len(self.characters) + 2

    @property
    def end(self) -> int:
        """Id put after each row."""
        return len(self.characters)

    @property
    def unknown(self) -> int:
        """Id of every character that was not fitted."""
        return len(self.characters) + 1

    @property
    def key(self) -> str:
        """Digest of the characters."""
        return hashlib.sha256(b"characters\0" + self.characters.encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, one per character."""
        ids, unknown = _positions(self.characters), self.unknown
        return [ids.get(character, unknown) for character in text]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; unknown characters become U+FFFD."""
        return "".join((self.characters + "\0\ufffd")[number] for number in ids if number != self.end)


@cache
def _positions(characters: str) -> dict[str, int]:
    return {character: position for position, character in enumerate(characters)}


@dataclass(frozen=True, eq=False)
class ByteLevelBPE:
    """GPT-2's tokenizer."""

    ids: dict[str, int]
    """Token, written in the byte alphabet → id, 0 to vocabulary − 1."""
    ranks: dict[tuple[str, str], int]
    """Pair → place in the order of merging."""
    key: str
    _words: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, folder: Path) -> ByteLevelBPE:
        """The tokenizer of `vocab.json` and `merges.txt` in a folder.

        Raises:
            DataError: as `read_files`.
        """
        return cls.read_files(folder / "vocab.json", folder / "merges.txt")

    @classmethod
    def read_files(cls, vocab_file: Path, merges_file: Path) -> ByteLevelBPE:
        """The tokenizer of two files, whatever they are called.

        Raises:
            DataError: a file is missing, too large, malformed, or the two do not fit together.
        """
        vocab, merges = read_bounded(vocab_file), read_bounded(merges_file)
        ids = parse_vocab(vocab, vocab_file)
        ranks = parse_merges(merges, ids, merges_file)
        digest = hashlib.sha256(b"gpt2\0" + vocab.encode() + b"\0" + merges.encode()).hexdigest()
        return cls(ids, ranks, digest)

    @property
    def vocabulary(self) -> int:
        """Number of ids."""
        return len(self.ids)

    @property
    def end(self) -> int:
        """Id of `<|endoftext|>`."""
        return self.ids[END]

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        found: list[int] = []
        words = self._words
        for word in pre_tokens(text):
            known = words.get(word)
            found += known if known is not None else self._encode_word(word)
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; bytes that are not UTF-8 become U+FFFD."""
        tokens, back = _by_id(self), _alphabet_back()
        letters = "".join(tokens[number] for number in ids if number != self.end)
        return bytes(back[letter] for letter in letters).decode(errors="replace")

    def _encode_word(self, word: str) -> tuple[int, ...]:
        alphabet = byte_alphabet()
        pieces = merge([alphabet[byte] for byte in word.encode()], self.ranks)
        found = tuple(self.ids[piece] for piece in pieces)
        if len(self._words) >= MAX_CACHED_WORDS:
            self._words.clear()
        self._words[word] = found
        return found


@cache
def _by_id(tokenizer: ByteLevelBPE) -> dict[int, str]:
    return {number: token for token, number in tokenizer.ids.items()}


def merge(pieces: Sequence[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Join the neighbouring pair of lowest rank, everywhere it stands, until no pair has a rank."""
    pieces = list(pieces)
    while len(pieces) > 1:
        pair = min(pairwise(pieces), key=lambda pair: ranks.get(pair, len(ranks)))
        if pair not in ranks:
            break
        pieces = joined(pieces, pair)
    return pieces


def joined(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """`pieces` with every occurrence of `pair` joined, from the left."""
    found: list[str] = []
    for piece in pieces:
        if found and (found[-1], piece) == pair:
            found[-1] += piece
        else:
            found.append(piece)
    return found


@cache
def byte_alphabet() -> tuple[str, ...]:
    """A printable character for each byte: itself where Latin-1 prints it, else U+0100 upwards in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


@cache
def _alphabet_back() -> dict[str, int]:
    return {letter: byte for byte, letter in enumerate(byte_alphabet())}


SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's White_Space; Python's own \\s has four control characters more."""


def pre_tokens(text: str) -> list[str]:
    """Contractions, runs of letters, of digits and of others, each with one leading space, and runs of white space."""
    return (ascii_pattern() if text.isascii() else unicode_pattern()).findall(text)


@cache
def ascii_pattern() -> re.Pattern[str]:
    return pattern("A-Za-z", "0-9")


@cache
def unicode_pattern() -> re.Pattern[str]:
    return pattern(category_class("L"), category_class("N"))


def pattern(letters: str, numbers: str) -> re.Pattern[str]:
    """GPT-2's pattern with the given contents of the classes \\p{L} and \\p{N}."""
    words = rf" ?[{letters}]+| ?[{numbers}]+| ?[^{SPACE}{letters}{numbers}]+"
    return re.compile(rf"'(?:[stmd]|re|ve|ll)|{words}|[{SPACE}]+(?![^{SPACE}])|[{SPACE}]+")


def category_class(major: str) -> str:
    """Every code point of a major Unicode category, as ranges for a character class."""
    import sys
    import unicodedata
    from itertools import groupby

    points = (point for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point))[0] == major)
    groups = (list(group) for _, group in groupby(enumerate(points), key=lambda pair: pair[1] - pair[0]))
    return "".join(f"\\U{group[0][1]:08x}-\\U{group[-1][1]:08x}" for group in groups)


def read_bounded(path: Path) -> str:
    """The text of a tokenizer file.

    Raises:
        DataError: missing, larger than `MAX_FILE`, or not UTF-8.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise DataError(f"{path}: {path.stat().st_size:,} bytes; a tokenizer file has at most {MAX_FILE:,}")
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from None


def parse_vocab(text: str, path: Path) -> dict[str, int]:
    """Token → id from the JSON text of vocab.json.

    Raises:
        DataError: no object of token → id, ids that are not 0 to n − 1, or a byte or the end token missing.
    """
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from None
    if not isinstance(ids, dict) or not all(type(number) is int for number in ids.values()):
        raise DataError(f"{path}: expected an object of token → id")
    if sorted(ids.values()) != list(range(len(ids))):
        raise DataError(f"{path}: expected the ids 0 to {len(ids) - 1}, each once")
    absent = [token for token in (*byte_alphabet(), END) if token not in ids]
    if absent:
        raise DataError(f"{path}: {len(absent)} tokens missing, first {absent[0]!r}")
    return ids


def parse_merges(text: str, ids: dict[str, int], path: Path) -> dict[tuple[str, str], int]:
    """Pair → rank from the text of merges.txt.

    Raises:
        DataError: a line that is not two tokens, or a pair that makes a token the vocabulary does not have.
    """
    ranks: dict[tuple[str, str], int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        pair = tuple(line.split(" "))
        if len(pair) != 2 or "".join(pair) not in ids:
            raise DataError(f"{path}:{number}: expected two tokens whose union is a token, found {line[:80]!r}")
        ranks[pair] = len(ranks)
    return ranks
