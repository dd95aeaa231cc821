//! How an answer is framed, beyond what hyper checks (RFC 9112 §6.1, §6.3).
//!
//! hyper refuses folded lines, lengths that differ or are no numbers, broken chunks, codings under
//! HTTP/1.0, and drops a connection with bytes behind an answer that nobody asked for. Refused
//! here: codings but one `chunked`, which hyper would pass on as if they were the body. Not used
//! again: a connection whose answer another reader could take to end elsewhere.

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
    let is_chunked = coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"));
    if !is_chunked || codings.next().is_some() {
        return Err(FetchError::Malformed);
    }
    let length = headers.get(CONTENT_LENGTH);
    if response.status() == http::StatusCode::NO_CONTENT {
        // It has no body, so whatever announces one is a lie that some bytes may follow.
        return Ok(coding.is_none() && length.is_none_or(|length| length == "0"));
    }
    Ok(coding.is_none() || length.is_none())
}
