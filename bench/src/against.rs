//! Two builds of Tidegate in the rows of one run, by turns: what a change costs.
//!
//! Invariant: a ratio is taken between two runs of a row that follow each other, and the figure is
//! the median of all turns. The figures of peers stand beside it: as far as their ratio is from 1,
//! so far goes the noise.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::measure::Measurement;
use crate::rows::Row;
use crate::setup::Setup;

/// Times that each build runs a row.
const TURNS: usize = 5;

/// Runs a row by turns with the build of this checkout and with another, and prints both.
#[expect(clippy::print_stdout, reason = "the table of results is this program's output")]
pub(crate) fn compare(row: &Row, setup: &mut Setup, other: &Path) -> Result<()> {
    ensure!(other.exists(), "binary `{}`: missing", other.display());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        for first in [turn % 2 == 0, turn % 2 == 1] {
            setup.other_binary = (!first).then(|| other.to_owned());
            let measured = (row.run)(setup)?;
            if first { ours.push(measured) } else { theirs.push(measured) }
        }
    }
    println!("    {:34} {:28} {:>10} {:>10}   ratio", "", "", "this", "other");
    for (index, figure) in ours[0].iter().enumerate() {
        let same = |runs: &[Vec<Measurement>]| -> Vec<f64> {
            runs.iter().filter_map(|run| run.get(index)).map(|m| m.value).collect()
        };
        let (this, that) = (same(&ours), same(&theirs));
        let ratios = this.iter().zip(&that).map(|(this, that)| this / that);
        let ratio = Measurement::new(&*figure.case, &figure.figure, ratios);
        let median = |values: Vec<f64>| Measurement::new("", "", values).value;
        println!(
            "    {:34} {:28} {:>10.3} {:>10.3}   {:.3} [{:.3} – {:.3}]",
            figure.case,
            figure.figure,
            median(this),
            median(that),
            ratio.value,
            ratio.min,
            ratio.max
        );
    }
    Ok(())
}
