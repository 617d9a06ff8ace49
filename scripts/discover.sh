#!/bin/sh
# Names the files in FOLDER that match PATTERN, so that a new one needs no line in a list:
#     discover.sh FOLDER PATTERN
set -eu
cd "$(dirname "$0")/../$1" 2>/dev/null || exit 0 # a folder that is not there has none
find . -maxdepth 1 -name "$2" | sed 's,^\./,,' | LC_ALL=C sort
