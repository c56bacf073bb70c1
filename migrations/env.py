"""What alembic runs: the revisions, on the connection of the installer and in its transaction.

Nothing else belongs here: alembic also runs this file to go down and to compare.
"""

from __future__ import annotations

from alembic import context

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("Revisions are applied by: python migrations/install.py")

context.configure(connection=connection, version_table_schema="pgask")
with context.begin_transaction():
    context.run_migrations()
