"""Recent query vectors of one model, so that a repeated question costs no call."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgask_server.model import EmbeddingModel


class QueryCache:
    """The vectors of the last `capacity` distinct query texts."""

    def __init__(self, model: EmbeddingModel, capacity: int = 256) -> None:
        self.model = model
        self._capacity = capacity
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def vector(self, text: str) -> NDArray[np.float32]:
        """The vector of `text`, shape (1024,), read-only. Raises what `model.embed` raises."""
        vector = self._vectors.get(text)
        if vector is not None:
            self._vectors.move_to_end(text)
            return vector
        vector = self.model.embed([text])[0]
        vector.flags.writeable = False
        self._vectors[text] = vector
        if len(self._vectors) > self._capacity:
            self._vectors.popitem(last=False)
        return vector
