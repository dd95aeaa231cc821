//! Tells the program what it is built of, for `tidegate version --verbose`.
//!
//! The compiler, the target, and the names and versions of the packages that are linked, which
//! `cargo tree` knows. Who packages the program may name a commit by `TIDEGATE_COMMIT`.
//! Invariant: the same sources give the same bytes. There is no time, no path and no machine in it.
//! Where cargo cannot be asked the list is empty, and the build says so.

use std::path::Path;
use std::process::Command;

const LOCK: &str = "../../Cargo.lock";

fn main() {
    for path in ["build.rs", "Cargo.toml", LOCK, "../../Cargo.toml"] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=TIDEGATE_COMMIT");
    println!("cargo::rustc-env=TIDEGATE_TARGET={}", variable("TARGET"));
    let compiler = said(Command::new(variable("RUSTC")).arg("--version"));
    println!("cargo::rustc-env=TIDEGATE_RUSTC={}", compiler.unwrap_or_default().trim());
    let packages = packages().unwrap_or_else(|| {
        println!("cargo::warning=`cargo tree` does not say which packages are linked");
        String::new()
    });
    let file = Path::new(&variable("OUT_DIR")).join("packages.txt");
    std::fs::write(file, packages).expect("cargo's directory for it can be written");
}

/// A line `NAME VERSION` for each package of others that is linked.
fn packages() -> Option<String> {
    let mut tree = Command::new(variable("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--package", "tidegate"]);
    tree.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]);
    tree.args(["--target", &variable("TARGET"), "--no-default-features"]);
    if !variable("CARGO_FEATURE_DRIVERS").is_empty() {
        tree.args(["--features", "drivers"]);
    }
    let tree = said(&mut tree)?;
    // Packages of the workspace have their path behind them.
    let others = tree.lines().filter(|line| !line.contains('('));
    let mut lines: Vec<String> = others.map(|line| line.replacen(" v", " ", 1)).collect();
    lines.sort();
    lines.dedup();
    Some(lines.join("\n"))
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script everything by these")]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
