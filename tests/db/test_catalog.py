"""Guards over everything that an install creates: comments, names, search paths, rights, errors."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from migrations.reference import REFERENCE, reference
from migrations.schema_dump import SCHEMA, schema_dump
from psycopg.rows import TupleRow

ROOT = Path(__file__).resolve().parents[2]
Connection = psycopg.Connection[TupleRow]

# The functions of pgask, and the one that stands outside its schema.
OURS = """
    (p.pronamespace = 'pgask'::regnamespace
        or p.oid = to_regprocedure('public.ask(text, jsonb, text)'))
"""


def names(connection: Connection, query: str) -> list[str]:
    return [str(row[0]) for row in connection.execute(query.encode())]


def test_every_function_table_and_view_has_a_comment(connection: Connection) -> None:
    assert (
        names(
            connection,
            f"""
        select p.oid::regprocedure::text from pg_proc p
        where {OURS} and coalesce(obj_description(p.oid, 'pg_proc'), '') = ''
        union all
        select c.oid::regclass::text from pg_class c
        where c.relnamespace = 'pgask'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
            and coalesce(obj_description(c.oid, 'pg_class'), '') = ''
        union all
        select 'schema pgask' where obj_description('pgask'::regnamespace, 'pg_namespace') is null
        """,
        )
        == []
    )


def test_the_parameters_of_public_functions_have_clean_names(connection: Connection) -> None:
    assert (
        names(
            connection,
            f"""
        select p.oid::regprocedure::text
        from pg_proc p
        where {OURS} and p.proname not like '\\_%' and (
            exists (select from unnest(p.proargnames) n where n like '\\_%')
            or cardinality(p.proargnames) is distinct from
                nullif(cardinality(coalesce(p.proallargtypes, p.proargtypes::oid[])), 0))
        """,
        )
        == []
    )


def test_no_function_is_named_like_a_type_of_the_schema(connection: Connection) -> None:
    """pgask._setting('x') would be a cast to the array type of the table setting."""
    assert (
        names(
            connection,
            """
        select p.oid::regprocedure::text
        from pg_proc p join pg_type t on t.typnamespace = p.pronamespace and t.typname = p.proname
        where p.pronamespace = 'pgask'::regnamespace
        """,
        )
        == []
    )


def test_whoever_runs_as_the_owner_or_in_plpgsql_has_a_pinned_search_path(
    connection: Connection,
) -> None:
    """A procedure that commits cannot have one: it qualifies every name."""
    assert (
        names(
            connection,
            f"""
        select p.oid::regprocedure::text
        from pg_proc p join pg_language l on l.oid = p.prolang
        where {OURS} and (l.lanname = 'plpgsql' or p.prosecdef)
            and not exists (
                select from unnest(p.proconfig) c
                where c ~ '^search_path=pg_catalog, (.*, )?pg_temp$')
        """,
        )
        == []
    )


def test_sql_functions_that_can_be_inlined_have_no_set_clause(connection: Connection) -> None:
    assert (
        names(
            connection,
            f"""
        select p.oid::regprocedure::text
        from pg_proc p
        where {OURS} and p.prosqlbody is not null and not p.prosecdef
            and p.proconfig is not null
        """,
        )
        == []
    )


def test_nobody_has_a_right_by_being_somebody(connection: Connection) -> None:
    assert (
        names(
            connection,
            f"""
        select p.oid::regprocedure::text
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where {OURS} and a.grantee = 0 and p.prorettype <> 'trigger'::regtype
        union all
        select c.oid::regclass::text
        from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace = 'pgask'::regnamespace and a.grantee = 0
        union all
        select 'schema pgask'
        from pg_namespace n, aclexplode(n.nspacl) a
        where n.nspname = 'pgask' and a.grantee = 0
        """,
        )
        == []
    )


def test_an_application_role_has_no_right_on_anything(connection: Connection) -> None:
    connection.execute("begin")
    connection.execute("create role an_application")
    connection.execute("set local role an_application")
    assert (
        names(
            connection,
            """
        select p.oid::text from pg_proc p
        where p.pronamespace = 'pgask'::regnamespace and has_schema_privilege('pgask', 'usage')
            and has_function_privilege(p.oid, 'execute')
        union all
        select c.relname from pg_class c
        where c.relnamespace = 'pgask'::regnamespace and c.relkind in ('r', 'v')
            and has_table_privilege(c.oid, 'select, insert, update, delete')
        """,
        )
        == []
    )
    connection.execute("rollback")


def test_group_roles_write_through_functions_only(connection: Connection) -> None:
    assert (
        names(
            connection,
            """
        select c.oid::regclass::text || ' ' || a.privilege_type
        from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace = 'pgask'::regnamespace and a.grantee <> c.relowner
            and a.privilege_type <> 'SELECT'
        """,
        )
        == []
    )


def test_a_table_whose_rows_are_not_everybodys_has_row_level_security(
    connection: Connection,
) -> None:
    assert (
        names(
            connection,
            """
        select t.name from unnest('{embedding, nl_query}'::text[]) t (name)
        join pg_class c on c.relnamespace = 'pgask'::regnamespace and c.relname = t.name
        where not c.relrowsecurity
            or not exists (select from pg_policy y where y.polrelid = c.oid)
        """,
        )
        == []
    )


def test_every_constraint_is_valid_and_every_index_is_ready(connection: Connection) -> None:
    assert (
        names(
            connection,
            """
        select k.conname from pg_constraint k
        where k.connamespace = 'pgask'::regnamespace and not k.convalidated
        union all
        select i.indexrelid::regclass::text
        from pg_index i join pg_class c on c.oid = i.indrelid
        where c.relnamespace = 'pgask'::regnamespace and not (i.indisvalid and i.indisready)
        """,
        )
        == []
    )


@pytest.mark.parametrize(
    "name",
    [
        "embedding_vector_hnsw",
        "embedding_filter_values_gin",
        "a_chunk_is_stored_once",
        "one_open_job_per_source_row",
        "embedding_job_lease",
        "nl_query_vector_hnsw",
        "a_label_is_unique_per_owner",
        "a_relation_is_one_source",
    ],
)
def test_the_index_is_there(connection: Connection, name: str) -> None:
    assert names(connection, f"select to_regclass('pgask.{name}')") == [f"pgask.{name}"]


def test_every_foreign_key_has_an_index_for_it(connection: Connection) -> None:
    """Those to nl_query's profiles are exempt: profiles are few and hardly ever deleted."""
    assert (
        names(
            connection,
            """
        select k.conrelid::regclass || '.' || k.conname from pg_constraint k
        where k.connamespace = 'pgask'::regnamespace and k.contype = 'f'
            and k.confrelid <> 'pgask.profile'::regclass
            and not exists (
                select from pg_index i
                where i.indrelid = k.conrelid
                    and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)
        """,
        )
        == []
    )


