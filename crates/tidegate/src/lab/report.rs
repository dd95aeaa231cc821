//! Runs `tidegate lab report`: reads measurements from one place or several, and prints a report.
//!
//! A source of two targets is a comparison. With `--vs`, the first series of each side is compared,
//! in pairs only under `--paired`.
//! Invariant: wrong arguments are wrong usage; a source that cannot be read is a failure. `bench`
//! reads what `--format json` prints. A file of `--output` is replaced after reading, so an error
//! before leaves it as it was.
//! Never here: where sources lie and what is taken of them (`lab/report/source.rs`), formats and
//! figures (the crate `lab`).

pub(super) mod source;

use anyhow::Result;
use lab::Report;
use lab::session_file::SeriesSet;

use super::misuse::misused;
use super::written;
use crate::cli::ReportArgs;

/// `tidegate lab report`
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let reading = source::reading(&args.source).map_err(misused)?;
    let found = source::together(&args.source, &reading)?;
    let (series, other, is_paired) = match (&args.vs, found) {
        (None, SeriesSet { mut series, is_paired }) => {
            let other = (series.len() == 2).then(|| series.pop()).flatten();
            (series.pop().unwrap_or_default(), other, is_paired)
        }
        (Some(vs), mut found) => {
            let mut other = source::read(vs, &args.source.config, &reading)?;
            found.series.truncate(1);
            other.series.truncate(1);
            let series = found.series.pop().unwrap_or_default();
            (series, other.series.pop(), args.paired)
        }
    };
    let options = source::options(&args.source);
    let report = match &other {
        Some(other) => Report::versus(&series, other, is_paired, &options),
        None => Report::new(&series, &options),
    };
    written::write(&args.written, |style| match args.format.as_str() {
        "json" => report.to_json() + "\n",
        "html" => report.to_html(),
        _ => report.to_text(style),
    })
}
