//! The public HTTP cache tests (<https://cache-tests.fyi>, RFC 9111, 9110, 5861, 9213) against the
//! binary, held by a ratchet: what passes must go on passing.
//!
//! The suite is the npm package that `cache_tests/package-lock.json` pins. `cache_tests/run.mjs`
//! runs its origin and its client, and scores by the suite's own function. What is not passed
//! stands in `cache_tests/not_passed.txt`, and docs/CACHING.md tells why. Checks, by which the
//! suite asks how a cache behaves where both answers are right, are counted and not held.

mod ratchet;

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Absent, free_port, notice, require, skip};

use crate::running::Running;
use ratchet::Outcome;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cache_tests");
const NOT_PASSED: &str = include_str!("cache_tests/not_passed.txt");
const MANUAL: &str = include_str!("../../../../docs/CACHING.md");

fn config(origin: u16) -> String {
    format!(
        "[[upstream]]\nname = \"origin\"\nservers = [\"127.0.0.1:{origin}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:origin\"\ncache = {{}}\n"
    )
}

/// Where the set-up installs the package; `None`, with the reason printed, where it has not.
fn suite() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let suite = target.join("cache-tests/node_modules/http-cache-tests");
    if suite.join("cli.mjs").exists() {
        return Some(suite);
    }
    skip("the HTTP cache tests are not installed; `cargo xtask setup --test` installs them");
    None
}

fn run(node: &Path, suite: &Path, origin: u16, server: &Running) -> Vec<Outcome> {
    let mut client = Command::new(node);
    client.args(["--no-warnings", "run.mjs"]).current_dir(FOLDER).arg(suite);
    client.arg(origin.to_string()).arg(format!("http://{}", server.public));
    let output = client.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the suite did not run: {stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().map(|line| Outcome::parse(line).unwrap()).collect()
}

#[test]
fn no_public_cache_test_fails_that_passed_before() {
    let Some(node) = require("node", Absent::Skip) else { return };
    let Some(suite) = suite() else { return };
    let origin = free_port();
    let server = Running::start(&config(origin), |_| {});
    let outcomes = run(&node, &suite, origin, &server);
    notice(&format!("cache tests passed: {}", ratchet::figures(&outcomes)));
    let findings = ratchet::compare(NOT_PASSED, &outcomes);
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

#[test]
fn the_manual_names_every_cache_test_that_is_not_passed() {
    let listed = ratchet::listed(NOT_PASSED);
    let wanted = |id: &&&str| !MANUAL.contains(&format!("`{id}`"));
    let missing: Vec<_> = listed.keys().filter(wanted).collect();
    assert!(missing.is_empty(), "not in docs/CACHING.md: {missing:?}");
}
