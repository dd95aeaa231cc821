//! Makes and takes apart the `ETag`s of encoded responses: the origin's tag, made weak, with the
//! name of the coding added.
//!
//! The tag is weak because encoding a response again may give other bytes. It names the coding
//! because two codings must not share a tag (RFC 9110 §8.8.3.3).
//! Invariant: what [`encoded`] adds to a tag in quotes, [`split`] finds. [`restore`] removes it
//! from `If-Match` and `If-None-Match`, except in a tag that holds a comma. `If-Range` keeps it,
//! because a part of an encoded response is no part of the identity encoding. The gateway calls
//! [`restore`] on requests that it passes to an origin.
//! Clients keep these tags; docs/decisions/gateway.md shows their form. After a change of the mark
//! or of a coding's name, their copies are confirmed no more, and origins see the old form.
//! An origin's own tag that ends in the mark and a coding's name would be taken for one of ours.
//! Never here: evaluating preconditions (`gateway::reply::respond`).

use http1::FieldLines;
use http1::accept::Coding;

/// The mark before the name of the coding. No known origin ends its tags like this.
const MARK: &[u8] = b"~tg-";

/// Returns the tag of a response encoded here; `None` if the origin's tag has no closing quote.
pub fn encoded(tag: &[u8], coding: Coding) -> Option<Vec<u8>> {
    let inner = opaque(tag).strip_suffix(b"\"")?;
    Some([b"W/", inner, MARK, coding.name().as_bytes(), b"\""].concat())
}

/// Returns a tag without its `W/`.
pub fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// Splits a tag that was made here into the origin's part, with its opening quote, and the coding.
/// Returns `None` for any other tag.
pub fn split(tag: &[u8]) -> Option<(&[u8], Coding)> {
    let tag = opaque(tag).strip_suffix(b"\"")?;
    Coding::ALL.into_iter().find_map(|coding| {
        let rest = tag.strip_suffix(coding.name().as_bytes())?.strip_suffix(MARK)?;
        rest.starts_with(b"\"").then_some((rest, coding))
    })
}

/// Returns the coding in which a client holds the response with the tag `ours`. `tag` is one of
/// the tags that the client sent. `None` means another response; `Some(None)` means that the
/// client holds the identity encoding.
pub fn coding_of_copy(tag: &[u8], ours: &[u8]) -> Option<Option<Coding>> {
    if opaque(tag) == opaque(ours) {
        return Some(None);
    }
    let (rest, coding) = split(tag)?;
    (opaque(ours).strip_suffix(b"\"") == Some(rest)).then_some(Some(coding))
}

/// Restores the origin's own tags in the preconditions of a request.
///
/// `If-Match` compares strongly, so the `W/` that was added here must go. `If-Range` stays as it
/// is, because a part of an encoded response is no part of the identity encoding.
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
    // A tag may hold a comma, so pieces without a mark keep every byte, blanks included.
    let pieces = line.split(|b| *b == b',').map(|piece| match split(piece.trim_ascii()) {
        Some((rest, _)) if strong => [rest, b"\""].concat(),
        Some((rest, _)) => [b"W/", rest, b"\""].concat(),
        None => piece.to_vec(),
    });
    pieces.collect::<Vec<_>>().join(&b","[..])
}

#[cfg(test)]
mod tests;
