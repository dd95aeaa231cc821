//! A source up to where it was delivered: what has to be counted again to check a sink.
//!
//! Invariant: of each file exactly the bytes before its end are handed out, as far as they are
//! there; what was written behind it since is passed over.

use std::collections::HashMap;

use super::{Piece, Source, Step};
use crate::error::SourceError;

/// Another source, as far as it was delivered.
pub struct Until {
    source: Box<dyn Source>,
    /// Where each file ends, by its name.
    ends: HashMap<String, u64>,
    /// Bytes before those ends that have not come yet.
    missing: u64,
}

impl Until {
    /// `source`, of each file only what lies before its end in `ends`.
    pub fn new(source: Box<dyn Source>, ends: HashMap<String, u64>) -> Self {
        Self { source, missing: ends.values().sum(), ends }
    }

    fn room(ends: &HashMap<String, u64>, piece: &Piece<'_>) -> u64 {
        ends.get(piece.file).map_or(0, |end| end.saturating_sub(piece.start))
    }
}

impl Source for Until {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.missing = self.ends.values().sum();
        self.source.resume(position)
    }

    fn others(&mut self, positions: &[String]) {
        self.source.others(positions);
    }

    fn read(&mut self) -> Result<Step<'_>, SourceError> {
        if self.missing == 0 {
            return Ok(Step::CaughtUp);
        }
        let Self { source, ends, missing } = self;
        Ok(match source.read()? {
            Step::Lines(piece) => {
                let length = Self::room(ends, &piece).min(piece.bytes.len() as u64);
                *missing = missing.saturating_sub(length);
                Step::Lines(Piece { bytes: &piece.bytes[..length as usize], ..piece })
            }
            Step::Torn(piece) if Self::room(ends, &piece) > 0 => {
                *missing = missing.saturating_sub(piece.bytes.len() as u64);
                Step::Torn(piece)
            }
            Step::Oversized { beginning, length } if Self::room(ends, &beginning) > 0 => {
                *missing = missing.saturating_sub(length);
                Step::Oversized { beginning, length }
            }
            Step::Torn(beyond) | Step::Oversized { beginning: beyond, .. } => {
                Step::Lines(Piece { bytes: &[], ..beyond })
            }
            Step::Lost { file, from, to } => {
                *missing = missing.saturating_sub(to - from);
                Step::Lost { file, from, to }
            }
            other => other,
        })
    }

    fn position(&self) -> String {
        self.source.position()
    }

    fn committed(&mut self, position: &str) -> Result<(), SourceError> {
        self.source.committed(position)
    }

    fn bytes_behind(&mut self) -> u64 {
        self.missing
    }
}

#[cfg(test)]
mod tests;
