//! Claims about which lines belong to a part of a source, and whose its positions are.

use stdx::Random;

use super::{FileRange, RangedSource};
use crate::chunk::LogChunk;
use crate::error::SourceError;
use crate::source::{LineSource, ReadOutcome};

/// Hands out a text of file `dir/a.log` in pieces of whole lines.
struct Pieces {
    text: Vec<u8>,
    at: usize,
    random: Random,
}

impl LineSource for Pieces {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.at = position.map_or(0, |position| position.parse().unwrap());
        Ok(())
    }

    fn read<'s>(&'s mut self, _: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        let start = self.at;
        for _ in 0..=self.random.up_to(3) {
            let rest = &self.text[self.at..];
            self.at += rest.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        }
        if self.at == start {
            return Ok(ReadOutcome::CaughtUp);
        }
        let bytes = &self.text[start..self.at];
        if self.text.first() == Some(&b'!') {
            let beginning = LogChunk { file: "dir/a.log", bytes, start: start as u64 };
            return Ok(match bytes.first() {
                Some(b'!') => ReadOutcome::Torn(beginning),
                _ => ReadOutcome::Oversized { beginning, length: 1 << 20 },
            });
        }
        Ok(ReadOutcome::Lines(LogChunk { file: "dir/a.log", bytes, start: start as u64 }))
    }

    fn position(&self) -> String {
        self.at.to_string()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        (self.text.len() - self.at) as u64
    }
}

fn handed_out(source: &mut RangedSource) -> Vec<(u64, Vec<u8>)> {
    let (mut all, mut buffer) = (Vec::new(), Vec::new());
    while let ReadOutcome::Lines(piece) = source.read(&mut buffer).unwrap() {
        let mut start = piece.start;
        for line in piece.bytes.split_inclusive(|byte| *byte == b'\n') {
            all.push((start, line.to_vec()));
            start += line.len() as u64;
        }
    }
    all
}

#[test]
fn exactly_the_lines_that_begin_in_the_range_are_handed_out() {
    let mut random = Random::new(1);
    for _ in 0..500 {
        let lines = (0..random.up_to(8)).map(|_| "x".repeat(random.up_to(5) as usize) + "\n");
        let text: String = lines.collect();
        let (from, to) = (random.up_to(30), random.up_to(40));
        let range = FileRange { file: Some("a.log".into()), bytes: from..to };
        let pieces =
            Pieces { text: text.clone().into_bytes(), at: 0, random: Random::new(random.bits()) };
        let mut source =
            RangedSource::new(("web", Box::new(pieces)), vec![range], "part".to_owned());
        let mut start = 0;
        let mut wanted = Vec::new();
        for line in text.split_inclusive('\n') {
            if (from..to).contains(&start) {
                wanted.push((start, line.as_bytes().to_vec()));
            }
            start += line.len() as u64;
        }
        assert_eq!(handed_out(&mut source), wanted, "{text:?} {from}..{to}");
    }
}

#[test]
fn a_piece_of_a_line_comes_whole_where_it_begins_in_the_range_and_else_as_no_bytes() {
    let text = b"!a\nbb\n".to_vec();
    for (range, pieces) in [
        (0..3, [Some("!a\n"), None]),
        (0..4, [Some("!a\n"), Some("bb\n")]),
        (1..9, [None, Some("bb\n")]),
        (4..9, [None, None]),
    ] {
        // A seed by which each line comes alone.
        let random = (0..).map(Random::new).find(|random| {
            let mut random = random.clone();
            (0..2).all(|_| random.up_to(3) == 0)
        });
        let pieces_of = Pieces { text: text.clone(), at: 0, random: random.unwrap() };
        let range = FileRange { file: None, bytes: range };
        let mut source =
            RangedSource::new(("web", Box::new(pieces_of)), vec![range], String::new());
        let mut buffer = Vec::new();
        for piece in pieces {
            let seen = match source.read(&mut buffer).unwrap() {
                ReadOutcome::Torn(piece) | ReadOutcome::Oversized { beginning: piece, .. } => {
                    Some(std::str::from_utf8(piece.bytes).unwrap().to_owned())
                }
                ReadOutcome::Lines(piece) if piece.bytes.is_empty() => None,
                other => panic!("{other:?}"),
            };
            assert_eq!(seen.as_deref(), piece);
        }
        assert_eq!(source.bytes_behind(), 0);
        source.resume(None).unwrap();
        assert_eq!(source.bytes_behind(), text.len() as u64, "that of the whole source");
    }
}

fn part(file: &str, part: &str) -> RangedSource {
    let pieces = Pieces { text: b"1\n22\n".to_vec(), at: 0, random: Random::new(1) };
    let range = FileRange { file: Some(file.into()), bytes: 0..u64::MAX };
    RangedSource::new(("web", Box::new(pieces)), vec![range], part.to_owned())
}

#[test]
fn a_file_is_named_by_the_end_of_its_path_in_whole_names() {
    assert_eq!(handed_out(&mut part("dir/a.log", "")).len(), 2);
    assert_eq!(handed_out(&mut part("a.log", "")).len(), 2);
    assert_eq!(handed_out(&mut part("log", "")).len(), 0);
    assert_eq!(handed_out(&mut part("b.log", "")).len(), 0);
}

#[test]
fn a_position_of_another_part_is_refused() {
    let mut one = part("a.log", "one");
    handed_out(&mut one);
    let position = one.position();
    one.resume(Some(&position)).unwrap();
    assert_eq!(handed_out(&mut one).len(), 0);
    let error = part("a.log", "two").resume(Some(&position)).unwrap_err().to_string();
    assert!(error.contains("it is of one, not of two"), "{error}");
}
