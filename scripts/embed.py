#!/usr/bin/env python3
"""Turns text files into C: one SCHEMA("name", "text") a file.

usage: embed.py OUT.inc FILE...
"""
import pathlib
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def main():
    out, *files = map(pathlib.Path, sys.argv[1:])
    rows = []
    for file in sorted(files):
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        rows.append(f'SCHEMA("{file.stem}",\n' + "\n".join(map(literal, lines)) + ")\n")
    out.write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
