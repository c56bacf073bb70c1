"""Text -> vectors: the embedding models behind one Protocol.

`local/NAME` runs in this process (`local.py`), `openai/NAME` is an OpenAI-compatible endpoint
(`openai.py`). Configuration comes in as values; nothing here meets the database.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

# Set before numpy and tokenizers load: inside a backend neither may start threads of its own, since
# a thread would run the backend's signal handlers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"

from pgask_server.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import float32
    from numpy.typing import NDArray

    from pgask_server.model.cache import QueryCache

STORED_DIMENSION = 1024
"""What every stored vector has; see `vectors.fit`."""


class EmbeddingModel(Protocol):
    """Turns text into vectors that can be compared by cosine."""

    @property
    def name(self) -> str:
        """The model with its provider, as recorded beside each vector: 'local/all-MiniLM-L6-v2'."""
        ...

    @property
    def dimension(self) -> int:
        """Components of the model's own vectors, before they are fitted to 1024."""
        ...

    @property
    def window(self) -> int:
        """Tokens, the model's own marks included, that it reads at once."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What an administrator should know (for `doctor()`), each one sentence; mostly empty."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[float32]:
        """Vectors of shape (len(texts), 1024), each of length 1, in the order of the texts.

        A text beyond the window is cut into windows of equal size, and gets the mean of their
        vectors, weighted by tokens.
        Raises ModelRefused (a text; blank ones always), ModelUnavailable, ModelMalformed.
        """
        ...

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """(start, end) of each token, in characters, without the model's own marks."""
        ...


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model, and how it is reached. Equal configurations share one model per process."""

    name: str
    """'local/NAME' or 'openai/NAME'."""
    directory: str | None = None
    """local: the model's directory, or the one that holds a directory called NAME."""
    base_url: str | None = None
    """openai: up to and including '/v1'; None is OpenAI's own."""
    api_key: str | None = field(default=None, repr=False)
    """openai: None sends no Authorization header."""
    threads: int = 1
    """local: how many texts are embedded at the same time; each takes one thread."""
    batch_size: int = 64
    """openai: most texts in one request."""
    batch_tokens: int = 100_000
    """openai: most tokens (estimated) in one request."""
    timeout: float = 30.0
    """openai: seconds that one request may take."""
    window: int | None = None
    """Tokens read at once; None: what the model's files say (local), 8191 (openai)."""


def open_model(config: ModelConfig) -> EmbeddingModel:
    """The model of `config`, opened once per process. Raises ConfigurationError."""
    model = _models.get(config)
    if model is None:
        provider, _, rest = config.name.partition("/")
        if provider == "local" and rest:
            from pgask_server.model.local import LocalModel

            model = LocalModel(config)
        elif provider == "openai" and rest:
            from pgask_server.model.openai import OpenAIModel

            model = OpenAIModel(config)
        else:
            raise ConfigurationError(
                f"embedding model {config.name!r} is not known",
                hint="Set embedding_model to 'local/all-MiniLM-L6-v2' or 'openai/NAME'.",
            )
        _models[config] = model
    return model


def open_queries(config: ModelConfig) -> QueryCache:
    """The recent query vectors of `config`'s model, one cache per process."""
    cache = _queries.get(config)
    if cache is None:
        from pgask_server.model.cache import QueryCache

        cache = _queries[config] = QueryCache(open_model(config))
    return cache


_models: dict[ModelConfig, EmbeddingModel] = {}
_queries: dict[ModelConfig, QueryCache] = {}
