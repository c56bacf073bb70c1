"""What PostgreSQL understood of a statement -> refused, or nothing.

The rule. One SELECT that locks and changes nothing. Functions of PostgreSQL itself: not volatile
and not among those that run SQL given as text or have effects all the same; a few volatile ones
that only look. Other functions: neither VOLATILE nor SECURITY DEFINER. What the administrator
lists in the setting allowed_functions may be called as well. Functions of pgask, never.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgask_server.errors import StatementRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgask_server.statement.inspection import Inspection
    from pgask_server.statement.reach import Function, Relation

_LOOKS_ONLY = re.compile(
    r"""
      random | random_normal | gen_random_uuid | uuidv4 | uuidv7 | bernoulli | system
    | clock_timestamp | timeofday | current_query
    | pg_(database|tablespace|table|relation|total_relation|indexes)_size
    | pg_(safe_snapshot_)?blocking_pids | pg_lock_status | pg_prepared_xact
    | pg_stat_get_xact_.* | pg_sequence_last_value | pg_partition_(ancestors|tree)
    | pg_is_in_recovery | pg_is_wal_replay_paused | pg_get_wal_replay_pause_state
    | pg_current_wal_(lsn|flush_lsn|insert_lsn) | pg_last_wal_(receive|replay)_lsn
    | pg_last_xact_replay_timestamp | pg_last_committed_xact | pg_xact_commit_timestamp(_origin)?
    | pg_xact_status | txid_status | pg_notification_queue_usage | pg_jit_available
    | pg_(database_)?collation_actual_version
    """,
    re.VERBOSE,
)
"""Names of PostgreSQL's volatile functions that have no effect and no reach."""

_DECEPTIVE = re.compile(
    r"""
      (query|table|schema|database|cursor)_to_xml.*     # run SQL, or read what is named in text
    | ts_stat | xpath_table | crosstab.* | connectby.* | dblink.* | pgr_.*
    | pg_input_(is_valid|error_info)                    # run the checks of a type named in text
    | txid_current | pg_current_xact_id                 # assign a transaction id
    | plpgsql_check_.*
    """,
    re.VERBOSE,
)
"""Names of functions that do more than their volatility says, PostgreSQL's and its extensions'."""

_SECRETS = frozenset(
    {
        ("pgask", "setting"),
        ("pg_catalog", "pg_authid"),
        ("pg_catalog", "pg_shadow"),
        ("pg_catalog", "pg_subscription"),
        ("pg_catalog", "pg_user_mapping"),
        ("pg_catalog", "pg_user_mappings"),
    }
)
"""Relations that hold keys and passwords: not even a superuser's answer may show them."""


def allowed(setting: str | None) -> frozenset[tuple[str, str]]:
    """The (schema, function) pairs of the setting allowed_functions."""
    parts = re.findall(r'([a-z_][a-z0-9_$]*|"(?:[^"]|"")+")', setting or "")
    names = [p[1:-1].replace('""', '"') if p.startswith('"') else p for p in parts]
    return frozenset(zip(names[::2], names[1::2], strict=True))


def check(inspection: Inspection, allowed_functions: frozenset[tuple[str, str]]) -> None:
    """Raise StatementRefused if the rule is broken."""
    if any(command != 1 for command in inspection.commands):
        raise StatementRefused(
            "the statement changes data", hint="A question is answered by a single SELECT."
        )
    if inspection.locks:
        raise StatementRefused(
            "the statement locks rows", hint="Leave out FOR UPDATE, FOR SHARE and the like."
        )
    for relation in inspection.relations:
        _check_relation(relation)
    refused = [
        (function, reason)
        for function in inspection.functions
        if (reason := _objection(function, allowed_functions))
    ]
    if refused:
        _refuse(refused)


def _check_relation(relation: Relation) -> None:
    name = f"{relation.schema}.{relation.name}"
    if relation.temporary:
        raise StatementRefused(
            f"the statement reads the temporary table {relation.name}",
            detail="It exists in this session only.",
            hint="Read a permanent table, or write its name with its schema.",
        )
    if (relation.schema, relation.name) in _SECRETS:
        raise StatementRefused(f"the statement reads {name}", detail="It holds secrets.")


def _objection(function: Function, allowed_functions: frozenset[tuple[str, str]]) -> str | None:
    if function.schema == "pgask" or (function.schema, function.name) == ("public", "ask"):
        return "is pgask's own"
    if (function.schema, function.name) in allowed_functions:
        return None
    if _DECEPTIVE.fullmatch(function.name):
        return "runs text as SQL, reaches beyond this database, or has an effect"
    if function.volatile and not (function.system and _LOOKS_ONLY.fullmatch(function.name)):
        return "is VOLATILE: it may have effects, or reach beyond this database"
    if function.definer:
        return "is SECURITY DEFINER: it has rights that the asker lacks"
    return None


def _refuse(refused: Sequence[tuple[Function, str]]) -> None:
    first = refused[0][0]
    own = any(function.schema == "pgask" for function, _ in refused)
    raise StatementRefused(
        f"the statement calls {first.name}(), which is not allowed",
        detail=" ".join(f"{f.signature} {why}." for f, why in refused[:5]),
        hint=None
        if own
        else "It may be called by a view, an operator, a cast, the default of an argument or the "
        "check of a type. An administrator who trusts it adds it: select "
        "pgask.set_setting('allowed_functions', "
        f"'{first.schema}.{first.name}').",
    )
