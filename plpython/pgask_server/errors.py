"""Every error that pgask raises, each with its SQLSTATE.

The docstring of a class is its default message. `server.py` turns these into PostgreSQL errors
with the same SQLSTATE, DETAIL and HINT; the list for readers is `sql/ERRORS.md`.
"""

from __future__ import annotations


class PgaskError(Exception):
    """pgask failed."""

    sqlstate: str = "PA000"

    def __init__(
        self, message: str | None = None, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        self.message: str = message or type(self).__doc__ or "pgask failed"
        self.detail = detail
        self.hint = hint
        super().__init__(self.message)


class ConfigurationError(PgaskError):
    """pgask is not configured correctly."""

    sqlstate = "PA001"


class SettingInvalid(PgaskError):
    """The setting is unknown or its value is not valid."""

    sqlstate = "PA002"


class SourceUnsuitable(PgaskError):
    """The table does not exist or cannot be a source."""

    sqlstate = "PA101"


class TemplateInvalid(PgaskError):
    """The text template is not valid."""

    sqlstate = "PA102"


class ChunkingPolicyInvalid(PgaskError):
    """The chunking policy is not valid."""

    sqlstate = "PA103"


class FilterColumnUnknown(PgaskError):
    """A filter column does not exist in the source."""

    sqlstate = "PA104"


class SourceNotRegistered(PgaskError):
    """The source is not registered."""

    sqlstate = "PA105"


class ModelUnavailable(PgaskError):
    """The model cannot be reached at the moment."""

    sqlstate = "PA201"

    def __init__(
        self,
        message: str | None = None,
        *,
        detail: str | None = None,
        hint: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.retry_after = retry_after
        """Seconds that the provider asked to wait, if it said so."""


class ModelRefused(PgaskError):
    """The model refused the input."""

    sqlstate = "PA202"


class ModelMalformed(PgaskError):
    """The model's reply is malformed."""

    sqlstate = "PA203"


class SearchArgumentInvalid(PgaskError):
    """An argument of the search is not valid."""

    sqlstate = "PA301"


class StatementRefused(PgaskError):
    """The statement is not allowed in a saved question."""

    sqlstate = "PA401"


class StatementInvalid(PgaskError):
    """The statement does not analyse."""

    sqlstate = "PA402"


class StatementTooCostly(PgaskError):
    """The statement is too costly."""

    sqlstate = "PA403"


class StatementTimeout(PgaskError):
    """The statement reached its time limit."""

    sqlstate = "PA404"


class QuestionInvalid(PgaskError):
    """The question is not valid."""

    sqlstate = "PA411"


class ParameterInvalid(PgaskError):
    """A parameter's value is not valid."""

    sqlstate = "PA412"


class QuestionNotFound(PgaskError):
    """The question does not exist or is not visible to you."""

    sqlstate = "PA414"


class InsideTransaction(PgaskError):
    """work() was called inside a transaction block."""

    sqlstate = "PA501"
