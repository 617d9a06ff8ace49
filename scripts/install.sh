#!/usr/bin/env bash
# Installs wasp, or removes it.
#
#     install.sh [--prefix DIR]                    the checkout or unpacked release this lies in
#     install.sh [--prefix DIR] --archive FILE [--sha256 HEX]                 a release
#     install.sh [--prefix DIR] --git URL [--ref BRANCH|TAG]                  built from there
#     install.sh [--prefix DIR] --uninstall
#
# Also as `curl … | bash -s -- --git URL`. The prefix is /usr/local for root, else ~/.local. It is
# not touched before everything is at hand and has run a guest; a failure leaves it as it was. Caches
# and state of users are not part of an installation and stay.
set -euo pipefail

list=share/wasp/installed # what was put where, below the prefix; a folder ends in a slash

# Prints "ok" by WASI's fd_write, and ends.
guest=AGFzbQEAAAABDAJgBH9/f38Bf2AAAAIjARZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGZkX3dyaXRlAAADAgEBBQMBAA\
EHEwIGbWVtb3J5AgAGX3N0YXJ0AAEKDwENAEEBQQBBAUEQEAAaCwsRAQBBAAsLCAAAAAMAAABvawo=

fail() {
    echo "install: $*" >&2
    exit 1
}

synopsis="usage: install.sh [--prefix DIR] \
[--archive FILE [--sha256 HEX] | --git URL [--ref NAME] | --uninstall]"

usage() {
    echo "install: $*; $synopsis" >&2
    exit 2
}

require() { # PROGRAM, WHAT-FOR
    command -v "$1" >/dev/null || fail "$1 is needed $2, and there is none"
}

# Silent unless it fails; what it says on its way (building takes minutes) goes to stderr.
quietly() { # SENTENCE COMMAND…
    local sentence=$1
    shift
    if ! "$@" >"$work/log"; then
        tail -n 20 "$work/log" >&2
        fail "$sentence"
    fi
}

# ---- where it comes from: each prints the folder with bin/, libexec/ and share/ -----------------

from_checkout() { # FOLDER
    quietly "the packages that building needs are not all here" "$1/scripts/setup.sh" build
    # The programs find each other by where they are: any prefix will do for making them.
    quietly "'make install' in '$1' failed" \
        make -s -C "$1" install DESTDIR="$work/root" PREFIX=/usr/local
    echo "$work/root/usr/local"
}

from_git() { # URL REF
    require git "for --git"
    git clone --quiet --depth 1 ${2:+--branch "$2"} -- "$1" "$work/source" 2>"$work/log" || {
        tail -n 5 "$work/log" >&2
        fail "cannot clone '$1'; git's last words are above"
    }
    [ -f "$work/source/scripts/setup.sh" ] || fail "what '$1' holds is not wasp"
    from_checkout "$work/source"
}

# By the digest that was given, else by the list that a release has beside it.
check_archive() { # FILE SHA256
    local sums=${1%/*}/SHA256SUMS digest=$2
    [[ $1 == */* ]] || sums=SHA256SUMS
    if [ -z "$digest" ] && [ -f "$sums" ]; then
        digest=$(awk -v name="${1##*/}" '$2 == name {print $1}' "$sums")
        [ -n "$digest" ] || fail "'$sums' does not name '${1##*/}'"
    fi
    if [ -z "$digest" ]; then
        echo "install: '$1' is taken as it is: neither --sha256 nor a SHA256SUMS beside it" >&2
    elif [ "$(sha256sum <"$1")" != "${digest,,}  -" ]; then
        fail "'$1' is not the archive that was meant: its SHA-256 is not $digest"
    fi
}

from_archive() { # FILE SHA256
    local found
    [ -f "$1" ] || fail "there is no archive '$1'"
    check_archive "$1" "$2"
    mkdir "$work/archive"
    tar -C "$work/archive" --no-same-owner -xf "$1" 2>"$work/log" ||
        fail "'$1' cannot be unpacked: $(tail -n 1 "$work/log")"
    found=$(echo "$work"/archive/*)
    [ -f "$found/bin/wasp" ] || fail "'$1' is not a release of wasp: it has no bin/wasp"
    echo "$found"
}

from_here() {
    local script=${BASH_SOURCE[0]:-} folder
    [ -f "$script" ] || usage "this script came through a pipe: say --git URL or --archive FILE"
    folder=$(cd "$(dirname "$script")" && pwd)
    if [ -f "$folder/bin/wasp" ]; then
        echo "$folder"
    elif [ -f "$folder/../meson.build" ]; then
        from_checkout "${folder%/*}"
    else
        usage "'$folder' is neither a checkout nor a release: say --git URL or --archive FILE"
    fi
}

# ---- does it work here --------------------------------------------------------------------------

smoke() { # WASP OPTION…
    local wasp=$1
    shift
    env -u WASP_ISOLATION WASP_CACHE_DIR="$work/cache" WASP_STATE_DIR="$work/state" \
        "$wasp" run "$work/guest.wasm" "$@" 2>"$work/log" | grep -F '"stdout":"ok\n"' >/dev/null
}

check_programs() { # FOLDER
    local wasp=$1/bin/wasp why
    [ -x "$wasp" ] || fail "no program can be run from '$1': set TMPDIR to a folder where one can"
    "$wasp" version >/dev/null 2>"$work/log" ||
        fail "its wasp does not start on this machine ($(uname -m)): $(tail -n 1 "$work/log")"
    base64 -d <<<"$guest" >"$work/guest.wasm"
    smoke "$wasp" && return
    why=$(tail -n 1 "$work/log")
    smoke "$wasp" --isolation landlock || fail "its wasp runs no guest on this machine: ${why#wasp: }"
    echo "install: here wasp only runs with --isolation landlock: ${why#wasp: }" >&2
}

# ---- putting it there ---------------------------------------------------------------------------

# Undoes what a failed installation has made so far; $made holds it, folders with a slash behind.
undo() {
    local path
    while IFS= read -r path; do
        case $path in
        */) rmdir --ignore-fail-on-non-empty "$path" ;;
        *) rm -f "$path" ;;
        esac
    done < <(tac "$made")
}

