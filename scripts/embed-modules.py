#!/usr/bin/env python3
"""Turns modules into C: for NAME.wasm the arrays NAME_bytes and NAME_digest, its SHA-256.

usage: embed-modules.py OUT.inc MODULE.wasm...
"""
import hashlib
import pathlib
import sys


def numbers(data):
    rows = (data[at:at + 24] for at in range(0, len(data), 24))
    return ",\n".join(",".join(map(str, row)) for row in rows)


def main():
    out, *modules = map(pathlib.Path, sys.argv[1:])
    parts = []
    for module in modules:
        data, name = module.read_bytes(), module.stem.replace("-", "_")
        parts.append(f"static const unsigned char {name}_bytes[] = {{\n{numbers(data)}}};\n"
                     f"static const struct digest {name}_digest = {{{{\n"
                     f"{numbers(hashlib.sha256(data).digest())}}}}};\n")
    out.write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
