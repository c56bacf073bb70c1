"""Tasks -> chunks -> vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgask_server.chunk import is_blank, parse_policy, split
from pgask_server.errors import ModelMalformed, ModelRefused, ModelUnavailable, PgaskError
from pgask_server.vector_literal import vector_literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.model import EmbeddingModel
    from pgask_server.task import Task

_PROBE = "ready?"
"""A text that no sane model takes amiss: tells a bad text from a bad model."""


@dataclass(slots=True)
class Vectors:
    """Vectors by text, as the database reads them, and why there is none."""

    by_text: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, PgaskError] = field(default_factory=dict[str, PgaskError])
    down: ModelUnavailable | ModelMalformed | None = None
    """Why the texts that are in neither were not embedded."""


def chunk_tasks(tasks: Sequence[Task], model: EmbeddingModel) -> list[str]:
    """Chunk every task; the distinct texts that need a vector."""
    needed: dict[str, None] = {}
    for task in tasks:
        # A row that is gone or renders to nothing has no chunks, and so loses its old ones.
        if is_blank(task.text):
            continue
        try:
            task.chunks = split(task.text, parse_policy(task.policy), model.token_spans)
        except PgaskError as error:
            task.error = error
            continue
        for chunk in task.chunks:
            if chunk.text not in task.known:
                needed[chunk.text] = None
    return list(needed)


def embed_texts(model: EmbeddingModel, texts: Sequence[str], batch: int) -> Vectors:
    """The vectors of the texts, as far as the model comes; a bad text is found by bisection."""
    vectors = Vectors()

    def embed(part: Sequence[str]) -> None:
        try:
            found = model.embed(part)
        except (ModelRefused, ModelMalformed) as error:
            if isinstance(error, ModelMalformed) and not vouched:
                # Raises the same where it is the model that is at fault, not a text.
                model.embed([_PROBE])
                vouched.append(True)
            if len(part) == 1:
                vectors.refused[part[0]] = error
                return
            middle = len(part) // 2
            embed(part[:middle])
            embed(part[middle:])
            return
        for text, vector in zip(part, found, strict=True):
            vectors.by_text[text] = vector_literal(vector)

    for first in range(0, len(texts), batch):
        vouched: list[bool] = []
        try:
            embed(texts[first : first + batch])
        except (ModelUnavailable, ModelMalformed) as error:
            vectors.down = error
            break
    return vectors