make_folder() { # PATH
    [ ! -d "$1" ] || return 0
    make_folder "$(dirname "$1")"
    mkdir -m 755 "$1" 2>"$work/log" || fail "cannot make '$1': $(sed 's/.*: //' "$work/log")"
    echo "$1/" >>"$made"
}

# Beside its place, under a name that nothing looks for.
put() { # SOURCE FILE
    local target=$prefix/$2
    make_folder "${target%/*}"
    [ ! -d "$target" ] || fail "'$target' is in the way: it is a folder"
    echo "$target.wasp-new" >>"$made"
    cp "$1" "$target.wasp-new" 2>"$work/log" ||
        fail "cannot write '$target': $(sed 's/.*: //' "$work/log")"
    chmod "$(stat -c %a "$1")" "$target.wasp-new"
}

# The files, and the folders that this installation had to make or that one before it did.
write_list() { # FILE…
    local path
    printf '%s\n' "$@" "$list"
    while IFS= read -r path; do
        case $path in
        "$prefix/") echo ./ ;;
        "$prefix"/*/) echo "${path#"$prefix/"}" ;;
        esac
    done <"$made"
    [ ! -f "$prefix/$list" ] || grep '/$' "$prefix/$list" || true
}

remove_stale() { # OLD-LIST NEW-LIST
    local path
    while IFS= read -r path; do
        is_ours "$path" && rm -f "$prefix/$path"
    done < <(grep -v '/$' "$1" | grep -vxF -f "$2")
    return 0
}

install_tree() { # FOLDER
    local files file
    mapfile -t files < <(cd "$1" && find libexec share bin -type f ! -path "$list")
    for file in "${files[@]}"; do
        put "$1/$file" "$file"
    done
    make_folder "$prefix/${list%/*}"
    write_list "${files[@]}" >"$work/list"
    put "$work/list" "$list"
    [ ! -f "$prefix/$list" ] || cp "$prefix/$list" "$work/old-list"
    for file in "${files[@]}" "$list"; do # the command itself is the last but one
        mv -fT "$prefix/$file.wasp-new" "$prefix/$file"
    done
    : >"$made" # from here on it is not ours to undo
    [ ! -f "$work/old-list" ] || remove_stale "$work/old-list" "$work/list"
}

# ---- removing it --------------------------------------------------------------------------------

# A list that was tampered with leads nowhere else.
is_ours() { # PATH
    [[ /$1/ != */../* && $1 != /* && -n $1 ]]
}

uninstall() {
    local path
    [ -f "$prefix/$list" ] || fail "no wasp was installed into '$prefix' by this script"
    cp "$prefix/$list" "$work/list"
    while IFS= read -r path; do
        if is_ours "$path" && [[ $path != */ ]]; then
            rm -f "$prefix/$path" || fail "cannot remove '$prefix/$path'"
        fi
    done <"$work/list"
    while IFS= read -r path; do # the deepest first
        if is_ours "$path" && [ -d "$prefix/$path" ]; then
            rmdir --ignore-fail-on-non-empty "$prefix/${path#./}"
        fi
    done < <(grep '/$' "$work/list" | LC_ALL=C sort -r)
    echo "removed wasp from $prefix"
}

# ---- main ---------------------------------------------------------------------------------------

default_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        echo /usr/local
    else
        echo "${HOME:?}/.local"
    fi
}

choose() { # WHAT [SOURCE]
    [ "$what" = here ] || usage "only one of --archive, --git and --uninstall can be meant"
    what=$1 source=${2:-}
}

parse() { # ARGUMENT…
    prefix='' what=here source='' ref='' sha256=''
    while [ $# -gt 0 ]; do
        case $1 in
        --prefix) prefix=${2:-} ;;
        --archive | --git) choose "${1#--}" "${2:-}" ;;
        --ref) ref=${2:-} ;;
        --sha256) sha256=${2:-} ;;
        --uninstall)
            choose uninstall
            shift
            continue
            ;;
        --help)
            echo "$synopsis"
            exit 0
            ;;
        *) usage "what is '$1'?" ;;
        esac
        [ -n "${2:-}" ] || usage "$1 wants a value"
        shift 2
    done
    [ -z "$ref" ] || [ "$what" = git ] || usage "--ref goes with --git"
    [ -z "$sha256" ] || [ "$what" = archive ] || usage "--sha256 goes with --archive"
    prefix=$(realpath -m -- "${prefix:-$(default_prefix)}")
}

main() {
    local tree
    umask 022
    parse "$@"
    [ "$(uname -s)" = Linux ] || fail "wasp runs on Linux, this is $(uname -s)"
    work=$(mktemp -d)
    made=$work/made
    : >"$made"
    trap 'undo; rm -rf "$work"' EXIT
    case $what in
    uninstall)
        uninstall
        return
        ;;
    archive) tree=$(from_archive "$source" "$sha256") ;;
    git) tree=$(from_git "$source" "$ref") ;;
    here) tree=$(from_here) ;;
    esac
    check_programs "$tree"
    install_tree "$tree"
    echo "installed $("$prefix/bin/wasp" version) as $prefix/bin/wasp"
    [[ :$PATH: == *":$prefix/bin:"* ]] || echo "install: '$prefix/bin' is not in PATH" >&2
}

# The last line, so that half a script does nothing; and the rest of a pipe is not for our children.
main "$@" </dev/null
