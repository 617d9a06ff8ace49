#!/usr/bin/env bash
# Fuzzes every target for a while, from its corpus on: fuzz.sh SECONDS [TARGET…]. Needs the build.
# What libFuzzer learns stays in build-fuzz/found, an input that breaks one in build-fuzz/broken.
set -euo pipefail

cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz.sh SECONDS [TARGET…]}
shift
if [ $# -eq 0 ]; then
    mapfile -t targets < <(scripts/discover.sh tests/fuzz 'fuzz_*.c')
    set -- "${targets[@]%.c}"
fi

failed=0
for target in "$@"; do
    found=build-fuzz/found/$target broken=build-fuzz/broken/$target
    corpus=tests/fuzz/corpus/${target#fuzz_}
    mkdir -p "$found" "$broken" "$corpus"
    echo "== $target, $seconds s"
    if ! "build-fuzz/tests/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix="$broken/" \
        "$found" "$corpus"; then
        echo "fuzz: $target broke; put its input from $broken into the corpus" >&2
        failed=1
    fi
done
exit "$failed"
