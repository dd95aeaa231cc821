//! Finds the logs that are known by the beginning of their content, or by the packed file that
//! carries one whole.
//!
//! Invariant: the index holds each log under its present keys. So a mark must change through
//! [`Logs::change`] only, which brings the index up to date. `get_mut` is for the rest of a log;
//! nothing checks that.
//! What is found is a suspect: `mark` tells whether it is the log. Numbers of logs are not used
//! again until `reset`.

use std::collections::{BTreeMap, HashMap};

use super::log::{HeadKeys, Log, LogId};
use super::mark::{Mark, WINDOW};

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

    pub(super) fn remove(&mut self, id: LogId) -> Option<Log> {
        let log = self.logs.remove(&id)?;
        self.unindex(id, log.keys());
        if let Some(packed) = log.packed.filter(|packed| self.find_packed(*packed) == Some(id)) {
            self.by_packed.remove(&packed);
        }
        Some(log)
    }

    /// Changes a log, and with it where it is found.
    pub(super) fn change<R>(&mut self, id: LogId, change: impl FnOnce(&mut Log) -> R) -> Option<R> {
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
            let old = log.packed.replace(packed);
            // Of two logs with the same content the other may be found by it.
            if let Some(old) = old.filter(|old| self.find_packed(*old) == Some(id)) {
                self.by_packed.remove(&old);
            }
            self.by_packed.insert(packed, id);
        }
    }

    /// Notes that another packed file carries it, of which it is not known how much was read.
    pub(super) fn repacked(&mut self, id: LogId) {
        let old = self.logs.get_mut(&id).and_then(|log| log.packed.take());
        if let Some(old) = old.filter(|old| self.find_packed(*old) == Some(id)) {
            self.by_packed.remove(&old);
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
        if head.len() < WINDOW {
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

    fn unindex(&mut self, id: LogId, (key, short): HeadKeys) {
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

#[cfg(test)]
mod tests;
