//! Reads a log in our own format from its first line to its end: the journal, or a file like it.
//!
//! `events export` and `tidegate explain` use it. Rotated and packed segments are read as the
//! delivery reads them. Progress is shown on a terminal.
//! Invariant: reading keeps no segment: one that is deleted meanwhile is passed over.

use anyhow::{Result, bail, ensure};
use pipeline::{LineFormat, LineSource, ReadOutcome, SourcePlan};

use super::{inspect, open};
use crate::config::Plan;
use crate::progress::Progress;

/// Opens the source of a name, or the first with such a log.
///
/// # Errors
/// When there is none.
pub(crate) fn open(plan: &Plan, name: Option<&str>) -> Result<Box<dyn LineSource>> {
    let of_ours: Vec<&SourcePlan> = plan
        .events
        .sources
        .iter()
        .filter(|source| source.format.lines == LineFormat::Tidegate)
        .collect();
    let source = match (name, of_ours.as_slice()) {
        (Some(name), _) => inspect::source(plan, Some(name))?,
        (None, []) => bail!("the configuration has no [journal], and no log in its format"),
        (None, [first, ..]) => first,
    };
    ensure!(
        source.format.lines == LineFormat::Tidegate,
        "source `{}` has no impressions: its format is not `tidegate`",
        source.name
    );
    Ok(open::line_source(plan, source, &source.name, None))
}

/// Hands every line over; `None` stands for one that is torn or too long.
///
/// # Errors
/// When the log cannot be read, or that of `take`.
pub(crate) fn each_line<E>(
    source: &mut dyn LineSource,
    mut take: impl FnMut(Option<&[u8]>) -> Result<(), E>,
) -> Result<()>
where
    anyhow::Error: From<E>,
{
    let progress = Progress::new("reading");
    let (mut all, mut buffer) = (0, Vec::new());
    source.others(&[]);
    source.resume(None)?;
    loop {
        match source.read(&mut buffer)? {
            ReadOutcome::CaughtUp => return Ok(()),
            ReadOutcome::Lines(piece) => {
                let lines = piece.bytes.split(|byte| *byte == b'\n');
                lines.filter(|line| !line.is_empty()).try_for_each(|line| take(Some(line)))?;
            }
            ReadOutcome::Unfamiliar => {
                source.others(&[]);
                continue;
            }
            ReadOutcome::Torn(_) | ReadOutcome::Oversized { .. } => take(None)?,
            ReadOutcome::Lost { .. }
            | ReadOutcome::Receded { .. }
            | ReadOutcome::Changed { .. }
            | ReadOutcome::Displaced { .. }
            | ReadOutcome::Unreadable { .. }
            | ReadOutcome::Unfinished => {}
        }
        let behind = source.bytes_behind();
        all = all.max(behind);
        progress.set(all - behind, all);
    }
}
