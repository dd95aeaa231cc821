//! The two files of a model, watched; a good change of either is a new generation of both.
//!
//! Each file has a `Watched` of its own, which knows when to look again, and what to report. Their
//! loaders build the whole generation and leave it staged; it is served once the watch accepts it.
//!
//! Invariant: `current` holds nothing, or a generation whose two files were good together.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use generation::{Poll, Polled, Status, Stop, Watched};
use parking_lot::Mutex;

use crate::config::ModelPlan;
use crate::hot_swap::Files;
use crate::ranking::loaded::{LoadError, Loaded, Sources};

/// A model's files and the generation in use.
pub struct ModelFiles {
    plan: Arc<ModelPlan>,
    model: Watched<()>,
    items: Watched<()>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    current: ArcSwapOption<Loaded>,
    staged: Mutex<Option<Arc<Loaded>>>,
}

impl ModelFiles {
    /// Opens the files after a first look; files that are missing or unfit are no error here.
    pub fn open(plan: ModelPlan) -> Self {
        let plan = Arc::new(plan);
        let shared = Arc::new(Shared::default());
        let watch = |path| {
            let (plan, loading) = (plan.clone(), shared.clone());
            let watched = Watched::open(path, move |_: &std::path::Path| loading.stage(&plan));
            shared.publish();
            watched
        };
        let (model, items) = (watch(&plan.file), watch(&plan.items));
        Self { plan: plan.clone(), model, items, shared }
    }

    /// Returns the plan.
    pub fn plan(&self) -> &ModelPlan {
        &self.plan
    }

    /// Returns the generation in use, without touching its reference count.
    pub fn peek(&self) -> Guard<Option<Arc<Loaded>>> {
        self.shared.current.load()
    }

    /// Returns where the model file and the items file stand.
    pub fn status(&self) -> [Status; 2] {
        [self.model.status(), self.items.status()]
    }

    fn look(&self, file: &Watched<()>) {
        match file.poll() {
            Polled::Swapped(_) => self.shared.publish(),
            Polled::Refused => *self.shared.staged.lock() = None,
            Polled::Unchanged => (),
        }
    }
}

impl Poll for ModelFiles {
    fn poll(&self) {
        self.look(&self.model);
        self.look(&self.items);
    }

    fn verify(&self, stop: &Stop) {
        self.model.verify(stop);
        self.items.verify(stop);
    }
}

impl Files for ModelFiles {
    fn statuses(&self) -> Vec<Status> {
        self.status().into()
    }
}

impl Shared {
    /// Builds what is on disk, unless it is what is served: when both files changed, the first
    /// look has loaded both.
    fn stage(&self, plan: &ModelPlan) -> Result<(), LoadError> {
        let sources = Sources::at(plan)?;
        let served = self.current.load();
        if served.as_ref().is_none_or(|served| served.sources != sources) {
            *self.staged.lock() = Some(Arc::new(Loaded::load(plan)?));
        }
        Ok(())
    }

    fn publish(&self) {
        if let Some(loaded) = self.staged.lock().take() {
            self.current.store(Some(loaded));
        }
    }
}

#[cfg(test)]
mod tests;
