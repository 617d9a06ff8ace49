#!/usr/bin/env bash
# Makes a release of this checkout in dist/, or in the folder given:
#
#     wasp-VERSION-linux-ARCH.tar.gz      programs, man page, completions, licences, install.sh
#     wasp-VERSION-linux-ARCH.spdx.json   what is inside, as SPDX 2.3
#     SHA256SUMS                          of both
#
# The same checkout, toolchain and packages give the same bytes: names are sorted, and all times are
# SOURCE_DATE_EPOCH or else the last commit's.
set -euo pipefail

cd "$(dirname "$0")/.."
dist=${1:-dist}
PATH=${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH # where engine.sh finds Rust, too

fail() {
    echo "release: $*" >&2
    exit 1
}

# Silent unless it fails.
quietly() {
    if ! "$@" >"$work/log" 2>&1; then
        tail -n 20 "$work/log" >&2
        fail "'$*' failed; its last words are above"
    fi
}

epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)}
[[ $epoch =~ ^[0-9]+$ ]] ||
    fail "what time is it? Set SOURCE_DATE_EPOCH to a number of seconds; there is no commit to ask"

make -s all
version=$(build/wasp version | cut -d ' ' -f 2)
name=wasp-$version-linux-$(uname -m)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly make -s install DESTDIR="$work/root" PREFIX=/usr/local
mv "$work/root/usr/local" "$work/$name"
cp LICENSE NEWS.md README.md scripts/install.sh "$work/$name/"
scripts/bill.py notices >"$work/$name/NOTICES"
scripts/bill.py spdx "$name" "$version" "$epoch" >"$work/$name.spdx.json"
cp "$work/$name.spdx.json" "$work/$name/wasp.spdx.json"

tar -C "$work" --format=gnu --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX -cf - "$name" | gzip -9n >"$work/$name.tar.gz"
(cd "$work" && sha256sum "$name.spdx.json" "$name.tar.gz" >SHA256SUMS)

mkdir -p "$dist"
mv "$work/$name.tar.gz" "$work/$name.spdx.json" "$work/SHA256SUMS" "$dist/"
echo "$dist/$name.tar.gz"