# The boot line and the call: see 00_foundation.sql, whose _boot() alone has a body of its own.
BOOT = """\
if "pgask" not in GD:
    plpy.execute("select pgask._boot()")
"""


def test_a_plpython_body_boots_and_calls_the_package_and_no_more(connection: Connection) -> None:
    rows = connection.execute(
        f"""
        select p.oid::regprocedure::text, p.prosrc
        from pg_proc p join pg_language l on l.oid = p.prolang
        where {OURS} and l.lanname = 'plpython3u' and p.proname <> '_boot'
        """.encode()
    ).fetchall()
    assert rows
    wrong: list[str] = []
    for name, body in rows:
        lines = [line.removeprefix("    ") for line in body.strip("\n").splitlines()]
        text = "\n".join(line for line in lines if line.strip())
        call = text.removeprefix(BOOT)
        if (
            not text.startswith(BOOT)
            or len(text.splitlines()) > 6
            or not re.match(r'(return )?GD\["pgask"\]\.\w+\(', call)
            or re.search(r"\b(select|insert|update|delete|plpy)\b", call, re.IGNORECASE)
        ):
            wrong.append(name)
    assert wrong == []


def test_plpgsql_check_finds_nothing(connection: Connection) -> None:
    found = names(
        connection,
        "select a.name from pg_available_extensions a where a.name = 'plpgsql_check'",
    )
    if not found:
        pytest.skip("the extension plpgsql_check is not installed")
    connection.execute("create extension plpgsql_check")
    rows = connection.execute(
        """
        select c.functionid::regprocedure::text, c.lineno, c.level, c.message, c.detail
        from pg_proc p join pg_language l on l.oid = p.prolang
        cross join lateral plpgsql_check_function_tb(
            p.oid,
            case when p.prorettype = 'trigger'::regtype
                then 'pgask.embedding_ingest_registry'::regclass else 0 end,
            -- No security warnings: it does not see that %s of a regclass is a quoted name.
            performance_warnings => false,
            oldtable => case when p.prorettype = 'trigger'::regtype then 'old_rows' end,
            newtable => case when p.prorettype = 'trigger'::regtype then 'new_rows' end) c
        where p.pronamespace = 'pgask'::regnamespace and l.lanname = 'plpgsql'
            and c.level <> 'warning extra' and c.message not like 'name of parameter%'
        """
    ).fetchall()
    assert rows == []


RAISED = re.compile(r"(?:errcode|sqlstate)\s*[=:]?\s*(?:str\s*=\s*)?[\"'](PA\d{3})[\"']")


def test_the_list_of_errors_is_complete_and_has_nothing_else() -> None:
    code = [*(ROOT / "sql").glob("*.sql"), *(ROOT / "plpython" / "pgask_server").rglob("*.py")]
    raised = {state for path in code for state in RAISED.findall(path.read_text("utf-8"))}
    raised |= set(
        re.findall(r'= "(PA\d{3})", detail', (ROOT / "sql/00_foundation.sql").read_text())
    )
    listed = re.findall(
        r"^\| (PA\d{3}) \|", (ROOT / "sql/ERRORS.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(raised - {"PA999"})


def test_the_schema_in_the_repository_is_the_installed_one(connection: Connection) -> None:
    assert SCHEMA.read_text("utf-8") == schema_dump(connection), (
        "Run: python migrations/schema_dump.py > migrations/schema.sql"
    )


def test_the_reference_in_the_repository_is_that_of_the_installed_functions(
    connection: Connection,
) -> None:
    assert REFERENCE.read_text("utf-8") == reference(connection), (
        "Run: python migrations/reference.py > docs/sql.md"
    )
