"""A table, a template, a policy -> a registered source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgask_server.chunk import parse_policy
from pgask_server.database import Database, DatabaseError, Row
from pgask_server.errors import SourceUnsuitable
from pgask_server.template import parse_template

if TYPE_CHECKING:
    from collections.abc import Sequence


def register_source(
    db: Database,
    source: str,
    text_template: str,
    chunking_policy: str,
    filter_columns: Sequence[str],
    key_columns: Sequence[str] | None,
    updated_at_column: str | None,
    notes: str | None,
    backfill: bool,
    window: int | None,
) -> Sequence[Row]:
    """Check everything that can be wrong, then record the source; its row of source_status.

    window: tokens that the embedding model reads at once, None where it cannot be opened now.
    Raises SourceUnsuitable, TemplateInvalid, ChunkingPolicyInvalid; FilterColumnUnknown and
    missing privileges come from the database, with their SQLSTATEs.
    """
    template = parse_template(text_template)
    policy = parse_policy(chunking_policy, window)
    relation = _resolve(db, source)
    db.execute(
        "select pgask._create_source($1::pg_catalog.oid::pg_catalog.regclass,"
        " $2, $3, $4, $5, $6, $7, $8, $9)",
        ("bigint", "text", "text[]", "text", "text[]", "text[]", "text", "text", "boolean"),
        (
            relation,
            text_template,
            list(template.columns),
            str(policy),
            list(filter_columns),
            None if key_columns is None else list(key_columns),
            updated_at_column,
            notes,
            backfill,
        ),
    )
    return db.execute(
        "select s.* from pgask.source_status s"
        " join pgask.embedding_ingest_registry r using (source_schema, source_table)"
        " where r.relation = $1::pg_catalog.oid::pg_catalog.regclass",
        ("bigint",),
        (relation,),
    )


def _resolve(db: Database, source: str) -> int:
    """The table's OID, its name looked up as the caller's own SQL would."""
    try:
        rows = db.execute(
            "select pg_catalog.to_regclass($1)::pg_catalog.oid::pg_catalog.int8 as relation",
            ("text",),
            (source,),
        )
    except DatabaseError as error:
        raise SourceUnsuitable(
            f'"{source}" is not the name of a table',
            detail=error.message,
            hint='Write it as in SQL: schema.table, or "Schema"."Table" with upper case or spaces.',
        ) from error
    relation = rows[0]["relation"]
    if not isinstance(relation, int):
        raise SourceUnsuitable(
            f'table "{source}" does not exist',
            hint="Write schema.table; a name with upper case letters or spaces needs its quotes.",
        )
    return relation
