//! Describes one log: how far it is read, what was seen of it, and which file carries it.
//!
//! Plain data with the questions asked of it: is it read to its end, active, packed, quiet, how
//! much is behind. `move_to` changes its file and returns the bytes that are lost by that.
//! Its keys must change through [`super::logs`], else the log is not found any more. That carrier
//! and role agree, `catalogue` sees to.
//! Only what `position` writes survives a restart, and `is_active` decides how much that is.
//! A file that this process has not met counts as quiet.

use std::ops::Range;
use std::time::{Duration, Instant};

use stdx::FileIdentity;

use super::mark::Mark;
use super::unpack::Packing;

pub(super) type LogId = u64;
/// Device and inode: which file it is while somebody holds it or it has a name.
pub(super) type FileKey = (u64, u64);

pub(super) fn key_of(identity: &FileIdentity) -> FileKey {
    (identity.device, identity.inode)
}

/// Hashes of a log's beginning by which it is found: of most bytes, and of the first 64.
pub(super) type HeadKeys = ((u64, u32), Option<(u64, u32)>);

/// One log, whatever its files are called.
pub(super) struct Log {
    /// How far it was handed out, and what stands before that.
    pub mark: Mark,
    /// How long the content was known to be.
    pub seen: u64,
    /// How far it was searched for the end of a line that is too long.
    pub searched: Option<Searched>,
    /// Length and last hash of the packed file that carries it, once that was read to its end.
    pub packed: Option<(u64, u64)>,
    /// By what it is found until enough of it was read.
    pub unread: HeadKeys,
    /// The turn in which it was read last.
    pub turn: u64,
    pub file: LogFile,
}

/// A place up to which a line that is too long was searched for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Searched {
    pub to: u64,
    /// The hash of the bytes before that.
    pub hash: u64,
}

/// The file that carries a log, or carried it last.
pub(super) struct LogFile {
    /// The last path, by which the file is opened; also for messages, rows and quarantine.
    pub name: String,
    /// Which file it was; a hint, since files are copied and their numbers used again.
    pub hint: Option<FileIdentity>,
    /// The file that the log is read from; none while that is not known.
    pub carrier: Option<FileKey>,
    pub packing: Packing,
    /// How long it was when it was looked at last, whatever is in it; 0 for a packed file.
    pub len: u64,
    /// It was given another name or none, or is packed: nobody begins to write it again.
    pub is_rotated: bool,
    /// It has no name that matches; the open handle is all there is.
    pub has_left: bool,
    /// It was emptied while it was read: what it holds is another log.
    pub was_cut: bool,
    /// When it was last found longer; none for one that was not met by this process.
    pub grown: Option<Instant>,
    /// What decides the order: the time of its first line, else of its last change.
    pub order_us: u64,
}

/// A file that a log is read from here on.
#[derive(Debug)]
pub(super) struct NewCarrier {
    pub name: String,
    pub identity: FileIdentity,
    pub packing: Packing,
    pub len: u64,
    pub order_us: u64,
    /// The log was not known before.
    pub is_first: bool,
}

impl Log {
    pub(super) fn new(mark: Mark) -> Self {
        Self {
            seen: mark.offset,
            mark,
            searched: None,
            packed: None,
            unread: ((0, 0), None),
            turn: 0,
            file: LogFile {
                name: String::new(),
                hint: None,
                carrier: None,
                packing: Packing::Plain,
                len: 0,
                is_rotated: false,
                has_left: false,
                was_cut: false,
                grown: None,
                order_us: 0,
            },
        }
    }

    /// By what it is found.
    pub(super) fn keys(&self) -> HeadKeys {
        let read = self.mark.key();
        let key = if read.0 >= self.unread.0.0 { read } else { self.unread.0 };
        (key, self.mark.short_key().or(self.unread.1))
    }

    /// Goes on in another file; returns the bytes that were there and are not in this one.
    pub(super) fn move_to(&mut self, new: NewCarrier, now: Instant) -> Range<u64> {
        let (file, is_plain) = (&mut self.file, new.packing == Packing::Plain);
        let is_renamed = !new.is_first && !file.name.is_empty() && file.name != new.name;
        file.is_rotated = !is_plain || is_renamed || (file.is_rotated && !new.is_first);
        (file.name, file.packing, file.order_us) = (new.name, new.packing, new.order_us);
        (file.hint, file.carrier) = (Some(new.identity), Some(key_of(&new.identity)));
        (file.has_left, file.was_cut, file.grown) = (false, false, Some(now));
        file.len = if is_plain { new.len } else { 0 };
        if !is_plain {
            return 0..0;
        }
        let lost = self.mark.offset.max(new.len)..self.seen;
        self.seen = new.len;
        lost
    }

    /// Whether it is known to be read to its end.
    pub(super) fn rests(&self) -> bool {
        self.mark.offset == self.seen && (!self.is_packed() || self.packed.is_some())
    }

    /// Whether more of it may come soon, so that its position says all that is known.
    pub(super) fn is_active(&self, is_open: bool) -> bool {
        let is_packed_whole = self.is_packed() && self.packed.is_some();
        let may_go_on = is_open || self.file.was_cut || self.behind() > 0;
        may_go_on && !is_packed_whole
    }

    /// Whether its file is packed.
    pub(super) fn is_packed(&self) -> bool {
        self.file.packing != Packing::Plain
    }

    /// Bytes that were there and are not read.
    pub(super) fn behind(&self) -> u64 {
        self.seen.max(self.file.len).saturating_sub(self.mark.offset)
    }

    /// Whether its file was found no longer for as long as `idle_timeout`.
    pub(super) fn is_quiet(&self, now: Instant, idle_timeout: Duration) -> bool {
        self.file.grown.is_none_or(|grown| now.saturating_duration_since(grown) >= idle_timeout)
    }
}

#[cfg(test)]
mod tests;
