"""What PostgreSQL understands of a statement: the functions, relations and types in its tree.

The tree of the stored function body names by oid every function that runs: called outright, as an
operator, a cast, a column of a row (`select c.peek from customer c`), a sort, a window. What runs
behind views, aggregates and the checks of domains is looked up here too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, cast

from pgask_server.database import Database, DatabaseError
from pgask_server.errors import StatementInvalid, StatementRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FIRST_USER_OID = 16384
"""What initdb makes has a smaller one."""

# Blanks and brackets inside names and literals are escaped in a tree, so none of them can look
# like one of these; if one did, it could only add to what is found.
_RELATION = re.compile(r":relid (\d+)")
_FUNCTION = re.compile(
    r":(?:funcid|opfuncid|aggfnoid|winfnoid|tsmhandler|startInRangeFunc|endInRangeFunc) (\d+)"
)
_OPERATOR = re.compile(r":(?:opno|eqop|sortop|mark_neop) (\d+)")
_OPERATORS = re.compile(r":opnos \(o ([\d ]+)\)")
_COMMAND = re.compile(r":commandType (\d+)")
_LOCKS = re.compile(r":hasForUpdate true|:rowMarks \(")


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a statement calls. system: it is part of PostgreSQL itself."""

    schema: str
    name: str
    arguments: str
    volatile: bool
    definer: bool
    system: bool

    @property
    def signature(self) -> str:
        """schema.name(types of the arguments)."""
        return f"{self.schema}.{self.name}({self.arguments})"


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view that a statement reads, itself or through a view."""

    schema: str
    name: str
    temporary: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """What PostgreSQL understood. commands: numbers of CmdType, 1 is SELECT.

    dependencies: a line for each thing that the statement depends on and that is not part of
    PostgreSQL itself, sorted; names and types, no oids, so that they survive dump and restore.
    """

    canonical: str
    commands: frozenset[int]
    locks: bool
    functions: tuple[Function, ...]
    relations: tuple[Relation, ...]
    dependencies: tuple[str, ...]


class _Statement(TypedDict):
    canonical: str
    tree: str
    depends: list[tuple[str, int, int]]


def inspect(
    db: Database, sql: str, types: Sequence[str], search_path: str | None = None
) -> Inspection:
    """What PostgreSQL understands of one statement with $1 ... of these types.

    search_path: where names are looked up; None: `sql` is canonical already, and is understood
    as it will be when it is run. Raises
    StatementInvalid, StatementRefused where it is no SELECT, and DatabaseError 42501 where the
    current user may not create temporary functions.
    """
    try:
        rows = db.execute(
            "select pgask._inspect_statement($1, $2, $3) as inspection",
            ["text", "text[]", "text"],
            [sql, list(types), search_path],
        )
    except DatabaseError as error:
        raise _explained(error) from None
    found = cast("str | None", rows[0]["inspection"])
    if found is None:
        raise StatementInvalid("the statement could not be analysed")
    statement = cast("_Statement", json.loads(found))
    tree, depends = statement["tree"], statement["depends"]
    relation_oids = _numbers(_RELATION, [tree])
    type_oids = {oid for kind, oid, _ in depends if kind == "pg_type"}
    trees, relations, relation_lines = _relations(db, relation_oids, type_oids, [tree])
    type_lines = _types(db, type_oids, trees)
    functions, code_lines = _functions(db, trees)
    column_lines = _columns(
        db,
        [(oid, number) for kind, oid, number in depends if kind == "pg_class"],
        whole_rows=":varattno 0 " in tree,
    )
    return Inspection(
        canonical=statement["canonical"],
        commands=frozenset(_numbers(_COMMAND, [tree])),
        locks=_LOCKS.search(tree) is not None,
        functions=functions,
        relations=relations,
        dependencies=tuple(sorted({*relation_lines, *type_lines, *code_lines, *column_lines})),
    )


def _numbers(pattern: re.Pattern[str], trees: Iterable[str]) -> set[int]:
    return {int(number) for tree in trees for number in pattern.findall(tree)} - {0}


_RELATIONS = """
    select
        c.oid::bigint as oid, n.nspname as schema, c.relname as name, c.relkind as kind,
        c.relpersistence = 't' as temporary
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = any($1::oid[])
"""
_VIEWS = """
    select
        w.ev_action::text as tree,
        (
            select pg_catalog.array_agg(d.refobjid::bigint)
            from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
                and d.refclassid = 'pg_catalog.pg_type'::regclass
        ) as types
    from pg_catalog.pg_rewrite w
    where w.ev_class = any($1::oid[]) and not exists (
        -- The views of an extension that a superuser owns are taken on trust.
        select 1
        from pg_catalog.pg_depend e
        join pg_catalog.pg_extension x on x.oid = e.refobjid
        join pg_catalog.pg_roles o on o.oid = x.extowner and o.rolsuper
        where e.classid = 'pg_catalog.pg_class'::regclass and e.objid = w.ev_class
            and e.deptype = 'e' and e.refclassid = 'pg_catalog.pg_extension'::regclass
    )
