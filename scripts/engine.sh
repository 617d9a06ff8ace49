#!/usr/bin/env bash
# Sees to it that an engine library is built, and prints the folder that holds it and its headers:
#     engine.sh runtime|compiler
# The folder lies outside the checkout and its name stands for all that the library depends on, so
# that a second checkout, and this one after `make clean`, finds it again. Progress is on stderr.
set -euo pipefail

name=${1:?usage: engine.sh runtime|compiler}
crate=$(cd "$(dirname "$0")/../src/engine/$name" && pwd)
root=${WASP_ENGINE_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/wasp-engine}

say() {
    echo "engine: $*" >&2
}

# Flags of the caller's would give a library that the key does not describe.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS CARGO_TARGET_DIR

# rustup puts its programs where a login shell finds them, which this may not be.
PATH=${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH

duration() {
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

require_rust() {
    local needed found
    needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$crate/Cargo.toml")
    found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) || true
    if [ -z "$found" ] || ! command -v cargo >/dev/null; then
        say "Rust $needed or newer is needed to build it, and there is none: see https://rustup.rs"
        exit 1
    fi
    if [ "$(printf '%s\n' "$needed" "$found" | sort -V | head -n 1)" != "$needed" ]; then
        say "Rust $needed or newer is needed to build it, this is $found: see https://rustup.rs"
        exit 1
    fi
}

key() {
    {
        rustc --version --verbose
        uname -m
        cd "$crate"
        find Cargo.toml Cargo.lock src -type f | LC_ALL=C sort | xargs sha256sum
    } | sha256sum | cut -c 1-16
}

# "3% (4 of 130 crates), 0:10" each ten seconds, as long as the build runs.
watch() {
    local log=$1 pid=$2 crates begun elapsed
    crates=$(cd "$crate" &&
        cargo tree --quiet --locked --edges normal,build --prefix none --no-dedupe |
        sed 's/ (\*)$//' | sort -u | wc -l)
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        elapsed=$SECONDS
        if [ $((elapsed % 10)) -eq 0 ]; then
            begun=$(grep -c '^ *Compiling' "$log") || true
            say "$name $((begun * 100 / (crates + 1)))% ($begun of $crates crates)," \
                "$(duration "$elapsed")"
        fi
    done
}

build() {
    local work=$1 pid status=0
    SECONDS=0
    # A session of its own, so that ending cargo ends its compilers too.
    setsid cargo build --release --locked --manifest-path "$crate/Cargo.toml" \
        --target-dir "$work/target" >/dev/null 2>"$work/log" &
    pid=$!
    # shellcheck disable=SC2064 # this pid, not a later one
    trap "kill -- -$pid 2>/dev/null || true; rm -rf '$work'" EXIT
    watch "$work/log" "$pid"
    wait "$pid" || status=$?
    trap 'rm -rf "$work"' EXIT
    if [ "$status" -ne 0 ]; then
        tail -n 30 "$work/log" >&2
        say "$name: cargo failed; its last words are above"
        exit 1
    fi
}

# Puts what the C build needs in place, in one rename: a folder of that name is always complete.
keep() {
    local work=$1 folder=$2
    mkdir "$work/kept"
    cp "$work/target/release/libwasp_engine_$name.a" "$work/kept/"
    cp -r "$work"/target/release/build/wasmtime-c-api-impl-*/out/include "$work/kept/"
    mv -T "$work/kept" "$folder"
}

require_rust
mkdir -p "$root"
folder=$root/$name-$(key)
if [ ! -d "$folder" ]; then
    exec 9>"$root/$name.lock"
    if ! flock -n 9; then
        say "another build of $name is under way, waiting for it"
        flock 9
    fi
fi
if [ ! -d "$folder" ]; then
    say "building $name, once for this machine; it takes a few minutes"
    # With the lock held nobody else builds it: what lies here was left by a build that was killed.
    rm -rf "$root/$name.work".*
    work=$(mktemp -d "$root/$name.work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    build "$work"
    keep "$work" "$folder"
    find "$root" -maxdepth 1 -name "$name-*" -mtime +30 -exec rm -rf {} +
    say "$name is ready after $(duration "$SECONDS")"
fi
touch "$folder" # so that what is in use is not what gets thrown away
echo "$folder"
