"""An answer as `pgask.answer` gives it, which shows itself in a terminal and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgask.document import Document, Json
from pgask.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

_LEVELS = {"system": "built-in", "draft": "draft, not reviewed"}


@dataclass(frozen=True, slots=True)
class MissingParameter:
    """A required parameter that the question did not give."""

    name: str
    type: str
    example: Json
    values: tuple[str, ...]
    """The only values allowed; empty where any is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A saved question that may be the one that was meant."""

    question_id: str
    canonical_prompt: str
    similarity: float
    label: str | None
    example: str | None
    """The prompt with values in its places, ready to be asked; None: the prompt itself is."""

    @property
    def prompt(self) -> str:
        """What to ask to get this one."""
        return self.example or self.canonical_prompt


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
    """One answer. `print` gives its Markdown, a terminal and a notebook show it with charts."""

    question: str
    """What was asked."""
    source: str
    """saved, generated, evidence or none."""
    outcome: str
    """answered, missing_parameter, several_match or no_match."""
    trusted: bool
    """Only where the stored SQL of an approved or built-in question ran unchanged."""
    narrative: str
    tables: tuple[Table, ...]
    """One for each statement, in order."""
    sql: tuple[str, ...]
    """The statements that ran."""
    question_id: str | None
    canonical_prompt: str | None
    label: str | None
    status: str | None
    """The saved question's level: draft, approved or system."""
    similarity: float | None
    params: Mapping[str, Json]
    """The bound values by parameter name."""
    bound: Mapping[str, Json]
    """The same as a person reads them."""
    missing: tuple[str, ...]
    """The names of the required parameters that have no value."""
    missing_parameters: tuple[MissingParameter, ...]
    """The same with their types and examples."""
    choices: tuple[Choice, ...]
    """Saved questions to pick from, or the nearest ones; best first."""
    evidence: tuple[Evidence, ...]
    """Passages, best first."""
    warnings: tuple[str, ...]
    text: str = field(repr=False)
    """Markdown, the same as `select ask(...)` returns."""
    json: str = field(repr=False)
    """The jsonb itself, as text."""

    @classmethod
    def from_json(cls, document: str, text: str = "") -> Answer:
        """Read the text of the jsonb. text: its Markdown, by default the narrative alone.

        Absent keys take their empty values, unknown ones are ignored. Raises ValueError where
        `document` is not JSON.
        """
        given = Document.parse(document)
        narrative = given.text("narrative")
        return cls(
            question=given.text("question"),
            source=given.text("source", "none"),
            outcome=given.text("outcome", "no_match"),
            trusted=given.boolean("trusted"),
            narrative=narrative,
            tables=tuple(Table.from_document(table) for table in given.documents("tables")),
            sql=given.texts("sql"),
            question_id=given.optional_text("question_id"),
            canonical_prompt=given.optional_text("canonical_prompt"),
            label=given.optional_text("label"),
            status=given.optional_text("status"),
            similarity=given.number("similarity"),
            params=given.scalars("params"),
            bound=given.scalars("bound"),
            missing=given.texts("missing"),
            missing_parameters=tuple(
                MissingParameter(
                    name=parameter.text("name"),
                    type=parameter.text("type", "text"),
                    example=parameter.scalar("example"),
                    values=parameter.texts("values"),
                )
                for parameter in given.documents("missing_parameters")
            ),
            choices=tuple(
                Choice(
                    question_id=choice.text("question_id"),
                    canonical_prompt=choice.text("canonical_prompt"),
                    similarity=choice.number("similarity") or 0.0,
                    label=choice.optional_text("label"),
                    example=choice.optional_text("example"),
                )
                for choice in given.documents("choices")
            ),
            evidence=tuple(
                Evidence(
                    source=passage.text("source"),
                    source_id=passage.text("source_id"),
                    chunk_text=passage.text("chunk_text"),
                    similarity=passage.number("similarity") or 0.0,
                )
                for passage in given.documents("evidence")
            ),
            warnings=given.texts("warnings"),
            text=text or narrative,
            json=document,
        )

    @property
    def provenance(self) -> str:
        """Where the answer comes from, in one line; empty where it comes from nowhere."""
        if self.source == "generated":
            return "From a statement that was generated for this question; nobody has reviewed it."
        name = self.label or self.canonical_prompt
        if self.source != "saved" or not name:
            return ""
        level = _LEVELS.get(self.status or "", self.status or "saved")
        if self.status in ("approved", "system") and self.tables and not self.trusted:
            level += ", but not run as it was approved"
        line = f"{name} ({level})"
        if self.similarity is not None:
            line += f", {self.similarity:.2f} similar"
        # In the order of the question: jsonb does not keep that of its keys.
        prompt = self.canonical_prompt or ""
        places = {name: prompt.find(f"{{{name}}}") for name in self.params}
        shown = [
            f"{name} = {self.bound.get(name, self.params[name])}"
            for name in sorted(places, key=lambda name: (places[name] < 0, places[name], name))
            if self.params[name] is not None
        ]
        return f"{line}: {', '.join(shown)}" if shown else line

    def vega_lite(self) -> Mapping[str, object] | None:
        """A Vega-Lite v5 specification of all charts, or None where no result is a chart."""
        charts = [chart for table in self.tables if (chart := table.vega_lite()) is not None]
        if not charts:
            return None
        # A viewer may show the chart alone: what the answer says goes with it.
        title = {"title": self.narrative} if self.narrative else {}
        if len(charts) == 1:
            return {**title, **charts[0]}
        parts = [{k: v for k, v in chart.items() if k != "$schema"} for chart in charts]
        return {"$schema": charts[0]["$schema"], **title, "vconcat": parts}

    def __str__(self) -> str:
        """The Markdown."""
        return self.text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show it in a terminal."""
        from pgask.terminal import answer_parts

        yield from answer_parts(self)

    def _repr_html_(self) -> str:
        from pgask.notebook import answer_html

        return answer_html(self)

    def _repr_mimebundle_(
        self, include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
    ) -> dict[str, object]:
        from pgask.notebook import bundle

        return bundle(self.text, self._repr_html_(), self.vega_lite(), include, exclude)
