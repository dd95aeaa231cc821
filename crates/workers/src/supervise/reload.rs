//! Asks for a new import of the app, on command or because loaded files have changed.
//!
//! Invariant: a changed file that was preloaded asks for a new preload process as well. If a
//! request that waits already asks for one, a request by files keeps asking. A command looks at the
//! files at once, even where `reload` is off. docs/WORKERS.md says what a change does.
//! Never here: looking at files (`watch.rs`), beginning an import (`decide.rs`, `execute.rs`).

use std::path::PathBuf;
use std::time::Instant;

use super::fleet::LoadedFiles;
use super::generations::ReloadRequest;
use super::watch::Watch;
use crate::plan::Plan;

/// Watches a pool's files.
#[derive(Debug)]
pub(super) struct ReloadPolicy {
    watch: Watch,
    /// Whether changed files reload the app.
    is_automatic: bool,
}

impl ReloadPolicy {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { watch: Watch::default(), is_automatic: plan.reload }
    }

    /// Takes in files that a process has loaded.
    pub(super) fn add(&mut self, loaded: &LoadedFiles) {
        self.watch.add(&loaded.files, loaded.since, loaded.by_preload);
    }

    /// Takes in files whose change may mend what failed.
    pub(super) fn add_suspects(&mut self, files: Vec<PathBuf>) {
        self.watch.add_suspects(files.into_iter());
    }

    /// Forgets all files but those that what serves has loaded.
    pub(super) fn keep(&mut self, preloaded: &[PathBuf], imported: &[PathBuf]) {
        self.watch.keep(preloaded, imported);
    }

    /// The request of an operator.
    pub(super) fn on_command(&mut self) -> ReloadRequest {
        let with_new_preload = self.watch.settle().preloaded;
        ReloadRequest { reason: "command", with_new_preload }
    }

    /// The request that changed files make, where a request `waits` or not.
    pub(super) fn on_timer(
        &mut self,
        waits: Option<ReloadRequest>,
        now: Instant,
    ) -> Option<ReloadRequest> {
        if !self.is_automatic {
            return None;
        }
        let changed = self.watch.look(now);
        let with_new_preload = changed.preloaded || waits.is_some_and(|it| it.with_new_preload);
        changed.any.then_some(ReloadRequest { reason: "files", with_new_preload })
    }
}

#[cfg(test)]
mod tests;
