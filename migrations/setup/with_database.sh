#!/usr/bin/env bash
# with_database.sh COMMAND...: runs it in the clone, the programs of .venv first on its path, with
#   DATABASE_URL, PGASK_DSN  the database to work on: the caller's DATABASE_URL or the private one
#   PGASK_TEST_URL           the superuser's URL of the private database, where its server runs
#   PGASK_STATE              the state directory
. "$(dirname "$0")/state.sh"
cd "$clone"
PGASK_STATE=$(cd "$state" && pwd -P)
export PGASK_STATE PATH="$venv/bin:$PATH"
unset PYTHONPATH PYTHONHOME PGASK_TEST_URL
if [ -z "${DATABASE_URL:-}" ]; then
    DATABASE_URL=$(bash migrations/setup/database.sh url)
    export PGASK_TEST_URL=$DATABASE_URL
fi
export DATABASE_URL PGASK_DSN=$DATABASE_URL
exec "$@"
