//! Decodes the gzip body of a request to a model, which reads plain ones only.
//!
//! Any other coding is refused with 415 (RFC 9110 §8.4). What is decoded is charged to the client
//! as it comes, and bounded by the route's `body_bytes_max`: a small body cannot become a huge one.
//! Bodies of some size are decoded on a thread of the work pool.

use std::io::Read;

use bytes::Bytes;
use chassis::http::BodyError;
use chassis::{Charge, Group, Length, WorkPool, WorkRefused};
use flate2::read::MultiGzDecoder;

use crate::error::Refusal;

/// Compressed bytes that an I/O core decodes itself: some 100 µs.
const INLINE_BYTES_MAX: usize = 8 * 1024;
/// Bytes that are decoded and charged at a time.
const STEP: usize = 64 * 1024;
/// The turn of decoding on the work pool.
const DECODING: Group<'static> = Group { name: "request bodies", length: Length::Short };

/// Returns the body in plain, with its charge; none where the coding changes nothing.
///
/// # Errors
/// 415 for another coding than gzip, 400 for a damaged body, 413 for one that becomes too long. 503
/// where there is no budget or too much to do.
pub(super) async fn plain(
    coding: &[u8],
    body: Bytes,
    (bytes_max, charge): (u64, Charge),
    work: &WorkPool,
) -> Result<Option<(Vec<u8>, Charge)>, Refusal> {
    let coding = coding.trim_ascii();
    let is = |name: &str| coding.eq_ignore_ascii_case(name.as_bytes());
    if coding.is_empty() || is("identity") {
        return Ok(None);
    }
    if !is("gzip") && !is("x-gzip") {
        let coding = String::from_utf8_lossy(coding);
        let message = format!("`content-encoding: {coding}` is not supported here; send gzip");
        return Err(Refusal::Body(415, message));
    }
    if body.len() <= INLINE_BYTES_MAX {
        return decoded(&body, bytes_max, charge).map(Some);
    }
    let done = work.run(DECODING, move || decoded(&body, bytes_max, charge)).await;
    let done = done.unwrap_or_else(|refused| {
        Err(match refused {
            WorkRefused::Full => Refusal::Overloaded("request bodies"),
            WorkRefused::Broken => Refusal::Body(400, "the gzip body is damaged".to_owned()),
        })
    });
    done.map(Some)
}

fn decoded(body: &[u8], bytes_max: u64, mut charge: Charge) -> Result<(Vec<u8>, Charge), Refusal> {
    let refusal = |error: BodyError| Refusal::Body(error.status(), error.to_string());
    let mut decoder = MultiGzDecoder::new(body);
    let mut plain = Vec::new();
    loop {
        let before = plain.len();
        if !charge.try_add(STEP) {
            return Err(refusal(BodyError::OverBudget));
        }
        let read = decoder.by_ref().take(STEP as u64).read_to_end(&mut plain);
        read.map_err(|error| Refusal::Body(400, format!("the gzip body is damaged: {error}")))?;
        if plain.len() as u64 > bytes_max {
            return Err(refusal(BodyError::TooLong(bytes_max)));
        }
        if plain.len() == before {
            return Ok((plain, charge));
        }
    }
}

#[cfg(test)]
mod tests;
