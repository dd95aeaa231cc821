//! Claims about what cargo says it built.

use super::{as_compiler, read_artifacts};
use crate::checkout::root;

fn artifact(kind: &str, source: &str, tested: bool) -> String {
    let source = root().join(source).display().to_string();
    format!(
        "{{\"target\":{{\"kind\":[\"{kind}\"],\"src_path\":\"{source}\"}},\
         \"profile\":{{\"test\":{tested}}},\"executable\":\"/t\"}}\n"
    )
}

#[test]
fn a_test_program_is_shown_as_the_command_that_runs_it() {
    let text = [
        artifact("lib", "crates/cache/src/lib.rs", true),
        artifact("bin", "crates/tidegate/src/main.rs", true),
        artifact("bin", "crates/tidegate/src/main.rs", false),
        artifact("example", "crates/models/examples/trees.rs", true),
        artifact("test", "crates/tidegate/tests/it/main.rs", true),
        artifact("test", "fuzz/tests/targets.rs", true),
        "{\"reason\":\"build-finished\"}".to_owned(),
    ]
    .concat();
    let programs = read_artifacts(&text).unwrap();
    let shown: Vec<String> = programs.iter().map(|program| program.shown()).collect();
    let expected = [
        "cargo test --package cache --lib",
        "cargo test --package tidegate --bin tidegate",
        "cargo test --package tidegate --test it",
        "cargo test --package fuzz --test targets",
    ];
    assert_eq!(shown, expected);
    let outside: Vec<bool> = programs.iter().map(|program| program.outside).collect();
    assert_eq!(outside, [false, false, true, true]);
}

#[test]
fn a_source_outside_every_package_is_an_error() {
    let refused = read_artifacts(&artifact("lib", "elsewhere/lib.rs", true)).unwrap_err();
    assert!(refused.to_string().contains("elsewhere"), "{refused}");
}

#[test]
fn only_a_compiler_is_taken_for_one() {
    assert!(as_compiler(&["ci"]).is_none());
    assert!(as_compiler(&[]).is_none());
}
