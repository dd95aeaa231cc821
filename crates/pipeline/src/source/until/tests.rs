//! Claims about which part of a source is handed out again.

use std::collections::HashMap;

use super::Until;
use crate::error::SourceError;
use crate::source::{Piece, Source, Step};

/// Hands out what it was given, one step after the other.
struct Script(Vec<(&'static str, u64, &'static [u8], bool)>);

impl Source for Script {
    fn resume(&mut self, _: Option<&str>) -> Result<(), SourceError> {
        Ok(())
    }

    fn read(&mut self) -> Result<Step<'_>, SourceError> {
        if self.0.is_empty() {
            return Ok(Step::CaughtUp);
        }
        let (file, start, bytes, is_torn) = self.0.remove(0);
        let piece = Piece { file, bytes, start };
        Ok(if is_torn { Step::Torn(piece) } else { Step::Lines(piece) })
    }

    fn position(&self) -> String {
        String::new()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        0
    }
}

/// Everything handed out until it is caught up, and the bytes that did not come.
fn handed_out(script: Script, ends: &[(&str, u64)]) -> (String, u64) {
    let ends: HashMap<String, u64> =
        ends.iter().map(|(file, end)| ((*file).to_owned(), *end)).collect();
    let mut source = Until::new(Box::new(script), ends);
    let mut text = String::new();
    loop {
        match source.read().unwrap() {
            Step::CaughtUp => break,
            Step::Lines(piece) => text += std::str::from_utf8(piece.bytes).unwrap(),
            Step::Torn(piece) => text += &format!("({})", piece.bytes.escape_ascii()),
            other => panic!("{other:?}"),
        }
    }
    (text, source.bytes_behind())
}

#[test]
fn a_piece_across_the_end_is_cut_and_what_follows_is_passed_over() {
    let script = vec![
        ("a", 0, &b"1\n2\n"[..], false),
        ("new", 0, b"x\n", false),
        ("a", 4, b"3\n4\n", false),
        ("a", 8, b"5\n", false),
        ("b", 0, b"6\n", false),
    ];
    assert_eq!(handed_out(Script(script), &[("a", 6), ("b", 2)]), ("1\n2\n3\n6\n".into(), 0));
}

#[test]
fn the_rest_of_a_file_counts_only_where_it_was_given_up() {
    let script = || Script(vec![("a", 0, b"1\n", false), ("a", 2, b"re", true)]);
    assert_eq!(handed_out(script(), &[("a", 4), ("b", 0)]), ("1\n(re)".into(), 0));
    assert_eq!(handed_out(script(), &[("a", 2)]), ("1\n".into(), 0));
}

#[test]
fn bytes_that_do_not_come_are_known() {
    let script = vec![("a", 0, &b"1\n"[..], false)];
    assert_eq!(handed_out(Script(script), &[("a", 6), ("gone", 3)]), ("1\n".into(), 7));
}
