//! Tells which bytes a host may have, with or without its port (RFC 3986 §3.2.2).
//!
//! Percent-encoded and internationalised names pass. Refuses: user information, paths, blanks,
//! quotes and commas, so that a host needs no escape in a list or between quotes.

/// Whether a text may be a host; it may be empty.
pub(crate) fn host_is_plain(host: &[u8]) -> bool {
    host.iter().all(|b| b.is_ascii_alphanumeric() || b".-_:[]%~!$&'()*+;=".contains(b))
}
