#!/usr/bin/env bash
# build.sh OUTDIR: builds the guests, only what is older than its source. Each appears whole or not
# at all, so that several test programs may call this at once.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: build.sh OUTDIR" >&2
    exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
build=$PWD/build.sh

stale() {
    [ ! -e "$2" ] || [ "$1" -nt "$2" ] || [ guest.h -nt "$2" ] || [ ../../guest/include/wasp_guest.h -nt "$2" ] || [ "$build" -nt "$2" ]
}

make_one() {
    target=$out/$(basename "${1%.*}").wasm
    stale "$1" "$target" || return 0
    part=$target.$$
    trap 'rm -f "$part"' EXIT
    case $1 in
    *.c) ../../scripts/guest-cc -O1 -o "$part" "$1" ;;
    *.wat) wat2wasm -o "$part" "$1" ;;
    esac
    mv -f "$part" "$target"
    trap - EXIT
}

for source in *.c *.wat; do
    make_one "$source"
done
