//! Builds for an old glibc, so that the program runs on systems that are older than this one.
//!
//! zig has a C compiler, a linker and the symbols of each glibc. cargo-zigbuild has cargo use them.
//! Both come from pinned packages, so the compiler of C is the same on every machine.
//! Elsewhere: paths and times that a build must not have in it (`recipe.rs`).

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::checkout::root;
use crate::setup;

/// glibc of 2012, which `manylinux_2_17` stands for (PEP 600).
const GLIBC: &str = "2.17";

/// A `cargo build` for the old glibc, to be completed; its programs are in [`dir`] below the target
/// directory.
pub(super) fn cargo_build() -> Result<Command> {
    let zig = setup::zig()?;
    let program = zig.join("ziglang/zig");
    let mut cargo = Command::new(zig.join("bin/cargo-zigbuild"));
    cargo.args(["zigbuild", "--target", &format!("{}.{GLIBC}", triple())]);
    cargo.env("CARGO_ZIGBUILD_ZIG_PATH", &program).env("ZIG", program);
    cargo.env("ZIG_TARGET", format!("{}-linux-gnu.{GLIBC}", std::env::consts::ARCH));
    cargo.env("CC", root().join("packaging/make/cc.sh"));
    Ok(cargo)
}

/// Where the programs of a profile are, below the target directory.
pub(super) fn dir(profile: &str) -> PathBuf {
    PathBuf::from(triple()).join(if profile == "dev" { "debug" } else { profile })
}

fn triple() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}
