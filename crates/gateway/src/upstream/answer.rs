//! The head of an answer, parsed strictly (RFC 9112 §4, §5).
//!
//! Invariants: a head that is accepted can be read in one way only; folded lines, blanks before a
//! colon, line breaks and NULs within a line and anything before the status line are refused, and
//! so is a head beyond its bounds. How its body is framed is judged by `framing`, once.

use std::mem::MaybeUninit;

use super::FetchError;
use super::framing::{Framing, framing};
use crate::fields::FieldLines;

/// Bytes of one head.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes for the lines that are added on the way.
const ROOM_FOR_OWN: usize = 64;
/// Fields of one head.
const FIELDS_MAX: usize = 100;

/// The head of an answer.
#[derive(Debug)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub fields: FieldLines,
    /// How its body is framed; for an interim answer, that there is none.
    pub framing: Framing,
}

/// Reads the head at the start of `bytes`, and where it ends; `None` when it is not complete.
/// `bodiless` when the request was a HEAD.
///
/// # Errors
/// `Malformed` when it must not be guessed at, or is too long.
pub(super) fn parse(bytes: &[u8], bodiless: bool) -> Result<Option<(Head, usize)>, FetchError> {
    // The parser would pass over empty lines.
    if bytes.first().is_some_and(|first| *first != b'H') {
        return Err(FetchError::Malformed);
    }
    let mut storage = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut storage);
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
        Ok(_) | Err(_) => return Err(FetchError::Malformed),
    };
    let status = response.code.filter(|code| *code >= 100).ok_or(FetchError::Malformed)?;
    let mut fields = FieldLines::with_capacity(response.headers.len() + 2, length + ROOM_FOR_OWN);
    for header in response.headers.iter() {
        fields.append(header.name, header.value);
    }
    let framing = match status {
        100..200 => Framing::NONE,
        _ => framing(status, &fields, (response.version == Some(0), bodiless))?,
    };
    Ok(Some((Head { status, fields, framing }, length)))
}
