//! What one receiver has counted since the last flush, by name.
//!
//! Each receiver has a table of its own behind a lock that only a flush asks for too, a few hundred
//! names at a time, so that receiving never stalls. Gauges have an order in time that matters and
//! are few: they are shared by all receivers.
//! Invariant: a sample is in exactly one flush; a name is charged to the budget while it is held.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::budget::Budget;
use crate::line::{Bad, Change, Notice, Take};
use crate::names::{self, Name, Names};
use crate::samples::{Samples, Summary};

/// Members of a set.
pub type Members = HashSet<Box<[u8]>, foldhash::fast::FixedState>;

/// Lines with events and checks that are kept for a flush.
const NOTICES_MAX: usize = 1024;
/// Keys that are counted for the list of those that come most often; others are not in it.
const KEYS_MAX: usize = 1 << 20;
/// Bytes of bad lines that are kept for who asks.
const BAD_LINE_BYTES: usize = 200;

/// Counts of one receiver.
#[derive(Debug)]
pub struct Table {
    bounds: Arc<Bounds>,
    /// Counters by name.
    pub counters: Names<f64>,
    /// Timers by name.
    pub timers: Names<Samples>,
    /// Sets by name.
    pub sets: Names<Members>,
    /// Events and checks, as they came.
    pub notices: Vec<Notice<'static>>,
    /// Lines by key, where they are counted.
    pub keys: HashMap<Box<[u8]>, u64, foldhash::fast::FixedState>,
    /// What came in since the start.
    pub totals: Totals,
    values_held: usize,
}

/// What came in since the start.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Datagrams, and parts of streams.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Pieces that said nothing, by [`Bad::ALL`].
    pub bad: [u64; Bad::ALL.len()],
    /// The last bad line, cut, with its reason.
    pub last_bad: Option<(Bad, Box<[u8]>)>,
    /// Events and checks that found no room.
    pub notices_dropped: u64,
    /// Values that found no room as they are and were summed up.
    pub values_summarised: u64,
}

/// What a table may hold.
#[derive(Debug)]
pub struct Bounds {
    /// Bytes for names.
    pub budget: Budget,
    /// Values of one timer that are kept as they are.
    pub timer_values_max: usize,
    /// Values of all timers of one receiver that are kept as they are.
    pub values_max: usize,
}

/// Gauges by name, of all receivers.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Their values.
    pub names: Names<f64>,
}

impl Table {
    /// An empty table.
    pub fn new(bounds: Arc<Bounds>) -> Self {
        Self {
            bounds,
            counters: Names::default(),
            timers: Names::default(),
            sets: Names::default(),
            notices: Vec::new(),
            keys: HashMap::default(),
            totals: Totals::default(),
            values_held: 0,
        }
    }

    /// Adds to a counter.
    pub fn add(&mut self, name: &[u8], amount: f64) {
        *cell(&mut self.counters, &self.bounds.budget, name) += amount;
    }

    /// Adds to a timer what is known in sum only.
    pub fn add_summary(&mut self, name: &[u8], summary: &Summary) {
        let Self { timers, bounds, values_held, .. } = self;
        let samples = cell(timers, &bounds.budget, name);
        *values_held = values_held.saturating_sub(samples.held());
        samples.merge_summary(summary);
    }

    /// Shows `look` up to `count` counters from `from` on; returns where to go on.
    pub fn take_counters(
        &mut self,
        from: usize,
        count: usize,
        look: Look<'_, f64>,
    ) -> Option<usize> {
        visit(&mut self.counters, &self.bounds.budget, (from, count), look)
    }

    /// Shows `look` up to `count` timers, whose values it takes; returns where to go on.
    pub fn take_timers(
        &mut self,
        from: usize,
        count: usize,
        look: Look<'_, Samples>,
    ) -> Option<usize> {
        let Self { timers, bounds, values_held, .. } = self;
        visit(timers, &bounds.budget, (from, count), &mut |seen| {
            *values_held = values_held.saturating_sub(seen.cell.held());
            look(seen)
        })
    }

    /// Shows `look` up to `count` sets; returns where to go on.
    pub fn take_sets(
        &mut self,
        from: usize,
        count: usize,
        look: Look<'_, Members>,
    ) -> Option<usize> {
        visit(&mut self.sets, &self.bounds.budget, (from, count), look)
    }
}

impl Totals {
    /// Adds what another receiver has.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.bad.iter_mut().zip(other.bad).for_each(|(mine, theirs)| *mine += theirs);
        self.last_bad = other.last_bad.clone().or(self.last_bad.take());
        self.notices_dropped += other.notices_dropped;
        self.values_summarised += other.values_summarised;
    }
}

