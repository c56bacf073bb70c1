"""Databases for tests on a running server: made, cloned from a template, and dropped."""

from __future__ import annotations

import secrets
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pytest_postgresql.janitor import DatabaseJanitor

if TYPE_CHECKING:
    from collections.abc import Generator

_PATIENCE = 60.0
"""Seconds that the sessions on a database have to end before it is dropped."""


class TestServer:
    """A running PostgreSQL server on which databases may be created.

    url: a libpq URL or connection string of a role that may create databases and, for the
    installation of pgask, is a superuser. Raises psycopg.OperationalError at once when nobody
    answers. Names carry a random token, so that parallel runs on one server never meet.
    """

    __test__ = False

    def __init__(self, url: str) -> None:
        self._parameters = {
            name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None
        }
        with psycopg.connect(url, connect_timeout=10) as connection:
            info = connection.info
            self._host, self._port = info.host, info.port
            self._user, self._password = info.user, info.password
            self._maintenance = info.dbname
        self._token = secrets.token_hex(4)
        self._count = 0

    def url(self, database: str) -> str:
        """The URL of one database on this server."""
        parameters = {
            **self._parameters,
            "host": self._host,
            "port": str(self._port),
            "user": self._user,
        }
        if self._password:
            parameters["password"] = self._password
        parameters.pop("dbname", None)
        authority = ""
        if not self._host.startswith("/"):
            host = f"[{self._host}]" if ":" in self._host else quote(self._host)
            authority = f"{host}:{parameters.pop('port')}"
            del parameters["host"]
        user = quote(parameters.pop("user"), safe="")
        if "password" in parameters:
            user += ":" + quote(parameters.pop("password"), safe="")
        query = urlencode(parameters, quote_via=quote)
        return f"postgresql://{user}@{authority}/{quote(database)}" + (f"?{query}" if query else "")

    @contextmanager
    def database(self, template: str | None = None, *, as_template: bool = False) -> Generator[str]:
        """A new database: its name, dropped at the end even while sessions are still on it.

        template: the database to clone; sessions on it are ended. Default: the server's own.
        as_template: mark it as a template, so that others can be cloned from it.
        """
        self._count += 1
        name = f"pgask_test_{self._token}_{self._count}"
        # A database is not cloned by a session that is on it.
        maintenance = "postgres" if template == self._maintenance else self._maintenance
        janitor = DatabaseJanitor(
            user=self._user,
            password=self._password or None,
            host=self._host,
            port=self._port,
            dbname=name,
            template_dbname=template,
            maintenance_dbname=maintenance,
            as_template=as_template,
        )
        janitor.init()
        try:
            yield name
        finally:
            _drop(janitor)


def _drop(janitor: DatabaseJanitor) -> None:
    """Drop the database; a session that waits for a model ends only when that has replied."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            janitor.drop()
        except psycopg.errors.ObjectInUse:
            if time.monotonic() > until:
                raise
        else:
            return
