//! Watches the two files of a model that ranks: a good change of one is a new generation of both.
//!
//! Each file has its own `Watched`, which knows when to look again and what to report. Their
//! loaders build the whole generation and leave it staged. It serves once the watch accepts it.
//!
//! Invariant: `current` holds nothing, or a generation whose two files were good together. Files
//! that are missing or unfit are reported, and the last good generation stays. A file is refused
//! for what is wrong with itself, or with both together. What is wrong with the other one alone,
//! its own watch reports.
//! Elsewhere: reading and joining (`ranking/loaded.rs`).

use std::path::Path;
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use generation::{Poll, Polled, Status, Stop, Watched};
use models::WantedColumns;
use parking_lot::Mutex;

use super::loaded::{LoadedRanker, SourceFiles, read_items, read_model};
use crate::config::ModelPlan;
use crate::error::LoadError;
use crate::hot_swap::WatchedFiles;

/// The files of a model that ranks, and the generation in use.
pub(crate) struct ModelFiles {
    model: Watched<()>,
    items: Watched<()>,
    swap: Arc<GenerationSwap>,
}

/// Which of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePart {
    Model,
    Items,
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
        let watch = |path, part| {
            let (plan, staging) = (plan.clone(), swap.clone());
            let watched = Watched::open(path, move |_: &Path| staging.stage(&plan, part));
            swap.publish();
            watched
        };
        let model = watch(&plan.file, FilePart::Model);
        let items = watch(&plan.items, FilePart::Items);
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
    fn stage(&self, plan: &ModelPlan, part: FilePart) -> Result<(), LoadError> {
        match self.stage_both(plan) {
            Err(error) if part.is_other(&error, plan) => match part {
                FilePart::Model => Ok(()),
                // The model says what it wants of items; without it they are only read.
                FilePart::Items => read_items(plan, &WantedColumns::default()).map(drop),
            },
            staged => staged,
        }
    }

    fn stage_both(&self, plan: &ModelPlan) -> Result<(), LoadError> {
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

/// What a model reads and nothing has.
#[derive(Debug, Default)]
pub(crate) struct AbsentNames {
    /// Fields that no item has.
    pub(crate) of_items: Vec<String>,
    /// Features that no profile has which Tidegate builds; another program's may have them.
    pub(crate) of_users: Vec<String>,
}

/// Returns what is wrong with the files of a plan that are there, each with the key that names it.
/// Beside it is what the model reads and nothing has.
pub(crate) fn check(plan: &ModelPlan) -> (Vec<(&'static str, LoadError)>, AbsentNames) {
    let mut absent = AbsentNames::default();
    let items_alone = || read_items(plan, &WantedColumns::default()).err();
    let (of_model, of_items) = match (plan.file.exists(), plan.items.exists()) {
        (true, true) => match LoadedRanker::load(plan) {
            Ok(loaded) => {
                absent.of_users = loaded.unusual_user_features();
                absent.of_items = loaded.absent;
                (None, None)
            }
            Err(error) if FilePart::Model.is_other(&error, plan) => (None, Some(error)),
            Err(error) => (Some(error), items_alone()),
        },
        (true, false) => (read_model(plan).err(), None),
        (false, true) => (None, items_alone()),
        (false, false) => (None, None),
    };
    let of_model = of_model.map(|error| match (&error, &plan.golden) {
        (LoadError::Check { path, .. }, Some(golden)) if *path == golden.file => ("golden", error),
        _ => ("file", error),
    });
    (of_model.into_iter().chain(of_items.map(|error| ("items", error))).collect(), absent)
}

impl FilePart {
    /// Whether an error is about the other file, and not about this one.
    fn is_other(self, error: &LoadError, plan: &ModelPlan) -> bool {
        let of_items = match error {
            LoadError::Changed { .. } => return false,
            LoadError::Invalid { source: models::Error::Join(_), .. } => return false,
            LoadError::Set { .. } | LoadError::Field { .. } => true,
            LoadError::Io { path, .. } | LoadError::Invalid { path, .. } => *path == plan.items,
            LoadError::Check { .. } => false,
        };
        of_items == (self == Self::Model)
    }
}

#[cfg(test)]
mod tests;
