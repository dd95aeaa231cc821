//! How an answer is framed, beyond what hyper checks (RFC 9112 §6.1, §6.3).
//!
//! hyper refuses folded lines, lengths that differ or are no numbers, broken chunks, codings under
//! HTTP/1.0, and drops a connection with bytes behind an answer that nobody asked for. Refused
//! here: codings that change bytes, and what may be meant for `chunked`, which hyper would pass on
//! as if they were the body; a word that names no coding changes nothing, and the body ends with
//! the connection. Not used again: a connection whose answer another reader could take to end
//! elsewhere.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::FetchError;

/// Whether the connection may carry another request after this answer.
///
/// # Errors
/// `Malformed` when its body cannot be read.
pub fn ends_beyond_doubt<B>(response: &http::Response<B>) -> Result<bool, FetchError> {
    let headers = response.headers();
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next();
    let length = headers.get(CONTENT_LENGTH);
    let is_chunked = coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    let is_nothing = coding.is_some_and(|coding| names_no_coding(coding.as_bytes()));
    if codings.next().is_some() || !(is_chunked || is_nothing && length.is_none()) {
        return Err(FetchError::Malformed);
    }
    if is_nothing {
        return Ok(false);
    }
    if response.status() == http::StatusCode::NO_CONTENT {
        // It has no body, so whatever announces one is a lie that some bytes may follow.
        return Ok(coding.is_none() && length.is_none_or(|length| length == "0"));
    }
    Ok(coding.is_none() || length.is_none())
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
