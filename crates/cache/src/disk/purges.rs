//! Purges of this life of the process and of those before.
//!
//! Each life numbers its purges from one; on disk they are numbered on from the last life's, and so
//! are the answers' stamps. An answer of an earlier life is judged here by the purges of that time
//! that came after it, and by the gateway by every purge of this life.
//! Invariant: a purge is taken to be no earlier than it was. Memory is fixed but for prefixes not
//! yet written, of which there are as many as operators purge in a second.

use crate::purge::{Area, Prefix, PurgeVerdict, Records};
use crate::tags::Tags;

use super::log::Logged;

/// All purges, of this life and of those before.
#[derive(Debug, Default)]
pub(super) struct PurgeLog {
    /// The last number of the lives before.
    base: u64,
    /// What was purged then.
    before: Records,
    /// Purges of this life, by its own numbers, that are not written yet.
    unwritten: Logged,
    /// The last purge of this life.
    last: u64,
    /// The last purge of this life that a removed store took with it: an answer that was fetched
    /// before it is not for another store.
    lost: u64,
}

impl PurgeLog {
    /// Takes over what the lives before have written; false when it makes no sense.
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

    /// Nothing is on disk any more.
    pub(super) fn clear(&mut self) {
        self.before = Records::default();
        self.unwritten = Logged::default();
        self.lost = self.last;
    }

    /// The number on disk of a purge of this life; `None` when an answer fetched after it, and not
    /// after later ones, is not to be written.
    pub(super) fn stamp(&self, stamp: u64) -> Option<u64> {
        (stamp >= self.lost).then_some(self.base + stamp)
    }

    /// The number in this life of a purge on disk; 0 for those before.
    pub(super) fn stamp_here(&self, stamp: u64) -> u64 {
        stamp.saturating_sub(self.base)
    }

    /// Notes a purge of this life; `stamp` is the number of the last.
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

    /// Purges to write, by their numbers on disk.
    pub(super) fn take_unwritten(&mut self) -> Logged {
        let mut taken = std::mem::take(&mut self.unwritten);
        let numbers = taken.places.values_mut().chain(taken.prefixes.values_mut());
        numbers.for_each(|number| *number += self.base);
        taken
    }

    /// How far an answer is covered by purges of the lives before.
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
