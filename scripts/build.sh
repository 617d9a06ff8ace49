#!/usr/bin/env bash
# Builds one configuration: build.sh gcc|clang|test|sanitize|fuzz [NINJA-TARGET…]
set -euo pipefail

cd "$(dirname "$0")/.."

config=${1:?usage: build.sh gcc|clang|test|sanitize|fuzz [TARGET…]}
shift
case $config in
gcc) folder=build compiler=gcc options=() ;;
clang) folder=build-clang compiler=clang options=() ;;
test) folder=build-test compiler=gcc options=(-Dtest_hooks=true) ;;
sanitize) folder=build-sanitize compiler=gcc options=(-Dsanitize=true) ;;
fuzz) folder=build-fuzz compiler=clang options=(-Dfuzz=true) ;;
*)
    echo "build.sh: no configuration '$config'" >&2
    exit 2
    ;;
esac

runtime=$(scripts/engine.sh runtime)
engine_compiler=$(scripts/engine.sh compiler)
options+=("-Dengine_runtime=$runtime" "-Dengine_compiler=$engine_compiler")

# What meson does not watch by itself: the options, and which files discover.sh finds.
mkdir -p "$folder"
{
    printf '%s\n' "${options[@]}"
    scripts/discover.sh src/walls '*.set'
    scripts/discover.sh tests/unit 'test_*.c'
    scripts/discover.sh tests/fuzz 'fuzz_*.c'
} >"$folder/setup.now"
if ! cmp -s "$folder/setup.now" "$folder/setup.done"; then
    again=()
    [ ! -f "$folder/build.ninja" ] || again=(--reconfigure)
    if ! CC=$compiler meson setup "${again[@]}" "$folder" "${options[@]}" \
        >"$folder/setup.log" 2>&1; then
        cat "$folder/setup.log" >&2
        exit 1
    fi
    mv "$folder/setup.now" "$folder/setup.done"
fi

quiet=(--quiet)
[ ! -t 1 ] || quiet=()
exec ninja -C "$folder" "${quiet[@]}" "$@"
