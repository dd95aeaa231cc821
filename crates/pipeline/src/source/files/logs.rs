//! The logs that are known, by content and by the file that carries each.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use stdx::FileIdentity;

use super::mark::Mark;
use super::unpack::{Opened, Packing};

pub(super) type LogId = u64;
/// Device and inode: which file it is while somebody holds it or it has a name.
pub(super) type FileKey = (u64, u64);

pub(super) fn key_of(identity: &FileIdentity) -> FileKey {
    (identity.device, identity.inode)
}

/// Hashes of a log's beginning by which it is found.
type Keys = ((u64, u32), Option<(u64, u32)>);

/// One log, whatever its files are called.
pub(super) struct Log {
    pub mark: Mark,
    /// How long the content was known to be.
    pub seen: u64,
    /// How long its file was when it was looked at last, whatever is in it; 0 for a packed file.
    pub len: u64,
    /// The last path, for messages.
    pub name: String,
    /// The file that carried it last.
    pub hint: Option<FileIdentity>,
    /// The file that it is read from.
    pub carrier: Option<FileKey>,
    pub packing: Packing,
    pub open: Option<Opened>,
    /// Its carrier was given another name or none, or is packed: nobody begins to write it again.
    pub is_rotated: bool,
    /// Its carrier has no name that matches; the open handle is all there is.
    pub has_left: bool,
    /// Its carrier was emptied while it was read: what that file holds is another log.
    pub was_cut: bool,
    /// When it was last found longer; none for one that was not met since the start.
    pub grown: Option<Instant>,
    /// What decides the order: the time of its first line, else of its last change.
    pub order_us: u64,
    /// How far it was searched for the end of a line that is too long, and the hash before that.
    pub searched: Option<(u64, u64)>,
    /// Length and last hash of the packed file that carries it, once that was read to its end.
    pub packed: Option<(u64, u64)>,
    /// By what it is found until enough of it was read.
    pub unread: Keys,
    pub is_queued: bool,
    /// When it was last read, in turns.
    pub turn: u64,
}

impl Log {
    pub(super) fn new(mark: Mark) -> Self {
        Self {
            seen: mark.offset,
            len: 0,
            mark,
            name: String::new(),
            hint: None,
            carrier: None,
            packing: Packing::Plain,
            open: None,
            is_rotated: false,
            has_left: false,
            was_cut: false,
            grown: None,
            order_us: 0,
            searched: None,
            packed: None,
            unread: ((0, 0), None),
            is_queued: false,
            turn: 0,
        }
    }

    /// By what it is found.
    fn keys(&self) -> Keys {
        let read = self.mark.key();
        let key = if read.0 >= self.unread.0.0 { read } else { self.unread.0 };
        (key, self.mark.short_key().or(self.unread.1))
    }

    /// Whether more of it may come soon, so that its position says all that is known.
    pub(super) fn is_active(&self) -> bool {
        let is_packed_whole = self.packing != Packing::Plain && self.packed.is_some();
        let may_go_on = self.open.is_some() || self.was_cut || self.behind() > 0;
        may_go_on && !is_packed_whole
    }

    /// Whether it was found no longer for as long as `quiet`.
    pub(super) fn is_quiet(&self, now: Instant, quiet: Duration) -> bool {
        self.grown.is_none_or(|grown| now.saturating_duration_since(grown) >= quiet)
    }

    /// Bytes that were there and are not read.
    pub(super) fn behind(&self) -> u64 {
        self.seen.max(self.len).saturating_sub(self.mark.offset)
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Logs {
    logs: BTreeMap<LogId, Log>,
    next: LogId,
    by_key: HashMap<(u64, u32), Vec<LogId>>,
    by_short_key: HashMap<(u64, u32), Vec<LogId>>,
    by_packed: HashMap<(u64, u64), LogId>,
}

impl Logs {
    pub(super) fn add(&mut self, log: Log) -> LogId {
        self.next += 1;
        let id = self.next;
        if let Some(packed) = log.packed {
            self.by_packed.insert(packed, id);
        }
        self.logs.insert(id, log);
        self.index(id);
        id
    }

    pub(super) fn get(&self, id: LogId) -> Option<&Log> {
        self.logs.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: LogId) -> Option<&mut Log> {
        self.logs.get_mut(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (LogId, &Log)> {
        self.logs.iter().map(|(id, log)| (*id, log))
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Log> {
        std::mem::take(self).logs.into_values()
    }

    pub(super) fn remove(&mut self, id: LogId) -> Option<Log> {
        let log = self.logs.remove(&id)?;
        self.unindex(id, log.keys());
        if let Some(packed) = log.packed {
            self.by_packed.remove(&packed);
        }
        Some(log)
    }

    /// Changes a log's mark, and with it where the log is found.
    pub(super) fn mark<R>(&mut self, id: LogId, change: impl FnOnce(&mut Log) -> R) -> Option<R> {
        let log = self.logs.get_mut(&id)?;
        let before = log.keys();
        let changed = change(log);
        let after = log.keys();
        if before != after {
            self.unindex(id, before);
            self.index(id);
        }
        Some(changed)
    }

    /// Notes which packed file carries it whole.
    pub(super) fn packed(&mut self, id: LogId, packed: (u64, u64)) {
        if let Some(log) = self.logs.get_mut(&id) {
            if let Some(old) = log.packed.replace(packed) {
                self.by_packed.remove(&old);
            }
            self.by_packed.insert(packed, id);
        }
    }

    pub(super) fn find_packed(&self, packed: (u64, u64)) -> Option<LogId> {
        self.by_packed.get(&packed).copied()
    }

    /// The logs that may begin with `head`, the first bytes of a file, at most `WINDOW`.
    pub(super) fn like(&self, head: &[u8]) -> Vec<LogId> {
        let mut ids: Vec<LogId> = Mark::keys_of(head)
            .filter_map(|key| self.by_key.get(&key))
            .flatten()
            .copied()
            .collect();
        if head.len() < super::mark::WINDOW {
            let short = Mark::short_key_of(head).and_then(|key| self.by_short_key.get(&key));
            ids.extend(short.into_iter().flatten());
            ids.sort_unstable();
            ids.dedup();
        }
        ids
    }

    fn index(&mut self, id: LogId) {
        let Some((key, short)) = self.logs.get(&id).map(Log::keys) else { return };
        if key.0 > 0 {
            self.by_key.entry(key).or_default().push(id);
        }
        if let Some(short) = short {
            self.by_short_key.entry(short).or_default().push(id);
        }
    }

    fn unindex(&mut self, id: LogId, (key, short): Keys) {
        forget(&mut self.by_key, key, id);
        if let Some(short) = short {
            forget(&mut self.by_short_key, short, id);
        }
    }
}

fn forget(index: &mut HashMap<(u64, u32), Vec<LogId>>, key: (u64, u32), id: LogId) {
    if let Some(ids) = index.get_mut(&key) {
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            index.remove(&key);
        }
    }
}
