//! Claims about `lines`.

use std::io::Read;

use super::{LINE_BYTES_MAX, Lines};

/// Gives a text in pieces of some length.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = self.0.len().min(self.1).min(out.len());
        out[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

fn chunks(text: &[u8], piece: usize) -> (Vec<u8>, u64) {
    let mut lines = Lines::new(Pieces(text, piece));
    let mut read = Vec::new();
    while let Some(chunk) = lines.chunk().unwrap() {
        read.extend_from_slice(chunk);
    }
    (read, lines.too_long)
}

#[test]
fn every_piece_size_gives_the_same_lines() {
    let text = b"one\ntwo\n\nthe last has no end";
    for piece in 1..=text.len() {
        assert_eq!(chunks(text, piece), (text.to_vec(), 0), "{piece}");
    }
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_counted() {
    let mut text = b"before\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 3 * LINE_BYTES_MAX));
    text.extend_from_slice(b"\nafter\n");
    for piece in [1000, 1 << 16, 1 << 22] {
        let (read, too_long) = chunks(&text, piece);
        assert_eq!(String::from_utf8_lossy(&read), "before\nafter\n");
        assert_eq!(too_long, 1);
    }
}

#[test]
fn nothing_gives_no_chunk() {
    assert_eq!(chunks(b"", 1), (Vec::new(), 0));
}
