"""SQLSTATE -> class of error."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import psycopg
import pytest

from pgask import errors
from pgask.version import check

_STATES = Path(__file__).parents[2] / "sql" / "ERRORS.md"


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [
        ("PA101", errors.SourceUnsuitable),
        ("PA401", errors.StatementRefused),
        ("PA415", errors.QuestionChanged),
        ("PA199", errors.SourceError),
        ("PA499", errors.QuestionError),
        ("PA999", errors.PgaskError),
        ("42501", errors.NotPermitted),
        ("57014", errors.Canceled),
        ("57P01", errors.ConnectionFailed),
        ("08006", errors.ConnectionFailed),
        ("23505", errors.DatabaseFailed),
        (None, errors.DatabaseFailed),
    ],
)
def test_an_sqlstate_has_its_class_or_that_of_its_beginning(
    sqlstate: str | None, kind: type[errors.PgaskError]
) -> None:
    assert errors.class_of(sqlstate) is kind


@pytest.mark.skipif(not _STATES.exists(), reason="sql/ERRORS.md is not there")
def test_every_documented_sqlstate_has_a_class_of_its_own() -> None:
    documented = set(re.findall(r"^\| (PA\d{3}) ", _STATES.read_text(), re.MULTILINE))
    assert len({errors.class_of(sqlstate) for sqlstate in documented}) == len(documented)


def test_every_error_says_in_its_docstring_what_it_means() -> None:
    kinds = [
        k for _, k in inspect.getmembers(errors, inspect.isclass) if k.__module__ == errors.__name__
    ]
    assert len(kinds) > 20
    assert all(issubclass(k, errors.PgaskError) and k.__doc__ for k in kinds)


def test_an_error_carries_sqlstate_detail_hint_and_its_cause(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    statement = """do $$ begin
        raise exception 'no such table' using errcode = 'PA101', detail = 'd', hint = 'h';
    end $$"""
    with (
        pytest.raises(errors.SourceUnsuitable, match="no such table") as caught,
        errors.translated(),
    ):
        connection.execute(statement)
    error = caught.value
    assert (error.sqlstate, error.detail, error.hint) == ("PA101", "d", "h")
    assert isinstance(error.__cause__, psycopg.Error)


@pytest.mark.parametrize(
    ("database", "client", "hint"),
    [
        ("0.1.0", "0.2.0", "Upgrade the database"),
        ("0.2.3", "0.1.0", "Upgrade the client: pip install 'pgask==0.2.*'"),
        ("1.10.0", "1.9.0", "Upgrade the client"),
        ("unknown", "0.1.0", None),
    ],
)
def test_a_mismatch_of_versions_says_which_side_to_upgrade(
    database: str, client: str, hint: str | None
) -> None:
    with pytest.raises(errors.VersionMismatch) as caught:
        check(database, client)
    assert (caught.value.hint or "").startswith(hint or "")


@pytest.mark.parametrize(("database", "client"), [("0.1.0", "0.1.7"), ("0.1.0.dev1", "0.1.0")])
def test_patch_versions_fit_each_other(database: str, client: str) -> None:
    check(database, client)
