#!/bin/sh
# What must be there before cargo can build the demo, or xtask, which looks after the rest: make,
# a C compiler that links, cargo. With curl the README's first requests are sent.
# As root on Debian or Ubuntu all but cargo are installed.
set -eu

links() {
    printf '#include <stdio.h>\nint main(void){return puts("")<0;}' |
        cc -x c - -o /dev/null 2>/dev/null
}

missing=""
command -v make >/dev/null || missing="make"
links || missing="$missing gcc libc6-dev"
command -v curl >/dev/null || missing="$missing curl"

if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # While another one updates the lists this fails, and they are new all the same.
    apt-get update -q || true
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=600 $missing
    missing=""
fi
for package in $missing; do
    echo "$package is missing; install it with: sudo apt-get install -y $package" >&2
done
if ! command -v cargo >/dev/null; then
    echo "cargo is missing; install Rust 1.90 or newer: https://rustup.rs" >&2
    missing="$missing cargo"
fi
[ -z "$missing" ]
