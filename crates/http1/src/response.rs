//! The head of a response, parsed strictly (RFC 9112 §4, §5).
//!
//! Invariants: a head that is accepted can be read in one way only; folded lines, blanks before a
//! colon, line breaks and NULs within a line and anything before the status line are refused, and
//! so is a head beyond its bounds. How its body is framed is judged by `framing`, once.

use std::mem::MaybeUninit;

use crate::fields::FieldLines;
use crate::framing::{self, Framing, Version};

pub use crate::framing::MalformedResponse;

/// Bytes of one head.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Bytes for the lines that are added on the way.
const ADDED_BYTES: usize = 64;
/// Fields of one head.
const FIELDS_MAX: usize = 100;

/// The head of a response.
#[derive(Debug)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Its fields.
    pub fields: FieldLines,
    /// How its body is framed; an interim response has none.
    pub framing: Framing,
}

/// Reads the head at the start of `bytes`, and where it ends; `None` when it is not complete.
/// `to_head` says that the request was a HEAD.
///
/// # Errors
/// When it must not be guessed at, or is too long.
pub fn parse(bytes: &[u8], to_head: bool) -> Result<Option<(Head, usize)>, MalformedResponse> {
    // The parser would pass over empty lines.
    if bytes.first().is_some_and(|first| *first != b'H') {
        return Err(MalformedResponse);
    }
    let mut storage = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut storage);
    let length = match parsed {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => return Ok(None),
        Ok(_) | Err(_) => return Err(MalformedResponse),
    };
    let status = response.code.filter(|code| *code >= 100).ok_or(MalformedResponse)?;
    let mut fields = FieldLines::with_capacity(response.headers.len() + 2, length + ADDED_BYTES);
    for header in response.headers.iter() {
        fields.append(header.name, header.value);
    }
    let version = if response.version == Some(0) { Version::Http10 } else { Version::Http11 };
    let framing = match status {
        100..200 => Framing::NONE,
        _ => framing::of_response(status, &fields, version, to_head)?,
    };
    Ok(Some((Head { status, fields, framing }, length)))
}
