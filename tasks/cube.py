"""Functions on the Boolean cube {−1, +1}^n: exact Fourier expansions, seen domains and minimum-degree interpolators.

Coefficients are `Fraction`s, so nothing here rounds. A polynomial maps a frozenset of bits S to its coefficient f̂(S),
and means Σ_S f̂(S) Π_{i∈S} x_i. The minimum-degree interpolator is the function that agrees with f on the seen domain
and has the lexicographically least Fourier mass, highest degree first (Abbe et al., arXiv 2301.13105; arXiv
2608.00418 §3).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

Polynomial = dict[frozenset[int], Fraction]
Signs = NDArray[np.int8]  # (n, bits), −1 or +1
Values = NDArray[np.float64]  # (n,)


def all_inputs(bits: int) -> Signs:
    """Every point of the cube, (2^bits, bits), bit 0 slowest, −1 before +1."""
    codes = np.arange(2**bits)[:, None] >> np.arange(bits)[::-1]
    return np.asarray(2 * (codes & 1) - 1, dtype=np.int8)


def subsets(bits: frozenset[int]) -> list[frozenset[int]]:
    """All subsets, smallest first."""
    ordered = sorted(bits)
    return [frozenset(chosen) for size in range(len(ordered) + 1) for chosen in combinations(ordered, size)]


def majority(bits: tuple[int, ...]) -> Polynomial:
    """Sign of the sum of an odd number of bits, by its exact expansion on the small cube."""
    points = list(product((-1, 1), repeat=len(bits)))
    result: Polynomial = {}
    for chosen in subsets(frozenset(range(len(bits)))):
        total = sum((1 if sum(point) > 0 else -1) * _monomial(point, chosen) for point in points)
        if total:
            result[frozenset(bits[i] for i in chosen)] = Fraction(total, len(points))
    return result


def cyclic(order: int, bits: int) -> Polynomial:
    """Σ_i x_i x_{i+1} … x_{i+order−1}, indices modulo `bits`."""
    result: Polynomial = {}
    for start in range(bits):
        add(result, frozenset((start + step) % bits for step in range(order)), Fraction(1))
    return result


def add(polynomial: Polynomial, monomial: frozenset[int], coefficient: Fraction) -> None:
    """Add one term in place; a term that cancels is dropped."""
    total = polynomial.get(monomial, Fraction(0)) + coefficient
    if total:
        polynomial[monomial] = total
    else:
        polynomial.pop(monomial, None)


def _monomial(point: tuple[int, ...], chosen: frozenset[int]) -> int:
    return -1 if sum(point[i] < 0 for i in chosen) % 2 else 1


def evaluate(polynomial: Mapping[frozenset[int], Fraction], signs: Signs) -> Values:
    """Values at each input (n, bits) → (n,); exact where the coefficients are dyadic."""
    values = np.zeros(len(signs))
    for monomial, coefficient in polynomial.items():
        values += float(coefficient) * parity(signs, monomial)
    return values


def parity(signs: Signs, monomial: frozenset[int]) -> Values:
    """Π_{i∈S} x_i at each input."""
    chosen = signs[:, sorted(monomial)]
    return np.where((chosen < 0).sum(axis=1) % 2, -1.0, 1.0)


def fourier(values: Values, signs: Signs, monomial: frozenset[int]) -> float:
    """E[f(x) χ_S(x)] over the given inputs: the coefficient f̂(S) when they are the whole cube."""
    return float(np.mean(values * parity(signs, monomial)))


# --- seen domains ------------------------------------------------------------------------------------------------


def seen_any_positive(signs: Signs, bits: frozenset[int]) -> NDArray[np.bool_]:
    """Inputs with x_i = +1 for at least one of the bits."""
    return np.asarray((signs[:, sorted(bits)] > 0).any(axis=1))


def seen_product_positive(signs: Signs, bits: frozenset[int]) -> NDArray[np.bool_]:
    """Inputs with Π x_i = +1."""
    return np.asarray(parity(signs, bits) > 0)


def seen_at_most_negative(signs: Signs, count: int) -> NDArray[np.bool_]:
    """Inputs with at most `count` bits at −1: a Hamming ball around the all-ones input."""
    return np.asarray((signs < 0).sum(axis=1) <= count)


# --- minimum-degree interpolators --------------------------------------------------------------------------------


def minimum_degree_any_positive(target: Polynomial, bits: frozenset[int]) -> Polynomial:
    """Interpolator for `seen_any_positive`.

    What vanishes on the seen domain is g(other bits)·Π_{i∈S}(1 − x_i), and Π_{i∈S}(1 − x_i) = Σ_{A⊆S} (−1)^|A| x_A.
    For each T outside S the coefficient g_T enters the highest degree through x_S x_T alone, so the least mass sets
    that coefficient to zero: x_S x_T becomes −Σ_{A⊊S} (−1)^{|S|−|A|} x_A x_T.
    """
    result: Polynomial = {}
    for monomial, coefficient in target.items():
        if not bits <= monomial:
            add(result, monomial, coefficient)
            continue
        for part in subsets(bits)[:-1]:
            sign = -((-1) ** (len(bits) - len(part)))
            add(result, part | (monomial - bits), sign * coefficient)
    return result


def minimum_degree_product_positive(target: Polynomial, bits: frozenset[int]) -> Polynomial:
    """Interpolator for `seen_product_positive`.

    There x_A = x_{A △ P}: each pair keeps its sum, all of it on the lower degree, half on each when they are equal.
    """
    result: Polynomial = {}
    for monomial, coefficient in target.items():
        twin = monomial ^ bits
        if len(twin) == len(monomial):
            add(result, monomial, coefficient / 2)
            add(result, twin, coefficient / 2)
        else:
            add(result, min(monomial, twin, key=len), coefficient)
    return result


def minimum_degree_at_most_negative(target: Polynomial, count: int, signs: Signs) -> Values:
    """Values of the interpolator for `seen_at_most_negative` at each input.

    With u_i = (1 − x_i)/2, x_B = Σ_{A⊆B} (−2)^|A| u_A. The ball of radius L determines polynomials of degree ≤ L, and
    u_A with |A| > L vanishes on it, so the interpolator is the expansion cut at degree L: x_B becomes
    Σ_{k≤L} (−2)^k C(w, k), w the number of bits of B at −1.
    """
    values = np.zeros(len(signs))
    for monomial, coefficient in target.items():
        table = np.array(
            [float(sum((-2) ** k * comb(weight, k) for k in range(count + 1))) for weight in range(len(monomial) + 1)]
        )
        weights = (signs[:, sorted(monomial)] < 0).sum(axis=1)
        values += float(coefficient) * table[weights]
    return values


def sample_inputs(generator: np.random.RandomState, count: int, bits: int) -> Signs:
    """Uniform points with replacement, drawn as in aryol/GOTU@8ce173c:utilities.py, where a draw of 1 means −1."""
    return np.asarray(1 - 2 * generator.binomial(1, 0.5, size=(count, bits)), dtype=np.int8)