"""


def _relations(
    db: Database, oids: set[int], type_oids: set[int], trees: list[str]
) -> tuple[list[str], tuple[Relation, ...], list[str]]:
    """The trees with those of views, the relations read, a line for each that is named.

    Adds the types that the views depend on to `type_oids`.
    """
    found, lines, seen, due = list[Relation](), list[str](), set[int](), set(oids)
    trees = list(trees)
    while due:
        seen |= due
        views = list[int]()
        for row in db.execute(_RELATIONS, ["bigint[]"], [sorted(due)]):
            schema, name = cast("str", row["schema"]), cast("str", row["name"])
            found.append(Relation(schema, name, row["temporary"] is True))
            oid = cast("int", row["oid"])
            if oid < _FIRST_USER_OID:
                continue
            if oid in oids:
                lines.append(f"relation {_quoted(schema)}.{_quoted(name)} {row['kind']}")
            if row["kind"] == "v":
                views.append(oid)
        for row in db.execute(_VIEWS, ["bigint[]"], [views]) if views else ():
            trees.append(cast("str", row["tree"]))
            type_oids |= set(cast("list[int] | None", row["types"]) or ())
        due = _numbers(_RELATION, trees) - seen
    return trees, tuple(sorted(found, key=lambda r: (r.schema, r.name))), lines


_TYPES = """
    select
        t.oid::bigint as oid, pg_catalog.format_type(t.oid, null) as name,
        (
            select pg_catalog.array_agg(p.oid::bigint)
            from (
                select t.typbasetype union all select t.typelem
                union all
                select a.atttypid from pg_catalog.pg_attribute a
                where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
                union all
                select r.rngsubtype from pg_catalog.pg_range r
                where r.rngtypid = t.oid or r.rngmultitypid = t.oid
            ) as p (oid)
        ) as parts,
        (
            select pg_catalog.string_agg(c.conbin::text, ' ')
            from pg_catalog.pg_constraint c
            where c.contypid = t.oid
        ) as checks
    from pg_catalog.pg_type t
    where t.oid = any($1::oid[])
"""


def _types(db: Database, oids: set[int], trees: list[str]) -> list[str]:
    """A line for each type; the trees of the checks of domains are added to `trees`."""
    lines, seen = list[str](), set[int]()
    due = {oid for oid in oids if oid >= _FIRST_USER_OID}
    while due:
        seen |= due
        parts = set[int]()
        for row in db.execute(_TYPES, ["bigint[]"], [sorted(due)]):
            if cast("int", row["oid"]) in oids:
                lines.append(f"type {row['name']}")
            if row["checks"] is not None:
                trees.append(cast("str", row["checks"]))
            parts |= set(cast("list[int] | None", row["parts"]) or ())
        due = {oid for oid in parts if oid >= _FIRST_USER_OID} - seen
    return lines


_OPERATOR_ROWS = """
    select
        o.oprcode::oid::bigint as code,
        pg_catalog.format('%I.%s(%s, %s)', n.nspname, o.oprname,
            pg_catalog.format_type(o.oprleft, null), pg_catalog.format_type(o.oprright, null)
        ) as name
    from pg_catalog.pg_operator o
    join pg_catalog.pg_namespace n on n.oid = o.oprnamespace
    where o.oid = any($1::oid[])
