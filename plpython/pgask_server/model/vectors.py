"""The arithmetic on vectors that all models share: fitting to 1024, and windows of a long text."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgask_server.chunk import is_blank
from pgask_server.errors import ModelMalformed, ModelRefused
from pgask_server.model import STORED_DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sequence

Vectors = NDArray[np.float32]


def fit(vectors: Vectors) -> Vectors:
    """(n, any dimension) -> (n, 1024): padded with zeros or truncated, then of length 1.

    Zeros change no cosine. Raises ModelMalformed for NaN, infinite and zero vectors.
    """
    fitted = np.zeros((len(vectors), STORED_DIMENSION), dtype=np.float32)
    shared = min(vectors.shape[1], STORED_DIMENSION)
    fitted[:, :shared] = vectors[:, :shared]
    if not np.isfinite(fitted).all():
        raise ModelMalformed("the model returned a vector with NaN or infinite components")
    # In two steps, since squares of very large or very small components leave float32's range.
    largest = np.abs(fitted).max(axis=1, keepdims=True, initial=0)
    if not largest.all():
        raise ModelMalformed("the model returned a zero vector")
    fitted /= largest
    fitted /= np.linalg.norm(fitted, axis=1, keepdims=True)
    return fitted


def windows(tokens: int, capacity: int) -> list[tuple[int, int]]:
    """(first, after) of the fewest windows of nearly equal size that cover that many tokens."""
    count = max(1, -(-tokens // capacity))
    bounds = [tokens * i // count for i in range(count + 1)]
    return list(pairwise(bounds))


def mean_by_text(vectors: Vectors, weights: Sequence[int], owners: Sequence[int]) -> Vectors:
    """The weighted mean of each owner's vectors, which stand together and in order.

    vectors: (windows, d), each of length 1; owners: the text that each belongs to, from 0 up.
    """
    owner = np.asarray(owners)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    weight = np.asarray(weights, dtype=np.float32)
    # Shares of 1, so that the only window of a text keeps its vector bit for bit.
    share = weight / np.add.reduceat(weight, starts)[owner]
    return np.add.reduceat(vectors * share[:, None], starts, axis=0)


def refuse_blank(texts: Sequence[str]) -> None:
    """Raise ModelRefused for blank text: a model would give it a valid, meaningless vector."""
    for position, text in enumerate(texts):
        if is_blank(text):
            raise ModelRefused("blank text has no embedding", detail=f"Text number {position + 1}.")
