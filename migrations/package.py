"""How the server finds the Python package and the models, and what .env says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from dotenv import dotenv_values
from migrations.sqlfile import ROOT, InstallError
from psycopg.rows import scalar_row

from pgask_server.settings import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STATE = ROOT / ".pg"
"""What `make setup` made: server (the environment of the server's Python), model."""


def read_env_file(path: Path) -> Mapping[str, str]:
    """The PGASK_... variables of a .env file that have a value; none if there is no file."""
    values = dotenv_values(path, interpolate=False) if path.is_file() else {}
    return {name: value for name, value in values.items() if name.startswith("PGASK_") and value}


def configure(
    connection: psycopg.Connection,
    *,
    package_path: Path | None,
    model_directory: Path | None,
    environment: Mapping[str, str],
) -> list[str]:
    """Make the package load and store the settings; give the names of those that changed."""
    before = _stored(connection)
    if package_path is not None:
        _store_package_path(connection, package_path)
    if _boot_failure(connection) and package_path is None and (path := _own_package()):
        _store_package_path(connection, path)
    if failure := _boot_failure(connection):
        raise failure
    if package_path is not None:
        # The package may have come from PYTHONPATH: a wrong path is told all the same.
        _set(connection, "package_path", str(package_path.resolve()))
    if model_directory is not None:
        _set(connection, "model_directory", str(model_directory.resolve()))
    elif _in_force(connection, "model_directory") is None and (STATE / "model").is_dir():
        _set(connection, "model_directory", str((STATE / "model").resolve()))
    for setting in SETTINGS:
        if value := environment.get(f"PGASK_{setting.name.upper()}"):
            _set(connection, setting.name, value)
    after = _stored(connection)
    return [
        f"setting {name}" + (f" = {after[name][0]}" if not name.endswith("_key") else "")
        for name in after
        if after[name] != before.get(name)
    ]


def _own_package() -> Path | None:
    """Where `make setup` put the package."""
    found = sorted(STATE.resolve().glob("server/lib/python3*/site-packages/pgask_server"))
    return found[-1].parent if found else None


def _boot_failure(connection: psycopg.Connection) -> InstallError | None:
    try:
        with connection.transaction():
            connection.execute("select pgask._boot()")
    except psycopg.Error as error:
        diagnosis = error.diag
        text = f"{diagnosis.message_primary}\n{diagnosis.message_detail or ''}".strip()
        return InstallError(text, diagnosis.message_hint)
    return None


def _store_package_path(connection: psycopg.Connection, path: Path) -> None:
    # Not by set_setting(), which needs the package.
    connection.execute(
        "insert into pgask.setting as s (name, value) values ('package_path', %s)"
        " on conflict (name) do update set value = excluded.value, updated_at = now()"
        " where s.value <> excluded.value",
        [str(path.resolve())],
    )


def _set(connection: psycopg.Connection, name: str, value: str) -> None:
    try:
        # A parameter: the statement that the server may log does not hold the value.
        connection.execute("select pgask.set_setting(%s, %s)", [name, value])
    except psycopg.Error as error:
        raise InstallError(
            f"{error.diag.message_primary} {error.diag.message_detail or ''}".strip(),
            error.diag.message_hint,
        ) from None


def _in_force(connection: psycopg.Connection, name: str) -> str | None:
    with connection.cursor(row_factory=scalar_row) as cursor:
        return cursor.execute("select pgask._get_setting(%s)", [name]).fetchone()


def _stored(connection: psycopg.Connection) -> Mapping[str, tuple[str, str]]:
    """Setting -> value and when it was stored."""
    rows = connection.execute(
        "select s.name, s.value, s.updated_at::text from pgask.setting s order by s.name"
    ).fetchall()
    return {name: (value, stored) for name, value, stored in rows}
