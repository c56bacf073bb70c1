"""The one installer: brings a database to this version of pgask, in one transaction.

python migrations/install.py [--dsn URL] [--package-path DIR] [--model-directory DIR] [--uninstall]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# The package of this clone decides the version, not one that happens to be installed.
sys.path.insert(0, str(ROOT / "plpython"))

from migrations import catalog, ownership, package, requirement, revision  # noqa: E402
from migrations.sqlfile import InstallError, run_file  # noqa: E402

from pgask_server import __version__  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

# One number for all databases: an advisory lock is per database anyway.
_LOCK = 0x706761736B

_MANY = 40
"""So many lines are read; more are counted."""


@dataclass(slots=True)
class Report:
    """What an install did, in lines for people."""

    version: str = __version__
    changes: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        title = f"pgask {self.version}: " + ("done" if self.changes else "nothing to do")
        lines = self.changes
        if len(lines) > _MANY:
            # "created function pgask.search(...)" counts as one of "created function"
            lines = [line for line in self.changes if line.split()[0] not in catalog.VERBS]
            counts = Counter(
                " ".join(line.split()[:2]) for line in self.changes if line not in lines
            )
            lines += [f"{kind}: {count}" for kind, count in counts.items()]
        lines = lines + [f"warning: {warning}" for warning in self.warnings]
        return "\n  ".join([title, *lines])


def install(
    dsn: str = "",
    *,
    package_path: Path | None = None,
    model_directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    sql_directory: Path = ROOT / "sql",
) -> Report:
    """Install or update pgask in the database behind dsn (a URL, key=value words, or '': libpq's).

    package_path, model_directory: where the server finds pgask_server and the local models; by
    default those that `make setup` made, stored only if the server does not find them by itself.
    environment: PGASK_... variables that become settings; none by default.
    Raises InstallError, and then nothing was changed.
    """
    report = Report()
    with revision.transaction(dsn) as (shared, connection):
        _begin(connection, report)
        ownership.refuse_foreign(connection)
        before = catalog.describe(connection)
        created = requirement.ensure_extensions(connection)
        report.changes += [f"extension {name} created" for name in created]
        created = requirement.ensure_roles(connection)
        report.changes += [f"role {name} created" for name in created]
        if "schema pgask" not in before:
            # An error, should somebody have made one since it was looked for.
            connection.execute("create schema pgask")
        connection.execute(_COMMENT_ON_SCHEMA)
        revision.upgrade(shared, _installed(connection), __version__)
        connection.execute(_COMMENT_ON_REVISION)
        *stages, grants = sorted(sql_directory.glob("*.sql"))
        for stage in stages:
            run_file(connection, stage)
        catalog.refuse_orphans(connection)
        # Once more: what was made while this ran, and replaced, still has its owner.
        ownership.refuse_foreign(connection)
        run_file(connection, grants)
        connection.execute(_INSTALLED, [__version__])
        report.changes += package.configure(
            connection,
            package_path=package_path,
            model_directory=model_directory,
            environment=environment or {},
        )
        report.changes += _refresh(connection)
        report.changes += catalog.changes(before, catalog.describe(connection))
    return report


def uninstall(dsn: str = "") -> Report:
    """Take pgask out of the database: its schema, its triggers, public.ask. Tables of others stay.

    The extensions stay, and the group roles where another database or a member needs them.
    """
    report = Report()
    with revision.transaction(dsn) as (shared, connection):
        _begin(connection, report)
        if not ownership.is_installed(connection):
            return report
        before = catalog.describe(connection)
        cascades: list[str] = []
        connection.add_notice_handler(lambda notice: cascades.extend(_foreign(notice)))
        connection.execute("set local client_min_messages = notice")
        revision.downgrade(shared)
        foreign = ownership.drop_ask(connection)
        connection.execute("drop schema pgask cascade")
        report.warnings += [foreign] if foreign else []
        report.warnings += [f"gone too, since it used pgask: {name}" for name in sorted(cascades)]
        report.warnings += [
            f"the role {role} stays, since something else needs it"
            for role in requirement.drop_roles(connection)
        ]
        report.changes += catalog.changes(before, catalog.describe(connection))
    return report


def _foreign(notice: psycopg.errors.Diagnostic) -> list[str]:
    """What of a notice 'drop cascades to ...' was not pgask's own."""
    text = f"{notice.message_primary}\n{notice.message_detail or ''}"
    names = re.findall(r"^drop cascades to (?!\d+ other)(.+)$", text, re.MULTILINE)
    ours = re.compile(r"(^\w+( \w+)* pgask\.)|( on (table )?pgask\.)|(^function ask\()|(^trigger )")
    return [name for name in names if not ours.search(name)]


def _begin(connection: psycopg.Connection, report: Report) -> None:
    """Check the server, and wait for the lock."""
    report.warnings += requirement.check_server(connection)
    connection.execute("select pg_catalog.pg_advisory_xact_lock(%s)", [_LOCK])


def _installed(connection: psycopg.Connection) -> str | None:
    """The version that the database says it holds."""
    if connection.execute("select to_regclass('pgask.installation')").fetchone() == (None,):
        return None
    row = connection.execute("select i.version from pgask.installation i").fetchone()
    return row[0] if row else None


def _refresh(connection: psycopg.Connection) -> list[str]:
    """Bring the built-in questions up to date; say how many changed."""
    function = "pgask._refresh_builtin_questions()"
    if connection.execute("select to_regprocedure(%s)", [function]).fetchone() == (None,):
        return []
    before = connection.execute(_BUILT_IN).fetchall()
    connection.execute("select pgask._refresh_builtin_questions()")
    changed = set(before) ^ set(connection.execute(_BUILT_IN).fetchall())
    return [f"built-in questions: {len({label for label, _ in changed})}"] if changed else []


_BUILT_IN = """
    select q.label, q.version from pgask.nl_query q where q.status = 'system'
"""

_COMMENT_ON_SCHEMA = """
    comment on schema pgask is
        'pgask: search by meaning and questions in plain English. Names that start with _ are '
        'internal.'
"""

_COMMENT_ON_REVISION = """
    comment on table pgask.alembic_version is 'The revision of the stored things: one row.';
    comment on column pgask.alembic_version.version_num is 'The newest revision applied.'
"""

_INSTALLED = """
    insert into pgask.installation as i (version) values (%s)
    on conflict (only_one) do update set version = excluded.version
    where i.version <> excluded.version
"""


def main(arguments: list[str] | None = None) -> int:
    """The command. Exit code: 0 done, 1 refused or failed (nothing was changed)."""
    parser = argparse.ArgumentParser(prog="install.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dsn", default=os.environ.get("DATABASE_URL", ""))
    parser.add_argument("--package-path", type=Path, metavar="DIR")
    parser.add_argument("--model-directory", type=Path, metavar="DIR")
    parser.add_argument("--uninstall", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.uninstall:
            print(uninstall(chosen.dsn))
        else:
            report = install(
                chosen.dsn,
                package_path=chosen.package_path,
                model_directory=chosen.model_directory,
                environment=package.read_env_file(ROOT / ".env"),
            )
            print(report)
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
