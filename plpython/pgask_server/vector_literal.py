"""A vector as pgvector reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def vector_literal(vector: NDArray[np.float32]) -> str:
    """The text of one vector, shape (n,): '[0.5,-1,0]'. Each float32 keeps its exact value."""
    # The zeros that pad a small model are most of the text: they are written, not formatted.
    last = int(np.flatnonzero(vector)[-1]) + 1 if vector.any() else 0
    shown = ("%.9g," * last) % tuple(vector[:last].tolist())
    return "[" + (shown + "0," * (len(vector) - last))[:-1] + "]"
