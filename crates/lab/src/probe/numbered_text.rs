//! Puts the number of a burst into text, wherever it has `{n}`.
//!
//! Paths, header fields, bodies, names of DNS and words of commands are such texts; `scheduler.rs`
//! counts the bursts.
//! Invariant: bytes without `{n}` stay as they are. As a `String`, what is not UTF-8 is replaced.
//! There is no way to write `{n}` itself. The help (`cli/lab/probe.rs`) and docs/lab/probe.md name
//! it, and `soak/src/lab/world.rs` writes it.

const MARK: &[u8] = b"{n}";

/// Bytes with holes for a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NumberedText {
    // Invariant: never empty; a hole stands between each two pieces.
    pieces: Vec<Vec<u8>>,
}

impl NumberedText {
    pub(crate) fn new(text: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.windows(MARK.len()).position(|bytes| bytes == MARK) {
            pieces.push(rest[..at].to_vec());
            rest = &rest[at + MARK.len()..];
        }
        pieces.push(rest.to_vec());
        Self { pieces }
    }

    /// Appends the text with `number` in its holes.
    pub(crate) fn fill(&self, number: u64, out: &mut Vec<u8>) {
        let digits = number.to_string();
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(digits.as_bytes());
            }
            out.extend_from_slice(piece);
        }
    }

    /// Returns the text with `number` in its holes; what is not UTF-8 is replaced.
    pub(crate) fn text(&self, number: u64) -> String {
        let mut out = Vec::new();
        self.fill(number, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[cfg(test)]
mod tests;
