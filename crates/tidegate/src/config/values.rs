//! Reads single values of any section: addresses, lengths of time, sizes, variables.
//!
//! Invariant: what cannot be read is reported with its key, and then a value is returned that the
//! check can go on with.

use std::fmt::Display;
use std::net::SocketAddr;

use chassis::config::Document;

use crate::environment;

/// Returns an address; one that cannot be read is a problem.
pub(super) fn address(
    document: &mut Document<'_>,
    key: &str,
    text: Option<String>,
    default: &str,
) -> SocketAddr {
    let text = text.unwrap_or_else(|| default.to_owned());
    text.parse().unwrap_or_else(|_| {
        document.wrong(key, format!("`{text}` is no address; write IP:PORT, such as {default}"));
        SocketAddr::from(([127, 0, 0, 1], 0))
    })
}

/// Returns what a variable of the environment says; one that cannot be read is a problem.
pub(super) fn variable<T>(
    document: &mut Document<'_>,
    read: Result<Option<T>, environment::Unreadable>,
) -> Option<T> {
    read.map_err(|error| document.wrong(error.name, error.to_string())).ok().flatten()
}

/// Returns what `read` makes of a text. `Span` and `ByteSize` read with 0 (`or_zero`) or without it
/// (`above_zero`).
pub(super) fn value<T, E: Display>(
    document: &mut Document<'_>,
    (key, text): (&str, Option<String>),
    read: fn(&str) -> Result<T, E>,
) -> Option<T> {
    read(&text?).map_err(|error| document.wrong(key, error.to_string())).ok()
}
