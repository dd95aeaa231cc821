//! Assembles records into transactions, and transactions into groups, within bounds.
//!
//! A transaction is open from its first record to its end. A group is open until all that its
//! transactions began has ended. Groups are those of varnishlog's `-g`. `vxid` takes each
//! transaction alone, `session` all of a connection. `request` takes a request with its fetches,
//! ESI requests and restarts. Who belongs to whom is read from `Begin` and `Link`, so a capture in
//! another grouping serves as well. Bounds: [`WatchLimits`], and [`BYTES_MAX`] of text in all. At a
//! bound the oldest transaction goes, with its group: what has ended is handed out, what has not is
//! counted. Invariant: each slot is free, or known by its VXID, or ready. Refuses: clocks; time is
//! what the log says.

use std::collections::{HashMap, VecDeque};

use crate::limits::{WatchCounts, WatchLimits};
use crate::seconds::{micros, words};
use crate::tag::{Tag, TagSet};
use crate::transaction::{Kind, Reason, Transaction};

/// Text of all transactions that are held.
const BYTES_MAX: usize = 64 << 20;

/// Which transactions are handed out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// Each alone.
    #[default]
    Vxid,
    /// A request with all that it began.
    Request,
    /// All requests of a connection.
    Session,
    /// Each record alone; then records are shown, not exchanges.
    Raw,
}

/// Transactions that belong together, in the order of their hierarchy.
#[derive(Clone, Copy)]
pub(crate) struct TransactionGroup<'a> {
    slots: &'a [Slot],
    members: &'a [u32],
}

impl<'a> TransactionGroup<'a> {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'a Transaction> {
        self.members.iter().map(move |slot| &self.slots[*slot as usize].transaction)
    }
}

/// Makes a group of a single record, which is at level 0.
#[derive(Default)]
pub(crate) struct Alone(Slot);

impl Alone {
    pub(crate) fn group(&mut self, vxid: u64, (tag, data): (Tag, &[u8])) -> TransactionGroup<'_> {
        let transaction = &mut self.0.transaction;
        transaction.begin(vxid, Kind::Other);
        transaction.level = 0;
        // Data beyond the bounds of a transaction is not compared.
        transaction.push(tag, data);
        TransactionGroup { slots: std::slice::from_ref(&self.0), members: &[0] }
    }
}

#[derive(Default)]
struct Slot {
    transaction: Transaction,
    /// Tells the transactions apart that had the slot one after the other.
    serial: u64,
    /// Whether the transaction is known by its VXID.
    is_open: bool,
}

/// Why transactions are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DroppedAs {
    Limit,
    Timeout,
    End,
}

/// The transactions that are open, and those that are ready.
pub(crate) struct Assembler {
    grouping: Grouping,
    limits: WatchLimits,
    /// The tags that are kept; others are passed over.
    wanted: TagSet,
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_vxid: HashMap<u64, u32>,
    /// The transaction of the last record.
    current: Option<(u64, u32)>,
    /// Slots in the order of their beginnings, some of them outlived.
    order: VecDeque<(u64, u32)>,
    serial: u64,
    bytes: usize,
    now_us: u64,
    /// Slots of groups that are complete, with the length of each group.
    ready: Vec<u32>,
    lengths: VecDeque<usize>,
}

impl Assembler {
    /// Keeps only records of the tags that are wanted.
    pub(crate) fn new(grouping: Grouping, limits: WatchLimits, wanted: TagSet) -> Self {
        Self {
            grouping,
            limits,
            wanted,
            slots: Vec::new(),
            free: Vec::new(),
            by_vxid: HashMap::new(),
            current: None,
            order: VecDeque::new(),
            serial: 0,
            bytes: 0,
            now_us: 0,
            ready: Vec::new(),
            lengths: VecDeque::new(),
        }
    }

