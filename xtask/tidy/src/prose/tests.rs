//! Sentences of small texts.

use super::sentences;

/// Returns the line and the words of each sentence.
fn found(text: &str) -> Vec<(usize, usize)> {
    let found = sentences(text.lines().enumerate());
    found.into_iter().map(|sentence| (sentence.line, sentence.words)).collect()
}

#[test]
fn a_sentence_goes_over_lines_and_ends_at_its_stop() {
    assert_eq!(found("One two\nthree four. Five\nsix? Seven.\n"), [(0, 4), (1, 2), (2, 1)]);
    assert_eq!(found("No stop at the end\n\nA new one"), [(0, 5), (2, 3)]);
}

#[test]
fn a_stop_within_is_no_end() {
    assert_eq!(found("See e.g. the file a.rs of RFC 9111 (section 4.2.3) there."), [(0, 11)]);
    assert_eq!(found("Wait … and go on. then lower case."), [(0, 7)]);
    assert_eq!(found("(In brackets.) Then \"quoted.\" End."), [(0, 2), (0, 2), (0, 1)]);
}

#[test]
fn spans_of_code_and_links_count_by_what_is_read() {
    assert_eq!(found("Run `cargo xtask tidy --ratchet` now."), [(0, 3)]);
    assert_eq!(found("A span `over\ntwo lines` here."), [(0, 4)]);
    assert_eq!(found("See [the cache](../a/b.rs#x) – or [`b`](c)."), [(0, 5)]);
}

#[test]
fn items_are_paragraphs_and_tables_headings_and_blocks_are_no_prose() {
    let text =
        "# Head of it\nText:\n- one two\n- three\n  four\n1. five\n| a | b |\n```\nx y z\n```\n";
    assert_eq!(found(text), [(1, 1), (2, 2), (3, 2), (5, 1)]);
}
