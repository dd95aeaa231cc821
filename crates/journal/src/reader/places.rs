//! Looks for places in the files of a journal: whether one is here, and whether one is of this
//! journal at all. Of one that is not here, it finds the next unread line.
//!
//! A place is known by the line before it and by its session. Sessions of two machines may have the
//! same id, so only the line is certain. Invariant: a line that is known to be of another session
//! is not looked at. So places of many machines cost no look at the disk. Refuses: to say what is
//! lost (`reader`), and to write.

use std::path::Path;
use std::sync::Arc;

use stdx::Disk;

use super::files::{CHUNK_BYTES, SegmentFiles};
use crate::error::JournalError;
use crate::limit::Limit;
use crate::place::{Change, Displaced, Mark, Place};
use crate::segment::Segment;
use crate::sessions::{self, Session};

/// The files of a journal, and what is known of its sessions.
pub(super) struct JournalPlaces<'r> {
    pub files: &'r SegmentFiles,
    pub sessions: &'r [Session],
}

/// Whether a place is one of this journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belonging {
    /// The line before it is here.
    Certain,
    /// Its session is here, and the journal was as long, or longer.
    Likely,
    Foreign,
}

impl JournalPlaces<'_> {
    /// Returns the furthest of the places that count, as [`super::Reader::resume_furthest`] says.
    pub(super) fn furthest(
        &self,
        others: &[Place],
        is_likely_enough: bool,
    ) -> Result<Option<Place>, JournalError> {
        let mut furthest = None;
        for other in others {
            let belongs = self.belonging(*other)?;
            let counts =
                belongs == Belonging::Certain || belongs == Belonging::Likely && is_likely_enough;
            if counts && furthest.is_none_or(|it| self.rank(it) < self.rank(*other)) {
                furthest = Some(*other);
            }
        }
        Ok(furthest)
    }

    /// Places of this journal come in this order, also where it was cut between.
    pub(super) fn rank(&self, place: Place) -> (u64, u64) {
        (self.session_of(place), place.offset)
    }

    /// Whether what stands before a place is what stood there. Where nothing is left of it, that
    /// cannot be known, and counts as yes: a gap follows.
    pub(super) fn is_here(&self, place: Place, segments: &[Segment]) -> Result<bool, JournalError> {
        let starts = segments.iter().any(|segment| segment.start == place.offset);
        Ok(match (self.tail_before(place, segments)?, place.mark) {
            // It fell into a gap, which is still there.
            (None, _) => true,
            (Some(tail), Some(mark)) if mark.length > 0 => Mark::of(mark.session, &tail) == mark,
            (Some(tail), _) => starts || tail.ends_with(b"\n"),
        })
    }

    /// Finds the first line behind a place that is not here, which nobody can have read.
    pub(super) fn next_unread(
        &self,
        place: Place,
        segments: &[Segment],
        end: u64,
    ) -> Result<Displaced, JournalError> {
        let read_to = place.offset;
        let session = place.mark.map(|mark| mark.session).filter(|session| *session != 0);
        let at = session.and_then(|id| self.sessions.iter().position(|known| known.id == id));
        let (goes_on, change) = match (session, at) {
            // Its session is still here.
            (Some(_), Some(at)) => {
                let next = self.sessions.get(at + 1).map_or(end, |next| next.start);
                let next = next.min(end);
                match read_to <= next {
                    true => (self.next_line(read_to, segments)?, Change::Damaged),
                    false => (next, Change::Shorter),
                }
            }
            // Another journal, or an older copy: what came since is of later sessions.
            (Some(id), None) => {
                match self.sessions.iter().find(|known| known.id > id) {
                    Some(session) => (session.start, Change::Replaced),
                    // Nobody has written since it came.
                    None if !self.sessions.is_empty() => (end, Change::Replaced),
                    None if read_to <= end => (self.next_line(read_to, segments)?, Change::Damaged),
                    None => (end, Change::Shorter),
                }
            }
            (None, _) if read_to <= end => (self.next_line(read_to, segments)?, Change::Damaged),
            // Of a version that knew no sessions: what came since is of the first one.
            (None, _) => {
                let first = self.sessions.first().map_or(end, |first| first.start);
                (first, Change::Replaced)
            }
        };
        Ok(Displaced { read_to, goes_on, lost_to: None, change })
    }

    /// Whether a place is one of this journal. Of two journals that were opened in the same
    /// microsecond, the sessions have the same id.
    pub(super) fn belonging(&self, place: Place) -> Result<Belonging, JournalError> {
        let Some(mark) = place.mark else { return Ok(Belonging::Foreign) };
        let has_session = self.session_of(place) > 0;
        // Where a line is known to be of another session, it need not be looked at.
        if !has_session
            && (mark.session > 0 && sessions::before(self.sessions, place.offset).is_some())
        {
            return Ok(Belonging::Foreign);
        }
        let tail = self.tail_before(place, &self.files.list()?)?;
        if tail.is_some_and(|tail| Mark::of(mark.session, &tail) == mark) {
            return Ok(Belonging::Certain);
        }
        let limit = self.durable_by(|disk, dir| Some(Limit::new(disk, dir)), place);
        let durable = self.sessions.iter().map(|session| session.durable);
        let durable = durable.chain(limit).chain(self.durable_by(Limit::witness, place)).max();
        let was_as_long = durable >= Some(place.offset);
        Ok(if has_session && was_as_long { Belonging::Likely } else { Belonging::Foreign })
    }

    /// Returns up to where lines had been durable, as a limit or a witness says. It must be of a
    /// session of the journal that has the place, or all of an older version.
    pub(super) fn durable_by(
        &self,
        file: impl Fn(Arc<dyn Disk>, &Path) -> Option<Limit>,
        place: Place,
    ) -> Option<u64> {
        let found = file(Arc::clone(&self.files.disk), &self.files.dir)?.look();
        let is_known = |id: &u64| {
            place.mark.is_some_and(|mark| mark.session == *id)
                || self.sessions.iter().any(|known| known.id == *id)
        };
        let is_old =
            found.sessions().is_empty() && self.sessions.last().is_some_and(|last| !last.is_marked);
        let is_ours = is_old || found.sessions().iter().any(is_known);
        found.offset().filter(|_| is_ours)
    }

    /// The id of the session of a place, if this journal has it; else 0.
    fn session_of(&self, place: Place) -> u64 {
        let session = place.mark.map_or(0, |mark| mark.session);
        if self.sessions.iter().any(|known| known.id == session) { session } else { 0 }
    }

    /// Returns the bytes before a place that its mark is of, or one byte; none where they are not
    /// here.
    fn tail_before(
        &self,
        place: Place,
        segments: &[Segment],
    ) -> Result<Option<Vec<u8>>, JournalError> {
        let within = segments.iter().rev().find(|segment| segment.start < place.offset);
        let Some(segment) = within else { return Ok(None) };
        let length = place.mark.map_or(1, |mark| u64::from(mark.length.max(1)));
        let from = place.offset.saturating_sub(length).max(segment.start);
        let length = (place.offset - from) as usize;
        let tail = self.files.bytes_at(*segment, from, length)?;
        Ok(Some(tail).filter(|tail| tail.len() == length))
    }

    /// Returns the start of the first line at or behind an offset that may be within a line.
    fn next_line(&self, offset: u64, segments: &[Segment]) -> Result<u64, JournalError> {
        let after = segments.partition_point(|segment| segment.start < offset);
        let next = segments.get(after).map(|segment| segment.start);
        let Some(segment) = after.checked_sub(1).map(|at| segments[at]) else {
            return Ok(next.unwrap_or(0));
        };
        let end = next.unwrap_or(u64::MAX);
        let mut at = offset - 1;
        loop {
            let bytes = self.files.bytes_at(segment, at, CHUNK_BYTES)?;
            match memchr::memchr(b'\n', &bytes) {
                Some(found) => return Ok((at + found as u64 + 1).min(end)),
                None if bytes.is_empty() => break,
                None => at += bytes.len() as u64,
            }
        }
        Ok(next.unwrap_or(at))
    }
}

#[cfg(test)]
mod tests;
