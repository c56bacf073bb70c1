"""What the trees of a statement reach: relations, types and functions, and what these run in turn.

Views run their own trees, domains their checks, user functions the defaults of their arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pgask_server.database import Database

FIRST_USER_OID = 16384
"""What initdb makes has a smaller one."""

# Blanks and brackets inside names and literals are escaped in a tree, so none of them can look
# like one of these; if one did, it could only add to what is found.
_RELATION = re.compile(r":relid (\d+)")
_FUNCTION = re.compile(
    r":(?:funcid|opfuncid|aggfnoid|winfnoid|tsmhandler|startInRangeFunc|endInRangeFunc) (\d+)"
)
_OPERATOR = re.compile(r":(?:opno|eqop|sortop|mark_neop) (\d+)")
_OPERATORS = re.compile(r":opnos \(o ([\d ]+)\)")
_TYPE = re.compile(r":\w*(?:[tT]ype|type[iI]d|typid) (\d+)")
_TYPE_LIST = re.compile(r":\w*[tT]ypes \(o ([\d ]+)\)")
_POPULATES = re.compile(r"(?:jsonb?_)?populate_record.*")
"""Functions that make values of the types of the columns of a row, whatever row it is."""


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


@dataclass(slots=True)
class Reach:
    """Everything that runs or is read. lines: one for each thing that is not PostgreSQL's own."""

    functions: dict[int, Function] = field(default_factory=dict[int, "Function"])
    relations: dict[int, Relation] = field(default_factory=dict[int, "Relation"])
    lines: set[str] = field(default_factory=set[str])


def numbers(pattern: re.Pattern[str], trees: Iterable[str]) -> set[int]:
    """The numbers other than 0 that the pattern's group finds."""
    return {int(number) for tree in trees for number in pattern.findall(tree)} - {0}


def reach(db: Database, tree: str, type_oids: set[int]) -> Reach:
    """What the tree of a statement that depends on these types reaches."""
    found = Reach()
    named = numbers(_RELATION, [tree])
    held, converted, walked = set[int](), set(type_oids), dict[int, str]()
    populates, reading, running = False, [tree], list[str]()
    while reading or running:
        held |= _types_in(reading)
        # What defaults and checks name they make: they read no column.
        converted |= _types_in(running)
        defaults, declared = _functions(db, [*reading, *running], found)
        reading = _views(db, numbers(_RELATION, reading), named, found, type_oids)
        converted |= declared | type_oids
        populates = populates or any(
            _POPULATES.fullmatch(function.name) for function in found.functions.values()
        )
        # A value of a type that stands in a column has been checked when it was stored, and is
        # only read. Not so a row: a function may take it for the form of a new one.
        converted |= held if populates else _rows_of(db, held - converted)
        running = defaults + _checks(db, converted, walked)
    found.lines |= {f"type {walked[oid]}" for oid in type_oids if oid in walked}
    return found


def _types_in(trees: Iterable[str]) -> set[int]:
    found = numbers(_TYPE, trees)
    for tree in trees:
        for group in _TYPE_LIST.findall(tree):
            found |= {int(number) for number in group.split()}
    return {oid for oid in found if oid >= FIRST_USER_OID}


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


def _views(
    db: Database, oids: set[int], named: set[int], found: Reach, type_oids: set[int]
) -> list[str]:
    """Note the relations; the trees of those that are views.

    named: those of the statement itself, which get a line. Adds the types that the views depend
    on to `type_oids`.
    """
    due = oids - found.relations.keys()
    if not due:
        return []
    views = list[int]()
    for row in db.execute(_RELATIONS, ["bigint[]"], [sorted(due)]):
        schema, name = cast("str", row["schema"]), cast("str", row["name"])
        oid = cast("int", row["oid"])
        found.relations[oid] = Relation(schema, name, row["temporary"] is True)
        if oid < FIRST_USER_OID:
            continue
        if oid in named:
            found.lines.add(f"relation {_quoted(schema)}.{_quoted(name)} {row['kind']}")
        if row["kind"] == "v":
            views.append(oid)
    trees = list[str]()
    for row in db.execute(_VIEWS, ["bigint[]"], [views]) if views else ():
        trees.append(cast("str", row["tree"]))
        type_oids |= set(cast("list[int] | None", row["types"]) or ())
    return trees


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


