//! Lets an operator load and unload a model while clients ask it.
//!
//! Invariant: `load` opens the files anew; they take the place of the old ones only if all of them
//! are good. After an unload there is no generation until a load; its memory is free once the last
//! request is answered. An unloaded model is not polled. One whose load failed is, so that it is
//! there as soon as its files are good.
//! Loads, unloads and polls of a model go one after the other. Else a load could bring back a file
//! that it read before a poll saw a newer one. Many loads would also be in memory at once. A poll
//! does not wait: it passes by a model that is being loaded.
//! `new` also keeps files that are unfit, so that polling looks at them again. A load begins anew
//! what belongs to the opened files: the generation's number and, for texts, the queue, counts and
//! remembered vectors. Answers that `answer_cache.rs` keeps outlive a load: a changed file needs
//! another version.
//! Asked for on the admin listener only (`tidegate/src/admin/models.rs`). Elsewhere: a changed file
//! (`generation::Watched`), the files of a ranking model (`ranking/files.rs`).

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use generation::{Poll, Status, Stop, Watched};
use parking_lot::Mutex;

/// A model that an operator can load and unload.
pub(crate) struct HotSwap<F> {
    files: ArcSwapOption<F>,
    open: Box<dyn Fn() -> Arc<F> + Send + Sync>,
    /// Serialises loads, unloads and polls.
    changing: Mutex<()>,
}

/// What a slot asks of a model's files.
pub(crate) trait WatchedFiles: Poll {
    /// Where the files stand that are watched, the model's own first.
    fn statuses(&self) -> Vec<Status>;
}

impl<F: WatchedFiles> HotSwap<F> {
    /// Opens the files at once.
    pub(crate) fn new(open: impl Fn() -> Arc<F> + Send + Sync + 'static) -> Self {
        let files = ArcSwapOption::new(Some(open()));
        Self { files, open: Box::new(open), changing: Mutex::new(()) }
    }

    /// Returns the files, unless the model is unloaded.
    pub(crate) fn peek(&self) -> Guard<Option<Arc<F>>> {
        self.files.load()
    }

    /// Reads the files anew.
    ///
    /// # Errors
    /// Why they give no generation. What was there stays; where nothing was, the files are watched
    /// from now on.
    pub(crate) fn load(&self) -> Result<(), String> {
        let _one_at_a_time = self.changing.lock();
        let files = (self.open)();
        let statuses = files.statuses();
        match statuses.iter().find_map(|status| status.problem.as_ref()) {
            Some(failure) => {
                let reason = failure.message.clone();
                if self.peek().is_none() {
                    self.files.store(Some(files));
                }
                Err(reason)
            }
            None => {
                self.files.store(Some(files));
                Ok(())
            }
        }
    }

    /// Lets go of the model; its memory is free once the last request is answered.
    pub(crate) fn unload(&self) {
        let _one_at_a_time = self.changing.lock();
        self.files.store(None);
    }
}

impl<F: WatchedFiles> Poll for HotSwap<F> {
    fn poll(&self) {
        let Some(_one_at_a_time) = self.changing.try_lock() else { return };
        if let Some(files) = &*self.peek() {
            files.poll();
        }
    }

    fn verify(&self, stop: &Stop) {
        if let Some(files) = &*self.peek() {
            files.verify(stop);
        }
    }
}

impl<T: Send + Sync + 'static> WatchedFiles for Watched<T> {
    fn statuses(&self) -> Vec<Status> {
        vec![self.status()]
    }
}

#[cfg(test)]
mod tests;
