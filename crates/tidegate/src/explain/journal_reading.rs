//! Reads every exchange that the journal has, and counts what of it could not be read.
//!
//! Invariant: what is not read is never passed over in silence. A request that is not found may
//! stand there, so whoever asks is told. Files are looked at by their names, too, for the reader
//! passes over a fifo or a directory that has the name of a segment.
//! Never here: which exchanges are wanted (`recorded_request.rs`, `recorded_list.rs`).

use std::path::Path;

use anyhow::{Context, Result};
use exchange::Exchange;
use journal::Place;

use crate::config::Plan;
use crate::events::tidegate_log::{self, Unread};

/// Hands every exchange over whose line is `wanted`.
///
/// # Errors
/// When there is no journal, or it cannot be read.
pub(super) fn each_exchange(
    plan: &Plan,
    wanted: impl Fn(&[u8]) -> bool,
    mut take: impl FnMut(Exchange<'_>),
) -> Result<Unread> {
    let journal = plan.journal.as_ref().context("the configuration has no [journal]")?;
    let mut source = tidegate_log::open(plan, None)?;
    let mut strange_lines = 0;
    let mut unread = tidegate_log::each_line(&mut *source, |line| {
        let Some(line) = line else { return Ok(()) };
        // Most lines need no decoding, and random bytes are seen without.
        let is_line_of_ours = line.starts_with(b"{") && line.ends_with(b"}");
        match is_line_of_ours.then(|| wanted(line).then(|| exchange::decode(line))) {
            Some(None) => {}
            Some(Some(Ok(exchange))) => take(exchange),
            None | Some(Some(Err(_))) => strange_lines += 1,
        }
        anyhow::Ok(())
    })?;
    unread.lines += strange_lines;
    let place = source.position().parse::<Place>().ok();
    find_strange_files(&journal.options.dir, place.map(|place| place.offset), &mut unread);
    Ok(unread)
}

/// Adds what has the name of a segment and was no part of what was read.
fn find_strange_files(dir: &Path, read_to: Option<u64>, unread: &mut Unread) {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".log.zst").or(name.strip_suffix(".log")) else {
            continue;
        };
        let is_sound = stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit());
        let start = is_sound.then(|| stem.parse::<u64>().ok()).flatten();
        let is_file = entry.path().metadata().is_ok_and(|found| found.is_file());
        let reason = match start {
            _ if !is_file => "it is no regular file",
            None => "its name is not that of a segment",
            Some(start) if read_to.is_some_and(|end| start > end) => {
                "it begins behind the last line of the journal"
            }
            Some(_) => continue,
        };
        unread.files.insert(name, reason.to_owned());
    }
}
