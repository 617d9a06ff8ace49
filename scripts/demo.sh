#!/usr/bin/env bash
# Runs a native program and a small wasm guest in the sandbox and shows what came back. Needs the gcc
# build.
set -euo pipefail

cd "$(dirname "$0")/.."
demo=build-demo # not below build/, where wasp itself is: that it does not grant
mkdir -p "$demo/workspace"
rm -f "$demo/workspace/note.txt" "$demo/workspace/loud.txt"
echo "a line from the host" >"$demo/workspace/input.txt"
clang --target=wasm32-wasi -O2 -o "$demo/hello.wasm" examples/hello/hello.c

show() {
    printf '$'
    printf ' %q' "$@"
    echo
    "$@"
}

# A program of this machine, in a copy of the workspace: what it changed is shown, and then applied.
show build/wasp exec --allow-dir "$demo/workspace::/ws:overlay" --cwd /ws --diff --apply auto -- \
    bash -c 'tr a-z A-Z <input.txt >loud.txt; ls; id -un'
show build/wasp code --lang bash -c 'cat /etc/shadow; echo "and this is all there is:"; ls /'

run=(build/wasp run "$demo/hello.wasm" --allow-dir "$demo/workspace" --env TASK_ID=abc123)
show "${run[@]}"
show cat "$demo/workspace/note.txt"
