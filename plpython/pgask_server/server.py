"""What the PL/Python functions call: GD["pgask"] is a Server. Nothing else here touches plpy."""

from __future__ import annotations

import functools
import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from pgask_server import configured, settings
from pgask_server.database import DatabaseError, Row
from pgask_server.errors import (
    ConfigurationError,
    InsideTransaction,
    ModelUnavailable,
    PgaskError,
)
from pgask_server.vector_literal import vector_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pgask_server.answer.value import Answer
    from pgask_server.question.match import Matcher

P = ParamSpec("P")
R = TypeVar("R")

_PLANS = 256
"""Prepared plans kept per session. Statements with a source's own columns are many."""


class _Result(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Row: ...
    def colnames(self) -> list[str]: ...
    def coltypes(self) -> list[int]: ...


class Plpy(Protocol):
    """The part of PL/Python's module plpy that is used."""

    Error: type[Exception]
    SPIError: type[Exception]

    def prepare(self, sql: str, types: Sequence[str], /) -> object: ...
    def execute(self, plan: object, values: Sequence[object], limit: int, /) -> _Result: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def warning(self, message: str, /) -> None: ...


class PlpyDatabase:
    """The backend's own session as a Database."""

    def __init__(self, plpy: Plpy) -> None:
        self._plpy = plpy
        self._plans: OrderedDict[tuple[str, tuple[str, ...]], object] = OrderedDict()

    def execute(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = (), limit: int = 0
    ) -> Sequence[Row]:
        """Run one statement; see Database."""
        result = self._run(sql, types, values, limit)
        return [result[i] for i in range(len(result))]

    def columns(
        self, sql: str, types: Sequence[str] = (), values: Sequence[object] = ()
    ) -> Sequence[tuple[str, int]]:
        """The columns of a statement's result; see Database."""
        result = self._run(sql, types, values, 0)
        try:
            return list(zip(result.colnames(), result.coltypes(), strict=True))
        except self._plpy.Error:
            return []  # a statement without a result

    def commit(self) -> None:
        """End the transaction; see Database."""
        self._end(self._plpy.commit)

    def rollback(self) -> None:
        """Roll the transaction back; see Database."""
        self._end(self._plpy.rollback)

    def warn(self, message: str) -> None:
        """Send the client a WARNING."""
        self._plpy.warning(message)

    def _run(self, sql: str, types: Sequence[str], values: Sequence[object], limit: int) -> _Result:
        key = (sql, tuple(types))
        try:
            plan = self._plans.get(key)
            if plan is None:
                plan = self._plans[key] = self._plpy.prepare(sql, list(types))
                if len(self._plans) > _PLANS:
                    self._plans.popitem(last=False)
            else:
                self._plans.move_to_end(key)
            return self._plpy.execute(plan, list(values), limit)
        except self._plpy.SPIError as error:
            raise _database_error(error) from None

    def _end(self, end: Callable[[], None]) -> None:
        try:
            end()
        except self._plpy.SPIError as error:
            failure = _database_error(error)
            if failure.sqlstate != "2D000":
                raise failure from None
            raise InsideTransaction(
                detail="It commits as it goes, so that nobody waits for a model.",
                hint="Call it on its own: outside BEGIN ... COMMIT, and not from a function.",
            ) from None


def _database_error(error: Exception) -> DatabaseError:
    """The error as PostgreSQL raised it."""
    data: tuple[object, ...] = getattr(error, "spidata", None) or ()
    code, detail, hint = (*data, None, None, None)[:3]
    sqlstate: str = getattr(error, "sqlstate", "XX000")
    if isinstance(code, int):
        # Five characters of six bits each; only errors with a name carry the text form as well.
        sqlstate = "".join(chr(((code >> 6 * i) & 0x3F) + ord("0")) for i in range(5))
    return DatabaseError(
        sqlstate,
        str(error),
        detail if isinstance(detail, str) else None,
        hint if isinstance(hint, str) else None,
    )


def raised(method: Callable[Concatenate[Server, P], R]) -> Callable[Concatenate[Server, P], R]:
    """Let the errors of the package and of the database reach the client as SQL errors."""

    @functools.wraps(method)
    def call(self: Server, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except (PgaskError, DatabaseError) as error:
            failure = self.failure(error.message)
            failure.__dict__.update(sqlstate=error.sqlstate, detail=error.detail, hint=error.hint)
        raise failure from None

    return call


class Server:
    """One session's pgask. Each method stands behind the SQL function of the same name."""

    def __init__(self, plpy: Plpy) -> None:
        self.db = PlpyDatabase(plpy)
        # PL/Python shows an uncaught error as "class: message": this makes it "pgask: message".
        self.failure = type("pgask", (plpy.Error,), {"__module__": "builtins"})

    @raised
    def setting(self, name: str) -> str | None:
        """The value of a setting that is in force."""
        return settings.read(self.db).optional(name)

    @raised
    def set_setting(self, name: str, value: str | None) -> None:
        """Store or, with None, forget a setting."""
        settings.write(self.db, name, value)

    @raised
    def register_source(
        self,
        source: str,
        text_template: str,
        chunking_policy: str,
        filter_columns: Sequence[str] | None,
        key_columns: Sequence[str] | None,
        updated_at_column: str | None,
        notes: str | None,
        backfill: bool,
    ) -> Sequence[Row]:
        """See source.register_source."""
        from pgask_server.source import register_source

        return register_source(
            self.db,
            source,
            text_template,
            chunking_policy,
            filter_columns or (),
            key_columns,
            updated_at_column,
            notes,
            backfill,
            configured.model_window(settings.read(self.db)),
        )

    @raised
    def work(self, source: str | None, max_jobs: int | None) -> None:
        """See work.work."""
        from pgask_server.work import work

        self.db.commit()
        now = settings.read(self.db)
        only = None
        if source is not None:
            found = self.db.execute("select * from pgask._find_source($1)", ("text",), (source,))
            only = (str(found[0]["source_schema"]), str(found[0]["source_table"]))
        model = configured.embedding_model(self.db, now)
        work(self.db, model, configured.work_limits(now), max_jobs, only)

    @raised
    def embed_query(self, query: str) -> str:
        """The vector of a query as text."""
        queries = configured.query_vectors(self.db, settings.read(self.db))
        return vector_literal(queries.vector(query))

    @raised
    def doctor_model(self) -> list[dict[str, str | None]]:
        """One row: the model embeds a text; what it remarks, a row each."""
        now = settings.read(self.db)
        model = configured.embedding_model(self.db, now)
        model.embed(["is it there?"])
        detail = f"{model.name} answers, {model.dimension} dimensions"
        rows = [("ok", detail)] + [("warning", remark) for remark in model.remarks]
        return [
            {"check": "embedding model", "status": status, "detail": text, "hint": None}
            for status, text in rows
        ]

    @raised
    def read_query(self, query: str) -> tuple[str, str]:
        """The vector of a query as text, and the name of the model."""
        now = settings.read(self.db)
        queries = configured.query_vectors(self.db, now)
        return vector_literal(queries.vector(query)), queries.model.name

    @raised
    def embed_texts(self, texts: Sequence[str]) -> list[str]:
        """The vectors of several texts, as texts."""
        vectors = configured.embedding_model(self.db, settings.read(self.db)).embed(texts)
        return [vector_literal(vector) for vector in vectors]

    @raised
    def save_question(
        self,
        canonical_prompt: str,
        sqls: str,
        params: str,
        label: str | None,
        scope_key: str,
        display: str | None,
        notes: str | None,
        is_shared: bool,
        phrasings: Sequence[str] | None,
    ) -> str:
        """See question.save."""
        from pgask_server.question import save

        path = self.db.execute("select pg_catalog.current_setting('search_path') as path")
        draft = save.check(
            self.db,
            canonical_prompt,
            sqls,
            params,
            display,
            str(path[0]["path"]),
            phrasings or (),
        )
        now = settings.read(self.db)
        return save.save(
            self.db,
            configured.embed_in_name_of_owner(self.db, now),
            now.text("embedding_model"),
            draft,
            label,
            scope_key,
            notes,
            is_shared,
        )

    @raised
    def admit_statement(self, statement: str, types: Sequence[str]) -> None:
        """See statement.admit."""
        from pgask_server.statement import admit

        admit.admit(self.db, statement, types)

    @raised
    def execute_statement(
        self,
        statement: str,
        types: Sequence[str],
        arguments: Sequence[str | None],
        row_limit: int,
        cell_limit: int,
        milliseconds: int,
    ) -> str:
        """See statement.execute."""
        from pgask_server.statement import execute

        return execute.execute(
            self.db, statement, types, arguments, row_limit, cell_limit, milliseconds
        )

    @raised
    def check_plan_cost(
        self,
        statement: str,
        types: Sequence[str],
        arguments: Sequence[str | None],
        milliseconds: int,
        plan_cost: float,
    ) -> None:
        """See statement.execute.check_plan_cost."""
        from pgask_server.statement import execute

        execute.check_plan_cost(self.db, statement, types, arguments, milliseconds, plan_cost)

    @raised
    def analyse_statement(self, sql: str, params: str, path: str) -> str:
        """See statement.analyse; what it found as the text of a jsonb."""
        from pgask_server.statement.analyse import analyse

        return analyse(self.db, sql, json.loads(params), path).to_json()

    @raised
    def refresh_builtin_questions(self) -> None:
        """See question.save.refresh_builtin."""
        from pgask_server.question import save

        now = settings.read(self.db)
        try:
            embed = configured.embedding_model(self.db, now).embed
            embed(["ready?"])
        except (ConfigurationError, ModelUnavailable):
            embed = None
        save.refresh_builtin(self.db, embed, now.text("embedding_model"))

    @raised
    def ask(self, question: str | None, params: str | None, scope_key: str | None) -> str:
        """The answer as Markdown."""
        from pgask_server.answer import markdown

        return markdown.render(self._answer(question, params, scope_key))

    @raised
    def answer(self, question: str | None, params: str | None, scope_key: str | None) -> str:
        """The answer as the text of a jsonb."""
        return self._answer(question, params, scope_key).to_json()

    @raised
    def render_answer(self, answer: str) -> str:
        """An answer's jsonb as Markdown."""
        from pgask_server.answer import markdown
        from pgask_server.answer.value import Answer

        return markdown.render(Answer.from_json(answer))

    @functools.cached_property
    def _matcher(self) -> Matcher:
        from pgask_server.question.match import Matcher

        return Matcher()

    def _answer(self, question: str | None, params: str | None, scope_key: str | None) -> Answer:
        from pgask_server import ask

        now = settings.read(self.db)
        found = ask.answer(
            self.db,
            self._matcher,
            configured.embed_in_name_of_owner(self.db, now),
            question or "",
            params or "{}",
            scope_key or "global",
            configured.ask_limits(now),
        )
        if found.question_id is not None and found.outcome == "answered":
            ask.record_use(self.db, found.question_id)
        return found
