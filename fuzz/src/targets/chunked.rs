//! Chunked bodies: however they arrive they mean the same, and what the grammar says
//! (RFC 9112 §7.1).

use crate::reading::{Chunks, decode_chunks};

pub(super) const TOKENS: &[&str] = &[
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "1\r\n",
    "a\r\n",
    ";a=b\r\n",
    ";a=\"\\\"\"",
    "\r\n\r\n",
    "X: y\r\n",
    "ffffffffffffffff\r\n",
    "0x5\r\n",
    "-1\r\n",
    "00000005\r\n",
];

/// The first line cuts the rest into pieces.
pub(super) fn run(input: &[u8]) {
    let (cuts, bytes) = super::settings(input);
    let whole = decode_chunks([bytes]);
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for cut in cuts.iter().map(|b| usize::from(*b % 19)) {
        let (piece, more) = rest.split_at(cut.min(rest.len()));
        pieces.push(piece);
        rest = more;
    }
    pieces.push(rest);
    assert_eq!(decode_chunks(pieces), whole, "in pieces it means something else");
    assert_eq!(decode_chunks(bytes.chunks(1)), whole, "byte by byte it means something else");
    match whole {
        Chunks::Whole(body, consumed) => {
            let slow = slowly(bytes).expect("by the grammar this is no chunked body");
            assert_eq!((body, consumed), slow, "the grammar says otherwise");
        }
        Chunks::Partial(_) => assert_eq!(slowly(bytes), None, "the body is whole already"),
        Chunks::Malformed(_) => {}
    }
}

/// Reads by the grammar; the body and where it ends, or `None` for what is torn or malformed.
fn slowly(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = line(bytes, &mut at)?;
        let size = line.split(|b| matches!(b, b';' | b' ' | b'\t')).next()?;
        let digits = !size.is_empty() && size.iter().all(u8::is_ascii_hexdigit);
        let size = std::str::from_utf8(size).ok().filter(|_| digits)?;
        let size = usize::try_from(u64::from_str_radix(size, 16).ok()?).ok()?;
        if size == 0 {
            break;
        }
        let end = at.checked_add(size)?;
        body.extend_from_slice(bytes.get(at..end)?);
        at = end;
        if bytes.get(at..at + 2)? != b"\r\n" {
            return None;
        }
        at += 2;
    }
    while !line(bytes, &mut at)?.is_empty() {}
    Some((body, at))
}

fn line<'b>(bytes: &'b [u8], at: &mut usize) -> Option<&'b [u8]> {
    let rest = bytes.get(*at..)?;
    let end = rest.iter().position(|b| *b == b'\n')?;
    let line = rest[..end].strip_suffix(b"\r")?;
    *at += end + 1;
    Some(line)
}