"""
_FUNCTION_ROWS = """
    select
        p.oid::bigint as oid, n.nspname as schema, p.proname as name,
        pg_catalog.pg_get_function_identity_arguments(p.oid) as arguments,
        p.provolatile = 'v' as volatile, p.prosecdef as definer,
        (
            select array[
                a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn,
                a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn
            ]::oid[]::bigint[]
            from pg_catalog.pg_aggregate a
            where p.prokind = 'a' and p.oid >= 16384 and a.aggfnoid = p.oid
        ) as parts
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.oid = any($1::oid[])
"""


_SYSTEM_FUNCTIONS: dict[int, Function] = {}
"""Those seen so far: they do not change while the server runs."""


def _functions(db: Database, trees: Sequence[str]) -> tuple[tuple[Function, ...], list[str]]:
    """The functions that the trees call, and lines for them and their operators."""
    lines, found = list[str](), list[Function]()
    operators = _numbers(_OPERATOR, trees)
    for tree in trees:
        for group in _OPERATORS.findall(tree):
            operators |= {int(number) for number in group.split()}
    due = _numbers(_FUNCTION, trees)
    # PostgreSQL's own operators call PostgreSQL's own functions, none of them volatile.
    own = sorted(oid for oid in operators if oid >= _FIRST_USER_OID)
    for row in db.execute(_OPERATOR_ROWS, ["bigint[]"], [own]) if own else ():
        lines.append(f"operator {row['name']}")
        due.add(cast("int", row["code"]))
    seen = due & _SYSTEM_FUNCTIONS.keys()
    found += [_SYSTEM_FUNCTIONS[oid] for oid in seen]
    due -= seen
    while due:
        seen |= due
        parts = set[int]()
        for row in db.execute(_FUNCTION_ROWS, ["bigint[]"], [sorted(due)]):
            function = _function(row)
            found.append(function)
            if function.system:
                _SYSTEM_FUNCTIONS[cast("int", row["oid"])] = function
            else:
                lines.append(
                    f"function {function.signature}"
                    + (" volatile" if function.volatile else "")
                    + (" definer" if function.definer else "")
                )
            parts |= set(cast("list[int] | None", row["parts"]) or ())
        due = parts - seen - {0}
    return tuple(sorted(found, key=lambda f: f.signature)), lines


def _function(row: Mapping[str, object]) -> Function:
    return Function(
        schema=cast("str", row["schema"]),
        name=cast("str", row["name"]),
        arguments=cast("str", row["arguments"]),
        volatile=row["volatile"] is True,
        definer=row["definer"] is True,
        system=cast("int", row["oid"]) < _FIRST_USER_OID,
    )


_COLUMN_ROWS = """
    select
        pg_catalog.format('%I.%I.%I %s', n.nspname, c.relname, a.attname,
            pg_catalog.format_type(a.atttypid, a.atttypmod)) as line
    from rows from (pg_catalog.unnest($1::oid[]), pg_catalog.unnest($2::smallint[]))
        as u (relation, number)
    join pg_catalog.pg_attribute a
        on a.attrelid = u.relation and not a.attisdropped
        and (a.attnum = u.number or ($3 and a.attnum > 0))
    join pg_catalog.pg_class c on c.oid = u.relation
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid >= 16384
"""


def _columns(db: Database, read: Sequence[tuple[int, int]], *, whole_rows: bool) -> list[str]:
    """A line for each column read, with its type; a whole row reads all of them."""
    if not read:
        return []
    rows = db.execute(
        _COLUMN_ROWS,
        ["bigint[]", "integer[]", "boolean"],
        [[oid for oid, _ in read], [number for _, number in read], whole_rows],
    )
    return [f"column {row['line']}" for row in rows]


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def _explained(error: DatabaseError) -> Exception:
    if error.sqlstate == "25006":
        return StatementInvalid(
            "a new statement cannot be analysed in a read-only transaction or on a standby",
            hint="Save the question on the primary first: what was saved there runs here too.",
        )
    if error.sqlstate == "42501":
        return DatabaseError(
            error.sqlstate,
            error.message,
            error.detail,
            error.hint
            or "Whoever has statements analysed needs the privilege TEMPORARY on the database.",
        )
    if error.sqlstate == "0A000" and "SQL function body" in error.message:
        return StatementRefused("only a SELECT is allowed", detail=error.message)
    if error.sqlstate[:2] in ("57", "53", "58", "XX", "40", "55"):
        return error  # of the server, not of the statement
    return StatementInvalid(
        f"the statement does not analyse: {error.message}", detail=error.detail, hint=error.hint
    )
