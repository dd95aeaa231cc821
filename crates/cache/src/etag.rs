//! Tags of encoded answers: the origin's, weak, with the coding's name at its end.
//!
//! Weak, because the same answer encoded again may be other bytes; with the name, because two
//! codings must not share a tag a cache could take one for the other by (RFC 9110 §8.8.3.3). The
//! origin is asked by its own tags alone: what was added here is taken off again.

use http1::FieldLines;
use http1::accept::Coding;

/// What stands before the coding's name; no origin is known to end its tags like this.
const MARK: &[u8] = b"~tg-";

/// The tag of an answer encoded here.
pub fn encoded(tag: &[u8], coding: Coding) -> Option<Vec<u8>> {
    let inner = opaque(tag).strip_suffix(b"\"")?;
    Some([b"W/", inner, MARK, coding.name().as_bytes(), b"\""].concat())
}

/// A tag without its mark of weakness.
pub fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// The coding that a tag names and what stands before the mark, `"` and all; `None` for a tag that
/// was not made here.
pub fn split(tag: &[u8]) -> Option<(&[u8], Coding)> {
    let tag = opaque(tag).strip_suffix(b"\"")?;
    Coding::ALL.into_iter().find_map(|coding| {
        let rest = tag.strip_suffix(coding.name().as_bytes())?.strip_suffix(MARK)?;
        rest.starts_with(b"\"").then_some((rest, coding))
    })
}

/// The coding in which a client holds the answer with our tag `ours`, by one of the tags it sent:
/// `None` when that is not the same answer, `Some(None)` when it holds the bytes as they are.
pub fn coding_of_copy(tag: &[u8], ours: &[u8]) -> Option<Option<Coding>> {
    if opaque(tag) == opaque(ours) {
        return Some(None);
    }
    let (rest, coding) = split(tag)?;
    (opaque(ours).strip_suffix(b"\"") == Some(rest)).then_some(Some(coding))
}

/// Gives the origin its own tags back in a request's conditions.
///
/// `If-Match` compares strongly, so a mark of weakness that was added here must go; `If-Range` is
/// left alone, for an encoded answer is no part of the bytes as they are.
pub fn restore(headers: &mut FieldLines) {
    for (name, strong) in [("if-match", true), ("if-none-match", false)] {
        let lines: Vec<Vec<u8>> = headers.all(name).map(<[u8]>::to_vec).collect();
        let is_marked = |line: &Vec<u8>| memchr::memmem::find(line, MARK).is_some();
        if !lines.iter().any(is_marked) {
            continue;
        }
        headers.remove(name);
        for line in lines {
            headers.append(name, &restored(&line, strong));
        }
    }
}

fn restored(line: &[u8], strong: bool) -> Vec<u8> {
    // Pieces without a mark stay as they are, blanks and all: a tag may hold a comma.
    let pieces = line.split(|b| *b == b',').map(|piece| match split(piece.trim_ascii()) {
        Some((rest, _)) if strong => [rest, b"\""].concat(),
        Some((rest, _)) => [b"W/", rest, b"\""].concat(),
        None => piece.to_vec(),
    });
    pieces.collect::<Vec<_>>().join(&b","[..])
}

#[cfg(test)]
mod tests;
