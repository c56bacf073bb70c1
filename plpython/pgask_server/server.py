"""What the PL/Python functions call: GD["pgask"] is a Server. Nothing else here touches plpy."""

from __future__ import annotations

import functools
import secrets
import traceback
from collections import OrderedDict
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from pgask_server import configured, errors, settings
from pgask_server.database import DatabaseError, Row
from pgask_server.errors import (
    FilterColumnUnknown,
    InsideTransaction,
    ModelRefused,
    PgaskError,
    QuestionInvalid,
    SettingInvalid,
    SourceUnsuitable,
    StatementInvalid,
    TemplateInvalid,
)
from pgask_server.vector_literal import vector_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

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
    Fatal: type[Exception]

    def prepare(self, sql: str, types: Sequence[str], /) -> object: ...
    def execute(self, plan: object, values: Sequence[object], limit: int, /) -> _Result: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def warning(self, message: str, /) -> None: ...
    def log(self, message: str, /) -> None: ...


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

    def log(self, message: str) -> None:
        """Write into the server's log."""
        self._plpy.log(message)

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
            raise _packaged(_database_error(error)) from None

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
    message = str(error)
    return DatabaseError(
        sqlstate,
        # An error that went through a PL/Python function has the name of its class in front.
        message.removeprefix("pgask: "),
        detail if isinstance(detail, str) else None,
        hint if isinstance(hint, str) else None,
    )


_CLASSES = {
    kind.sqlstate: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, PgaskError)
}


def _packaged(error: DatabaseError) -> DatabaseError | PgaskError:
    """The package's own error, where it was one before it went through SQL; else the same."""
    kind = _CLASSES.get(error.sqlstate)
    return error if kind is None else kind(error.message, detail=error.detail, hint=error.hint)


