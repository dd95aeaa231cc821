//! Counts what one receiver got since the last flush, by name, within bounds.
//!
//! Each receiver has a table of its own behind a lock. Flush and snapshot ask for it for 512 names
//! at a time at most. Management commands, `rebind` after a reload, and taking over a snapshot may
//! hold it for a whole table. All receivers share the gauges, for their order in time, behind a
//! lock that is taken after the table's.
//! Invariant: a name is charged to the budget for as long as the table has it. So are the members
//! of a set and the summary of a timer. Single values of timers are bounded by their number, not
//! charged. Whoever looks at cells for a flush must take out what they hold, for its charge is
//! refunded.
//! Bounds: a name without room counts in its overflow key (`budget.rs`), values beyond theirs
//! become a sketch. Notices beyond 1,024 are dropped and counted. New keys beyond 2²⁰ are not
//! counted for `keyFlush`. A setting that [`Bounds::of`] reads also goes into `bounds_differ`
//! (`reload.rs`).
//! Also here: totals since the start, taking over a snapshot, charging to other bounds. A new kind
//! of cell goes into `rebind`, `flush.rs`, `snapshot.rs`, `tally.rs` (`names`) and
//! `manage/commands.rs`; a new total into `Totals::add` and `status.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::Uniques;
use parking_lot::{Mutex, MutexGuard};

use crate::budget::{Budget, NameCosts};
use crate::figures;
use crate::flavour::Flavour;
use crate::line::{BadReason, GaugeChange, Notice, SampleSink};
use crate::members::Members;
use crate::name_costs;
use crate::names::{self, NameMap, SharedName, SlotIndex};
use crate::plan::Plan;
use crate::samples::{Samples, Summary};

/// Lines with events and checks that are kept for a flush.
const NOTICES_MAX: usize = 1024;
/// Keys that are counted for the list of those that come most often; others are not in it.
const KEYS_MAX: usize = 1 << 20;
/// Bytes of bad lines that are kept to be shown.
const BAD_LINE_BYTES: usize = 200;

/// Counts of one receiver.
#[derive(Debug)]
pub(crate) struct Table {
    bounds: Arc<Bounds>,
    /// Counters by name.
    pub counters: NameMap<f64>,
    /// Timers by name.
    pub timers: NameMap<Samples>,
    /// Sets by name.
    pub sets: NameMap<Members>,
    /// Events and checks, as they came.
    pub notices: Vec<Notice<'static>>,
    /// Lines by key, where they are counted.
    pub keys: HashMap<Box<[u8]>, u64, foldhash::fast::FixedState>,
    /// What came in since the start.
    pub totals: Totals,
    values_kept: usize,
}

/// What came in since the start.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    /// Datagrams, and parts of streams.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Pieces that said nothing, by [`BadReason::ALL`].
    pub bad: [u64; BadReason::ALL.len()],
    /// The last bad line, cut, with its reason.
    pub last_bad: Option<(BadReason, Box<[u8]>)>,
    /// Events and checks that found no room.
    pub notices_dropped: u64,
    /// Values that found no room as they are and were summed up.
    pub values_summarised: u64,
    /// Members of sets that found no room as they are and went to a sketch.
    pub members_summarised: u64,
}

/// What a table may hold.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// Bytes for names.
    pub budget: Budget,
    /// Values of one timer that are kept as they are.
    pub timer_values_max: usize,
    /// Values of all timers of one receiver that are kept as they are.
    pub values_max: usize,
    /// Whether a set without room for its members becomes a sketch; else only the overflow key's
    /// does, and other sets' members go there.
    pub sketches_sets: bool,
}

impl Bounds {
    /// What the tables of a plan may hold; what overflowed `before` stays counted.
    pub(crate) fn of(plan: &Plan, before: Option<&Self>) -> Self {
        let budget = Budget::new(&plan.self_prefix, plan.names_bytes_max, &plan.prefix_bytes_max)
            .costing(name_costs::of(plan));
        let budget = match before {
            Some(before) => budget.counting_on(&before.budget),
            None => budget,
        };
        Self {
            budget,
            timer_values_max: plan.timer_values_max,
            values_max: plan.values_max,
            sketches_sets: plan.flavour == Flavour::Native,
        }
    }
}

/// Gauges by name, of all receivers.
#[derive(Debug)]
pub(crate) struct Gauges {
    bounds: Arc<Bounds>,
    /// Their values.
    pub names: NameMap<f64>,
}

