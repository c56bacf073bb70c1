#!/usr/bin/env bash
# tests.sh [ARGUMENTS OF PYTEST]: runs the tests on the private server, which is hasty meanwhile.
setup=$(dirname "$0")
trap 'bash "$setup/database.sh" durable' EXIT
bash "$setup/database.sh" hasty
bash "$setup/with_database.sh" pytest "$@"
