//! How an answer is framed (RFC 9112 §6.1, §6.3).
//!
//! Invariant: where an answer ends is told by one rule, and what another reader could take to end
//! elsewhere is the last on its connection, or refused: lengths that differ or are no numbers,
//! codings under HTTP/1.0, codings that change bytes, and what may be meant for `chunked`. A word
//! that names no coding changes nothing, and the body ends with the connection.

use super::FetchError;
use crate::fields::FieldLines;

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After so many bytes.
    Exact(u64),
    /// With the empty chunk.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// How an answer is framed.
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

/// Judges a final answer by its fields; `old` under HTTP/1.0, `bodiless` to a HEAD.
///
/// # Errors
/// `Malformed` when the end of its body is in doubt.
pub(super) fn framing(
    status: u16,
    fields: &FieldLines,
    (old, bodiless): (bool, bool),
) -> Result<Framing, FetchError> {
    let length = content_length(fields)?;
    let coded = coding(fields)?;
    if coded.is_some() && old || coded == Some(Coding::Nothing) && length.is_some() {
        return Err(FetchError::Malformed);
    }
    let keeps = coded != Some(Coding::Nothing) && stays(fields, old);
    if bodiless || matches!(status, 204 | 304) {
        // A 204 has no body: whatever announces one is a lie that some bytes may follow.
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
    /// A word that is no coding's name.
    Nothing,
}

fn coding(fields: &FieldLines) -> Result<Option<Coding>, FetchError> {
    let mut lines = fields.all("transfer-encoding");
    let Some(line) = lines.next() else { return Ok(None) };
    match lines.next() {
        None if line.eq_ignore_ascii_case(b"chunked") => Ok(Some(Coding::Chunked)),
        None if names_no_coding(line) => Ok(Some(Coding::Nothing)),
        _ => Err(FetchError::Malformed),
    }
}

/// The one length that every `Content-Length` names.
fn content_length(fields: &FieldLines) -> Result<Option<u64>, FetchError> {
    let mut found = None;
    let values = fields.all("content-length").flat_map(|line| line.split(|b| *b == b','));
    for value in values {
        let length = decimal(value.trim_ascii()).ok_or(FetchError::Malformed)?;
        if found.replace(length).is_some_and(|before| before != length) {
            return Err(FetchError::Malformed);
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

/// Whether the server means to keep the connection (RFC 9112 §9.3).
fn stays(fields: &FieldLines, old: bool) -> bool {
    let says = |word: &[u8]| {
        let options = fields.all("connection").flat_map(|line| line.split(|b| *b == b','));
        options.map(<[u8]>::trim_ascii).any(|option| option.eq_ignore_ascii_case(word))
    };
    !says(b"close") && (!old || says(b"keep-alive"))
}

/// Whether a value is one word that names none of the transfer codings (RFC 9112 §7), nor holds
/// the name of one.
fn names_no_coding(value: &[u8]) -> bool {
    let word = value.to_ascii_lowercase();
    let holds = |name: &str| memchr::memmem::find(&word, name.as_bytes()).is_some();
    let codings = ["chunk", "gzip", "compress", "deflate", "identity", "br", "zstd"];
    let is_word = !word.is_empty() && word.iter().all(u8::is_ascii_alphanumeric);
    is_word && !codings.into_iter().any(holds)
}