    /// Whether transactions of a kind are of any use.
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        kind == Kind::Request || self.grouping != Grouping::Vxid
    }

    /// The time of the log, in microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Begins a transaction; one of that VXID that is still open is given up.
    pub(crate) fn begin(&mut self, vxid: u64, kind: Kind, counts: &mut WatchCounts) {
        if let Some(slot) = self.by_vxid.get(&vxid).copied() {
            counts.cut += u64::from(!self.slots[slot as usize].transaction.is_done);
            self.release(slot);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        self.serial += 1;
        let place = &mut self.slots[slot as usize];
        place.transaction.begin(vxid, kind);
        place.transaction.opened_us = self.now_us;
        (place.serial, place.is_open) = (self.serial, true);
        self.order.push_back((self.serial, slot));
        self.by_vxid.insert(vxid, slot);
        self.current = Some((vxid, slot));
        while self.by_vxid.len() > self.limits.incomplete_max.max(1) {
            self.give_up_oldest(DroppedAs::Limit, counts);
        }
    }

    /// Adds a record to an open transaction; returns whether there is such a one.
    pub(crate) fn record(
        &mut self,
        vxid: u64,
        (tag, data): (Tag, &[u8]),
        counts: &mut WatchCounts,
    ) -> bool {
        let slot = match self.current {
            Some((current, slot)) if current == vxid => slot,
            _ => match self.by_vxid.get(&vxid) {
                Some(slot) => *slot,
                None => return false,
            },
        };
        self.current = Some((vxid, slot));
        let transaction = &mut self.slots[slot as usize].transaction;
        if transaction.is_done {
            return false;
        }
        if tag == Tag::BEGIN {
            transaction.read_begin(data);
        } else if tag == Tag::LINK && !transaction.read_link(data) {
            counts.beyond += 1;
        }
        if !self.wanted.contains(tag) {
            return true;
        }
        if !transaction.push(tag, data) {
            counts.beyond += 1;
            return true;
        }
        self.bytes += data.len();
        while self.bytes > BYTES_MAX {
            self.give_up_oldest(DroppedAs::Limit, counts);
        }
        true
    }

    /// Ends a transaction; its group may be ready then.
    pub(crate) fn end(&mut self, vxid: u64, counts: &mut WatchCounts) {
        let Some(slot) = self.by_vxid.get(&vxid).copied() else { return };
        let transaction = &mut self.slots[slot as usize].transaction;
        transaction.is_done = true;
        if let Some(time) = transaction.last(Tag::TIMESTAMP).and_then(stamp) {
            self.now_us = self.now_us.max(time);
        } else if let Some(ended) = transaction.last(Tag::REQ_END) {
            let time = words(ended).nth(2).and_then(micros).unwrap_or(0);
            self.now_us = self.now_us.max(time);
        }
        let kind = self.slots[slot as usize].transaction.kind;
        if !self.wants(kind) {
            self.release(slot);
        } else if self.grouping == Grouping::Vxid {
            self.hand_out(slot);
        } else {
            let root = self.root_of(slot);
            if self.is_whole(root) {
                self.hand_out_group(root, None, counts);
            }
        }
        while self.oldest().is_some_and(|slot| {
            let opened = self.slots[slot as usize].transaction.opened_us;
            opened > 0 && self.now_us.saturating_sub(opened) > self.limits.timeout_us
        }) {
            self.give_up_oldest(DroppedAs::Timeout, counts);
        }
    }

    /// Gives a transaction up that was interrupted.
    pub(crate) fn interrupt(&mut self, vxid: u64, counts: &mut WatchCounts) {
        if let Some(slot) = self.by_vxid.get(&vxid).copied() {
            counts.cut += 1;
            self.release(slot);
        }
    }

    /// Hands out what has ended, and gives up the rest: nothing more comes.
    pub(crate) fn finish(&mut self, counts: &mut WatchCounts) {
        while self.oldest().is_some() {
            self.give_up_oldest(DroppedAs::End, counts);
        }
    }

    /// Whether a group is ready.
    pub(crate) fn is_ready(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// The group that is ready first.
    pub(crate) fn group(&self) -> Option<TransactionGroup<'_>> {
        let length = *self.lengths.front()?;
        Some(TransactionGroup { slots: &self.slots, members: &self.ready[..length] })
    }

    /// Forgets that group.
    pub(crate) fn drop_group(&mut self) {
        let Some(length) = self.lengths.pop_front() else { return };
        self.free.extend(self.ready.drain(..length));
    }

    /// How many transactions are open or wait for others.
    #[cfg(test)]
    pub(crate) fn open_count(&self) -> usize {
        self.by_vxid.len()
    }

    /// Forgets a transaction.
    fn release(&mut self, slot: u32) {
        self.forget(slot);
        self.bytes -= self.slots[slot as usize].transaction.bytes();
        self.free.push(slot);
    }

    /// Makes a group of one ready.
    fn hand_out(&mut self, slot: u32) {
        self.make_ready(slot);
        self.lengths.push_back(1);
    }

    /// What is ready is taken at once, and does not count as open.
    fn make_ready(&mut self, slot: u32) {
        self.forget(slot);
        self.bytes -= self.slots[slot as usize].transaction.bytes();
        self.ready.push(slot);
    }

    fn forget(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        place.is_open = false;
        self.by_vxid.remove(&place.transaction.vxid);
        self.current = None;
    }

    /// The open transaction that is oldest.
    fn oldest(&mut self) -> Option<u32> {
        let is_there = |slots: &[Slot], (serial, slot): (u64, u32)| {
            slots[slot as usize].serial == serial && slots[slot as usize].is_open
        };
        while let Some(front) = self.order.front().copied() {
            if is_there(&self.slots, front) {
                break;
            }
            self.order.pop_front();
        }
        if self.order.len() > 4 * self.by_vxid.len() + 64 {
            self.order.retain(|entry| is_there(&self.slots, *entry));
        }
        self.order.front().map(|(_, slot)| *slot)
    }

    fn give_up_oldest(&mut self, loss: DroppedAs, counts: &mut WatchCounts) {
        let Some(oldest) = self.oldest() else { return };
        if self.grouping != Grouping::Vxid {
            let root = self.root_of(oldest);
            self.hand_out_group(root, Some(loss), counts);
        }
        // It may not be among what its parent has named.
        if self.slots[oldest as usize].is_open {
            self.hand_out_group(oldest, Some(loss), counts);
        }
    }

    /// The first transaction of the group, as far as it is known.
    fn root_of(&self, slot: u32) -> u32 {
        let mut at = slot;
        // No more steps than transactions, even if they name each other in a circle.
        for _ in 0..self.by_vxid.len() {
            let transaction = &self.slots[at as usize].transaction;
            if self.is_root(transaction) {
                break;
            }
            match self.by_vxid.get(&transaction.parent) {
                Some(parent) => at = *parent,
                None => break,
            }
        }
        at
    }

    fn is_root(&self, transaction: &Transaction) -> bool {
        match self.grouping {
            Grouping::Vxid | Grouping::Raw => true,
            Grouping::Request => {
                transaction.kind == Kind::Session || transaction.reason == Reason::Received
            }
            Grouping::Session => transaction.kind == Kind::Session,
        }
    }

    /// Whether a group has its first transaction, and all have ended that it began.
    fn is_whole(&self, root: u32) -> bool {
        let first = &self.slots[root as usize].transaction;
        // A parent that has not come yet may still come: fetches are logged before their requests.
        if !self.is_root(first) && first.parent != 0 {
            return false;
        }
        let mut seen = 0;
        let mut todo = vec![root];
        while let Some(slot) = todo.pop() {
            let transaction = &self.slots[slot as usize].transaction;
            seen += 1;
            // Each has one parent, so more than there are is a circle.
            if !transaction.is_done || seen + todo.len() > self.by_vxid.len() {
                return false;
            }
            if self.grouping == Grouping::Request && transaction.kind == Kind::Session {
                continue;
            }
            for child in &transaction.children {
                match self.by_vxid.get(child) {
                    Some(child) => todo.push(*child),
                    None => return false,
                }
            }
        }
        true
    }

    /// Makes a group ready. When it is given up, only what has ended goes along.
    fn hand_out_group(&mut self, root: u32, loss: Option<DroppedAs>, counts: &mut WatchCounts) {
        let before = self.ready.len();
        let mut lost = 0;
        let mut todo = vec![(root, 1)];
        while let Some((slot, level)) = todo.pop() {
            if !self.slots[slot as usize].is_open {
                continue;
            }
            let is_session = self.slots[slot as usize].transaction.kind == Kind::Session;
            if !(self.grouping == Grouping::Request && is_session) {
                self.push_children((slot, level), &mut todo);
            }
            self.slots[slot as usize].transaction.level = level;
            if self.slots[slot as usize].transaction.is_done {
                self.make_ready(slot);
            } else {
                lost += 1;
                self.release(slot);
            }
        }
        let length = self.ready.len() - before;
        if length > 0 {
            self.lengths.push_back(length);
        }
        match loss {
            Some(DroppedAs::Limit) => counts.over_limit += lost,
            Some(DroppedAs::Timeout) => counts.timed_out += lost,
            Some(DroppedAs::End) => counts.cut += lost,
            None => {}
        }
        counts.partial_groups += u64::from(loss.is_some() && length > 0);
    }

    fn push_children(&self, (slot, level): (u32, u32), todo: &mut Vec<(u32, u32)>) {
        for child in self.slots[slot as usize].transaction.children.iter().rev() {
            let Some(child) = self.by_vxid.get(child) else { continue };
            let is_restart = self.slots[*child as usize].transaction.reason == Reason::Restart;
            todo.push((*child, level + u32::from(!is_restart)));
        }
    }
}

/// The time of `Resp: 1473174473.456773 0.001251 0.000108`.
fn stamp(data: &[u8]) -> Option<u64> {
    words(data).nth(1).and_then(micros)
}

#[cfg(test)]
mod tests;
