//! Holds the plan by which a server works, and the one that comes with the next flush.
//!
//! `take_next` returns, once, the plan in force with what a reload may change (`reload.rs`). A
//! second plan that is left before the flush replaces the first. `set` checks nothing; only
//! `ServerState::apply_reloaded` calls it, between two flushes.
//! Invariant: `set` replaces the plan before it raises the version, and readers ask for the version
//! first. So no reader keeps an old plan (`receive/intake.rs`). Receivers look at the version for
//! each batch, and follow with their next one.
//! Never here: which keys may change (`reload.rs`), and applying a plan to tables and backends
//! (`state.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::plan::Plan;
use crate::reload;

/// The plan by which a server works.
#[derive(Debug)]
pub(crate) struct ActiveConfig {
    plan: RwLock<Arc<Plan>>,
    /// How often it was changed.
    version: AtomicU64,
    /// The one that comes with the next flush.
    next: Mutex<Option<Plan>>,
}

impl ActiveConfig {
    /// The plan of a start.
    pub(crate) fn new(plan: Plan) -> Self {
        let plan = RwLock::new(Arc::new(plan));
        Self { plan, version: AtomicU64::new(0), next: Mutex::default() }
    }

    /// The plan.
    pub(crate) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.read())
    }

    /// How often it was changed.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Leaves a plan for the next flush; returns the keys that it cannot change.
    pub(crate) fn leave(&self, plan: Plan) -> Vec<&'static str> {
        let fixed = reload::fixed_keys(&self.plan(), &plan);
        *self.next.lock() = Some(plan);
        fixed
    }

    /// What the plan that was left makes of this one, if there is one.
    pub(crate) fn take_next(&self) -> Option<Plan> {
        let next = self.next.lock().take()?;
        Some(reload::merged(&self.plan(), next))
    }

    /// Works by another plan from here on.
    pub(crate) fn set(&self, plan: Plan) {
        *self.plan.write() = Arc::new(plan);
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}
