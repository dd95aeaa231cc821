//! Watches the two files of a model that ranks: a good change of one is a new generation of both.
//!
//! Each file has its own `Watched`, which knows when to look again and what to report. Their
//! loaders build the whole generation and leave it staged. It serves once the watch accepts it.
//!
//! Invariant: `current` holds nothing, or a generation whose two files were good together. Files
//! that are missing or unfit are reported, and the last good generation stays.
//! Elsewhere: reading and joining (`ranking/loaded.rs`).

use std::path::Path;
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use generation::{Poll, Polled, Status, Stop, Watched};
use parking_lot::Mutex;

use super::loaded::{LoadedRanker, SourceFiles};
use crate::config::ModelPlan;
use crate::error::LoadError;
use crate::hot_swap::WatchedFiles;

/// The files of a model that ranks, and the generation in use.
pub(crate) struct ModelFiles {
    model: Watched<()>,
    items: Watched<()>,
    swap: Arc<GenerationSwap>,
}

/// The generation in use, and the one that waits to take its place.
#[derive(Default)]
struct GenerationSwap {
    current: ArcSwapOption<LoadedRanker>,
    staged: Mutex<Option<Arc<LoadedRanker>>>,
}

impl ModelFiles {
    /// Opens the files after a first look; files that are missing or unfit are no error here.
    pub(crate) fn open(plan: ModelPlan) -> Self {
        let plan = Arc::new(plan);
        let swap = Arc::new(GenerationSwap::default());
        let watch = |path| {
            let (plan, staging) = (plan.clone(), swap.clone());
            let watched = Watched::open(path, move |_: &Path| staging.stage(&plan));
            swap.publish();
            watched
        };
        let (model, items) = (watch(&plan.file), watch(&plan.items));
        Self { model, items, swap }
    }

    /// Returns the generation in use, without touching its reference count.
    pub(crate) fn peek(&self) -> Guard<Option<Arc<LoadedRanker>>> {
        self.swap.current.load()
    }

    /// Returns where the model file and the items file stand.
    pub(crate) fn status(&self) -> [Status; 2] {
        [self.model.status(), self.items.status()]
    }

    fn look(&self, file: &Watched<()>) {
        match file.poll() {
            Polled::Swapped(_) => self.swap.publish(),
            Polled::Refused => *self.swap.staged.lock() = None,
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

impl WatchedFiles for ModelFiles {
    fn statuses(&self) -> Vec<Status> {
        self.status().into()
    }
}

impl GenerationSwap {
    /// Builds what is on disk, unless it is what is served: when both files changed, the first
    /// look has loaded both.
    fn stage(&self, plan: &ModelPlan) -> Result<(), LoadError> {
        let sources = SourceFiles::at(plan)?;
        let served = self.current.load();
        if served.as_ref().is_none_or(|served| served.sources != sources) {
            *self.staged.lock() = Some(Arc::new(LoadedRanker::load(plan)?));
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
