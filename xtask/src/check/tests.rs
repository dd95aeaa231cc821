//! Which packages a change touches, and what it leaves unlooked at.

use super::{left_out, packages_of, selection, users};

fn files(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_file_belongs_to_the_innermost_package_that_is_still_there() {
    let files = files(&[
        "crates/stdx/src/lib.rs",
        "crates/stdx/Cargo.toml",
        "crates/gone/src/lib.rs",
        "xtask/tidy/words.txt",
        "xtask/src/main.rs",
        "docs/STYLE.md",
        "Cargo.toml",
    ]);
    assert_eq!(packages_of(&files), ["stdx", "tidy", "xtask"]);
}

#[test]
fn each_package_is_named_to_cargo() {
    assert_eq!(selection(&["a", "b"]), ["--package", "a", "--package", "b"]);
}

#[test]
fn what_is_left_out_is_said() {
    let users = users(&["statsd"]);
    assert!(users.contains(&"tidegate".to_owned()) && !users.contains(&"statsd".to_owned()));
    let said = left_out(&files(&["Cargo.lock", "python/a.py"]), &["statsd"]).join("\n");
    for part in ["tidegate", "dependencies", "Python", "integration tests"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(left_out(&[], &[]).len(), 1);
}
