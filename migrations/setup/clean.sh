#!/usr/bin/env bash
# Stops the private server and removes everything that was made in this clone (and outside it,
# where .pg is a link).
. "$(dirname "$0")/state.sh"

bash "$clone/migrations/setup/database.sh" stop
if [ -L "$state" ]; then
    case $(readlink "$state") in
        /var/lib/pgask/*) rm -rf "$(readlink "$state")" ;;
    esac
    rm -f "$state"
fi
rmdir /var/lib/pgask 2>/dev/null || true
rm -rf "$state" "$venv" "$clone/.pytest_cache" "$clone/.ruff_cache" "$clone/.hypothesis"
find "$clone" -path "$clone/.git" -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
