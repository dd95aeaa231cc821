//! Repairs the files of a journal before it is written: after a clean end, a kill, or a power cut
//! at any point.
//!
//! It removes unfinished compressions and plain segments whose compressed form is complete. It cuts
//! the newest plain segment back to its last complete line, and removes newest segments that hold
//! no line. The last one left stays: its name says where the journal ends. Then it syncs every
//! plain segment, because a killed writer may have left lines in memory only.
//! Unfinished ones are known by `.zst.tmp`, which `sealer` names so. `.log` and `.log.zst` are also
//! spelled out here, beside `segment`.
//! Invariant: what it cuts off belongs to no complete line, so no ticket called it durable. It
//! returns the end of the journal and the number of bytes cut.
//! Refuses: to repair compressed segments, which get their name only when they are complete. Of a
//! damaged one, what can be unpacked counts. One of which nothing can is set aside as `.damaged`.
//! Never here: the lock and the limit for readers (`journal`).

use std::io;
use std::path::Path;

use stdx::Disk;

use crate::error::JournalError;
use crate::segment::{self, Form, Segment, complete_length};

/// Where the journal ends, and what was cut off.
pub(crate) struct Recovered {
    /// The offset of the first line that is left.
    pub first: u64,
    pub end: u64,
    pub dropped_bytes: u64,
}

pub(crate) fn recover(disk: &dyn Disk, dir: &Path) -> Result<Recovered, JournalError> {
    remove_leftovers(disk, dir).map_err(JournalError::disk("tidy", dir))?;
    let mut segments = segment::list(disk, dir).map_err(JournalError::disk("list", dir))?;
    let mut recovered = Recovered { first: 0, end: 0, dropped_bytes: 0 };
    while let Some(last) = segments.last().copied() {
        let length = complete_length(disk, dir, last)?;
        recovered.end = last.start + length;
        if last.form == Form::Plain {
            let failed = JournalError::disk("repair", last.path(dir));
            recovered.dropped_bytes += cut(disk, dir, last, length).map_err(failed)?;
        }
        // Beside it, a new segment of the same offset would not count.
        if length == 0 && last.form == Form::Compressed {
            set_aside(disk, dir, last)?;
            segments.pop();
            continue;
        }
        // The name of the only segment is all that says where the journal ends.
        if length > 0 || segments.len() == 1 {
            break;
        }
        let removed = disk.remove(&last.path(dir));
        removed.map_err(JournalError::disk("remove", last.path(dir)))?;
        segments.pop();
    }
    recovered.first = segments.first().map_or(0, |segment| segment.start);
    sync_plain(disk, dir, &segments)?;
    Ok(recovered)
}

/// Gives a compressed segment of which nothing can be unpacked another name, for people.
fn set_aside(disk: &dyn Disk, dir: &Path, segment: Segment) -> Result<(), JournalError> {
    let path = segment.path(dir);
    let aside = dir.join(format!("{segment}.damaged"));
    tracing::error!(file = %aside.display(), "a damaged segment of the journal is set aside");
    disk.rename(&path, &aside).map_err(JournalError::disk("set aside", path))
}

/// Cuts a segment to `length` bytes; returns how many it loses.
fn cut(disk: &dyn Disk, dir: &Path, segment: Segment, length: u64) -> io::Result<u64> {
    let path = segment.path(dir);
    let whole = disk.metadata(&path)?.len;
    if whole > length {
        disk.open_append(&path)?.truncate(length)?;
    }
    Ok(whole - length)
}

/// Removes unfinished compressions, and plain segments whose compression is finished.
fn remove_leftovers(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    let names = disk.list(dir)?;
    for name in &names {
        let finished = name.ends_with(".log") && names.contains(&format!("{name}.zst"));
        if finished || name.ends_with(".zst.tmp") {
            disk.remove(&dir.join(name))?;
        }
    }
    Ok(())
}

fn sync_plain(disk: &dyn Disk, dir: &Path, segments: &[Segment]) -> Result<(), JournalError> {
    for segment in segments.iter().filter(|segment| segment.form == Form::Plain) {
        let path = segment.path(dir);
        let synced = disk.open_append(&path).and_then(|file| file.sync());
        synced.map_err(JournalError::disk("sync", &path))?;
    }
    disk.sync_dir(dir).map_err(JournalError::disk("sync", dir))
}

#[cfg(test)]
mod tests;
