# Sourced by the other scripts of this directory: where everything lives and who runs the server.
#
# clone         the working tree, as a physical path
# state         what belongs to the server: $clone/.pg, or where that symbolic link leads
# server_user   the user who runs PostgreSQL: postgres for root, otherwise the caller
# pg_bin        the directory of the server's programs ('' when there is none)

set -eu
umask 022

clone=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
state=$clone/.pg
venv=$clone/.venv
model=all-MiniLM-L6-v2

if [ "$(id -u)" = 0 ]; then server_user=postgres; else server_user=$(id -un); fi

say() { printf 'pgask: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# quietly LABEL COMMAND...: says what it does, and shows what the command said only if it fails.
quietly() {
    local label=$1 output
    shift
    say "$label"
    output=$(mktemp)
    if ! "$@" >"$output" 2>&1 </dev/null; then
        tail -n 60 "$output" >&2
        rm -f "$output"
        fail "failed: $label"
    fi
    rm -f "$output"
}

# as_server COMMAND...: runs it as the user who runs the server.
as_server() {
    if [ "$(id -u)" = 0 ]; then (cd / && exec runuser -u "$server_user" -- "$@"); else "$@"; fi
}

# The newest supported PostgreSQL that has PL/Python; failing that, the newest supported one.
find_postgres() {
    local version directory without=''
    pg_bin=''
    if [ -n "${PGASK_PG_BIN:-}" ]; then
        [ ! -x "$PGASK_PG_BIN/pg_config" ] || pg_bin=$PGASK_PG_BIN
        return 0
    fi
    for version in 17 16 15; do
        for directory in "/usr/lib/postgresql/$version/bin" "/usr/pgsql-$version/bin" /usr/bin; do
            [ -x "$directory/postgres" ] && [ -x "$directory/pg_config" ] || continue
            [ "$(major_of "$directory")" = "$version" ] || continue
            if has_extension plpython3u "$directory"; then pg_bin=$directory; return 0; fi
            without=${without:-$directory}
        done
    done
    pg_bin=$without
}

major_of() { "$1/pg_config" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/'; }

# has_extension NAME [DIRECTORY OF THE SERVER'S PROGRAMS]
has_extension() {
    local directory=${2:-$pg_bin}
    [ -n "$directory" ] && [ -e "$("$directory/pg_config" --sharedir)/extension/$1.control" ]
}

# The interpreter whose library plpython3u loads: the only one whose modules it can use.
server_python() {
    local version
    version=$(ldd "$("$pg_bin/pg_config" --pkglibdir)/plpython3.so" |
        sed -n 's/.*libpython\(3\.[0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] && echo "/usr/bin/python$version"
}

# One caller at a time changes the state; a second `make` waits and then finds the work done.
lock_state() {
    exec 9>"$state/lock"
    flock 9
}

# fingerprint WORD|FILE...: a short hash of words and of files' contents.
fingerprint() {
    local part
    for part in "$@"; do
        if [ -f "$part" ]; then cat "$part"; else echo "$part"; fi
    done | sha256sum | cut -c 1-16
}

# The server's user must be able to enter the state; where the clone cannot be entered (one under
# /root, say) the state lives under /var/lib and .pg is a link to it.
make_state() {
    local outside
    outside=/var/lib/pgask/$(printf '%s' "$clone" | sha256sum | cut -c 1-12)
    if [ -L "$state" ]; then
        # A link that another clone's copy brought along would share that clone's server.
        [ "$(readlink "$state")" = "$outside" ] || rm "$state"
    fi
    if [ -e "$state" ] && can_enter "$state"; then
        :
    elif mkdir -p "$state" 2>/dev/null && can_enter "$state"; then
        :
    else
        [ "$(id -u)" = 0 ] || fail "cannot write $state"
        [ -L "$state" ] || rmdir "$state" 2>/dev/null ||
            fail "$server_user can no longer enter $state: run make clean"
        mkdir -p "$outside"
        [ -L "$state" ] || ln -s "$outside" "$state"
    fi
    state=$(cd "$state" && pwd -P)
}

can_enter() { as_server test -x "$1" -a -r "$1" 2>/dev/null; }
