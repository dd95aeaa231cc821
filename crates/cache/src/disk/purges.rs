//! Keeps the purges of this run of the process and of earlier runs, and numbers them for the disk.
//!
//! Each run numbers its purges from one. On disk, purges and the stamps of responses are numbered
//! on from the last run. A response of an earlier run is judged here by the later purges of those
//! runs. The store judges it by every purge of this run.
//!
//! Invariant: a purge never counts as earlier than it was. A response fetched before a purge that
//! was lost with a log is not written to the next one.
//! Bound: memory for resources and tags is bounded. Prefixes gather until they are written:
//! normally for one flush, but for as long as the log is out of use. The log keeps the newest
//! 1,024.
//! Keys made here stand on disk; another form needs another `FORMAT` in `log`. Never here: writing
//! them (`writer`, `log`).

use crate::purge::{Area, Prefix, PurgeVerdict, Records};
use crate::tags::Tags;

use super::log::Logged;

/// All purges, of this run and of earlier ones.
#[derive(Debug, Default)]
pub(super) struct PurgeLog {
    /// The last number of the earlier runs.
    base: u64,
    /// The purges of the earlier runs.
    before: Records,
    /// Purges of this run that are not written yet, by the numbers of this run.
    unwritten: Logged,
    /// The last purge of this run.
    last: u64,
    /// The last purge of this run that was removed with a log. A response that was fetched before
    /// it must not be written to the next log.
    lost: u64,
}

impl PurgeLog {
    /// Takes over the purges that earlier runs have written; returns false if one cannot be read.
    pub(super) fn resume(&mut self, logged: &Logged) -> bool {
        self.before = Records::beginning_at(logged.floor);
        for (place, number) in &logged.places {
            self.before.resume_place((place >> 1) as u32, place & 1 == 1, *number);
        }
        let mut prefixes: Vec<_> = logged.prefixes.iter().collect();
        prefixes.sort_unstable_by_key(|(_, number)| **number);
        for (prefix, number) in prefixes {
            let Some((soft, prefix)) = decode(prefix) else { return false };
            self.before.resume_prefix(prefix, soft, *number);
        }
        self.base = self.base.max(self.before.last()).max(logged.stamp);
        true
    }

    /// Forgets the purges on disk, because the log was removed.
    pub(super) fn clear(&mut self) {
        self.before = Records::default();
        self.unwritten = Logged::default();
        self.lost = self.last;
    }

    /// Returns the stamp on disk for a stamp of this run; `None` if the response must not be
    /// written.
    pub(super) fn stamp(&self, stamp: u64) -> Option<u64> {
        (stamp >= self.lost).then_some(self.base + stamp)
    }

    /// Returns the stamp of this run for a stamp on disk; 0 if it is of an earlier run.
    pub(super) fn stamp_here(&self, stamp: u64) -> u64 {
        stamp.saturating_sub(self.base)
    }

    /// Adds purges of this run; `stamp` is the number of the last one.
    pub(super) fn add(&mut self, areas: &[Area], soft: bool, stamp: u64) {
        self.last = self.last.max(stamp);
        for area in areas {
            let number = match (area, area.place()) {
                (Area::Prefix(host, start), _) => {
                    self.unwritten.prefixes.entry(encode(host.as_deref(), start, soft)).or_default()
                }
                (_, Some(place)) => {
                    let place = u64::from(place) << 1 | u64::from(soft);
                    self.unwritten.places.entry(place).or_default()
                }
                _ => continue,
            };
            *number = stamp.max(*number);
        }
    }

    /// Whether there are purges to write.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.places.is_empty() || !self.unwritten.prefixes.is_empty()
    }

    /// Takes the purges to write, by their numbers on disk.
    pub(super) fn take_unwritten(&mut self) -> Logged {
        let mut taken = std::mem::take(&mut self.unwritten);
        let numbers = taken.places.values_mut().chain(taken.prefixes.values_mut());
        numbers.for_each(|number| *number += self.base);
        taken
    }

    /// Returns how far purges of earlier runs cover a response.
    pub(super) fn verdict(&self, stamp: u64, key: &[u8], tags: &Tags) -> PurgeVerdict {
        self.before.verdict(stamp, key, tags)
    }
}

fn encode(host: Option<&str>, start: &str, soft: bool) -> Vec<u8> {
    let mut out = vec![u8::from(soft), u8::from(host.is_some())];
    out.extend_from_slice(host.unwrap_or_default().as_bytes());
    // No host holds a line break.
    out.push(b'\n');
    out.extend_from_slice(start.as_bytes());
    out
}

fn decode(prefix: &[u8]) -> Option<(bool, Prefix)> {
    let ([soft, has_host], rest) = prefix.split_first_chunk()?;
    let (host, start) = std::str::from_utf8(rest).ok()?.split_once('\n')?;
    Some((*soft == 1, ((*has_host == 1).then(|| host.into()), start.into())))
}

#[cfg(test)]
mod tests;
