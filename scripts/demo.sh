#!/usr/bin/env bash
# Builds a small guest, runs it in the sandbox and shows what came back. Needs the gcc build.
set -euo pipefail

cd "$(dirname "$0")/.."
demo=build-demo # not below build/, where wasp itself is: that it does not grant
mkdir -p "$demo/workspace"
rm -f "$demo/workspace/note.txt"
echo "a line from the host" >"$demo/workspace/input.txt"
clang --target=wasm32-wasi -O2 -o "$demo/hello.wasm" examples/hello/hello.c

run=(build/wasp run "$demo/hello.wasm" --allow-dir "$demo/workspace" --env TASK_ID=abc123)
echo "\$ ${run[*]}"
"${run[@]}"
echo "\$ cat $demo/workspace/note.txt"
cat "$demo/workspace/note.txt"
