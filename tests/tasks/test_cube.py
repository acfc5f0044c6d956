"""Closed-form minimum-degree interpolators against lexicographic least squares over all Fourier coefficients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tasks import cube


def polynomial(*terms):
    result = {}
    for coefficient, *bits in terms:
        cube.add(result, frozenset(bits), Fraction(coefficient))
    return result


def lexicographic(values: np.ndarray, seen: np.ndarray, bits: int) -> list[Fraction]:
    """Values of the interpolator of least Fourier mass, degree by degree from the top, in rational arithmetic.

    What is free are the values at the points not seen, so the coefficients are an affine function of those.
    """
    signs = cube.all_inputs(bits)
    monomials = cube.subsets(frozenset(range(bits)))
    characters = exact(np.stack([cube.parity(signs, monomial) for monomial in monomials], axis=1))
    solution = characters[seen].T @ exact(values[seen]) / 2**bits
    free = characters[~seen].T
    for degree in range(bits, -1, -1):
        here = np.array([len(monomial) == degree for monomial in monomials])
        step, kernel = solve(free[here].T @ free[here], -(free[here].T @ solution[here]))
        solution, free = solution + free @ step, free @ kernel
    return list(characters @ solution)


def exact(values: np.ndarray) -> np.ndarray:
    """The same numbers as fractions."""
    return np.vectorize(Fraction, otypes=[object])(values)


def solve(matrix: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One solution of a consistent system, and a basis of its kernel, by Gauss-Jordan elimination on fractions."""
    size = len(right)
    rows, pivots = np.column_stack([matrix, right]).astype(object), []
    for column in range(size):
        done = len(pivots)
        found = next((row for row in range(done, size) if rows[row, column]), None)
        if found is None:
            continue
        rows[[done, found]] = rows[[found, done]]
        rows[done] = rows[done] / rows[done, column]
        for row in range(size):
            if row != done and rows[row, column]:
                rows[row] = rows[row] - rows[row, column] * rows[done]
        pivots.append(column)
    others = [column for column in range(size) if column not in pivots]
    solution = exact(np.zeros(size))
    solution[pivots] = rows[: len(pivots), size]
    kernel = exact(np.eye(size)[:, others])
    kernel[pivots] = -rows[: len(pivots), others]
    return solution, kernel


PARITY = polynomial((1, 0, 1))
THREESYM = polynomial((1, 0, 1), (-1.25, 1, 2), (1.5, 2, 0))
RANDOM = polynomial((0.5, 0, 1, 2, 3), (-1, 1, 2), (2,), (0.75, 0, 3), (-3, 2), (1.25, 0, 1, 3), (1, 4))


@pytest.mark.parametrize(
    ("target", "seen", "bits"),
    [
        (PARITY, (0, 1), 4),
        (cube.majority((0, 1, 2)), (0, 1), 4),
        (cube.cyclic(3, 6), (0, 1, 2), 6),
        (polynomial((1, 0, 1, 2), (1, 0, 3, 4, 5)), (0,), 6),
        (RANDOM, (1, 2), 5),
        (RANDOM, (0, 1, 3), 5),
    ],
)
def test_any_positive_is_the_lexicographic_minimum(target, seen, bits):
    signs = cube.all_inputs(bits)
    values = cube.evaluate(target, signs)
    found = cube.evaluate(cube.minimum_degree_any_positive(target, frozenset(seen)), signs)
    assert list(found) == lexicographic(values, cube.seen_any_positive(signs, frozenset(seen)), bits)


@pytest.mark.parametrize(
    ("target", "product", "bits"), [(THREESYM, (0, 1, 2), 4), (RANDOM, (0, 1, 2, 3), 5), (RANDOM, (0, 3), 5)]
)
def test_product_positive_is_the_lexicographic_minimum(target, product, bits):
    signs = cube.all_inputs(bits)
    values = cube.evaluate(target, signs)
    found = cube.evaluate(cube.minimum_degree_product_positive(target, frozenset(product)), signs)
    seen = cube.seen_product_positive(signs, frozenset(product))
    assert list(found) == lexicographic(values, seen, bits)


@pytest.mark.parametrize("count", [0, 2, 3, 5])
@pytest.mark.parametrize("target", [polynomial((1, 0, 1, 2, 3, 4)), RANDOM])
def test_at_most_negative_is_the_lexicographic_minimum(target, count):
    signs = cube.all_inputs(5)
    values = cube.evaluate(target, signs)
    found = cube.minimum_degree_at_most_negative(target, count, signs)
    assert list(found) == lexicographic(values, cube.seen_at_most_negative(signs, count), 5)


def test_lexicographic_least_squares_is_not_just_any_interpolator():
    """The check above can fail: the target itself interpolates, but is not the minimum."""
    signs = cube.all_inputs(4)
    values = cube.evaluate(PARITY, signs)
    minimum = lexicographic(values, cube.seen_any_positive(signs, frozenset((0, 1))), 4)
    assert max(abs(minimum - values)) == 4


@pytest.mark.parametrize("bits", [(2,), (0, 1, 2), (0, 2, 3, 4, 5)])
def test_majority_is_the_sign_of_the_sum(bits):
    signs = cube.all_inputs(6)
    expected = np.sign(signs[:, bits].sum(axis=1))
    assert np.array_equal(cube.evaluate(cube.majority(bits), signs), expected)


def test_cyclic_is_the_sum_of_rolled_products():
    signs = cube.all_inputs(7).astype(float)
    expected = (signs * np.roll(signs, -1, axis=1) * np.roll(signs, -2, axis=1)).sum(axis=1)
    assert np.array_equal(cube.evaluate(cube.cyclic(3, 7), cube.all_inputs(7)), expected)


def test_fourier_coefficients_on_the_cube_are_the_expansion():
    signs = cube.all_inputs(5)
    values = cube.evaluate(RANDOM, signs)
    for monomial in cube.subsets(frozenset(range(5))):
        assert cube.fourier(values, signs, monomial) == float(RANDOM.get(monomial, 0))


def test_terms_that_cancel_are_gone():
    assert polynomial((1, 0), (-1, 0)) == {}
