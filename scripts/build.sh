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

quietly() {
    if ! "$@" >"$folder/setup.log" 2>&1; then
        cat "$folder/setup.log" >&2
        exit 1
    fi
}

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
    quietly env CC="$compiler" meson setup "${again[@]}" "$folder" "${options[@]}"
    mv "$folder/setup.now" "$folder/setup.done"
fi
quietly ninja -C "$folder" build.ninja

# Its status line is for a terminal; elsewhere only what went wrong is worth a line.
if [ -t 1 ]; then
    exec ninja -C "$folder" "$@"
fi
ninja -C "$folder" --quiet "$@" | { grep -v '^ninja: no work to do' || true; }
