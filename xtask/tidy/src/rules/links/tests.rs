//! Links and names that exist, and such as do not.

use super::check;
use crate::graph::sample::graph;
use crate::tree::{Text, built_in};

fn findings(path: &str, text: &str) -> Vec<String> {
    let graph = graph(&[("stdx", true, &[]), ("journal", true, &[])]);
    let found = check(&built_in(), &[Text::new(path, text)], &graph);
    found.into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
}

#[test]
fn what_exists_may_be_named() {
    let text = "[a](xtask/src/main.rs#L1) [b](https://example.org/x) [c](#words)\n\
                `crates/stdx` `xtask/src/main.rs:12` `crates/*` `stdx/src/lib.rs`\n\
                `crates/stdx/src/NAME.rs`, where NAME is the reader's\n\
                ```\n[not](a/link)\n```\n";
    assert_eq!(findings("README.md", text), [""; 0]);
}

#[test]
fn what_is_gone_may_not() {
    let text = "[a](gone.md)\n`crates/gone` and `gone/src/lib.rs`\n";
    let expected = [
        "1 link to `gone.md`, which does not exist",
        "2 names `crates/gone`, which does not exist",
        "2 names `gone/src/lib.rs`, which does not exist",
    ];
    assert_eq!(findings("README.md", text), expected);
}

#[test]
fn links_are_taken_from_the_folder_of_the_document() {
    assert_eq!(findings("docs/A.md", "[x](../Cargo.toml)\n"), [""; 0]);
    assert_eq!(findings("docs/A.md", "[x](Cargo.toml)\n").len(), 1);
}

#[test]
fn the_code_map_names_every_crate_and_no_other() {
    let map = "## Code map\n| `stdx` | clock |\n- `journal`: log\n## Words\n- `flight`: a fetch\n";
    assert_eq!(findings("docs/ARCHITECTURE.md", map), [""; 0]);
    let stale = "## Code map\n| `stdx` | clock |\n| `gone` | ? |\n";
    let expected = [
        "3 the code map names crate `gone`, which does not exist",
        "1 crate `journal` is not in the code map",
    ];
    assert_eq!(findings("docs/ARCHITECTURE.md", stale), expected);
}
