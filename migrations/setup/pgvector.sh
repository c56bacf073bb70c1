#!/usr/bin/env bash
# pgvector.sh VERSION: builds pgvector for PostgreSQL VERSION from the source package of Debian 13,
# where the distribution has no package of it (Debian 12). Run as root.
# The mirror is the one that this machine already uses; apt checks Debian's signature as ever.
. "$(dirname "$0")/state.sh"

version=$1
suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || fail "no pgvector package here, and $keyring is missing: not a Debian?"

codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' | sed -n "s/^$codename main //p" | head -n 1)
[ -n "$mirror" ] || fail "apt's sources name no mirror of Debian $codename"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/source"
chmod -R a+rX "$work"
echo "deb-src [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"

apt_source() {
    apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User=root "$@"
}

build() {
    # No OPTFLAGS: the next processor that runs this may be another one.
    local options=(OPTFLAGS= with_llvm=no "PG_CONFIG=/usr/lib/postgresql/$version/bin/pg_config")
    cd "$work/source" && apt_source source --download-only pgvector &&
        tar xzf pgvector_*.orig.tar.gz --strip-components=1 &&
        make -s -j2 "${options[@]}" && make -s "${options[@]}" install
}

quietly "reading the list of $suite's source packages" apt_source update
quietly "building pgvector for PostgreSQL $version" build
