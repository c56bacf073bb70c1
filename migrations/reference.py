"""The SQL reference, from the comments in the catalog: python migrations/reference.py > docs/sql.md

Public functions and procedures by stage in the order of sql/, then views, then tables.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import DictRow, dict_row

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "sql.md"

TITLE = """\
# SQL reference

Everything that a program may call and read. Generated from the comments in the database by
`python migrations/reference.py > docs/sql.md`. The errors are listed in
[sql/ERRORS.md](../sql/ERRORS.md). Names that start with `_` are internal and may change; they are
described where they are defined, in `sql/`. The group roles: an editor may do what a reader may, an
administrator what an editor may."""


def reference(connection: psycopg.Connection) -> str:
    """The text for docs/sql.md, from a database with pgask installed."""
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute("set search_path = pg_catalog, pg_temp")
        parts = [TITLE]
        functions = cursor.execute(_FUNCTIONS).fetchall()
        for title, names in _stages():
            found = [row for name in names for row in functions if row["name"] == name]
            if found:
                parts += [f"## {title}", *("\n".join(_function(row)) for row in found)]
        for title, kind in (("Views", "v"), ("Tables", "r")):
            parts.append(f"## {title}")
            for relation in cursor.execute(_RELATIONS, [kind]).fetchall():
                columns = cursor.execute(_COLUMNS, [relation["oid"]]).fetchall()
                parts.append("\n".join(_relation(relation, columns)))
    return "\n\n".join(parts) + "\n"


def _stages() -> Iterator[tuple[str, list[str]]]:
    """(title, the functions it defines) of each file in sql/."""
    for path in sorted((ROOT / "sql").glob("*.sql")):
        text = path.read_text("utf-8")
        title = text.partition("\n")[0].partition(": ")[2]
        names = re.findall(
            r"^create or replace (?:function|procedure) ([\w.]+)", text, re.MULTILINE
        )
        yield (
            re.sub("^[a-z]+(?= )", lambda word: word[0].capitalize(), title),
            list(dict.fromkeys(names)),
        )


def _function(row: DictRow) -> Iterator[str]:
    arguments = _signature(row["arguments"])
    if len(arguments) > 60:
        arguments = f"\n    {_one_a_line(arguments)}\n"
    returns = _signature(row["returns"] or "")
    if returns.startswith("table("):
        returns = f"table (\n    {_one_a_line(returns[6:-1])}\n)"
    yield f"### {row['name']}"
    yield ""
    yield "```sql"
    yield f"{row['name']}({arguments})" + (f" returns {returns}" if returns else "")
    yield "```"
    yield ""
    yield from _prose(row["comment"], row["names"])
    yield ""
    yield f"For: {', '.join(f'`{role}`' for role in row['roles']) or 'the owner and superusers'}."


def _signature(text: str) -> str:
    """As a person writes it: 'k integer default 10'."""
    text = re.sub(r"(DEFAULT [^,]*?)::[a-z ]+(\[\])?(?=,|$)", r"\1", text)
    return re.sub(r"\b(DEFAULT|NULL|TABLE|SETOF)\b", lambda word: word[0].lower(), text)


def _one_a_line(arguments: str) -> str:
    # A default may hold a comma, but never one before a name and a type.
    return re.sub(r', (?=["\w]+ \w)', ",\n    ", arguments)


def _relation(row: DictRow, columns: list[DictRow]) -> Iterator[str]:
    yield f"### {row['name']}"
    yield ""
    yield from _prose(row["comment"], [column["name"] for column in columns])
    yield ""
    yield "| column | type | |"
    yield "|---|---|---|"
    for column in columns:
        comment = " ".join((column["comment"] or "").split()).replace("|", "\\|")
        yield f"| {column['name']} | {column['type']} | {_plain(comment)} |"


def _prose(comment: str | None, names: list[str]) -> Iterator[str]:
    """A comment as Markdown: 'name: ...' becomes an item, a sentence on a new line a paragraph."""
    name = "|".join([*names, "Errors"])
    text = re.sub(rf"([.;)]) ({name}): ", r"\1\n\2: ", comment or "")
    text = text.replace(";\n", ".\n")
    ended, listed = True, False
    for line in text.splitlines():
        item = re.match(rf"({name}): ", line)
        if item:
            yield from () if listed else ("",)
            yield f"- **{item[1]}**: {_plain(line[item.end() :])}"
            listed = True
        elif ended and line[:1].isupper() and listed:
            yield ""
            yield _plain(line)
            listed = False
        else:
            yield ("  " if listed else "") + _plain(line)
        ended = line.endswith((".", ")", ":"))


def _plain(text: str) -> str:
    return re.sub(r"([<*])", r"\\\1", text)


_FUNCTIONS = """
    select p.oid::pg_catalog.regproc::text as name,
        coalesce(p.proargnames, '{}') as names,
        pg_catalog.regexp_replace(pg_catalog.pg_get_function_arguments(p.oid),
            'IN (?=[a-z])', '', 'g') as arguments,
        pg_catalog.pg_get_function_result(p.oid) as returns,
        pg_catalog.obj_description(p.oid, 'pg_proc') as comment,
        array(
            select a.grantee::pg_catalog.regrole::text from pg_catalog.aclexplode(p.proacl) a
            where a.grantee not in (p.proowner, 0) order by 1) as roles
    from pg_catalog.pg_proc p
    where p.pronamespace = 'pgask'::pg_catalog.regnamespace and p.proname not like '\\_%'
        or p.oid = pg_catalog.to_regprocedure('public.ask(text, jsonb, text)')
    order by pg_catalog.pg_get_function_arguments(p.oid)
"""

_RELATIONS = """
    select c.oid, c.oid::pg_catalog.regclass::text as name,
        pg_catalog.obj_description(c.oid, 'pg_class') as comment
    from pg_catalog.pg_class c
    where c.relnamespace = 'pgask'::pg_catalog.regnamespace and c.relkind = %s
    order by c.relname
"""

_COLUMNS = """
    select a.attname as name,
        pg_catalog.regexp_replace(pg_catalog.format_type(a.atttypid, a.atttypmod),
            '^.*\\.vector', 'vector') as type,
        pg_catalog.col_description(a.attrelid, a.attnum) as comment
    from pg_catalog.pg_attribute a
    where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
    order by a.attnum
"""


def main() -> int:
    """Write the reference of the database --dsn (default: DATABASE_URL) to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dsn", default=os.environ.get("DATABASE_URL", ""))
    with psycopg.connect(parser.parse_args().dsn) as connection:
        sys.stdout.write(reference(connection))
    return 0


if __name__ == "__main__":
    sys.exit(main())
