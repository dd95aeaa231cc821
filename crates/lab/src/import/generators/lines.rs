//! Splits a file into its lines that hold something.
//!
//! Invariant: numbers are those that an editor shows, from 1; blank lines count and are left out.
//! Blanks at both ends of a line are cut off.

/// The lines of a file that hold something, with their numbers from 1.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    lines.map(|(number, line)| (number, line.trim_ascii())).filter(|(_, line)| !line.is_empty())
}
