//! Compares a file of syslog with a trail: each line of Tidegate's there is a witness of one entry.
//!
//! A witness is the end of a line that says `tidegate: Running …` or `tidegate[PID]: Running …`:
//! `[audit NUMBER DIGITS]`. It contradicts the trail if the entry of that number is not there, or
//! has another hash.
//! Invariant: entries without a witness are no contradiction, because syslog is rotated and loses
//! datagrams. Lines of another trail of the same machine look the same; so each trail needs a file
//! of syslog to itself. Bounds: a line of 64 KB; a longer one is passed over.

use std::io::{self, BufRead, Read};

use crate::reading::Reading;
use crate::syslog::WITNESS_DIGITS;

const LINE_BYTES_MAX: u64 = 64 << 10;

/// What a file of syslog says of a trail.
#[derive(Debug, Default)]
pub struct Witnesses {
    /// Lines that witness an entry.
    pub count: u64,
    /// Those that the trail contradicts.
    pub contradictions: Vec<Contradiction>,
}

/// A witness that the trail contradicts.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Contradiction {
    /// The line in the file of syslog, from 1 on.
    pub line: u64,
    /// The number of the entry.
    pub number: u64,
    /// The first digits of its hash, as the witness has them.
    pub witness: String,
    /// The first digits of the hash in the trail; nothing where it has no such entry.
    pub trail: Option<String>,
}

/// Compares the lines of syslog with a trail.
///
/// # Errors
/// When the lines cannot be read.
pub fn compare(reading: &Reading, mut lines: impl BufRead) -> io::Result<Witnesses> {
    let mut found = Witnesses::default();
    let mut bytes = Vec::new();
    let mut number_of_line = 0;
    loop {
        bytes.clear();
        if lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(found);
        }
        // What goes on behind the bound is read as a line that is no witness, under this number.
        let text = String::from_utf8_lossy(&bytes);
        number_of_line += u64::from(text.ends_with('\n'));
        let line = number_of_line + u64::from(!text.ends_with('\n'));
        let Some((number, witness)) = witness(&text) else { continue };
        found.count += 1;
        let hash = reading.hashes.get(&number);
        if hash.is_some_and(|hash| hash.starts_with(witness)) {
            continue;
        }
        let trail = hash.map(|hash| hash[..WITNESS_DIGITS].to_owned());
        let witness = witness.to_owned();
        found.contradictions.push(Contradiction { line, number, witness, trail });
    }
}

/// The number and the digits of a line's witness.
fn witness(line: &str) -> Option<(u64, &str)> {
    let (before, _) = line.split_once(": Running ")?;
    let tag = before.rsplit(' ').next()?;
    let name = tag.split('[').next()?;
    let end = line.trim_end().strip_suffix(']')?.rsplit_once(" [audit ")?.1;
    let (number, digits) = end.split_once(' ')?;
    let is_hash = digits.len() == WITNESS_DIGITS
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if name != "tidegate" || !is_hash { None } else { Some((number.parse().ok()?, digits)) }
}

#[cfg(test)]
mod tests;
