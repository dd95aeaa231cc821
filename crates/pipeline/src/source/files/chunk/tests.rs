//! Claims about what a chunk is good for, without any file.

use super::{Chunk, ChunkDecision};
use crate::source::files::log::{Log, Searched};
use crate::source::files::mark::{self, Mark};
use crate::source::files::unpack::Packing;

const READ: &[u8] = b"first line\n";

/// A log of which `READ` was handed out.
fn log() -> Log {
    let mut mark = Mark::default();
    mark.advance(READ);
    Log::new(mark)
}

fn decide(log: &Log, bytes: &[u8], is_full: bool) -> ChunkDecision {
    let cursor = log.searched.map_or(log.mark.offset, |searched| searched.to);
    Chunk { bytes, cursor, is_full }.decide(log)
}

#[test]
fn lines_are_complete_ones() {
    for (data, decision) in [
        (&b""[..], ChunkDecision::Wait),
        (b"part", ChunkDecision::Wait),
        (b"one\n", ChunkDecision::Lines { length: 4 }),
        (b"one\ntwo\nthr", ChunkDecision::Lines { length: 8 }),
    ] {
        assert_eq!(decide(&log(), &[READ, data].concat(), false), decision, "{data:?}");
    }
}

#[test]
fn other_bytes_before_the_place_are_another_log() {
    let other = b"other line\none\n";
    assert_eq!(decide(&log(), other, false), ChunkDecision::Cut);
    assert_eq!(decide(&log(), b"first", false), ChunkDecision::Cut, "it ends before the place");
    assert_eq!(decide(&log(), b"", false), ChunkDecision::Cut);
}

#[test]
fn a_file_that_is_shorter_than_it_was_known_to_be_was_emptied() {
    let bytes = [READ, b"one\n"].concat();
    let mut log = log();
    log.seen = bytes.len() as u64;
    assert_eq!(decide(&log, &bytes, false), ChunkDecision::Lines { length: 4 });
    log.seen += 1;
    assert_eq!(decide(&log, &bytes, false), ChunkDecision::Cut);
    assert_eq!(decide(&log, &bytes, true), ChunkDecision::Lines { length: 4 }, "more may follow");
    log.file.packing = Packing::Gzip;
    assert_eq!(decide(&log, &bytes, false), ChunkDecision::Lines { length: 4 }, "more may come");
}

#[test]
fn a_long_line_is_searched_for_its_end_and_passed_over() {
    let bytes = [READ, b"long"].concat();
    assert_eq!(decide(&log(), &bytes, true), ChunkDecision::Search);
    let to = bytes.len() as u64;
    let searched = Log { searched: Some(Searched { to, hash: mark::hash(&bytes) }), ..log() };
    let more = |data: &[u8]| [&bytes, data].concat();
    assert_eq!(decide(&searched, &more(b"er"), false), ChunkDecision::Wait);
    let skip = ChunkDecision::Skip { to: to + 3 };
    assert_eq!(decide(&searched, &more(b"er\nnext\n"), false), skip, "only the long one");
    let other = [READ, b"gone", b"er\n"].concat();
    assert_eq!(decide(&searched, &other, false), ChunkDecision::Cut);
}