/// What a name stands for.
pub(crate) trait CellCost: Default {
    /// Bytes that a name with such a cell takes outside its table.
    fn outside(costs: &NameCosts) -> usize;

    /// Bytes that were charged for what it holds beside itself.
    fn charged_bytes(&self) -> usize {
        0
    }

    /// Values of timers that it holds as they are.
    fn values(&self) -> usize {
        0
    }
}

impl CellCost for f64 {
    fn outside(costs: &NameCosts) -> usize {
        costs.plain
    }
}

impl CellCost for Samples {
    fn outside(costs: &NameCosts) -> usize {
        costs.timer
    }

    fn charged_bytes(&self) -> usize {
        self.reported_bytes()
    }

    fn values(&self) -> usize {
        self.values_kept()
    }
}

impl CellCost for Members {
    fn outside(costs: &NameCosts) -> usize {
        costs.set
    }

    fn charged_bytes(&self) -> usize {
        self.heap_bytes()
    }
}

impl Table {
    /// An empty table.
    pub(crate) fn new(bounds: Arc<Bounds>) -> Self {
        Self {
            bounds,
            counters: NameMap::default(),
            timers: NameMap::default(),
            sets: NameMap::default(),
            notices: Vec::new(),
            keys: HashMap::default(),
            totals: Totals::default(),
            values_kept: 0,
        }
    }

    /// Adds to a counter.
    pub(crate) fn add(&mut self, name: &[u8], amount: f64) {
        *cell(&mut self.counters, &self.bounds.budget, name) += amount;
    }

    /// Adds to a timer what is known in sum only.
    pub(crate) fn add_summary(&mut self, name: &[u8], summary: &Summary) {
        let Self { timers, bounds, values_kept, .. } = self;
        let place = place(timers, &bounds.budget, name);
        let samples = timers.touch(place);
        *values_kept = values_kept.saturating_sub(samples.values_kept());
        samples.merge_summary(summary);
        let grown = samples.grown();
        bounds.budget.adjust(timers.name(place).as_bytes(), grown);
    }

    /// Removes a name; false when it is not known.
    pub(crate) fn remove<C: CellCost>(
        &mut self,
        of: fn(&mut Self) -> &mut NameMap<C>,
        name: &str,
    ) -> bool {
        let Some(cell) = of(self).remove(name.as_bytes()) else { return false };
        self.values_kept = self.values_kept.saturating_sub(cell.values());
        let budget = &self.bounds.budget;
        budget.refund(name.as_bytes(), cell_bytes::<C>(budget) + cell.charged_bytes());
        true
    }

    /// Adds what a snapshot has of a counter that was idle for so many flushes.
    pub(crate) fn restore_counter(&mut self, name: &str, idle: u32, sum: f64) {
        let place = restored(&mut self.counters, &self.bounds.budget, name, idle);
        *self.counters.revive(place, idle) += sum;
    }

    /// Adds what a snapshot has of a timer that was idle for so many flushes.
    pub(crate) fn restore_timer(&mut self, name: &str, idle: u32, samples: Samples) {
        let Self { timers, bounds, values_kept, .. } = self;
        let place = restored(timers, &bounds.budget, name, idle);
        let timer = timers.revive(place, idle);
        let before = timer.values_kept();
        timer.merge(samples, bounds.timer_values_max);
        *values_kept = (*values_kept + timer.values_kept()).saturating_sub(before);
        let grown = timer.grown();
        bounds.budget.adjust(timers.name(place).as_bytes(), grown);
    }

