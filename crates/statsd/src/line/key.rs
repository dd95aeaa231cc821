//! Says which characters keys may have, cleans keys as statsd does, and holds the buffer for them.
//!
//! Invariant: every flavour leaves the bytes of `IN_KEY` alone; the fast way of `line.rs` relies on
//! it. A flavour that gives such a byte a meaning must take it out of `IN_KEY`. A byte that is
//! added stays in the keys of all flavours, because `clean` and `perl.rs` read `IN_KEY`. The fuzz
//! target `statsd_line` has the same characters again (`is_plain`).
//! `clean` also cleans native keys and names of tags (`native.rs`). Never here: Perl's cleaning
//! (`perl.rs`), tags (`native.rs`, `statsd.rs`).

/// What every flavour leaves alone in a key.
pub(super) const IN_KEY: [bool; 256] = {
    let mut in_key = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        in_key[byte] = letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-' | b'.');
        byte += 1;
    }
    in_key
};

/// Appends a key as statsd cleans it.
///
/// White space becomes `_`, and `/` becomes `-`. Of the rest it keeps alphanumerics, `_`, `-`, `.`
/// and the bytes of `kept`.
pub(super) fn clean(key: &[u8], kept: &[u8], out: &mut Vec<u8>) {
    let mut in_space = false;
    for byte in key {
        let is_space = matches!(byte, b'\t'..=b'\r' | b' ');
        match byte {
            _ if is_space && in_space => {}
            _ if is_space => out.push(b'_'),
            b'/' => out.push(b'-'),
            _ if IN_KEY[usize::from(*byte)] || kept.contains(byte) => out.push(*byte),
            _ => {}
        }
        in_space = is_space;
    }
}

/// Where keys are written that are not used as they came; one buffer serves all lines.
#[derive(Debug)]
pub(super) struct KeyBuffer {
    /// The key of the line that is being read.
    pub text: Vec<u8>,
    /// Whether statsd's keys are cleaned.
    pub is_cleaning: bool,
    /// Whether sinks are shown every line's key.
    pub is_counting: bool,
}
