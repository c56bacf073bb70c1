"""Every error that the client raises, by SQLSTATE; the docstring of a class is its meaning.

The database's own exception (`psycopg.Error`) is the `__cause__`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from collections.abc import Generator


class PgaskError(Exception):
    """pgask failed."""

    def __init__(
        self,
        message: str | None = None,
        *,
        sqlstate: str | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.message: str = message or type(self).__doc__ or "pgask failed."
        self.sqlstate = sqlstate
        """The five characters of the database; None where the client itself noticed."""
        self.detail = detail
        self.hint = hint
        super().__init__(self.message)
        if detail:
            self.add_note(f"Detail: {detail}")
        if hint:
            self.add_note(f"Hint: {hint}")


class DatabaseFailed(PgaskError):
    """The database reported an error that is not one of pgask's own."""


class ConnectionFailed(DatabaseFailed):
    """The database cannot be reached, or the connection was lost."""


class NotPermitted(DatabaseFailed):
    """The database role may not do this."""


class Canceled(DatabaseFailed):
    """The statement was canceled, by the user or by a time limit of the server."""


class ConfigurationError(PgaskError):
    """pgask is not configured correctly."""


class SettingInvalid(ConfigurationError):
    """The setting is unknown or its value is not valid."""


class NotInstalled(ConfigurationError):
    """pgask is not installed in this database."""


class VersionMismatch(ConfigurationError):
    """The versions of the client and of pgask in the database do not fit."""


class SourceError(PgaskError):
    """The source cannot be registered or read."""


class SourceUnsuitable(SourceError):
    """The table does not exist or cannot be a source."""


class TemplateInvalid(SourceError):
    """The text template is not valid."""


class ChunkingPolicyInvalid(SourceError):
    """The chunking policy is not valid."""


class FilterColumnUnknown(SourceError):
    """A filter column does not exist in the source."""


class SourceNotRegistered(SourceError):
    """The source is not registered."""


class SourceNotReadable(SourceError):
    """The rows of the source cannot be read."""


class ModelError(PgaskError):
    """The model gave no usable reply."""


class ModelUnavailable(ModelError):
    """The model cannot be reached at the moment."""


class ModelRefused(ModelError):
    """The model refused the input."""


class ModelMalformed(ModelError):
    """The model's reply is malformed."""


class ModelResting(ModelError):
    """The model failed so often that it is left alone for a while."""


class SearchError(PgaskError):
    """The search cannot be done."""


class SearchArgumentInvalid(SearchError):
    """An argument of the search is not valid."""


class QuestionError(PgaskError):
    """The question cannot be saved, changed or run."""


class StatementRefused(QuestionError):
    """The statement is not allowed in a saved question."""


class StatementInvalid(QuestionError):
    """The statement does not analyse."""


class StatementTooCostly(QuestionError):
    """The statement is too costly."""


class StatementTimeout(QuestionError):
    """The statement reached its time limit."""


class QuestionInvalid(QuestionError):
    """The question is not valid."""


class ParameterInvalid(QuestionError):
    """A parameter's value is not valid."""


class ParameterMissing(QuestionError):
    """A required parameter has no value."""


class QuestionNotFound(QuestionError):
    """The question does not exist or is not visible to you."""


class QuestionChanged(QuestionError):
    """The record was changed by somebody else: reload it."""


class QuestionNotPermitted(QuestionError, NotPermitted):
    """You may not do this to the question."""


class WorkError(PgaskError):
    """The worker cannot run."""


class InsideTransaction(WorkError):
    """work() was called inside a transaction block."""


_BY_SQLSTATE: dict[str, type[PgaskError]] = {
    "PA000": PgaskError,
    "PA001": ConfigurationError,
    "PA002": SettingInvalid,
    "PA101": SourceUnsuitable,
    "PA102": TemplateInvalid,
    "PA103": ChunkingPolicyInvalid,
    "PA104": FilterColumnUnknown,
    "PA105": SourceNotRegistered,
    "PA106": SourceNotReadable,
    "PA201": ModelUnavailable,
    "PA202": ModelRefused,
    "PA203": ModelMalformed,
    "PA204": ModelResting,
    "PA301": SearchArgumentInvalid,
    "PA401": StatementRefused,
    "PA402": StatementInvalid,
    "PA403": StatementTooCostly,
    "PA404": StatementTimeout,
    "PA411": QuestionInvalid,
    "PA412": ParameterInvalid,
    "PA413": ParameterMissing,
    "PA414": QuestionNotFound,
    "PA415": QuestionChanged,
    "PA416": QuestionNotPermitted,
    "PA501": InsideTransaction,
    "42501": NotPermitted,
    "57014": Canceled,
}

_BY_CLASS: dict[str, type[PgaskError]] = {
    "PA0": ConfigurationError,
    "PA1": SourceError,
    "PA2": ModelError,
    "PA3": SearchError,
    "PA4": QuestionError,
    "PA5": WorkError,
    "PA": PgaskError,
    "08": ConnectionFailed,
    "28": ConnectionFailed,
    "57P": ConnectionFailed,
}
"""For an SQLSTATE that this client does not know: the longest beginning that it does."""


def class_of(sqlstate: str | None) -> type[PgaskError]:
    """The class of error that an SQLSTATE means."""
    if sqlstate is None:
        return DatabaseFailed
    if sqlstate in _BY_SQLSTATE:
        return _BY_SQLSTATE[sqlstate]
    return _BY_CLASS.get(sqlstate[:3]) or _BY_CLASS.get(sqlstate[:2]) or DatabaseFailed


@contextmanager
def translated() -> Generator[None]:
    """Turn an error of the database into the one of this tree with the same SQLSTATE."""
    try:
        yield
    except psycopg.Error as error:
        diagnosis = error.diag
        sqlstate = diagnosis.sqlstate or error.sqlstate
        known = class_of(sqlstate)
        if sqlstate is None and isinstance(error, psycopg.OperationalError):
            # No SQLSTATE: the server never answered, or the connection broke.
            known = ConnectionFailed
        raise known(
            diagnosis.message_primary or str(error).strip(),
            sqlstate=sqlstate,
            detail=diagnosis.message_detail,
            hint=diagnosis.message_hint,
        ) from error
