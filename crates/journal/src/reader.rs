//! Reads the complete lines of a journal from the end of any line on, sealed or live, in any
//! process.
//!
//! Invariants: lines come in the order of their offsets, each once, and none beyond the limit
//! (`limit`). Offsets for which no line comes are reported as a gap. They were deleted by
//! retention, lost by the disk, or are in a compressed segment that is damaged anywhere (`files`).
//! How many were lost is told only where that is known (`evidence`).
//! A line is whatever stands before a line feed. After a failed fsync it may be garbage or not
//! durable; the caller's decoder must tell. A journal may have lost a place, because it was
//! damaged, cut, removed or replaced. Then reading goes on with the next lines that nobody can
//! have read, and the caller learns of it. That is looked for at `resume`, and whenever a session
//! has begun since. What is lost behind the end is said there, before a line comes. Bytes of a
//! segment behind the start of the next one are nobody's lines: a writer whose lock was removed may
//! have left them. So the next segment, and a new session, are looked for after each look at the
//! limit, and before bytes up to it are read. Where two journals could be meant, lines that were
//! read do not come again. A read takes up to 256 KiB more; memory is that and the longest line,
//! which has no bound here. Sinks store places as checkpoints (`pipeline/src/source/journal.rs`),
//! so what these mean must stay. `recount/src/lines.rs` reads the same files by its own code.
//! `profiles/src/rebuild.rs` and `lab/src/import/exchanges.rs` begin at the first line that is
//! left, and go on over gaps. Refuses: to write anything. Keeping segments from deletion is the
//! work of `consumer`.

mod files;
mod places;

use std::path::Path;
use std::sync::Arc;

use stdx::Disk;

use self::files::{CHUNK_BYTES, OpenSegment, SegmentFiles};
use self::places::{Belonging, JournalPlaces};
use crate::error::JournalError;
use crate::limit::Limit;
use crate::place::{Change, Displaced, Mark, Place};
use crate::segment::is_damage;
use crate::sessions::{self, Session};

/// How often a place is looked for while segments go away.
const LOOKS_MAX: usize = 100;

/// Reads lines from a journal.
pub struct Reader {
    files: SegmentFiles,
    /// The end of the last line or gap delivered.
    offset: u64,
    /// What stands before it.
    mark: Option<Mark>,
    sessions: Vec<Session>,
    /// The newest session when the place was looked for.
    checked_session: Option<u64>,
    /// The session before which the caller knows that lines are lost.
    reported_session: u64,
    /// The session before which the caller knows that more may be lost.
    doubted_session: u64,
    /// The session of the last place that the journal did not have.
    lost_session: Option<u64>,
    /// Up to where the caller knows what became of lines that stood behind the offset.
    reported_to: u64,
    /// Up to where lines are known to be durable.
    limit: u64,
    source: Option<OpenSegment>,
    /// Bytes from `offset` on, after `delivered` bytes that the caller has had.
    buffer: Vec<u8>,
    delivered: usize,
}

/// What comes next in a journal.
#[derive(Debug)]
pub enum JournalRead<'a> {
    /// Complete lines, at least one.
    Lines(JournalLines<'a>),
    /// There are no lines between these offsets.
    Gap {
        /// The end of the last line before the gap.
        from: u64,
        /// The start of the first line after it.
        to: u64,
    },
    /// Lines had been here, and the journal came back without them. The offsets are used again.
    Lost {
        /// The offset of the first one.
        from: u64,
        /// The end of the last one.
        to: u64,
    },
    /// The journal does not have the place any more to which it was read. Somebody has opened it
    /// for writing meanwhile, and it was damaged, cut, removed or replaced before.
    Displaced(Displaced),
    /// Nothing more at present; ask again later.
    CaughtUp,
}

/// Complete lines, without their line feeds, each with the offset of its end.
#[derive(Debug, Clone)]
pub struct JournalLines<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> JournalLines<'a> {
    /// The lines that are left, each with its line feed.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for JournalLines<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let length = memchr::memchr(b'\n', self.bytes)?;
        let line = &self.bytes[..length];
        self.bytes = &self.bytes[length + 1..];
        self.offset += length as u64 + 1;
        Some((line, self.offset))
    }
}

