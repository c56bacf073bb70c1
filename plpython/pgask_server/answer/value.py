"""What an answer is made of; `Answer` mirrors the jsonb that `pgask.answer` returns, key by key."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pgask_server.answer import wire
from pgask_server.answer.wire import Scalar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Display = Literal["table", "bar", "line", "pie", "number"]
Source = Literal["saved", "generated", "evidence", "none"]
Outcome = Literal["answered", "missing_parameter", "several_match", "no_match"]

DISPLAYS: tuple[Display, ...] = ("table", "bar", "line", "pie", "number")
SOURCES: tuple[Source, ...] = ("saved", "generated", "evidence", "none")
OUTCOMES: tuple[Outcome, ...] = ("answered", "missing_parameter", "several_match", "no_match")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result."""

    name: str
    type: str = "text"
    """The type as format_type() names it: 'integer', 'numeric(10,2)', 'text[]' ..."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The result of one statement."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Scalar]]
    """Row by row, each as long as `columns`; what is no number, boolean or NULL is text."""
    title: str | None = None
    display: Display = "table"
    truncated: bool = False
    """True where the statement had more rows than the limit let through."""


@dataclass(frozen=True, slots=True)
class MissingParameter:
    """A required parameter that the question did not give."""

    name: str
    type: str = "text"
    example: Scalar = None
    values: Sequence[str] = ()
    """The only values allowed; empty where any is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A saved question that may be the one that was meant."""

    question_id: str
    canonical_prompt: str
    similarity: float
    label: str | None = None
    example: str | None = None
    """The prompt with values in its places, ready to be typed; None: the prompt itself is."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage of the indexed content."""

    source: str
    """The table: 'help.article'."""
    source_id: str
    chunk_text: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. Everything that `markdown.render` shows is in here, and so in the jsonb."""

    question: str
    """What was asked, as it was typed."""
    source: Source = "none"
    outcome: Outcome = "no_match"
    trusted: bool = False
    """Only where the stored SQL of an approved or built-in question ran unchanged."""
    narrative: str = ""
    scope_key: str = "global"

    question_id: str | None = None
    canonical_prompt: str | None = None
    label: str | None = None
    status: str | None = None
    """The saved question's level: draft, approved or system."""
    similarity: float | None = None

    params: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    """The bound values by parameter name."""
    bound: Mapping[str, str] = field(default_factory=dict[str, str])
    """The same as a person reads them; a name that is absent here shows its value in `params`."""
    given: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    """The values that the asker passed beside the question."""
    missing_parameters: Sequence[MissingParameter] = ()

    choices: Sequence[Choice] = ()
    """Best first: to pick from (several_match), or merely the nearest (no_match)."""
    tables: Sequence[ResultTable] = ()
    sql: Sequence[str] = ()
    """The statements that ran, one for each table."""
    evidence: Sequence[Evidence] = ()
    """Best first."""
    warnings: Sequence[str] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the missing parameters."""
        return tuple(parameter.name for parameter in self.missing_parameters)

    def to_json(self) -> str:
        """The jsonb's text; a Decimal keeps every digit, what JSON cannot hold becomes text."""
        return wire.dump_object(
            {
                "question": wire.dump(self.question),
                "source": wire.dump(self.source),
                "outcome": wire.dump(self.outcome),
                "trusted": wire.dump(self.trusted),
                "narrative": wire.dump(self.narrative),
                "scope_key": wire.dump(self.scope_key),
                "question_id": wire.dump(self.question_id),
                "canonical_prompt": wire.dump(self.canonical_prompt),
                "label": wire.dump(self.label),
                "status": wire.dump(self.status),
                "similarity": wire.dump(self.similarity),
                "params": wire.dump_scalars(self.params),
                "bound": wire.dump_scalars(self.bound),
                "given": wire.dump_scalars(self.given),
                "missing": wire.dump_list(wire.dump(name) for name in self.missing),
                "missing_parameters": wire.dump_list(
                    wire.dump_object(
                        {
                            "name": wire.dump(parameter.name),
                            "type": wire.dump(parameter.type),
                            "example": wire.dump(parameter.example),
                            "values": wire.dump_list(wire.dump(v) for v in parameter.values),
                        }
                    )
                    for parameter in self.missing_parameters
                ),
                "choices": wire.dump_list(
                    wire.dump_scalars(
                        {
                            "question_id": choice.question_id,
                            "canonical_prompt": choice.canonical_prompt,
                            "similarity": choice.similarity,
                            "label": choice.label,
                            "example": choice.example,
                        }
                    )
                    for choice in self.choices
                ),
                "tables": wire.dump_list(_dump_table(table) for table in self.tables),
                "sql": wire.dump_list(wire.dump(statement) for statement in self.sql),
                "evidence": wire.dump_list(
                    wire.dump_scalars(
                        {
                            "source": passage.source,
                            "source_id": passage.source_id,
                            "chunk_text": passage.chunk_text,
                            "similarity": passage.similarity,
                        }
                    )
                    for passage in self.evidence
                ),
                "warnings": wire.dump_list(wire.dump(warning) for warning in self.warnings),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """Read what `to_json` wrote, also after jsonb reordered it.

        Absent keys take their defaults, unknown ones are ignored. Raises ParameterInvalid where
        the text is no answer.
        """
        answer = wire.Object.parse(text)
        missing = tuple(
            MissingParameter(
                name=parameter.text("name"),
                type=parameter.text("type", "text"),
                example=parameter.scalar("example"),
                values=parameter.texts("values"),
            )
            for parameter in answer.objects("missing_parameters")
        )
        source: Source = answer.one_of("source", SOURCES, SOURCES[-1])
        answered: Outcome = "no_match" if source == "none" else "answered"
        return cls(
            question=answer.text("question", ""),
            source=source,
            outcome=answer.one_of(
                "outcome", OUTCOMES, "missing_parameter" if missing else answered
            ),
            trusted=answer.boolean("trusted"),
            narrative=answer.text("narrative", ""),
            scope_key=answer.text("scope_key", "global"),
            question_id=answer.optional_text("question_id"),
            canonical_prompt=answer.optional_text("canonical_prompt"),
            label=answer.optional_text("label"),
            status=answer.optional_text("status"),
            similarity=answer.optional_number("similarity"),
            params=answer.scalars("params"),
            bound={name: str(value) for name, value in answer.scalars("bound").items()},
            given=answer.scalars("given"),
            missing_parameters=missing,
            choices=tuple(
                Choice(
                    question_id=choice.text("question_id", ""),
                    canonical_prompt=choice.text("canonical_prompt", ""),
                    similarity=choice.optional_number("similarity") or 0.0,
                    label=choice.optional_text("label"),
                    example=choice.optional_text("example"),
                )
                for choice in answer.objects("choices")
            ),
            tables=tuple(_read_table(table) for table in answer.objects("tables")),
            sql=answer.texts("sql"),
            evidence=tuple(
                Evidence(
                    source=passage.text("source", ""),
                    source_id=passage.text("source_id", ""),
                    chunk_text=passage.text("chunk_text", ""),
                    similarity=passage.optional_number("similarity") or 0.0,
                )
                for passage in answer.objects("evidence")
            ),
            warnings=answer.texts("warnings"),
        )


def _dump_table(table: ResultTable) -> str:
    return wire.dump_object(
        {
            "title": wire.dump(table.title),
            "display": wire.dump(table.display),
            "columns": json.dumps([{"name": c.name, "type": c.type} for c in table.columns]),
            "rows": wire.dump_rows(table.rows),
            "truncated": wire.dump(table.truncated),
        }
    )


def _read_table(table: wire.Object) -> ResultTable:
    columns = tuple(
        Column(column.text("name", ""), column.text("type", "text"))
        for column in table.objects("columns")
    )
    return ResultTable(
        columns=columns,
        rows=table.rows("rows", len(columns)),
        title=table.optional_text("title"),
        display=table.one_of("display", DISPLAYS, "table"),
        truncated=table.boolean("truncated"),
    )
