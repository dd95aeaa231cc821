//! Decides where the body of a final response ends, and whether its connection may be reused.
//!
//! Invariant: if another reader could see another end, the response is refused, or its connection
//! carries no further request. This holds for replies to HEAD too. Refused are:
//!
//! - `Content-Length` values that differ, or are no decimal numbers of 64 bits;
//! - any `Transfer-Encoding` under HTTP/1.0, or on more than one line;
//! - any other `Transfer-Encoding` but `chunked` or a single word that names no coding;
//! - such a word beside a `Content-Length`.
//!
//! Without a length such a word is ignored: the body ends with the connection. `chunked` beside a
//! `Content-Length` counts, but the connection is not reused. `names_no_coding` must know every
//! coding of `accept`. For users the rules stand in docs/operating/security.md, but for the word
//! that is ignored; change both. Never here: 1xx (`response`), chunks (`chunked`), requests
//! (`request`). Source: RFC 9112 §6.1, §6.3, §9.3.

use crate::fields::FieldLines;

/// The bytes are no response, or the end of the response is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed response")]
pub struct MalformedResponse;

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After this number of bytes.
    Exact(u64),
    /// After the last chunk and its trailer.
    Chunked,
    /// When the server closes the connection.
    UntilClose,
}

/// The HTTP version that a response states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// How a response is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Where its body ends.
    pub length: Length,
    /// Whether the connection may carry another request after it.
    pub keeps: bool,
}

impl Framing {
    /// No body.
    pub const NONE: Self = Self { length: Length::Exact(0), keeps: true };
}

/// Decides how a final response is framed; `to_head` says that the request was a HEAD.
///
/// # Errors
/// When the end of the body is ambiguous.
pub fn of_response(
    status: u16,
    fields: &FieldLines,
    version: Version,
    to_head: bool,
) -> Result<Framing, MalformedResponse> {
    let old = version == Version::Http10;
    let length = content_length(fields)?;
    let coded = coding(fields)?;
    if coded.is_some() && old || coded == Some(Coding::Nothing) && length.is_some() {
        return Err(MalformedResponse);
    }
    let keeps = coded != Some(Coding::Nothing) && stays(fields, old);
    if to_head || matches!(status, 204 | 304) {
        // A 204 has no body. If its fields announce one, the origin may send those bytes.
        let is_lie = status == 204 && (coded.is_some() || length.is_some_and(|bytes| bytes > 0));
        let is_doubtful = is_lie || coded.is_some() && length.is_some();
        return Ok(Framing { length: Length::Exact(0), keeps: keeps && !is_doubtful });
    }
    Ok(match (coded, length) {
        (Some(Coding::Chunked), length) => {
            Framing { length: Length::Chunked, keeps: keeps && length.is_none() }
        }
        (None, Some(bytes)) => Framing { length: Length::Exact(bytes), keeps },
        (None | Some(Coding::Nothing), _) => Framing { length: Length::UntilClose, keeps: false },
    })
}

/// What `Transfer-Encoding` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    /// A word that resembles no known coding.
    Nothing,
}

fn coding(fields: &FieldLines) -> Result<Option<Coding>, MalformedResponse> {
    let mut lines = fields.all("transfer-encoding");
    let Some(line) = lines.next() else { return Ok(None) };
    match lines.next() {
        None if line.eq_ignore_ascii_case(b"chunked") => Ok(Some(Coding::Chunked)),
        None if names_no_coding(line) => Ok(Some(Coding::Nothing)),
        _ => Err(MalformedResponse),
    }
}

/// Returns the length that all `Content-Length` values agree on; `None` without such a field.
fn content_length(fields: &FieldLines) -> Result<Option<u64>, MalformedResponse> {
    let mut found = None;
    let values = fields.all("content-length").flat_map(|line| line.split(|b| *b == b','));
    for value in values {
        let length = decimal(value.trim_ascii()).ok_or(MalformedResponse)?;
        if found.replace(length).is_some_and(|before| before != length) {
            return Err(MalformedResponse);
        }
    }
    Ok(found)
}

fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    text.iter().try_fold(0, add)
}

/// Whether the server keeps the connection open (RFC 9112 §9.3).
fn stays(fields: &FieldLines, old: bool) -> bool {
    let says = |word: &[u8]| {
        let options = fields.all("connection").flat_map(|line| line.split(|b| *b == b','));
        options.map(<[u8]>::trim_ascii).any(|option| option.eq_ignore_ascii_case(word))
    };
    !says(b"close") && (!old || says(b"keep-alive"))
}

/// Whether a value is one word that does not contain the name of any coding (RFC 9112 §7).
fn names_no_coding(value: &[u8]) -> bool {
    let word = value.to_ascii_lowercase();
    let holds = |name: &str| memchr::memmem::find(&word, name.as_bytes()).is_some();
    let codings = ["chunk", "gzip", "compress", "deflate", "identity", "br", "zstd"];
    let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_alphanumeric);
    is_word && !codings.into_iter().any(holds)
}
