//! Reads a log in our own format from its first line to its end: the journal, or a file like it.
//!
//! `events export` and `tidegate explain` use it. Rotated and packed segments are read as the
//! delivery reads them. Progress is shown on a terminal.
//! Invariant: reading keeps no segment: one that is deleted meanwhile is passed over. What cannot
//! be read is counted.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use pipeline::{LineFormat, LineSource, ReadOutcome, SourcePlan};

use super::{inspect, open};
use crate::commands::counted;
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

/// What of a log could not be read.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// Lines that are torn, too long, or no lines of ours.
    pub lines: u64,
    /// Bytes that are known to have been there.
    pub bytes: u64,
    /// Files, each with the reason.
    pub files: BTreeMap<String, String>,
}

impl Unread {
    /// What could not be read, in words; none if all was read.
    pub(crate) fn message(&self) -> Option<String> {
        let count = |count, noun| (count > 0).then(|| counted(count, noun));
        let files = self.files.iter().map(|(file, reason)| format!("`{file}` ({reason})"));
        let parts = count(self.lines, "line").into_iter().chain(count(self.bytes, "byte"));
        let parts: Vec<String> = parts.chain(files).collect();
        (!parts.is_empty()).then(|| format!("not read of the log: {}", parts.join(", ")))
    }
}

/// Hands every line over; `None` stands for one that is torn or too long. Returns what could not be
/// read.
///
/// # Errors
/// When the log cannot be read, or that of `take`.
pub(crate) fn each_line<E>(
    source: &mut dyn LineSource,
    mut take: impl FnMut(Option<&[u8]>) -> Result<(), E>,
) -> Result<Unread>
where
    anyhow::Error: From<E>,
{
    let progress = Progress::new("reading");
    let (mut all, mut buffer) = (0, Vec::new());
    let mut unread = Unread::default();
    source.others(&[]);
    source.resume(None)?;
    loop {
        match source.read(&mut buffer)? {
            ReadOutcome::CaughtUp => break,
            ReadOutcome::Lines(piece) => {
                let lines = piece.bytes.split(|byte| *byte == b'\n');
                lines.filter(|line| !line.is_empty()).try_for_each(|line| take(Some(line)))?;
            }
            ReadOutcome::Unfamiliar => {
                source.others(&[]);
                continue;
            }
            ReadOutcome::Torn(_) | ReadOutcome::Oversized { .. } => {
                unread.lines += 1;
                take(None)?;
            }
            ReadOutcome::Lost { from, to, .. } => unread.bytes += to.saturating_sub(from),
            ReadOutcome::Unreadable { file, reason } => {
                unread.files.insert(file.to_owned(), reason.to_owned());
            }
            ReadOutcome::Receded { .. }
            | ReadOutcome::Changed { .. }
            | ReadOutcome::Displaced { .. }
            | ReadOutcome::Unfinished => {}
        }
        let behind = source.bytes_behind();
        all = all.max(behind);
        progress.set(all - behind, all);
    }
    unread.files.extend(source.notices().unreadable);
    Ok(unread)
}
