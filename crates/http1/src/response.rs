//! Parses the head of a response from an upstream strictly (RFC 9112 §4, §5).
//!
//! Invariant: it refuses folded lines, blanks before a colon, and a CR or NUL within a line. It
//! refuses any byte before the status line, and a status below 100. Bounds: `HEAD_BYTES_MAX` bytes
//! and 100 fields; a head with more is refused. A line may end in LF alone, as §2.2 allows;
//! `FieldLines` then holds it with CRLF. A final response gets its framing from `framing`, which
//! may refuse it too. An interim response (1xx) has no body.
//! What is refused stands for users in docs/operating/security.md. `gateway::upstream::connection`
//! stops waiting for the rest of a head at `HEAD_BYTES_MAX`. Never here: reading, requests
//! (`request`).

use std::mem::MaybeUninit;

use crate::fields::FieldLines;
use crate::framing::{self, Framing, Version};

pub use crate::framing::MalformedResponse;

/// Bytes of one head; a longer one is malformed.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Spare bytes for field lines that the caller appends later, so that they need no allocation.
const ADDED_BYTES: usize = 64;
/// Fields of one head; a head with more is malformed.
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

/// Returns the head at the start of `bytes`, with its length; `None` while it is incomplete.
/// `to_head` says that the request was a HEAD.
///
/// # Errors
/// When the head is ambiguous, malformed or over its bounds. The caller must close the connection.
pub fn parse(bytes: &[u8], to_head: bool) -> Result<Option<(Head, usize)>, MalformedResponse> {
    // `httparse` would skip empty lines before the status line.
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
