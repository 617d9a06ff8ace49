#!/usr/bin/env bash
# Removes, below DESTDIR if given, every file that `meson install` of the gcc build would put there.
set -euo pipefail

cd "$(dirname "$0")/.."
meson introspect build --installed |
    /usr/bin/python3 -c 'import json, sys; print(*json.load(sys.stdin).values(), sep="\n")' |
    while read -r file; do
        rm -fv "${DESTDIR:-}$file"
        if [[ $file == */libexec/wasp/* ]] && [ -d "${DESTDIR:-}${file%/*}" ]; then
            rmdir --ignore-fail-on-non-empty "${DESTDIR:-}${file%/*}"
        fi
    done
