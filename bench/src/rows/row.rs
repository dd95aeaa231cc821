//! What a row says of itself, and how it is run.

use anyhow::Result;

use crate::measure::Measurement;
use crate::setup::Setup;

/// One row.
pub(crate) struct Row {
    /// As named on the command line.
    pub name: &'static str,
    /// In one line.
    pub what: &'static str,
    /// What a reader must know to read the figures; whole sentences, one a line.
    pub notes: &'static str,
    /// Whose versions are stated.
    pub peers: &'static [&'static str],
    /// Measures.
    pub run: fn(&Setup) -> Result<Vec<Measurement>>,
}
