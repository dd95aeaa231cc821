//! Brings the files of a journal into order before it is written: after a clean end, a kill, or a
//! power cut at any point.
//!
//! Only the newest segment can end in a torn line that nothing marks; it is cut back to its last
//! complete line. Then every plain segment is synced, since a killed writer may have left lines
//! that are in memory only. What readers may see is set to the end. Invariant: what is cut off was
//! never acknowledged. Refuses: to repair compressed segments, which get their name only when they
//! are complete.

use std::io;
use std::path::Path;

use stdx::Disk;

use crate::error::JournalError;
use crate::segment::{self, Form, Segment, complete_length};

/// Where the journal ends, and what was cut off.
pub(crate) struct Recovered {
    pub end: u64,
    pub dropped_bytes: u64,
}

pub(crate) fn recover(disk: &dyn Disk, dir: &Path) -> Result<Recovered, JournalError> {
    remove_leftovers(disk, dir).map_err(JournalError::disk("tidy", dir))?;
    let mut segments = segment::list(disk, dir).map_err(JournalError::disk("list", dir))?;
    let mut recovered = Recovered { end: 0, dropped_bytes: 0 };
    while let Some(last) = segments.last().copied() {
        let length = complete_length(disk, dir, last)?;
        recovered.end = last.start + length;
        if last.form == Form::Plain {
            let failed = JournalError::disk("repair", last.path(dir));
            recovered.dropped_bytes += cut(disk, dir, last, length).map_err(failed)?;
        }
        // The name of the only segment is all that says where the journal ends.
        if length > 0 || segments.len() == 1 {
            break;
        }
        let removed = disk.remove(&last.path(dir));
        removed.map_err(JournalError::disk("remove", last.path(dir)))?;
        segments.pop();
    }
    sync_plain(disk, dir, &segments)?;
    Ok(recovered)
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