    /// Adds what a snapshot has of a set that was idle for so many flushes.
    pub(crate) fn restore_set<'m>(
        &mut self,
        name: &str,
        idle: u32,
        exact: impl Iterator<Item = &'m [u8]>,
        sketch: Option<Uniques>,
    ) {
        let Self { sets, bounds, .. } = self;
        let budget = &bounds.budget;
        let place = restored(sets, budget, name, idle);
        let name = SharedName::clone(sets.name(place));
        let members = sets.revive(place, idle);
        for member in exact {
            members.add(member, name.as_bytes(), budget, true);
        }
        if let Some(sketch) = sketch {
            members.add_sketch(sketch, name.as_bytes(), budget);
        }
    }

    /// Charges everything that is held to other bounds, which hold from here on.
    pub(crate) fn rebind(&mut self, bounds: &Arc<Bounds>) {
        charge_all(&self.counters, &bounds.budget);
        charge_all(&self.timers, &bounds.budget);
        charge_all(&self.sets, &bounds.budget);
        self.bounds = Arc::clone(bounds);
    }

    /// Shows `look` up to `count` counters from `from` on; returns where to go on.
    pub(crate) fn take_counters(
        &mut self,
        from: usize,
        count: usize,
        look: Look<'_, f64>,
    ) -> Option<usize> {
        visit(&mut self.counters, &self.bounds.budget, (from, count), look)
    }

    /// Shows `look` up to `count` timers, whose values it takes; returns where to go on.
    pub(crate) fn take_timers(
        &mut self,
        from: usize,
        count: usize,
        look: Look<'_, Samples>,
    ) -> Option<usize> {
        let Self { timers, bounds, values_kept, .. } = self;
        visit(timers, &bounds.budget, (from, count), &mut |seen| {
            *values_kept = values_kept.saturating_sub(seen.cell.values_kept());
            look(seen)
        })
    }

    /// Shows `look` up to `count` sets; returns where to go on.
    pub(crate) fn take_sets(
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
    pub(crate) fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.bad.iter_mut().zip(other.bad).for_each(|(mine, theirs)| *mine += theirs);
        self.last_bad = other.last_bad.clone().or(self.last_bad.take());
        self.notices_dropped += other.notices_dropped;
        self.values_summarised += other.values_summarised;
        self.members_summarised += other.members_summarised;
    }
}

impl Gauges {
    /// No gauges.
    pub(crate) fn new(bounds: Arc<Bounds>) -> Self {
        Self { bounds, names: NameMap::default() }
    }

    /// Sets a gauge of the server's own.
    pub(crate) fn set(&mut self, name: &[u8], value: f64) {
        *cell(&mut self.names, &self.bounds.budget, name) = value;
    }

    /// Sets a gauge as a snapshot has it, that was idle for so many flushes.
    pub(crate) fn restore(&mut self, name: &str, idle: u32, value: f64) {
        let place = restored(&mut self.names, &self.bounds.budget, name, idle);
        *self.names.revive(place, idle) = value;
    }

    /// Removes a name; false when it is not known.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let is_known = self.names.remove(name.as_bytes()).is_some();
        if is_known {
            let budget = &self.bounds.budget;
            budget.refund(name.as_bytes(), cell_bytes::<f64>(budget));
        }
        is_known
    }

    /// Charges everything that is held to other bounds, which hold from here on.
    pub(crate) fn rebind(&mut self, bounds: &Arc<Bounds>) {
        charge_all(&self.names, &bounds.budget);
        self.bounds = Arc::clone(bounds);
    }

    /// Shows `look` up to `count` gauges from `from` on; returns where to go on.
    pub(crate) fn take(&mut self, from: usize, count: usize, look: Look<'_, f64>) -> Option<usize> {
        visit(&mut self.names, &self.bounds.budget, (from, count), look)
    }
}

/// Bytes of a cell, and of what is made of it outside its table.
fn cell_bytes<C: CellCost>(budget: &Budget) -> usize {
    size_of::<C>() + C::outside(budget.costs())
}

fn charge_all<C: CellCost>(names: &NameMap<C>, budget: &Budget) {
    for (name, cell) in names.iter() {
        let bytes = cell_bytes::<C>(budget) + cell.charged_bytes();
        budget.adjust(name.as_bytes(), (budget.name_bytes(name.as_bytes()) + bytes) as isize);
    }
}

/// Shows cells to a flush, which takes what they hold beside themselves.
fn visit<C: CellCost>(
    names: &mut NameMap<C>,
    budget: &Budget,
    (from, count): (usize, usize),
    look: Look<'_, C>,
) -> Option<usize> {
    names.visit(from, count, |seen| {
        let (name, charged) = (seen.name, seen.cell.charged_bytes());
        let is_kept = look(seen);
        if charged > 0 {
            budget.adjust(name.as_bytes(), -(charged as isize));
        }
        if !is_kept {
            budget.refund(name.as_bytes(), cell_bytes::<C>(budget));
        }
        is_kept
    })
}

/// Looks at a cell for a flush, and says whether it is kept.
pub(crate) type Look<'l, C> = &'l mut dyn FnMut(names::VisitedCell<'_, C>) -> bool;

/// A table that is being added to, with the gauges, which are locked when the first one comes.
#[derive(Debug)]
pub(crate) struct TableWriter<'t> {
    /// The receiver's own.
    pub table: &'t mut Table,
    gauges: &'t Mutex<Gauges>,
    locked: Option<MutexGuard<'t, Gauges>>,
}

