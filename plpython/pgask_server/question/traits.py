"""A statement -> what it does: counts, groups, takes the most, excludes ...

Read from the parse tree once, when a question is saved, and stored beside the statement: a parser
is slow to load, and asking must not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp


def statement_traits(sqls: Sequence[str]) -> frozenset[str] | None:
    """The traits of all the statements together; None without any, or with one not understood.

    count, group, most, least, negation, average, sum, or, both, sort: see shape.py, which compares
    them with what a question asks for.
    """
    if not sqls:
        return None
    import sqlglot
    from sqlglot.errors import SqlglotError

    traits: set[str] = set()
    for sql in sqls:
        try:
            tree = sqlglot.parse_one(sql, dialect="postgres")
        except (SqlglotError, RecursionError):
            return None
        traits |= _traits(tree)
    return frozenset(traits)


def _traits(tree: exp.Expr) -> set[str]:
    from sqlglot import exp

    found: set[str] = set()
    by_kind: Sequence[tuple[str, tuple[type[exp.Expr], ...]]] = (
        ("count", (exp.Count,)),
        ("most", (exp.Max,)),
        ("least", (exp.Min,)),
        ("negation", (exp.Not, exp.NEQ, exp.Except)),
        ("average", (exp.Avg,)),
        ("sum", (exp.Sum,)),
        ("or", (exp.Or, exp.Union)),
        ("both", (exp.Intersect,)),
        ("sort", (exp.Order,)),
    )
    for name, kinds in by_kind:
        if tree.find(*kinds) is not None:
            found.add(name)
    if any(group.expressions for group in tree.find_all(exp.Group)) or any(
        window.args.get("partition_by") for window in tree.find_all(exp.Window)
    ):
        found.add("group")
    if any(isinstance(test.expression, exp.Null) for test in tree.find_all(exp.Is)):
        found.add("negation")
    if any(len(test.expressions) > 1 or test.args.get("query") for test in tree.find_all(exp.In)):
        found.add("or")
    for order in tree.find_all(exp.Order):
        terms = [term for term in order.expressions if isinstance(term, exp.Ordered)]
        descending = any(term.args.get("desc") for term in terms)
        if descending:
            found.add("most")
        elif order.parent is not None and order.parent.args.get("limit"):
            found.add("least")
    return found
