#!/bin/sh
# cc.sh ARGUMENTS: the C compiler of programs for others, for configure scripts, which read CC.
# `cargo xtask package` sets ZIG to zig's program, and ZIG_TARGET to processor, system and glibc.
#
# zig looks for undefined behaviour by default, and refuses versions of symbols that are not there.
exec "$ZIG" cc -target "$ZIG_TARGET" -fno-sanitize=undefined -Wl,--undefined-version "$@"