impl Reader {
    /// Opens the journal in `dir` for reading from its first line; it need not exist yet.
    ///
    /// # Errors
    /// `Disk`.
    pub fn open(dir: &Path, disk: Arc<dyn Disk>) -> Result<Self, JournalError> {
        let mut reader = Self {
            files: SegmentFiles { disk, dir: dir.to_owned() },
            offset: 0,
            mark: None,
            sessions: Vec::new(),
            checked_session: None,
            reported_session: 0,
            doubted_session: 0,
            lost_session: None,
            reported_to: 0,
            limit: 0,
            source: None,
            buffer: Vec::new(),
            delivered: 0,
        };
        reader.offset = reader.files.list()?.first().map_or(0, |segment| segment.start);
        Ok(reader)
    }

    /// Reads on from a place that a reader of this journal gave. What was deleted since is reported
    /// as a gap. If the journal does not have the place any more, reading goes on elsewhere, and
    /// the answer says so.
    ///
    /// # Errors
    /// `Disk`.
    pub fn resume(mut self, place: Place) -> Result<(Self, Option<Displaced>), JournalError> {
        self.refresh_sessions()?;
        let displaced = self.go_to(place)?;
        Ok((self, displaced))
    }

    /// Does the same with the furthest place of this journal: the caller's, if there is one, or one
    /// of `others`. These may be of any journal, such as all nodes that deliver into a sink. One
    /// counts where the line before it is here. To a caller without a place, one also counts in a
    /// session of this journal, as long as the journal was once. That line may be lost or damaged.
    ///
    /// # Errors
    /// `Disk`.
    pub fn resume_furthest(
        mut self,
        place: Option<Place>,
        others: &[Place],
    ) -> Result<(Self, Option<Displaced>), JournalError> {
        self.refresh_sessions()?;
        let furthest = self.places().furthest(others, place.is_none())?;
        let (Some(other), Some(place)) = (furthest, place) else {
            let displaced = furthest.or(place).map_or(Ok(None), |place| self.go_to(place))?;
            return Ok((self, displaced));
        };
        let is_here = self.places().belonging(place)? != Belonging::Foreign;
        if is_here && self.places().rank(place) < self.places().rank(other) {
            let displaced = self.go_to(other)?;
            return Ok((self, displaced));
        }
        let mut displaced = self.go_to(place)?;
        if !is_here && self.offset < other.offset {
            self.go_to(other)?;
            displaced = displaced.map(|it| Displaced { goes_on: self.offset, ..it });
        }
        Ok((self, displaced))
    }

    /// Goes to a place, or where reading goes on if the journal does not have it any more.
    fn go_to(&mut self, place: Place) -> Result<Option<Displaced>, JournalError> {
        let reported = (self.reported_session, self.doubted_session, self.reported_to);
        let mut looks = 0;
        loop {
            // It may be that of another journal.
            self.limit = 0;
            looks += 1;
            (self.reported_session, self.doubted_session, self.reported_to) = reported;
            self.checked_session = self.newest_session();
            let displaced = match self.look_for(place) {
                // Compressed or deleted since it was listed.
                Err(error) if error.is_not_found() && looks < LOOKS_MAX => None,
                found => Some(found?),
            };
            // A writer notes its session before it moves the limit and the witness. Without a new
            // one, both were still those of the lines before.
            self.refresh_sessions()?;
            if let Some(displaced) = displaced
                && self.newest_session() == self.checked_session
            {
                return Ok(displaced);
            }
        }
    }

