//! Runs `tidegate lab steps`: reads measurements, and reports on their steps alone.
//!
//! It reads what `lab report` reads, by the same options (`lab/report/source.rs`). Of a file of two
//! targets the first is taken, and a note on stderr says so.
//! Invariant: wrong arguments are wrong usage. A column that the file does not have is a failure,
//! because it is known only after reading.
//! Never here: figures and drawings (`lab::StepsReport`, `lab::Scatter`).

use anyhow::Result;
use lab::{Scatter, StepsReport};

use super::misuse::misused;
use super::report::source;
use super::written;
use crate::cli::StepsArgs;

/// `tidegate lab steps`
pub(super) fn run(args: &StepsArgs) -> Result<()> {
    let reading = source::reading(&args.source).map_err(misused)?;
    let mut found = source::together(&args.source, &reading)?;
    if found.series.len() > 1 {
        crate::output::tell!("note: the file has two targets; these are the steps of the first");
    }
    found.series.truncate(1);
    let series = found.series.pop().unwrap_or_default();
    let axes = args.scatter.as_ref().map(|axes| axes.each_ref().map(String::as_str));
    let scatter = axes.map(|axes| Scatter::new(&series, axes, args.by.as_deref())).transpose()?;
    let report = StepsReport::new(&series, &source::options(&args.source), scatter)?;
    written::write(&args.written, |style| match args.format.as_str() {
        "json" => report.to_json() + "\n",
        "html" => report.to_html(),
        _ => report.to_text(style),
    })
}
