//! Holds what all receivers have counted in the interval that goes on.
//!
//! That is a table for each receiver, the gauges, the bounds of memory and the interval's number.
//! What flushes, keeps a snapshot or answers commands looks at receivers through this.
//! `receive/inputs.rs` says which table is whose.
//! Invariant: all tables and the gauges are charged to the same bounds, except while `rebind` goes
//! from one to the next. `names` counts every kind of name: `snapshot.rs` sees by it that one came.
//! `show_self_names` has the names of the counters of `receive/intake.rs`. Never here: adding a
//! sample (`table.rs`), taking them out (`flush.rs`).

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::clock::Interval;
use crate::flavour::Flavour;
use crate::plan::Plan;
use crate::table::{Bounds, Gauges, Table, Totals};

/// Tables and gauges of a server, with the interval that they are of.
#[derive(Debug)]
pub(crate) struct Tally {
    /// A table for each receiver.
    pub tables: Vec<Arc<Mutex<Table>>>,
    /// The gauges of all receivers.
    pub gauges: Arc<Mutex<Gauges>>,
    /// The interval that goes on.
    pub interval: Interval,
    bounds: RwLock<Arc<Bounds>>,
}

impl Tally {
    /// Nothing counted yet, by so many receivers.
    pub(crate) fn new(plan: &Plan, receivers: usize) -> Self {
        let bounds = Arc::new(Bounds::of(plan, None));
        let table = || Arc::new(Mutex::new(Table::new(Arc::clone(&bounds))));
        Self {
            tables: (0..receivers).map(|_| table()).collect(),
            gauges: Arc::new(Mutex::new(Gauges::new(Arc::clone(&bounds)))),
            interval: Interval::first(),
            bounds: RwLock::new(bounds),
        }
    }

    /// What tables may hold.
    pub(crate) fn bounds(&self) -> Arc<Bounds> {
        Arc::clone(&self.bounds.read())
    }

    /// Charges everything to the bounds of another plan, which hold from here on.
    pub(crate) fn rebind(&self, plan: &Plan) {
        let bounds = Arc::new(Bounds::of(plan, Some(&self.bounds())));
        self.tables.iter().for_each(|table| table.lock().rebind(&bounds));
        self.gauges.lock().rebind(&bounds);
        *self.bounds.write() = bounds;
    }

    /// Shows the server's own counters, as the references do from the first flush on.
    pub(crate) fn show_self_names(&self, plan: &Plan) {
        let mut names = vec!["bad_lines_seen", "packets_received"];
        if plan.flavour != Flavour::Perl {
            names.push("metrics_received");
        }
        for name in names {
            self.tables[0].lock().add(format!("{}.{name}", plan.self_prefix).as_bytes(), 0.0);
        }
    }

    /// What came in since the start, of all receivers.
    pub(crate) fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for table in &self.tables {
            all.add(&table.lock().totals);
        }
        all
    }

    /// Names that are known, of all receivers.
    pub(crate) fn names(&self) -> usize {
        let mut names = self.gauges.lock().names.len();
        for table in &self.tables {
            let table = table.lock();
            names += table.counters.len() + table.timers.len() + table.sets.len();
        }
        names
    }
}

#[cfg(test)]
mod tests;
