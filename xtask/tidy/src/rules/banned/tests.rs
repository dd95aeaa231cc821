//! Banned words where they are banned, and where they are not.

use super::check;
use crate::source::Source;

fn findings(path: &str, text: &str) -> Vec<String> {
    let found = check(&[Source::parse(path, text)]);
    found.into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
}

#[test]
fn file_names_that_say_nothing_fail() {
    assert_eq!(findings("crates/x/src/utils.rs", ""), ["1 `utils.rs` says nothing"]);
    assert_eq!(findings("crates/x/src/pool.rs", ""), [""; 0]);
}

#[test]
fn unwrap_is_for_tests() {
    let text = "fn a() { b().unwrap(); }\n#[cfg(test)]\nmod tests { fn c() { d().unwrap(); } }\n";
    assert_eq!(findings("crates/x/src/a.rs", text), ["1 `.unwrap()`"]);
    assert_eq!(findings("crates/x/src/a.rs", "b().unwrap_or(1); // .unwrap()\n"), [""; 0]);
}

#[test]
fn sleeping_is_not_for_tests() {
    let text = "std::thread::sleep(d);\n";
    assert_eq!(findings("crates/x/src/a.rs", text), [""; 0]);
    assert_eq!(findings("crates/x/src/a/tests.rs", text), ["1 `thread::sleep`"]);
}

#[test]
fn the_environment_and_the_terminal_have_their_places() {
    let text = "println!(\"{:?}\", std::env::var(\"A\"));\n";
    assert_eq!(findings("crates/x/src/a.rs", text), ["1 `env::var(`", "1 `println!`"]);
    assert_eq!(findings("crates/tidegate/src/environment.rs", text), [""; 0]);
    assert_eq!(findings("crates/x/src/a.rs", "eprintln!();\n"), ["1 `eprintln!`"]);
}

#[test]
fn a_mode_that_goes_round_the_umask_has_its_places() {
    let text = "fs::set_permissions(a, b)?;\nprocess::umask(c);\n";
    let found = ["1 `set_permissions(`", "2 `umask(`"];
    assert_eq!(findings("crates/x/src/a.rs", text), found);
    assert_eq!(findings("crates/x/src/a/tests.rs", text), [""; 0]);
    assert_eq!(findings("crates/workers/src/dir.rs", text), ["2 `umask(`"]);
    assert_eq!(findings("crates/tidegate/src/umask.rs", "process::umask(c);\n"), [""; 0]);
}

#[test]
fn marks_of_unfinished_work_fail_in_comments_only() {
    assert_eq!(findings("crates/x/src/a.rs", "// TODO: later\n"), ["1 `TODO`"]);
    assert_eq!(findings("crates/x/src/a.rs", "let a = \"TODO\"; // AUTODOC\n"), [""; 0]);
}

#[test]
fn lints_are_expected_not_allowed() {
    assert_eq!(findings("crates/x/src/a.rs", "#[allow(dead_code)]\n"), ["1 `#[allow(`"]);
    assert_eq!(findings("crates/x/src/a.rs", "#[expect(dead_code)]\n"), [""; 0]);
}