    fn look_for(&mut self, place: Place) -> Result<Option<Displaced>, JournalError> {
        let segments = self.files.list()?;
        let end = self.files.end_of(&segments)?;
        (self.offset, self.mark) = (place.offset, place.mark);
        if place.offset <= end && self.places().is_here(place, &segments)? {
            return Ok(None);
        }
        let displaced = self.places().next_unread(place, &segments, end)?;
        let first = segments.first().map_or(0, |first| first.start);
        self.offset = displaced.goes_on.max(first);
        self.mark = None;
        let goes_on = self.offset;
        self.lost_session = place.mark.map(|mark| mark.session).or(self.lost_session);
        let lost_to = match displaced.change {
            Change::Damaged => Some(goes_on),
            Change::Unwitnessed => None,
            Change::Shorter => self.lost_with_the_end(place),
            Change::Replaced => {
                let begun = sessions::lost_at(&self.sessions, goes_on, 0);
                self.reported_session = begun.as_ref().map_or(0, |loss| loss.session);
                self.doubted_session = self.reported_session;
                let durable = match begun {
                    Some(loss) => loss.to_for(place.mark.map(|mark| mark.session)),
                    // Nobody has opened it since: the witness is that of the lines before.
                    None => self.places().durable_by(Limit::witness, place),
                };
                let lost_to = durable.filter(|to| *to > goes_on && *to >= place.offset);
                self.reported_to = place.offset.max(lost_to.unwrap_or(0));
                lost_to
            }
        };
        Ok(Some(Displaced { goes_on, lost_to, ..displaced }))
    }

    /// Looks whether the place is still here, once after somebody has opened the journal for
    /// writing. It may be another one, and the open file may have been removed.
    fn check_after_opening(&mut self) -> Result<Option<Displaced>, JournalError> {
        self.source = None;
        self.buffer.clear();
        self.go_to(self.place())
    }

    /// Whether somebody has opened the journal for writing since the place was looked for.
    fn is_opened_anew(&mut self) -> Result<bool, JournalError> {
        self.refresh_sessions()?;
        let newest = self.newest_session();
        Ok(newest.is_some() && newest != self.checked_session)
    }

    /// Returns up to where lines had stood in a journal that has become shorter than a place, if
    /// that is known. What comes of them from then on is no news.
    fn lost_with_the_end(&mut self, place: Place) -> Option<u64> {
        let known = place.mark.map_or(0, |mark| mark.session);
        self.reported_to = place.offset;
        if let Some(loss) = sessions::lost_at(&self.sessions, self.offset, known) {
            (self.reported_session, self.doubted_session) = (loss.session, loss.session);
            return (!loss.in_doubt).then_some(loss.to);
        }
        // Nobody has opened it for writing since: the limit is still that of the lines before, or
        // the witness, where the directory is gone.
        let limit = self.places().durable_by(|disk, dir| Some(Limit::new(disk, dir)), place);
        let witness = || self.places().durable_by(Limit::witness, place);
        let lost_to = limit.or_else(|| witness().filter(|durable| *durable >= place.offset));
        self.reported_to = self.reported_to.max(lost_to.unwrap_or(0));
        lost_to
    }