def raised(method: Callable[Concatenate[Server, P], R]) -> Callable[Concatenate[Server, P], R]:
    """Let every error reach the client as an SQL error: one that nobody foresaw as PA000."""

    @functools.wraps(method)
    def call(self: Server, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except (PgaskError, DatabaseError) as error:
            failure = self.failure(error)
        except self.of_plpy:
            raise
        except Exception as error:  # noqa: BLE001 - PL/Python would show its traceback to anybody
            failure = self.failure(self.unforeseen(error))
        raise failure from None

    return call


_FAILED = "pgask failed"


def _printable(text: str) -> str:
    """The text as PostgreSQL can hold it, and without any key."""
    text = text.replace("\0", "\\0").encode("utf-8", "replace").decode("utf-8")
    return configured.without_keys(text)


def _texts(values: Sequence[object]) -> list[str] | None:
    """The array's texts; None where it has a NULL in it or arrays."""
    texts = [value for value in values if isinstance(value, str)]
    return texts if len(texts) == len(values) else None


class Server:
    """One session's pgask. Each method stands behind the SQL function of the same name."""

    def __init__(self, plpy: Plpy) -> None:
        self.db = PlpyDatabase(plpy)
        self._drafts: dict[str, tuple[object, ...]] = {}
        self.of_plpy = (plpy.Error, plpy.SPIError, plpy.Fatal)
        # PL/Python shows an uncaught error as "class: message": this makes it "pgask: message".
        self._failure = type("pgask", (plpy.Error,), {"__module__": "builtins"})
        self._failed = type(_FAILED, (plpy.Error,), {"__module__": "builtins"})

    def failure(self, error: PgaskError | DatabaseError) -> Exception:
        """What PL/Python makes an SQL error of, with SQLSTATE, DETAIL and HINT."""
        lead = f"{_FAILED}: "
        if error.message.startswith(lead):
            failure = self._failed(error.message.removeprefix(lead))
        else:
            failure = self._failure(error.message)
        failure.__dict__.update(sqlstate=error.sqlstate, detail=error.detail, hint=error.hint)
        return failure

    def unforeseen(self, error: Exception) -> PgaskError:
        """An error of the package for a fault of its own; the traceback goes to the log."""
        self.db.log(_printable("".join(traceback.format_exception(error))))
        return PgaskError(
            f"{_FAILED}: {type(error).__name__}",
            detail=_printable(str(error))[:1000] or None,
            hint="This is a fault of pgask. Report it with what the server's log says.",
        )

    @raised
    def setting(self, name: str | None) -> str | None:
        """The value of a setting that is in force."""
        if name is None:
            raise SettingInvalid("no setting is named")
        return settings.read(self.db).optional(name)

    @raised
    def set_setting(self, name: str | None, value: str | None) -> None:
        """Store or, with None, forget a setting."""
        if name is None:
            raise SettingInvalid("no setting is named")
        settings.write(self.db, name, value)

    @raised
    def register_source(
        self,
        source: str | None,
        text_template: str | None,
        chunking_policy: str | None,
        filter_columns: Sequence[object] | None,
        key_columns: Sequence[object] | None,
        updated_at_column: str | None,
        notes: str | None,
        backfill: bool | None,
    ) -> Sequence[Row]:
        """See source.register_source; None is the default where there is one."""
        if source is None:
            raise SourceUnsuitable("no table is named", hint="Write schema.table.")
        if text_template is None:
            raise TemplateInvalid(
                "there is no text template", hint="Write one such as '{{title}}\\n{{body}}'."
            )
        filters = _texts(filter_columns or ())
        if filters is None:
            raise FilterColumnUnknown("filter_columns is not a plain list of names")
        keys = None if key_columns is None else _texts(key_columns)
        if key_columns is not None and keys is None:
            raise SourceUnsuitable("key_columns is not a plain list of names")
        from pgask_server.source import register_source

        return register_source(
            self.db,
            source,
            text_template,
            "none" if chunking_policy is None else chunking_policy,
            filters,
            keys,
            updated_at_column,
            notes,
            backfill is not False,
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
    def embed_query(self, query: str | None) -> str:
        """The vector of a query as text."""
        if query is None:
            raise ModelRefused("there is no text to embed")
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
    def read_query(self, query: str | None) -> tuple[str, str]:
        """The vector of a query as text, and the name of the model."""
        if query is None:
            raise ModelRefused("there is no text to embed")
        now = settings.read(self.db)
        queries = configured.query_vectors(self.db, now)
        return vector_literal(queries.vector(query)), queries.model.name

    @raised
    def embed_texts(self, texts: Sequence[object] | None) -> list[str]:
        """The vectors of several texts, as texts."""
        given = _texts(texts or ())
        if given is None:
            raise ModelRefused("there is no text to embed")
        vectors = configured.embedding_model(self.db, settings.read(self.db)).embed(given)
        return [vector_literal(vector) for vector in vectors]

    @raised
    def save_question(
        self,
        canonical_prompt: str | None,
        sqls: str | None,
        params: str | None,
        label: str | None,
        scope_key: str | None,
        display: str | None,
        notes: str | None,
        is_shared: bool | None,
        phrasings: Sequence[object] | None,
    ) -> str:
        """See question.save; None is the default where there is one."""
        from pgask_server.question import save

        path = self.db.execute("select pg_catalog.current_setting('search_path') as path")
        draft = save.check(
            self.db,
            canonical_prompt or "",
            "[]" if sqls is None else sqls,
            "[]" if params is None else params,
            display,
            str(path[0]["path"]),
            phrasings or (),
            label,
        )
        now = settings.read(self.db)
        # What was checked here, in the caller's name, is stored by a function that runs as the
        # owner. It takes no argument of that: a caller could forge it.
        ticket = secrets.token_hex()
        self._drafts[ticket] = save.prepare(
            configured.embed_in_name_of_owner(self.db, now),
            now.text("embedding_model"),
            draft,
            label,
            "global" if scope_key is None else scope_key,
            notes,
            is_shared is True,
        )
        try:
            stored = self.db.execute("select pgask._store_draft($1) as id", ("text",), (ticket,))
        finally:
            self._drafts.pop(ticket, None)
        return str(stored[0]["id"])

    @raised
    def store_draft(self, ticket: str | None) -> str:
        """Store the draft that save_question has just checked under this ticket."""
        from pgask_server.question import save

        draft = self._drafts.pop(ticket or "", None)
        if draft is None:
            raise QuestionInvalid(
                "there is no checked draft under this ticket", hint="Call pgask.save_question()."
            )
        return save.store(self.db, draft)

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
    def analyse_statement(self, sql: str | None, params: str | None, path: str | None) -> str:
        """See statement.analyse; what it found as the text of a jsonb."""
        from pgask_server.statement.analyse import analyse, read_types

        if sql is None:
            raise StatementInvalid("there is no statement")
        return analyse(self.db, sql, read_types(params or "{}"), path).to_json()

    @raised
    def refresh_builtin_questions(self) -> None:
        """See question.save.refresh_builtin."""
        from pgask_server.question import save

        now = settings.read(self.db)

        def embed(texts: Sequence[str], /) -> NDArray[np.float32]:
            return configured.embedding_model(self.db, now).embed(texts)

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
