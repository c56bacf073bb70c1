"""Saved questions as the matcher reads them: each once per session and revision."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from pgask_server.errors import PgaskError
from pgask_server.question.mask import exact_key, masked_prompt
from pgask_server.question.parameter import Parameter, parse_parameters
from pgask_server.question.place import Prompt, read_prompt
from pgask_server.question.shape import statement_words
from pgask_server.question.value_index import ValueIndex
from pgask_server.question.words import same_words
from pgask_server.vector_literal import vector_literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgask_server.database import Database, Row

Vector = NDArray[np.float32]

_MOST_KEPT = 2000

_NEAREST = """
select q.id::pg_catalog.text as id, q.revision, q.similarity,
    current_user::pg_catalog.text as role, pg_catalog.now()::pg_catalog.text as now,
    pg_catalog.to_char(current_date, 'YYYY-MM-DD') as today
from pgask._nearest_questions($1, $2, $3, $4) q"""

_SAVED = """
select n.id::pg_catalog.text as id, n.canonical_prompt, n.label, n.status, n.scope_key, n.version,
    n.schema_fingerprint, n.params::pg_catalog.text as params,
    n.phrasings::pg_catalog.text as phrasings, n.derived_sqls::pg_catalog.text as derived_sqls,
    n.query_vector::pg_catalog.text as vector,
    n.version::pg_catalog.text || ' ' || n.updated_at::pg_catalog.text as revision
from pgask.nl_query n
where n.id = any ($1)"""


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved question.

    statements: its derived_sqls, decoded, in order. vocabulary: the words that its statements name
    things by; traits: see traits.py.
    """

    id: str
    canonical_prompt: str
    label: str | None
    status: str
    scope_key: str
    version: int
    schema_fingerprint: str | None
    parameters: tuple[Parameter, ...]
    statements: tuple[Mapping[str, object], ...]
    prompt: Prompt
    phrasings: tuple[str, ...]
    masked: str
    keys: frozenset[str]
    """What the masked prompt and phrasings are compared by for being the same sentence."""
    traits: frozenset[str] | None
    vector: Vector
    vocabulary: frozenset[str]
    lists: Mapping[str, ValueIndex]
    answer_key: object
    """Equal for two questions that are answered by the same statements."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A saved question near the typed one. similarity: cosine of the question as typed."""

    id: str
    revision: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nearest saved questions, best first, and the asker's role, transaction and date."""

    near: tuple[Neighbour, ...]
    role: str
    transaction: str
    today: str


def nearest(
    db: Database, vector: Vector, model: str, scope_key: str, count: int
) -> Neighbourhood | None:
    """The `count` saved questions nearest to `vector` that the asker sees; None: there are none."""
    rows = db.execute(
        _NEAREST,
        ("text", "text", "text", "integer"),
        (vector_literal(vector), model, scope_key, count),
    )
    if not rows:
        return None
    return Neighbourhood(
        tuple(
            Neighbour(
                cast("str", row["id"]),
                cast("str", row["revision"]),
                float(cast("float", row["similarity"])),
            )
            for row in rows
        ),
        cast("str", rows[0]["role"]),
        cast("str", rows[0]["now"]),
        cast("str", rows[0]["today"]),
    )


@dataclass(slots=True)
class SavedQuestions:
    """Keeps saved questions by id and revision. They are reached only through ids that the
    asker's own query gave, so nothing is shown that the asker may not see."""

    _kept: OrderedDict[tuple[str, str], Saved] = field(
        default_factory=OrderedDict[tuple[str, str], Saved]
    )

    def load(self, db: Database, near: Sequence[Neighbour]) -> list[Saved]:
        """The questions of `near` in order; one that is gone meanwhile is left out."""
        unknown = [n.id for n in near if (n.id, n.revision) not in self._kept]
        if unknown:
            for row in db.execute(_SAVED, ("uuid[]",), (unknown,)):
                try:
                    saved = read_saved(row)
                except PgaskError:
                    # Written by a later version, or by hand: the other questions are not worse.
                    continue
                self._kept[saved.id, cast("str", row["revision"])] = saved
        found: list[Saved] = []
        for one in near:
            saved = self._kept.get((one.id, one.revision))
            if saved is not None:
                self._kept.move_to_end((one.id, one.revision))
                found.append(saved)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found


def read_saved(row: Row) -> Saved:
    """A row of pgask.nl_query (ids, jsonb and vector as text) as a saved question."""
    parameters = parse_parameters(cast("str", row["params"]))
    prompt_text = cast("str", row["canonical_prompt"])
    statements = cast("list[Mapping[str, object]]", json.loads(cast("str", row["derived_sqls"])))
    phrasings = tuple(cast("list[str]", json.loads(cast("str", row["phrasings"]))))
    masked = masked_prompt(prompt_text, parameters)
    label = row["label"]
    fingerprint = row["schema_fingerprint"]
    return Saved(
        id=cast("str", row["id"]),
        canonical_prompt=prompt_text,
        label=None if label is None else str(label),
        status=cast("str", row["status"]),
        scope_key=cast("str", row["scope_key"]),
        version=cast("int", row["version"]),
        schema_fingerprint=None if fingerprint is None else str(fingerprint),
        parameters=parameters,
        statements=tuple(statements),
        prompt=read_prompt(parameters, prompt_text),
        phrasings=phrasings,
        masked=masked,
        keys=frozenset(
            exact_key(text)
            for text in (masked, *(masked_prompt(one, parameters) for one in phrasings))
        ),
        traits=_traits(statements),
        vector=_vector(cast("str", row["vector"])),
        vocabulary=same_words(
            statement_words([str(statement.get("sql")) for statement in statements])
        ),
        answer_key=tuple(
            str(statement.get("canonical") or statement.get("sql")) for statement in statements
        )
        or cast("str", row["id"]),
        lists={p.name: ValueIndex(p.values) for p in parameters if p.values},
    )


def _traits(statements: Sequence[Mapping[str, object]]) -> frozenset[str] | None:
    """What the statements do, as it was read from them when they were saved; None: not known."""
    stored = [statement.get("traits") for statement in statements]
    if not stored or not all(isinstance(traits, list) for traits in stored):
        return None
    return frozenset(trait for traits in cast("list[list[str]]", stored) for trait in traits)


def _vector(text: str) -> Vector:
    vector = np.array(text[1:-1].split(","), dtype=np.float32)
    # The zeros that pad a smaller model's vectors add nothing to a product.
    used = int(np.flatnonzero(vector)[-1]) + 1 if vector.any() else 1
    return vector[:used].copy()
