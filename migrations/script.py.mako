"""${message}."""

from __future__ import annotations

from migrations.sqlfile import run_beside

revision = "${up_revision}"
down_revision = ${'"%s"' % down_revision if down_revision else None}


def upgrade() -> None:
    """Run the file of the same name that ends in .sql."""
    run_beside(__file__, ".sql")


def downgrade() -> None:
    """Run the one that ends in _down.sql."""
    run_beside(__file__, "_down.sql")
