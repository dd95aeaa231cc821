//! What the origin answers to whom, so that any client can tell whether a body is its own.
//!
//! Invariant: a body is a function of the target and of what the request was taken to say. Both the
//! origin and the clients make it here. Never here: sockets.

/// A body that says what was asked, for whom, and what else the request made the origin believe.
pub(super) fn body(target: &str, user: &str, belief: &str) -> Vec<u8> {
    let line = format!("asked `{target}` for `{user}` believing `{belief}`\n");
    let bytes = number(target, "size=").unwrap_or(300);
    line.bytes().cycle().take(bytes.max(line.len())).collect()
}

/// What the origin says of a body that it was sent.
pub(super) fn receipt(target: &str, body: &[u8]) -> String {
    format!("took {} bytes, {:x}, at `{target}`\n", body.len(), crate::dice::hash(body))
}

/// The number behind a word in a target.
pub(super) fn number(target: &str, word: &str) -> Option<usize> {
    let rest = target.split_once(word)?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
