"""Fitting vectors to 1024 components, the windows of a long text, the cache of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pgask_server.errors import ModelMalformed
from pgask_server.model import STORED_DIMENSION
from pgask_server.model.cache import QueryCache
from pgask_server.model.vectors import Vectors, fit, mean_by_text, windows

if TYPE_CHECKING:
    from collections.abc import Sequence


def test_fewer_dimensions_are_padded_and_no_cosine_changes() -> None:
    vectors = np.random.default_rng(1).normal(size=(2, 384)).astype(np.float32)
    fitted = fit(vectors)
    expected = vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1))
    assert fitted.shape == (2, 1024)
    assert fitted[0] @ fitted[1] == pytest.approx(expected, abs=1e-6)


def test_more_dimensions_are_truncated_and_the_length_is_1_again() -> None:
    fitted = fit(np.ones((1, 3072), dtype=np.float32))
    assert fitted.shape == (1, 1024)
    assert np.linalg.norm(fitted[0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e30])
def test_very_small_and_very_large_components_are_brought_to_length_1(size: float) -> None:
    assert np.linalg.norm(fit(np.full((1, 8), size, np.float32))) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("component", "message"), [(np.nan, "NaN"), (np.inf, "infinite"), (0.0, "zero vector")]
)
def test_what_is_no_direction_is_malformed(component: float, message: str) -> None:
    with pytest.raises(ModelMalformed, match=message):
        fit(np.array([[1.0] * 4, [component] * 4], dtype=np.float32))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (0, [(0, 0)]),
        (1, [(0, 1)]),
        (254, [(0, 254)]),
        (255, [(0, 127), (127, 255)]),
        (509, [(0, 169), (169, 339), (339, 509)]),
    ],
)
def test_windows_are_few_and_of_nearly_equal_size(
    tokens: int, expected: list[tuple[int, int]]
) -> None:
    assert windows(tokens, 254) == expected


def test_the_mean_of_windows_is_weighted_by_their_tokens() -> None:
    vectors = np.eye(3, dtype=np.float32)
    assert mean_by_text(vectors, [1, 3, 5], [0, 0, 1]).tolist() == [[0.25, 0.75, 0], [0, 0, 1]]
    assert mean_by_text(vectors, [1, 3, 5], [0, 1, 2]).tolist() == vectors.tolist()


class Counting:
    """A model that counts its calls."""

    name = "test/counting"
    dimension = 4
    window = 8
    remarks: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        return np.full((len(texts), STORED_DIMENSION), len(self.seen), dtype=np.float32)

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return []


def test_a_repeated_query_is_embedded_once() -> None:
    cache = QueryCache(model := Counting())
    assert cache.vector("a") is cache.vector("a")
    assert model.seen == ["a"]
    with pytest.raises(ValueError, match="read-only"):
        cache.vector("a")[0] = 2


def test_the_cache_forgets_the_query_that_was_asked_longest_ago() -> None:
    cache = QueryCache(model := Counting(), capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.vector(text)
    assert model.seen == ["a", "b", "c", "b"]
