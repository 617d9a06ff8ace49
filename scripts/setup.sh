#!/usr/bin/env bash
# Installs the Debian packages that are missing: setup.sh build|test, the second more than the
# first. Says and does nothing when all are there.
set -euo pipefail

build=(gcc libc6-dev musl-dev make meson ninja-build pkg-config cmake lld
    libjansson-dev libsodium-dev libseccomp-dev libsqlite3-dev libyaml-dev python3
    clang wasi-libc libclang-rt-14-dev-wasm32) # for the samples
test=(clang-format clang-tidy git libclang-rt-14-dev libstd-rust-dev-wasm32 python3-jsonschema rustc
    shellcheck strace wabt
    patch perl procps python3-pip python3-venv stress-ng xz-utils # guests of tests/system/native_*.py
    bubblewrap # the yardstick of tests/bench
    qemu-system-x86 busybox-static) # the machine of tests/system/microvm.py; it fetches its kernel
# for a container of tests/system/docker.py; Docker's own package has another name and will do
[ -x /usr/sbin/dockerd ] || command -v dockerd >/dev/null || test+=(docker.io)
command -v npm >/dev/null || test+=(npm) # Node's own package has it too, under no name of its own

case "${1:-build}" in
build) wanted=("${build[@]}") ;;
test) wanted=("${build[@]}" "${test[@]}") ;;
*)
    echo "usage: setup.sh [build|test]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is no Debian; what is needed is what Debian calls: ${wanted[*]}" >&2
    exit 0
fi

# dpkg-query fails when it does not know one of the names; what it does know is what counts.
# shellcheck disable=SC2016 # the variables are dpkg's
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
    grep -qx "installed $package" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
    if ! sudo -n true 2>/dev/null; then
        echo "setup: these packages are missing, please have them installed: ${missing[*]}" >&2
        exit 1
    fi
fi

echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o DPkg::Lock::Timeout=300 "$@" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "setup: apt-get $1 failed; its last words are above" >&2
        exit 1
    fi
}
apt update
apt install -y --no-install-recommends "${missing[@]}"
