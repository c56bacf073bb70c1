#!/usr/bin/env bash
# each_script.sh DIRECTORY: runs each Python program of a directory of tests, in name order.
. "$(dirname "$0")/state.sh"
cd "$clone"
for script in "$1"/[a-z]*.py; do
    [ -e "$script" ] || fail "$1 holds no program"
    say "$script"
    bash migrations/setup/with_database.sh python "$script"
done
