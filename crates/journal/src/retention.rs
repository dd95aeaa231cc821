//! Deletes sealed segments that are too old or too many.
//!
//! Invariant: a segment stays while a registered consumer has not finished it, and while no later
//! line is durable: else a crash could leave no segment that says where the journal ends. When
//! the byte cap cannot be kept for that reason, the journal is full.

use std::io;

use crate::consumer;
use crate::segment::{self, Segment};
use crate::state::Shared;

/// Deletes what need not be kept, so that `bytes` more stay below the cap.
///
/// Returns why they do not.
pub(crate) fn make_room(shared: &Shared, bytes: u64) -> Result<(), String> {
    let _alone = shared.upkeep.lock();
    let sized = sizes(shared).map_err(|error| format!("list segments: {error}"))?;
    let keep = shared.options.keep;
    let mut total = sized.iter().map(|(_, size)| size.len).sum::<u64>().saturating_add(bytes);
    let slowest = consumer::slowest(&*shared.disk, shared.dir());
    let now_us = shared.options.clock.unix_micros();
    let synced = shared.durable.synced();
    let mut held_by = None;
    for pair in sized.windows(2) {
        let ((segment, size), (next, _)) = (pair[0], pair[1]);
        let age_us = u128::from(now_us.saturating_sub(size.modified_us));
        if total <= keep.bytes && age_us < keep.age.as_micros() {
            break;
        }
        if next.start >= synced {
            held_by = Some("later lines are not durable yet".to_owned());
            break;
        }
        if let Some((name, offset)) = slowest.as_ref().filter(|(_, at)| *at < next.start) {
            held_by = Some(format!("consumer `{name}` has not read past offset {offset}"));
            break;
        }
        let path = segment.path(shared.dir());
        match shared.disk.remove(&path) {
            Ok(()) => total -= size.len,
            Err(error) => {
                held_by = Some(format!("delete segment `{segment}`: {error}"));
                break;
            }
        }
    }
    if total <= keep.bytes {
        return Ok(());
    }
    let cause = held_by.unwrap_or_else(|| "the newest segment fills it".to_owned());
    Err(format!("the byte cap of {} is reached: {cause}", keep.bytes))
}

/// Returns the segments with what is known about their files.
pub(crate) fn sizes(shared: &Shared) -> io::Result<Vec<(Segment, stdx::Metadata)>> {
    let segments = segment::list(&*shared.disk, shared.dir())?;
    let mut sized = Vec::with_capacity(segments.len());
    for segment in segments {
        match shared.disk.metadata(&segment.path(shared.dir())) {
            Ok(size) => sized.push((segment, size)),
            // Compressed or deleted since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sized)
}
