//! Recipes that lead where they say, and such as do not.

use super::check;
use crate::tree::{Text, built_in};

fn findings(recipe: &str) -> Vec<String> {
    let document = format!("# A\n## Recipes\n### Do it\n{recipe}");
    let (found, _) = check(&built_in(), &[Text::new("CONTRIBUTING.md", &document)]);
    found.into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
}

/// The oldest commit; empty without git history.
fn ancestor() -> String {
    let root = built_in();
    let output = super::git(&root, &["rev-list", "--max-parents=0", "HEAD"]);
    let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    output.and_then(|text| text.lines().next().map(str::to_owned)).unwrap_or("0".repeat(40))
}

fn with_example(stations: &str) -> String {
    format!("Example: `{}`.\n\n{stations}", ancestor())
}

#[test]
fn stations_that_are_there_pass() {
    let stations = "\
1. [the rules](xtask/tidy/src/rules.rs): a line in `check`,
   as `rules::Report` says.
2. `xtask/tidy/src/finding.rs`: `Finding::at`, then `cargo xtask tidy`.
- `xtask/tidy/src/rules/NAME.rs`, which is yours, and [a page](https://example.org/`x`).
";
    assert_eq!(findings(&with_example(stations)), [""; 0]);
}

#[test]
fn a_path_or_a_name_that_is_gone_fails() {
    let stations = "1. `xtask/gone.rs`: `run`\n2. `xtask/tidy/src/finding.rs`: `Found`\n";
    let expected =
        ["6 `xtask/gone.rs` does not exist", "7 `xtask/tidy/src/finding.rs` does not name `Found`"];
    assert_eq!(findings(&with_example(stations)), expected);
}

#[test]
fn a_recipe_has_stations_and_an_example() {
    let expected = ["3 the recipe `Do it` has no station", "3 the recipe `Do it` has no example"];
    assert_eq!(findings("Just do it.\n"), expected);
}

#[test]
fn an_example_of_another_history_fails_where_there_is_one() {
    let document = "## Recipes\n### Do it\nExample: `0123456789abcdef`\n- `Cargo.toml`\n";
    let (found, notices) = check(&built_in(), &[Text::new("CONTRIBUTING.md", document)]);
    assert_eq!(found.len() + notices.len(), 1);
}

#[test]
fn without_git_history_the_example_is_not_checked_and_that_is_said() {
    let document = "## Recipes\n### Do it\nExample: `0123456789abcdef`\n- `etc`/ `/etc/`\n";
    let elsewhere = std::path::Path::new("/");
    let (found, notices) = check(elsewhere, &[Text::new("CONTRIBUTING.md", document)]);
    assert_eq!((found, notices.len()), (Vec::new(), 1));
}

#[test]
fn what_stands_outside_of_the_section_is_no_recipe() {
    let document = "## Other\n### Title\n- `gone.rs`\n";
    let (found, _) = check(&built_in(), &[Text::new("CONTRIBUTING.md", document)]);
    assert_eq!(found, []);
}
