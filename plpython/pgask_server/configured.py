"""The settings in force -> the models and limits that a call works with."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, cast

import numpy as np

from pgask_server import settings as stored
from pgask_server.model import EmbeddingModel, ModelConfig, open_model, open_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pgask_server.ask import AskLimits
    from pgask_server.database import Database
    from pgask_server.model.cache import QueryCache
    from pgask_server.question.match import Embed
    from pgask_server.settings import Settings
    from pgask_server.work import WorkLimits


def embedding_model(db: Database, settings: Settings) -> EmbeddingModel:
    """The model that embeds, opened once per session.

    The current user must be the owner or a worker where the model needs a key.
    """
    return open_model(_config(db, settings))


def query_vectors(db: Database, settings: Settings) -> QueryCache:
    """The session's recent query vectors of that model."""
    return open_queries(_config(db, settings))


def embed_in_name_of_owner(db: Database, settings: Settings) -> Embed:
    """Embeds texts for whoever asks: an endpoint's key is read, and used, by the owner alone."""

    def embed(texts: Sequence[str], /) -> NDArray[np.float32]:
        if settings.text("embedding_model").startswith("local/"):
            config = _local(settings)
            if len(texts) == 1:
                return open_queries(config).vector(texts[0])[np.newaxis]
            return open_model(config).embed(texts)
        rows = db.execute("select pgask._embed_texts($1) as v", ("text[]",), (list(texts),))
        vectors = cast("list[str]", rows[0]["v"])
        return np.array([json.loads(vector) for vector in vectors], dtype=np.float32)

    return embed


def without_keys(text: str) -> str:
    """The text with *** for each key that this session has read."""
    for key in _KEYS:
        text = text.replace(key, "***")
    return text


def model_window(settings: Settings) -> int | None:
    """Tokens that a local model reads at once; None for an endpoint, which needs a key to say."""
    if not settings.text("embedding_model").startswith("local/"):
        return None
    return open_model(_local(settings)).window


def work_limits(settings: Settings) -> WorkLimits:
    """How a pass of the worker behaves."""
    from pgask_server.work import WorkLimits

    return WorkLimits(
        batch=settings.integer("embedding_batch"),
        lease_seconds=settings.real("lease_seconds"),
        max_attempts=settings.integer("max_attempts"),
        build_memory=settings.text("index_build_memory"),
    )


@functools.lru_cache(maxsize=4)
def ask_limits(settings: Settings) -> AskLimits:
    """How an answer is made."""
    from pgask_server.ask import AskLimits
    from pgask_server.statement.run import Limits

    cost = settings.optional("plan_cost_limit")
    return AskLimits(
        embedding_model=settings.text("embedding_model"),
        statement=Limits(
            rows=settings.integer("row_limit"),
            cell=settings.integer("cell_limit"),
            milliseconds=settings.integer("statement_timeout_ms"),
            plan_cost=None if cost is None else float(cost),
        ),
        threshold=settings.real("match_threshold"),
        margin=settings.real("match_margin"),
    )


def _config(db: Database, settings: Settings) -> ModelConfig:
    name = settings.text("embedding_model")
    if name.startswith("local/"):
        return _local(settings)
    key = stored.read_secret(db, "embedding_api_key")
    if key is not None:
        _KEYS.add(key)
    return ModelConfig(
        name=name,
        base_url=settings.optional("embedding_base_url"),
        api_key=key,
        batch_size=settings.integer("embedding_batch"),
        timeout=settings.real("embedding_timeout"),
    )


_KEYS: set[str] = set()
"""The keys that this session has read."""


@functools.lru_cache(maxsize=4)
def _local(settings: Settings) -> ModelConfig:
    return ModelConfig(
        name=settings.text("embedding_model"),
        directory=settings.optional("model_directory"),
        threads=settings.integer("embedding_threads"),
    )