impl<'t> TableWriter<'t> {
    /// Begins to add to a table.
    pub(crate) fn new(table: &'t mut Table, gauges: &'t Mutex<Gauges>) -> Self {
        Self { table, gauges, locked: None }
    }
}

impl SampleSink for TableWriter<'_> {
    #[inline]
    fn counter(&mut self, key: &[u8], amount: f64) {
        *cell(&mut self.table.counters, &self.table.bounds.budget, key) += amount;
    }

    fn timer(&mut self, key: &[u8], value: f64, weight: f64) {
        let Table { timers, bounds, values_kept, totals, .. } = &mut *self.table;
        let is_full = *values_kept >= bounds.values_max;
        let values_max = if is_full { 0 } else { bounds.timer_values_max };
        let place = place(timers, &bounds.budget, key);
        let samples = timers.touch(place);
        let more = samples.add(value, weight, values_max);
        *values_kept = values_kept.saturating_add_signed(more);
        if more <= 0 {
            totals.values_summarised += 1;
            let grown = samples.grown();
            if grown != 0 {
                bounds.budget.adjust(timers.name(place).as_bytes(), grown);
            }
        }
    }

    fn gauge(&mut self, key: &[u8], change: GaugeChange) {
        let gauges = self.locked.get_or_insert_with(|| self.gauges.lock());
        let Gauges { names, bounds } = &mut **gauges;
        let value = cell(names, &bounds.budget, key);
        // A gauge that is no number would be none for good.
        *value = figures::finite(match change {
            GaugeChange::Add(more) => *value + more,
            GaugeChange::AddUnlessZero(more) if *value != 0.0 => *value + more,
            GaugeChange::Set(new) | GaugeChange::AddUnlessZero(new) => new,
        });
    }

    fn set(&mut self, key: &[u8], member: &[u8]) {
        let Table { sets, bounds, totals, .. } = &mut *self.table;
        let budget = &bounds.budget;
        let at = place(sets, budget, key);
        let (name, members) = sets.touch_named(at);
        if members.add(member, name.as_bytes(), budget, bounds.sketches_sets) {
            totals.members_summarised += u64::from(members.sketch().is_some());
            return;
        }
        let name = budget.overflow(name.as_bytes()).unwrap_or_else(|| SharedName::clone(name));
        let at = place(sets, budget, name.as_bytes());
        let (name, members) = sets.touch_named(at);
        members.add(member, name.as_bytes(), budget, true);
        totals.members_summarised += u64::from(members.sketch().is_some());
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

    fn bad(&mut self, line: &[u8], reason: BadReason) {
        let totals = &mut self.table.totals;
        totals.bad[reason as usize] += 1;
        totals.last_bad = Some((reason, line[..line.len().min(BAD_LINE_BYTES)].into()));
    }
}

/// The cell of a name; when a new one finds no room, that of its overflow key.
#[inline]
fn cell<'n, C: CellCost>(names: &'n mut NameMap<C>, budget: &Budget, key: &[u8]) -> &'n mut C {
    let place = place(names, budget, key);
    names.touch(place)
}

#[inline]
fn place<C: CellCost>(names: &mut NameMap<C>, budget: &Budget, key: &[u8]) -> SlotIndex {
    let hash = names::hash(key);
    names.find(key, hash).unwrap_or_else(|| new_place(names, budget, key, (hash, 0)))
}

/// Where a name of a snapshot is: as idle as it was there, if it is new here.
fn restored<C: CellCost>(
    names: &mut NameMap<C>,
    budget: &Budget,
    name: &str,
    idle: u32,
) -> SlotIndex {
    let hash = names::hash(name.as_bytes());
    match names.find(name.as_bytes(), hash) {
        Some(place) => place,
        None => new_place(names, budget, name.as_bytes(), (hash, idle)),
    }
}

#[cold]
fn new_place<C: CellCost>(
    names: &mut NameMap<C>,
    budget: &Budget,
    key: &[u8],
    (hash, idle): (u64, u32),
) -> SlotIndex {
    let Ok(name) = std::str::from_utf8(key) else {
        // Looked up by what it is shown as, or each sample would be a name of its own.
        return place(names, budget, String::from_utf8_lossy(key).as_bytes());
    };
    match budget.charge(key, cell_bytes::<C>(budget)) {
        Ok(()) => names.add(name.into(), hash, idle, C::default()),
        Err(overflow) => {
            let overflow = SharedName::clone(overflow);
            place(names, budget, overflow.as_bytes())
        }
    }
}

#[cfg(test)]
mod tests;
