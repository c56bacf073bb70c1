#!/usr/bin/env bash
# Sees to it that the system has what pgask needs: PostgreSQL with PL/Python, pgvector, pg_trgm,
# a Python that can make environments. Root on a system with apt: installs what is missing.
# Anybody else: prints exactly what is missing, and exits with status 1.
. "$(dirname "$0")/state.sh"

oldest_vector=0.8.0 # the first with iterative index scans

vector_is_new_enough() {
    has_extension vector || return 1
    local version
    version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" \
        "$("$pg_bin/pg_config" --sharedir)/extension/vector.control")
    [ "$(printf '%s\n' "$oldest_vector" "$version" | sort -V | head -n 1)" = "$oldest_vector" ]
}

# Sets `missing` to the words of what is absent.
look() {
    local python=''
    missing=''
    find_postgres
    [ -n "$pg_bin" ] || missing="$missing postgresql"
    has_extension plpython3u || missing="$missing plpython3"
    # On Debian pg_trgm comes with the server; where it is a package of its own, that is missing.
    [ -z "$pg_bin" ] || has_extension pg_trgm || missing="$missing contrib"
    vector_is_new_enough || missing="$missing pgvector"
    has_extension plpython3u && python=$(server_python)
    { [ -n "$python" ] && "$python" -c 'import ensurepip, venv' 2>/dev/null; } ||
        missing="$missing python3-venv"
    [ "$(id -u)" != 0 ] || command -v runuser >/dev/null || missing="$missing util-linux"
}

has_candidate() {
    apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# The PostgreSQL that apt would give: the one already here, else the newest supported one on offer.
choose_version() {
    if [ -n "$pg_bin" ]; then version=$(major_of "$pg_bin"); return 0; fi
    for version in 17 16 15; do
        ! has_candidate "postgresql-plpython3-$version" || return 0
    done
    fail "apt offers none of PostgreSQL 15, 16 and 17"
}

install_packages() {
    apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef \
        -o Dpkg::Options::=--force-confold install --yes --no-install-recommends "$@"
}

install_missing() {
    export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
    local version packages='' word
    quietly "reading the package lists" apt-get -qq -o DPkg::Lock::Timeout=300 update
    choose_version
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        # Debian would start a server of its own on port 5432: nobody asked for that one.
        mkdir -p /etc/postgresql-common/createcluster.d
        echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.d/pgask.conf
    fi
    for word in $missing; do
        case $word in
            postgresql) packages="$packages postgresql-$version" ;;
            plpython3) packages="$packages postgresql-plpython3-$version" ;;
            contrib) packages="$packages postgresql-contrib" ;;
            pgvector) ! has_candidate "postgresql-$version-pgvector" ||
                packages="$packages postgresql-$version-pgvector" ;;
            *) packages="$packages $word" ;;
        esac
    done
    # shellcheck disable=SC2086  # a list of words
    [ -z "$packages" ] || quietly "installing$packages" install_packages $packages
    find_postgres
    vector_is_new_enough || {
        quietly "installing what builds pgvector" install_packages \
            "postgresql-server-dev-$version" gcc libc6-dev make tar debian-archive-keyring
        bash "$clone/migrations/setup/pgvector.sh" "$version"
    }
}

explain_missing() {
    say "missing:$missing"
    cat >&2 <<END
Install it, or run the same command as root on Debian or Ubuntu:
  Debian 13:  apt-get install postgresql-17 postgresql-plpython3-17 postgresql-17-pgvector
              postgresql-17-plpgsql-check python3-venv
  Debian 12:  apt-get install postgresql-15 postgresql-plpython3-15 postgresql-15-plpgsql-check
              python3-venv postgresql-server-dev-15 gcc libc6-dev make; then pgvector $oldest_vector
              or newer from source: bash migrations/setup/pgvector.sh 15 (as root)
  Ubuntu:     postgresql-16 postgresql-plpython3-16 python3-venv; pgvector $oldest_vector or newer
              from source or from the PostgreSQL project's own repository
  Fedora:     dnf install postgresql-server postgresql-contrib postgresql-plpython3 pgvector
  elsewhere:  PostgreSQL 15 to 17 with plpython3u and pg_trgm, pgvector $oldest_vector or newer,
              and the venv module of the Python (3.11 or newer) that plpython3u is linked to
Programs in an unusual place: set PGASK_PG_BIN to the directory of postgres and pg_config.
END
    exit 1
}

look
if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || explain_missing
    install_missing
    look
    [ -z "$missing" ] || explain_missing
fi

python=$(server_python)
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "plpython3u is linked to $python; pgask needs Python 3.11 or newer"

# Only the tests want it, so nothing fails for the lack of it.
if ! has_extension plpgsql_check && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    name=postgresql-$(major_of "$pg_bin")-plpgsql-check
    ! has_candidate "$name" || quietly "installing $name" install_packages "$name"
fi
