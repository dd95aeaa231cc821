//! Says what a long job is, and guesses which model a body about texts names.
//!
//! Jobs of a model share a turn on the pool, and its long jobs another. The model is looked for in
//! the first and last 4 KiB of a body, before it is read: a wrong guess costs only fairness.
//! Elsewhere: what runs next (`chassis::WorkPool`), limits (`concurrency_limit.rs`).

use std::time::Duration;

use memchr::memmem;

/// Longer jobs let short ones run within them.
pub(super) const SHORT_MAX: Duration = Duration::from_millis(5);
/// Bytes of texts that are made tokens of in about that time.
pub(super) const TEXT_BYTES_SHORT: usize = 32 * 1024;
/// Bytes of a body that are searched from either end.
const SEARCHED: usize = 4096;

/// Returns the text behind the key `model` of a body, if it is near an end.
pub(super) fn asked_model(body: &[u8]) -> Option<&str> {
    let head = &body[..body.len().min(SEARCHED)];
    let tail = &body[body.len().saturating_sub(SEARCHED)..];
    named(head).or_else(|| named(tail))
}

fn named(part: &[u8]) -> Option<&str> {
    const KEY: &[u8] = b"\"model\"";
    let behind = &part[memmem::find(part, KEY)? + KEY.len()..];
    let value = behind.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"")?;
    std::str::from_utf8(&value[..memchr::memchr(b'"', value)?]).ok()
}

#[cfg(test)]
mod tests;
