//! Long and short sentences, in documents and in comments.

use super::{check, measure};
use crate::ratchet::Ratchet;
use crate::source::Source;
use crate::tree::Text;

fn sentence(words: usize) -> String {
    format!("A{} end.\n", " word".repeat(words - 2))
}

fn findings(source: &str, document: &str, limits: &str) -> Vec<String> {
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let sources = [Source::parse("crates/x/src/a.rs", source)];
    let found = check(&sources, &[Text::new("docs/A.md", document)], &mut ratchet);
    found.into_iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[test]
fn twenty_five_words_pass_and_one_more_fails() {
    assert_eq!(findings("", &sentence(25), ""), [""; 0]);
    assert_eq!(findings("", &sentence(26), ""), ["docs/A.md:1"]);
    assert_eq!(findings("", &sentence(26), "sentences docs/A.md 1"), [""; 0]);
}

#[test]
fn doc_comments_are_prose_and_other_comments_are_not() {
    let comment = |slashes: &str| format!("{slashes} {}", sentence(26));
    assert_eq!(findings(&comment("///"), "", ""), ["crates/x/src/a.rs:1"]);
    assert_eq!(findings(&comment("//!"), "", ""), ["crates/x/src/a.rs:1"]);
    assert_eq!(findings(&comment("//"), "", ""), [""; 0]);
    let two = format!("/// {}struct A;\n/// {}", "Word word".to_owned() + "\n", sentence(24));
    assert_eq!(findings(&two, "", ""), [""; 0]);
}

#[test]
fn packages_and_documents_have_limits_of_their_own() {
    let long = format!("//! {}", sentence(26));
    let sources = ["crates/x/src/a.rs", "crates/x/tests/b.rs", "bench/src/c.rs"]
        .map(|path| Source::parse(path, &long));
    let texts = [Text::new("README.md", &sentence(30)), Text::new("a.py", &sentence(30))];
    let found = measure(&sources, &texts);
    let found: Vec<(&str, usize)> =
        found.iter().map(|(group, long)| (group.as_str(), long.len())).collect();
    assert_eq!(found, [("README.md", 1), ("bench", 1), ("crates/x", 2)]);
}
