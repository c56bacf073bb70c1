#!/usr/bin/env bash
# database.sh start | stop | url | psql | hasty | durable: the private PostgreSQL of this clone.
# A cluster under .pg/data, on 127.0.0.1 (a port chosen once) and on a socket in .pg/run; superuser
# postgres (one called pgask would create its tables in the schema of that name), database pgask,
# password random and in .pg/password.
. "$(dirname "$0")/state.sh"
find_postgres
[ ! -d "$state" ] || state=$(cd "$state" && pwd -P)
data=$state/data

url() { echo "postgresql://postgres:$(cat "$state/password")@127.0.0.1:$(cat "$state/port")/pgask"; }

# A postmaster's working directory is its data directory: a process number alone, left behind by a
# crash, may be anybody's by now.
running() {
    local pid
    pid=$(as_server head -n 1 "$data/postmaster.pid" 2>/dev/null) && [ -n "$pid" ] &&
        [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$data" ]
}

# choose_port: keeps the remembered port while it is free, otherwise remembers another one, from
# below the range that the system hands out to outgoing connections.
choose_port() {
    "$state/server/bin/python" - "$state/port" <<'END'
import pathlib
import random
import socket
import sys

remembered = pathlib.Path(sys.argv[1])
port = int(remembered.read_text()) if remembered.exists() else random.randrange(20000, 32000)
while True:
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            port = random.randrange(20000, 32000)
            continue
    break
remembered.write_text(f"{port}\n")
END
}

create_cluster() {
    say "creating the private PostgreSQL $(major_of "$pg_bin") in $data"
    # Left over from an attempt that was interrupted: nothing in it was ever used.
    rm -rf "$data"
    mkdir -p "$data" "$state/run" "$state/log"
    chmod 0700 "$data" "$state/log"
    [ "$(id -u)" != 0 ] || chown "$server_user" "$data" "$state/run" "$state/log"
    [ -s "$state/password" ] || (
        umask 077
        head -c 18 /dev/urandom | base64 | tr '+/' '-_' >"$state/password"
    )
    as_server sh -c "umask 077 && cat >'$state/run/password'" <"$state/password"
    as_server "$pg_bin/initdb" -D "$data" -U postgres -E UTF8 --locale=C.UTF-8 \
        --auth=scram-sha-256 --pwfile="$state/run/password" >/dev/null
    rm "$state/run/password"
    as_server sh -c "echo \"include 'pgask.conf'\" >>'$data/postgresql.conf'"
}

configure() {
    local socket=$state/run memory=posix
    # A socket's path may have 107 bytes; TCP works in any case.
    [ ${#socket} -le 85 ] || socket=
    # Parallel index builds put their memory into /dev/shm, of which containers have little.
    [ "$(df -Pk /dev/shm 2>/dev/null | awk 'END {print $2 + 0}')" -ge 1000000 ] || memory=mmap
    as_server tee "$data/pgask.conf" >/dev/null <<END
# Written by \`make db\` at each start; put your own settings into postgresql.auto.conf.
listen_addresses = '127.0.0.1'
port = $(cat "$state/port")
unix_socket_directories = '$socket'
max_connections = 300
shared_buffers = 256MB
max_wal_size = 4GB
dynamic_shared_memory_type = $memory
logging_collector = on
log_directory = '$state/log'
log_filename = 'postgresql-%a.log'
log_rotation_age = 1d
log_truncate_on_rotation = on
log_line_prefix = '%m [%p] %q%u@%d '
END
}

# The server's environment: what its Python needs, the road to the network, keys of models; and
# nothing else of the caller's.
server_environment() {
    local name
    for name in $(compgen -e); do
        case $name in
            PGASK_MODEL_DIRECTORY | PGASK_DSN | PGASK_TEST_URL) ;;
            PGASK_* | OPENAI_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | *_PROXY | *_proxy | TZ | \
                OPENBLAS_* | OMP_*) printf '%s\n' "$name=${!name}" ;;
        esac
    done
    printf '%s\n' "PATH=$pg_bin:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 \
        "HOME=$data" PYTHONNOUSERSITE=1 "PGASK_MODEL_DIRECTORY=$state/model" \
        "PYTHONPATH=$("$state/server/bin/python" -c \
            'import sysconfig; print(sysconfig.get_path("purelib"))')"
}

launch() {
    local environment
    mapfile -t environment < <(server_environment)
    # 9 is the lock: the server must not inherit it.
    as_server env -i "${environment[@]}" "$pg_bin/pg_ctl" start -s -w -t 60 -D "$data" \
        -l "$state/log/start.log" </dev/null >/dev/null 2>&1 9>&-
}

start() {
    local attempt
    if running && [ -s "$state/port" ]; then
        durable # after tests that were killed
        return 0
    fi
    [ -n "$pg_bin" ] && [ -x "$state/server/bin/python" ] || fail "run make setup first"
    lock_state
    ! running || return 0
    # pgask.conf comes after initdb: without it the cluster was never complete.
    as_server test -e "$data/pgask.conf" || create_cluster
    [ "$(as_server cat "$data/PG_VERSION")" = "$(major_of "$pg_bin")" ] || fail \
        "$data is PostgreSQL $(as_server cat "$data/PG_VERSION")'s, here is" \
        "$(major_of "$pg_bin"): dump what you need, then make clean db"
    for attempt in 1 2 3 4 5; do
        choose_port
        configure
        # Of another process by now (see running): PostgreSQL would believe it its own.
        foreign_pid_file && as_server rm -f "$data/postmaster.pid"
        as_server rm -f "$state/log/start.log"
        launch && break
        # The processes of a server that was killed take a moment to notice.
        [ "$attempt" = 5 ] || { sleep 1; continue; }
        as_server sh -c "cat '$state/log/start.log'; ls -t '$state/log'/postgresql-* | head -n 1 |
            xargs tail -n 5" >&2
        fail "the server does not start; see $state/log"
    done
    PGOPTIONS='' "$pg_bin/psql" -XAtq "$(url | sed 's,/pgask$,/postgres,')" >/dev/null <<'END'
select 'create database pgask'
where not exists (select from pg_database as d where d.datname = 'pgask') \gexec
END
    say "the server listens on 127.0.0.1:$(cat "$state/port")"
}

# After a crash postmaster.pid may name a live process of the same user that is no server of ours.
foreign_pid_file() {
    local pid
    pid=$(as_server head -n 1 "$data/postmaster.pid" 2>/dev/null) && [ -n "$pid" ] &&
        [ -d "/proc/$pid" ] && [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$data" ]
}

# For the tests, which make and drop hundreds of databases: nothing is forced to the disk. A server
# that is killed loses nothing by that, only a machine that is.
hasty() {
    running || fail "the server is not running: make db"
    as_server sh -c "echo 'fsync = off' >>'$data/pgask.conf'"
    reload
}

durable() {
    running && as_server grep -q '^fsync = off' "$data/pgask.conf" || return 0
    configure
    reload
}

reload() { as_server "$pg_bin/pg_ctl" reload -s -D "$data" </dev/null; }

stop() {
    [ -d "$state" ] || return 0
    lock_state
    running || return 0
    as_server "$pg_bin/pg_ctl" stop -s -w -t 60 -m fast -D "$data" </dev/null
    say "the server is stopped"
}

case ${1:-} in
    start)
        make_state
        data=$state/data
        start
        ;;
    stop) stop ;;
    hasty) hasty ;;
    durable) durable ;;
    url)
        [ -s "$state/port" ] && running || fail "the server is not running: make db"
        url
        ;;
    psql) PGOPTIONS='' exec "$pg_bin/psql" "$(url)" ;;
    *) fail "usage: database.sh start | stop | url | psql | hasty | durable" ;;
esac