_ROWS = """
    with recursive t (root, oid) as (
        select u.oid, u.oid from pg_catalog.unnest($1::oid[]) as u (oid)
        union
        select t.root, p.oid
        from t
        join pg_catalog.pg_type y on y.oid = t.oid
        cross join lateral (values (y.typbasetype), (y.typelem)) as p (oid)
        where p.oid <> 0
    )
    select distinct t.root::bigint as oid
    from t
    join pg_catalog.pg_type y on y.oid = t.oid
    where y.typrelid <> 0
"""


def _rows_of(db: Database, oids: set[int]) -> set[int]:
    """Those of the types that are composite, or domains over or arrays of such."""
    rows = db.execute(_ROWS, ["bigint[]"], [sorted(oids)]) if oids else ()
    return {cast("int", row["oid"]) for row in rows}


def _checks(db: Database, oids: set[int], walked: dict[int, str]) -> list[str]:
    """The trees of the checks of domains, in the types and their parts.

    walked: the names of the types that were looked at; they are not again, and are added to.
    """
    trees = list[str]()
    due = {oid for oid in oids if oid >= FIRST_USER_OID} - walked.keys()
    while due:
        parts = set[int]()
        for row in db.execute(_TYPES, ["bigint[]"], [sorted(due)]):
            walked[cast("int", row["oid"])] = cast("str", row["name"])
            if row["checks"] is not None:
                trees.append(cast("str", row["checks"]))
            parts |= set(cast("list[int] | None", row["parts"]) or ())
        due = {oid for oid in parts if oid >= FIRST_USER_OID} - walked.keys() - due
    return trees


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
        ) as parts,
        case when p.oid >= 16384 then p.proargdefaults::text end as defaults,
        case when p.oid >= 16384 then
            (
                p.prorettype || p.proargtypes::oid[]
                || coalesce(p.proallargtypes, array[]::oid[])
            )::bigint[]
        end as types
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.oid = any($1::oid[])
"""


_SYSTEM_FUNCTIONS: dict[int, Function] = {}
"""Those seen so far: they do not change while the server runs."""


def _functions(db: Database, trees: Sequence[str], found: Reach) -> tuple[list[str], set[int]]:
    """Note the functions that the trees call, with lines for those and their operators.

    Gives the trees of their arguments' defaults, which the statement's tree leaves out and the
    planner puts in, and the types that they are declared with.
    """
    defaults, declared = list[str](), set[int]()
    operators = numbers(_OPERATOR, trees)
    for tree in trees:
        for group in _OPERATORS.findall(tree):
            operators |= {int(number) for number in group.split()}
    due = numbers(_FUNCTION, trees)
    # PostgreSQL's own operators call PostgreSQL's own functions, none of them volatile.
    own = sorted(oid for oid in operators if oid >= FIRST_USER_OID)
    for row in db.execute(_OPERATOR_ROWS, ["bigint[]"], [own]) if own else ():
        found.lines.add(f"operator {row['name']}")
        due.add(cast("int", row["code"]))
    found.functions.update((oid, _SYSTEM_FUNCTIONS[oid]) for oid in due & _SYSTEM_FUNCTIONS.keys())
    due -= found.functions.keys()
    while due:
        parts = set[int]()
        for row in db.execute(_FUNCTION_ROWS, ["bigint[]"], [sorted(due)]):
            oid, function = cast("int", row["oid"]), _function(row)
            found.functions[oid] = function
            if function.system:
                _SYSTEM_FUNCTIONS[oid] = function
            else:
                found.lines.add(
                    f"function {function.signature}"
                    + (" volatile" if function.volatile else "")
                    + (" definer" if function.definer else "")
                )
            if row["defaults"] is not None:
                defaults.append(cast("str", row["defaults"]))
            declared |= set(cast("list[int] | None", row["types"]) or ())
            parts |= set(cast("list[int] | None", row["parts"]) or ())
        due = parts - found.functions.keys() - due - {0}
    return defaults, declared


def _function(row: Mapping[str, object]) -> Function:
    return Function(
        schema=cast("str", row["schema"]),
        name=cast("str", row["name"]),
        arguments=cast("str", row["arguments"]),
        volatile=row["volatile"] is True,
        definer=row["definer"] is True,
        system=cast("int", row["oid"]) < FIRST_USER_OID,
    )


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
