//! Chunked bodies: however they arrive they mean the same, and what the grammar says
//! (RFC 9112 §7.1). What is taken of a client means the same when an origin says it.

use http1::chunked::Decoder;

use crate::reading::{Chunks, decode_chunks, decode_chunks_by};

pub(super) const TOKENS: &[&str] = &[
    "0\r\n\r\n",
    "5\r\nhello\r\n",
    "1\r\n",
    "a\r\n",
    ";a=b\r\n",
    ";a=\"\\\"\"",
    " ; a = b",
    ";;;",
    " \r\n",
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
    let answer = decode_chunks_by(Decoder::of_answer(), [bytes]);
    if !matches!(whole, Chunks::Malformed(_)) {
        assert_eq!(answer, whole, "an origin means something else");
    }
    hold(whole, slowly(bytes, is_extension));
    hold(answer, slowly(bytes, |_| true));
}

/// Compares what was decoded with what the grammar says.
fn hold(decoded: Chunks, slow: Option<(Vec<u8>, usize)>) {
    match decoded {
        Chunks::Whole(body, consumed) => {
            let slow = slow.expect("by the grammar this is no chunked body");
            assert_eq!((body, consumed), slow, "the grammar says otherwise");
        }
        Chunks::Partial(_) => assert_eq!(slow, None, "the body is whole already"),
        Chunks::Malformed(_) => {}
    }
}

/// Whether what follows a size is `*( BWS ";" BWS name [ BWS "=" BWS value ] )`: cut at each `;`
/// outside of quotes, and each part at its first `=`.
fn is_extension(text: &[u8]) -> bool {
    let mut parts = vec![Vec::new()];
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        if *byte == b';' && !quoted {
            parts.push(Vec::new());
            continue;
        }
        quoted ^= *byte == b'"' && !escaped;
        escaped = quoted && *byte == b'\\' && !escaped;
        parts.last_mut().expect("it begins with one").push(*byte);
    }
    let is_blank = |b: &u8| matches!(b, b' ' | b'\t');
    let is_name = |text: &[u8]| {
        let is_tchar = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
        !text.is_empty() && text.iter().all(is_tchar)
    };
    let trimmed = |text: &[u8]| -> Vec<u8> {
        let from = text.iter().position(|b| !is_blank(b)).unwrap_or(text.len());
        let to = text.iter().rposition(|b| !is_blank(b)).map_or(from, |at| at + 1);
        text[from..to].to_vec()
    };
    let is_value = |text: &[u8]| {
        let is_quoted = text.len() > 1 && text[0] == b'"' && text.ends_with(b"\"");
        is_name(text) || is_quoted
    };
    let ends_in_blank = text.last().is_some_and(is_blank);
    !ends_in_blank
        && !quoted
        && trimmed(&parts[0]).is_empty()
        && (parts.len() > 1 || parts[0].is_empty())
        && parts[1..].iter().all(|part| match part.iter().position(|b| *b == b'=') {
            None => is_name(&trimmed(part)),
            Some(at) => is_name(&trimmed(&part[..at])) && is_value(&trimmed(&part[at + 1..])),
        })
}

/// Reads by the grammar; the body and where it ends, or `None` for what is torn or malformed.
/// `fits` says what may follow a size.
fn slowly(bytes: &[u8], fits: impl Fn(&[u8]) -> bool) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut at = 0;
    loop {
        let line = line(bytes, &mut at)?;
        let size = line.split(|b| matches!(b, b';' | b' ' | b'\t')).next()?;
        if !fits(&line[size.len()..]) {
            return None;
        }
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
