#!/usr/bin/env bash
# Makes the two Python environments, and does nothing where they are up to date:
#   .pg/server  what runs in the backend: the interpreter that plpython3u embeds, the package's
#               requirements, and a copy of the package (the server may not be able to read a clone)
#   .venv       what runs beside the database: client, installer, tests; the packages are editable
. "$(dirname "$0")/state.sh"
find_postgres
make_state
lock_state

python=$(server_python)
server=$state/server
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
unset PYTHONPATH PYTHONHOME

# requirements_of PYPROJECT: its dependencies, one a line.
requirements_of() {
    "$python" -c 'import sys, tomllib
print(*tomllib.load(open(sys.argv[1], "rb"))["project"]["dependencies"], sep="\n")' "$1"
}

# fresh ENVIRONMENT STAMP: is it the one that the stamp describes?
fresh() { [ "$(cat "$1/.stamp" 2>/dev/null)" = "$2" ]; }

# make_environment DIRECTORY: keeps what is there unless it belongs to another interpreter.
make_environment() {
    [ -x "$1/bin/python" ] && [ "$("$1/bin/python" -c 'import sys; print(sys.base_prefix,
        "%d.%d" % sys.version_info[:2])')" = "$("$python" -c 'import sys; print(sys.base_prefix,
        "%d.%d" % sys.version_info[:2])')" ] || rm -rf "$1"
    "$python" -m venv "$1"
}

requirements=$(requirements_of "$clone/plpython/pyproject.toml")
stamp=$(fingerprint "$python" "$server" "$requirements")
if ! fresh "$server" "$stamp"; then
    make_environment "$server"
    echo "$requirements" >"$server/requirements.txt"
    quietly "installing the server's Python packages" \
        "$server/bin/python" -m pip install --upgrade -r "$server/requirements.txt"
    "$server/bin/python" -m pip freeze >"$server/installed.txt"
    echo "$stamp" >"$server/.stamp"
fi

# The package itself: a copy, renamed into place so that no backend imports half of it.
site=$("$server/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
sources=$(cd "$clone/plpython" && find pgask_server -name __pycache__ -prune -o -type f -print |
    LC_ALL=C sort | xargs sha256sum)
stamp=$(fingerprint "$sources")
if [ "$(cat "$site/pgask_server/.stamp" 2>/dev/null)" != "$stamp" ]; then
    say "copying pgask_server to the server's environment"
    rm -rf "$site/.pgask_server.new" "$site/.pgask_server.old"
    cp -R "$clone/plpython/pgask_server" "$site/.pgask_server.new"
    find "$site/.pgask_server.new" -name __pycache__ -prune -exec rm -rf {} +
    chmod -R u+w,a+rX "$site/.pgask_server.new"
    echo "$stamp" >"$site/.pgask_server.new/.stamp"
    [ ! -e "$site/pgask_server" ] || mv "$site/pgask_server" "$site/.pgask_server.old"
    mv "$site/.pgask_server.new" "$site/pgask_server"
    rm -rf "$site/.pgask_server.old"
    "$server/bin/python" -m compileall -q "$site/pgask_server" >/dev/null || true
fi

# The same releases on both sides: the model is converted here and opened there.
tools=$clone/migrations/setup/tools.txt
stamp=$(fingerprint "$python" "$venv" "$clone/python_client/pyproject.toml" \
    "$clone/plpython/pyproject.toml" "$tools" "$server/installed.txt")
if [ -e "$clone/python_client/pgask/__init__.py" ]; then
    editable=(-e "$clone/python_client[pandas,testing]")
else
    editable=()
    stamp=$stamp-tools
fi
if ! fresh "$venv" "$stamp"; then
    make_environment "$venv"
    quietly "installing the client's Python packages and the tools" \
        "$venv/bin/python" -m pip install -c "$server/installed.txt" -r "$tools" \
        -e "$clone/plpython[convert]" "${editable[@]}"
    echo "$stamp" >"$venv/.stamp"
fi
