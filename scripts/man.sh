#!/bin/sh
# Makes the man page: what the command itself says about its verbs goes in the place of @VERBS@.
# usage: man.sh WASP TEMPLATE >wasp.1
set -eu

wasp=$1
template=$2
version=$("$wasp" version | cut -d' ' -f2)

"$wasp" help --man | sed -e "s/@VERSION@/$version/" -e '/^@VERBS@$/{r /dev/stdin' -e 'd' -e '}' "$template"
