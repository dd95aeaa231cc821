//! Writes an entry as one line of JSON that ends with its own hash, and reads it again.
//!
//! The hash is the SHA-256 of all bytes of the line before `,"hash":`. Among these is `before`, the
//! hash of the entry before. Hashes are 64 lower-case hexadecimal digits. Invariant: whatever byte
//! of a line changes, [`EntryLine::read`] finds it. The form must not change: trails of earlier
//! programs hold it, and the documentation shows how to check it by hand. Bounds: text fields are
//! cut at [`TEXT_BYTES_MAX`], so a line has at most [`LINE_BYTES_MAX`].

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stdx::calendar::civil_from_days;

use crate::actor::Actor;

/// Bytes of a line, its end included: five fields of text, each byte escaped as six.
pub(crate) const LINE_BYTES_MAX: usize = 128 << 10;
/// Bytes of `what`, of `result`, and of each part of `who`; longer text is cut, and ends in `…`.
pub(crate) const TEXT_BYTES_MAX: usize = 4096;

/// What stands before the hash of a line.
const HASH_KEY: &str = ",\"hash\":\"";
/// Bytes of a hash, as digits.
pub(crate) const HASH_LENGTH: usize = 64;
/// What the first entry names as the hash before it.
pub(crate) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What an entry says of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is about to be done.
    Begun,
    /// It has ended, with this result.
    Ended,
    /// Nothing: the trail itself was found damaged, or could not be written for a while.
    Note,
}

/// One entry, without its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// From 1 on, without a gap.
    pub number: u64,
    /// RFC 3339 in UTC with microseconds.
    pub time: String,
    pub kind: Kind,
    /// The entry that began the action; nothing where that one could not be written.
    pub of: Option<u64>,
    pub who: Actor,
    /// The name of the action, such as `purge`.
    pub action: String,
    /// What it is done to.
    pub what: String,
    pub result: Option<String>,
    /// The hash of the entry before.
    pub before: String,
}

impl Entry {
    /// Returns the line, with its end, and the hash.
    pub(crate) fn line(&self) -> (String, String) {
        let mut line = serde_json::to_string(self).expect("texts and numbers are always JSON");
        line.pop();
        let hash = hash_of(line.as_bytes());
        let _ = writeln!(line, "{HASH_KEY}{hash}\"}}");
        (line, hash)
    }
}

/// What stands on a line.
#[derive(Debug)]
pub(crate) struct EntryLine {
    /// The entry, if the line has the form of one.
    pub entry: Option<Entry>,
    /// The hash that the line claims for itself.
    pub hash: Option<String>,
    /// Whether that hash is right, and there is an entry.
    pub is_sound: bool,
}

impl EntryLine {
    /// Reads a line without its end.
    pub(crate) fn read(line: &[u8]) -> Self {
        let nothing = Self { entry: None, hash: None, is_sound: false };
        let tail = HASH_KEY.len() + HASH_LENGTH + 2;
        let Some((body, tail)) = line.len().checked_sub(tail).map(|at| line.split_at(at)) else {
            return nothing;
        };
        let hash = tail.strip_prefix(HASH_KEY.as_bytes()).and_then(|it| it.strip_suffix(b"\"}"));
        let Some(hash) = hash.and_then(|hash| std::str::from_utf8(hash).ok()) else {
            return nothing;
        };
        let entry = serde_json::from_slice::<Entry>(&[body, b"}"].concat()).ok();
        let is_sound = entry.is_some() && hash == hash_of(body);
        Self { entry, hash: Some(hash.to_owned()), is_sound }
    }
}

/// Returns the SHA-256 as hexadecimal digits.
pub(crate) fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(HASH_LENGTH), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns text of at most `bytes_max`; what was longer ends in `…`.
pub(crate) fn cut(text: &str, bytes_max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{MARK}", &text[..end])
}

/// Returns a time since the Unix epoch as RFC 3339 in UTC with microseconds, such as
/// `2026-11-21T03:54:12.123456Z`. Such texts have the order of their times.
pub fn rfc3339(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    let date = civil_from_days((seconds / 86_400) as i64);
    let of_day = seconds % 86_400;
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
        date.year,
        date.month,
        date.day,
        of_day / 3600,
        of_day / 60 % 60,
        of_day % 60,
        micros % 1_000_000
    )
}
