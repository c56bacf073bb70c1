"""What pgask consists of in a database: each object with its full definition.

Two such descriptions are equal exactly when an install in between changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from migrations.ownership import OUR_ASK
from migrations.sqlfile import InstallError

if TYPE_CHECKING:
    import psycopg

Catalog = Mapping[str, str]
"""Object, such as 'function pgask.search(text, integer)' -> its definition."""


VERBS = ("created", "changed", "dropped")
"""What the lines of changes() start with."""


def describe(connection: psycopg.Connection) -> Catalog:
    """Every object of pgask. Empty where pgask is not installed."""
    objects = dict(connection.execute(_OBJECTS).fetchall())
    table = connection.execute("select pg_catalog.to_regclass('pgask.alembic_version')")
    if table.fetchone() != (None,):
        for (number,) in connection.execute("select version_num from pgask.alembic_version"):
            objects[f"revision {number}"] = ""
    return objects


def changes(before: Catalog, after: Catalog) -> list[str]:
    """What is new, changed or gone, a line each, in the order of the objects' names."""
    lines: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            lines.append(f"created {name}")
        elif name not in after:
            lines.append(f"dropped {name}")
        elif before[name] != after[name]:
            lines.append(f"changed {name}")
    return lines


def refuse_orphans(connection: psycopg.Connection) -> None:
    """Refuse a function or view that no file of sql/ made in this transaction.

    To be called before the grants, since these touch every function.
    """
    orphans = [name for (name,) in connection.execute(_ORPHANS).fetchall()]
    if orphans:
        raise InstallError(
            "Left over, since no file in sql/ creates it any more: " + ", ".join(orphans),
            "Drop it in a new revision (migrations/versions), or delete it by hand if it is not "
            "part of pgask.",
        )


# age() counts from this transaction's number: whatever the transaction or a subtransaction of it
# has written has an age of zero or less.
_ORPHANS = """
    select p.oid::pg_catalog.regprocedure::text
    from pg_catalog.pg_proc p
    where (p.pronamespace = 'pgask'::pg_catalog.regnamespace
            or p.oid = pg_catalog.to_regprocedure('public.ask(text, jsonb, text)'))
        and pg_catalog.age(p.xmin) > 0
        and not exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass and d.objid = p.oid
                and d.deptype = 'e')
    union all
    select c.oid::pg_catalog.regclass::text
    from pg_catalog.pg_class c join pg_catalog.pg_rewrite r on r.ev_class = c.oid
    where c.relnamespace = 'pgask'::pg_catalog.regnamespace and c.relkind = 'v'
        and pg_catalog.age(r.xmin) > 0
    order by 1
"""

_OBJECTS = f"""
    -- Never granted and granted only to the owner are the same.
    with acl as (
        select a.class, a.oid, pg_catalog.string_agg(a.item::text, ',' order by a.item::text) as acl
        from (
            select 'pg_proc' as class, p.oid, pg_catalog.unnest(
                coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as item
            from pg_catalog.pg_proc p
            where p.pronamespace = pg_catalog.to_regnamespace('pgask') or {OUR_ASK}
            union all
            select 'pg_class', c.oid, pg_catalog.unnest(
                coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)))
            from pg_catalog.pg_class c
            where c.relnamespace = pg_catalog.to_regnamespace('pgask')
            union all
            select 'pg_namespace', n.oid, pg_catalog.unnest(
                coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)))
            from pg_catalog.pg_namespace n
            where n.nspname = 'pgask') a
        group by a.class, a.oid),
    relation as (
        select c.* from pg_catalog.pg_class c
        where c.relnamespace = pg_catalog.to_regnamespace('pgask') and c.relkind in ('r', 'p', 'v'))
    select 'schema ' || n.nspname,
        pg_catalog.concat_ws(E'\n', pg_catalog.pg_get_userbyid(n.nspowner), acl.acl,
            pg_catalog.obj_description(n.oid, 'pg_namespace'))
    from pg_catalog.pg_namespace n
        left join acl on acl.class = 'pg_namespace' and acl.oid = n.oid
    where n.nspname = 'pgask'
    union all
    select 'function ' || p.oid::pg_catalog.regprocedure::text,
        pg_catalog.concat_ws(E'\n', pg_catalog.pg_get_functiondef(p.oid),
            pg_catalog.pg_get_userbyid(p.proowner), acl.acl,
            pg_catalog.obj_description(p.oid, 'pg_proc'))
    from pg_catalog.pg_proc p left join acl on acl.class = 'pg_proc' and acl.oid = p.oid
    where p.pronamespace = pg_catalog.to_regnamespace('pgask') or {OUR_ASK}
    union all
    select case r.relkind when 'v' then 'view ' else 'table ' end || r.oid::pg_catalog.regclass,
        pg_catalog.concat_ws(E'\n', pg_catalog.pg_get_userbyid(r.relowner), r.reloptions::text,
            r.relrowsecurity, r.relforcerowsecurity, acl.acl,
            pg_catalog.obj_description(r.oid, 'pg_class'),
            case when r.relkind = 'v' then pg_catalog.pg_get_viewdef(r.oid) end,
            (select pg_catalog.string_agg(
                pg_catalog.concat_ws(' ', a.attname,
                    pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
                    a.attgenerated, pg_catalog.pg_get_expr(d.adbin, d.adrelid), a.attacl,
                    pg_catalog.col_description(r.oid, a.attnum)), E'\n' order by a.attnum)
            from pg_catalog.pg_attribute a
                left join pg_catalog.pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
            where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped))
    from relation r left join acl on acl.class = 'pg_class' and acl.oid = r.oid
    union all
    select 'constraint ' || k.conname || ' on ' || k.conrelid::pg_catalog.regclass,
        pg_catalog.pg_get_constraintdef(k.oid)
    from pg_catalog.pg_constraint k join relation r on r.oid = k.conrelid
    union all
    select 'index ' || i.indexrelid::pg_catalog.regclass, pg_catalog.pg_get_indexdef(i.indexrelid)
    from pg_catalog.pg_index i join relation r on r.oid = i.indrelid
    union all
    select 'trigger ' || t.tgname || ' on ' || t.tgrelid::pg_catalog.regclass,
        pg_catalog.pg_get_triggerdef(t.oid) || ' ' || t.tgenabled::text
    from pg_catalog.pg_trigger t join pg_catalog.pg_proc p on p.oid = t.tgfoid
    where not t.tgisinternal and p.pronamespace = pg_catalog.to_regnamespace('pgask')
    union all
    select 'policy ' || y.polname || ' on ' || y.polrelid::pg_catalog.regclass,
        pg_catalog.concat_ws(E'\n', y.polcmd, y.polpermissive, y.polroles::pg_catalog.regrole[],
            pg_catalog.pg_get_expr(y.polqual, y.polrelid),
            pg_catalog.pg_get_expr(y.polwithcheck, y.polrelid))
    from pg_catalog.pg_policy y join relation r on r.oid = y.polrelid
    union all
    select 'type ' || t.oid::pg_catalog.regtype,
        pg_catalog.concat_ws(E'\n', t.typtype, pg_catalog.obj_description(t.oid, 'pg_type'),
            (select pg_catalog.string_agg(a.attname || ' '
                || pg_catalog.format_type(a.atttypid, a.atttypmod), E'\n' order by a.attnum)
            from pg_catalog.pg_attribute a where a.attrelid = t.typrelid))
    from pg_catalog.pg_type t left join pg_catalog.pg_class c on c.oid = t.typrelid
    where t.typnamespace = pg_catalog.to_regnamespace('pgask')
        and (t.typtype in ('d', 'e') or c.relkind = 'c')
"""