impl Gauges {
    /// Sets a gauge of the server's own.
    pub fn set(&mut self, budget: &Budget, name: &[u8], value: f64) {
        *cell(&mut self.names, budget, name) = value;
    }

    /// Shows `look` up to `count` gauges from `from` on; returns where to go on.
    pub fn take(
        &mut self,
        budget: &Budget,
        from: usize,
        count: usize,
        look: Look<'_, f64>,
    ) -> Option<usize> {
        visit(&mut self.names, budget, (from, count), look)
    }
}

fn visit<C>(
    names: &mut Names<C>,
    budget: &Budget,
    (from, count): (usize, usize),
    look: Look<'_, C>,
) -> Option<usize> {
    names.visit(from, count, |seen| {
        let name = seen.name;
        let is_kept = look(seen);
        if !is_kept {
            budget.refund(name.as_bytes(), size_of::<C>());
        }
        is_kept
    })
}

/// Looks at a cell for a flush, and says whether it is kept.
pub type Look<'l, C> = &'l mut dyn FnMut(names::Seen<'_, C>) -> bool;

/// A table that is being added to, with the gauges, which are locked when the first one comes.
#[derive(Debug)]
pub struct Filling<'t> {
    /// The receiver's own.
    pub table: &'t mut Table,
    gauges: &'t Mutex<Gauges>,
    held: Option<MutexGuard<'t, Gauges>>,
}

impl<'t> Filling<'t> {
    /// Begins to add to a table.
    pub fn new(table: &'t mut Table, gauges: &'t Mutex<Gauges>) -> Self {
        Self { table, gauges, held: None }
    }
}

impl Take for Filling<'_> {
    #[inline]
    fn counter(&mut self, key: &[u8], amount: f64) {
        *cell(&mut self.table.counters, &self.table.bounds.budget, key) += amount;
    }

    fn timer(&mut self, key: &[u8], value: f64, weight: f64) {
        let Table { timers, bounds, values_held, totals, .. } = &mut *self.table;
        let is_full = *values_held >= bounds.values_max;
        let values_max = if is_full { 0 } else { bounds.timer_values_max };
        let samples = cell(timers, &bounds.budget, key);
        let more = samples.add(value, weight, values_max);
        *values_held = values_held.saturating_add_signed(more);
        totals.values_summarised += u64::from(more <= 0);
    }

    fn gauge(&mut self, key: &[u8], change: Change) {
        let gauges = self.held.get_or_insert_with(|| self.gauges.lock());
        let value = cell(&mut gauges.names, &self.table.bounds.budget, key);
        *value = match change {
            Change::Add(more) => *value + more,
            Change::AddUnlessZero(more) if *value != 0.0 => *value + more,
            Change::Set(new) | Change::AddUnlessZero(new) => new,
        };
    }

    fn set(&mut self, key: &[u8], member: &[u8]) {
        let members = cell(&mut self.table.sets, &self.table.bounds.budget, key);
        if !members.contains(member) {
            members.insert(member.into());
        }
    }

    fn notice(&mut self, notice: Notice<'_>) {
        if self.table.notices.len() < NOTICES_MAX {
            self.table.notices.push(notice.into_owned());
        } else {
            self.table.totals.notices_dropped += 1;
        }
    }

    fn key(&mut self, key: &[u8]) {
        let keys = &mut self.table.keys;
        if let Some(count) = keys.get_mut(key) {
            *count += 1;
        } else if keys.len() < KEYS_MAX {
            keys.insert(key.into(), 1);
        }
    }

    fn bad(&mut self, line: &[u8], why: Bad) {
        let totals = &mut self.table.totals;
        totals.bad[why as usize] += 1;
        totals.last_bad = Some((why, line[..line.len().min(BAD_LINE_BYTES)].into()));
    }
}

/// The cell of a name; when a new one finds no room, that of its overflow key.
#[inline]
fn cell<'n, C: Default>(names: &'n mut Names<C>, budget: &Budget, key: &[u8]) -> &'n mut C {
    let hash = names::hash(key);
    match names.find(key, hash) {
        Some(place) => names.touch(place),
        None => new_cell(names, budget, key, hash),
    }
}

#[cold]
fn new_cell<'n, C: Default>(
    names: &'n mut Names<C>,
    budget: &Budget,
    key: &[u8],
    hash: u64,
) -> &'n mut C {
    match budget.charge(key, size_of::<C>()) {
        Ok(()) => names.add(String::from_utf8_lossy(key).into(), hash, C::default()),
        Err(overflow) => {
            let overflow = Name::clone(overflow);
            cell(names, budget, overflow.as_bytes())
        }
    }
}