    fn places(&self) -> JournalPlaces<'_> {
        JournalPlaces { files: &self.files, sessions: &self.sessions }
    }

    /// Returns the place just after what was delivered.
    pub fn place(&self) -> Place {
        Place { offset: self.offset, mark: self.mark }
    }

    fn newest_session(&self) -> Option<u64> {
        self.sessions.last().map(|session| session.id)
    }

    fn refresh_sessions(&mut self) -> Result<(), JournalError> {
        let sessions = sessions::read(&*self.files.disk, &self.files.dir);
        self.sessions =
            sessions.map_err(JournalError::disk("read the sessions of", &self.files.dir))?;
        Ok(())
    }

    /// Marks the place behind the first bytes of the buffer, which end at the offset.
    fn mark(&mut self, length: usize) {
        let session = sessions::before(&self.sessions, self.offset).unwrap_or(0);
        self.mark = Some(Mark::behind(session, &self.buffer[..length]));
    }

    /// Returns the end of the last line or gap delivered.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the first offset of each segment that is there.
    ///
    /// # Errors
    /// `Disk`.
    pub fn segment_starts(&self) -> Result<Vec<u64>, JournalError> {
        Ok(self.files.list()?.iter().map(|segment| segment.start).collect())
    }

    /// Returns the offset up to which there is something to read at present.
    ///
    /// # Errors
    /// `Disk`.
    pub fn end(&mut self) -> Result<u64, JournalError> {
        self.refresh_limit()?;
        if self.limit < u64::MAX {
            return Ok(self.limit);
        }
        self.files.end_of(&self.files.list()?)
    }

    /// Returns the next lines, a gap, or that there is nothing more at present.
    ///
    /// # Errors
    /// `Disk`; asking again tries again.
    pub fn read(&mut self) -> Result<JournalRead<'_>, JournalError> {
        self.buffer.drain(..std::mem::take(&mut self.delivered));
        loop {
            if self.source.is_none() {
                if self.is_opened_anew()?
                    && let Some(displaced) = self.check_after_opening()?
                {
                    return Ok(JournalRead::Displaced(displaced));
                }
                if let Some(news) = self.news_before_session() {
                    return Ok(news);
                }
            }
            let step = match self.source.take() {
                None => self.next_source()?,
                Some(source) => self.next_bytes(source)?,
            };
            match step {
                ReadStep::Again => {}
                // A session says it at once, and its first line may be long in coming.
                ReadStep::CaughtUp => {
                    return Ok(self.news_before_session().unwrap_or(JournalRead::CaughtUp));
                }
                ReadStep::Gap(to) => {
                    let from = std::mem::replace(&mut self.offset, to);
                    self.buffer.clear();
                    self.mark(0);
                    return Ok(JournalRead::Gap { from, to });
                }
                ReadStep::Lines(length) => {
                    let offset = self.offset;
                    self.offset += length as u64;
                    self.delivered = length;
                    // The offsets from here on are those of other lines.
                    self.reported_to = 0;
                    self.mark(length);
                    return Ok(JournalRead::Lines(JournalLines {
                        bytes: &self.buffer[..length],
                        offset,
                    }));
                }
            }
        }
    }

    fn news_before_session(&mut self) -> Option<JournalRead<'static>> {
        let lost = self.lost_before_session().map(|(from, to)| JournalRead::Lost { from, to });
        lost.or_else(|| self.doubt_before_session().map(JournalRead::Displaced))
    }

    /// Returns what was lost before the session that begins here, unless the caller knows that.
    /// The place is of that session from then on, so that whoever resumes there knows it, too.
    fn lost_before_session(&mut self) -> Option<(u64, u64)> {
        let known = self.mark.map_or(0, |mark| mark.session).max(self.reported_session);
        let loss = sessions::lost_at(&self.sessions, self.offset, known)?;
        self.reported_session = loss.session;
        let from = self.offset.max(self.reported_to);
        // The caller knows that lines are lost of another journal than these.
        let is_other = self.lost_session.is_some_and(|id| !loss.is_of(id));
        if loss.to <= from || is_other {
            return None;
        }
        // What is in doubt is still to be said.
        if let Some(mark) = self.mark.as_mut().filter(|_| !loss.in_doubt) {
            mark.session = loss.session;
        }
        Some((from, loss.to))
    }

    /// Returns that nobody knows what was lost before the session that begins here, unless the
    /// caller knows that.
    fn doubt_before_session(&mut self) -> Option<Displaced> {
        let known = self.mark.map_or(0, |mark| mark.session).max(self.doubted_session);
        let loss = sessions::lost_at(&self.sessions, self.offset, known)?;
        self.doubted_session = loss.session;
        if let Some(mark) = self.mark.as_mut().filter(|_| loss.in_doubt) {
            mark.session = loss.session;
        }
        let (read_to, change) = (self.offset, Change::Unwitnessed);
        loss.in_doubt.then_some(Displaced { read_to, goes_on: read_to, lost_to: None, change })
    }

    /// Returns where lines end that were durable, are not there, and were not reported yet. It is
    /// asked when there is nothing more to read. Then somebody has cut the journal, and nobody has
    /// opened it for writing since.
    pub fn missing_to(&self) -> Option<u64> {
        let is_news = |limit: &u64| *limit > self.offset.max(self.reported_to);
        Some(self.limit).filter(|limit| *limit < u64::MAX).filter(is_news)
    }

    fn next_source(&mut self) -> Result<ReadStep, JournalError> {
        self.buffer.clear();
        let segments = self.files.list()?;
        let after = segments.partition_point(|segment| segment.start <= self.offset);
        let next = segments.get(after).map(|segment| segment.start);
        let Some(segment) = after.checked_sub(1).map(|at| segments[at]) else {
            return Ok(next.map_or(ReadStep::CaughtUp, ReadStep::Gap));
        };
        let sound = self.files.open_proved(segment, next, self.offset);
        match sound {
            Ok(source) => self.source = Some(source),
            // Its end is known as soon as there is a later segment.
            Err(JournalError::Disk { source, .. }) if is_damage(&source) => {
                tracing::error!(%segment, error = %source, "a compressed segment is damaged");
                return Ok(next.map_or(ReadStep::CaughtUp, ReadStep::Gap));
            }
            // Compressed or deleted since it was listed.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(ReadStep::Again)
    }

    /// Reads on in a source, and puts it back unless it is finished.
    fn next_bytes(&mut self, mut source: OpenSegment) -> Result<ReadStep, JournalError> {
        if source.at >= self.limit || self.limit == u64::MAX {
            self.refresh_limit()?;
            if self.is_opened_anew()? {
                return Ok(ReadStep::Again);
            }
            self.look_for_next(&mut source)?;
        }
        let end = source.end.unwrap_or(u64::MAX);
        if source.at >= end {
            return Ok(if self.offset < end { ReadStep::Gap(end) } else { ReadStep::Again });
        }
        let room = end.min(self.limit).saturating_sub(source.at).min(CHUNK_BYTES as u64) as usize;
        let filled = self.buffer.len();
        self.buffer.resize(filled + room, 0);
        let read = source.input.read(&mut self.buffer[filled..]);
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        let taken = match read {
            Err(error) if source.is_damaged_by(&error) => {
                let segment = source.segment;
                tracing::error!(%segment, %error, "a compressed segment is damaged");
                0
            }
            read => {
                read.map_err(JournalError::disk("read", source.segment.path(&self.files.dir)))?
            }
        };
        source.at += taken as u64;
        if taken == 0 && self.is_opened_anew()? {
            // The file may be gone, and another one may have its name.
            return Ok(ReadStep::Again);
        }
        let step = match memchr::memrchr(b'\n', &self.buffer[filled..]) {
            Some(last) => ReadStep::Lines(filled + last + 1),
            None if taken > 0 => ReadStep::Again,
            None if source.end.is_some() && room > 0 => return Ok(ReadStep::Gap(end)),
            None => self.look_for_end(&mut source)?,
        };
        self.source = Some(source);
        Ok(step)
    }

    /// At the end of what a segment holds: whether the writer has left it.
    fn look_for_end(&self, source: &mut OpenSegment) -> Result<ReadStep, JournalError> {
        let had_end = source.end.is_some();
        self.look_for_next(source)?;
        // Lines may have come between the last read and the writer's leaving.
        Ok(if source.end.is_some() && !had_end { ReadStep::Again } else { ReadStep::CaughtUp })
    }

    /// Looks where the next segment begins, if there is one by now.
    fn look_for_next(&self, source: &mut OpenSegment) -> Result<(), JournalError> {
        if source.end.is_none() {
            let segments = self.files.list()?;
            let next = segments.iter().find(|segment| segment.start > source.segment.start);
            source.end = next.map(|segment| segment.start);
        }
        Ok(())
    }

    fn refresh_limit(&mut self) -> Result<(), JournalError> {
        let limit = Limit::read(&*self.files.disk, &self.files.dir);
        let path = Limit::path(&self.files.dir);
        self.limit = limit.map_err(JournalError::disk("read", path))?;
        Ok(())
    }
}

enum ReadStep {
    Again,
    CaughtUp,
    /// Nothing comes up to this offset.
    Gap(u64),
    /// This many bytes of the buffer are complete lines.
    Lines(usize),
}

#[cfg(test)]
mod tests;
