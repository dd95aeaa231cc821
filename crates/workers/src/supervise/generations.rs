//! Keeps the imports of the app and the preload processes that they are forked from, by number.
//!
//! `current` is the generation in service; workers of older ones may serve until they are replaced.
//! `candidate` is the one that is tried. The usable preload process is the newest that loads or has
//! loaded, unless `supersede` came after it.
//! Invariants: numbers rise, and none is used twice. There is at most one `current` and one
//! `candidate`; the caller gives the old candidate up before it tries a new one. A candidate that
//! was given up is never promoted.
//! Refuses: to decide when to begin one (`decide.rs`).

use std::collections::BTreeMap;

use super::fleet::{Generation, LoadStage, PreloadProcess};

/// A new import of the app that somebody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReloadRequest {
    /// `start`, `files`, `command` or `loss`.
    pub reason: &'static str,
    /// What is preloaded is to be loaded anew as well.
    pub with_new_preload: bool,
}

/// The generations that have not ended, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Generations {
    all: BTreeMap<u64, Generation>,
    last: u64,
    current: Option<u64>,
    candidate: Option<u64>,
}

impl Generations {
    /// The number of the next one, which is used up by this.
    pub(super) fn take_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Makes a new generation the candidate.
    pub(super) fn try_out(&mut self, number: u64, generation: Generation) {
        debug_assert!(self.candidate.is_none(), "one candidate is tried at a time");
        self.all.insert(number, generation);
        self.candidate = Some(number);
    }

    /// The candidate serves from now on.
    pub(super) fn promote(&mut self, number: u64) {
        if self.candidate == Some(number) {
            self.current = self.candidate.take();
        }
    }

    /// A generation is not going to serve.
    pub(super) fn give_up(&mut self, number: u64) {
        if self.candidate == Some(number) {
            self.candidate = None;
        }
        if let Some(generation) = self.all.get_mut(&number) {
            generation.is_given_up = true;
        }
    }

    /// A generation has no process and no worker any more.
    pub(super) fn forget(&mut self, number: u64) {
        self.all.remove(&number);
    }

    /// The number of the generation in service.
    pub(super) fn current(&self) -> Option<u64> {
        self.current
    }

    /// The number of the generation that is being tried.
    pub(super) fn candidate(&self) -> Option<u64> {
        self.candidate
    }

    pub(super) fn get(&self, number: u64) -> Option<&Generation> {
        self.all.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Generation> {
        self.all.get_mut(&number)
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Generation)> {
        self.all.iter().map(|(number, generation)| (*number, generation))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether workers of a generation can be forked, or started where they are not.
    pub(super) fn can_fork(&self, number: u64) -> bool {
        self.get(number).is_some_and(|generation| generation.stage == LoadStage::Ready)
    }
}

/// The preload processes that have not ended, by their numbers.
#[derive(Debug, Default)]
pub(super) struct PreloadProcesses {
    all: BTreeMap<u64, PreloadProcess>,
    last: u64,
    /// Older ones have loaded files that have changed since.
    oldest_usable: u64,
}

impl PreloadProcesses {
    /// The number of the next one, which is used up by this.
    pub(super) fn take_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn insert(&mut self, number: u64, process: PreloadProcess) {
        self.all.insert(number, process);
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<PreloadProcess> {
        self.all.remove(&number)
    }

    /// No generation to come is forked from those that there are.
    pub(super) fn supersede(&mut self) {
        self.oldest_usable = self.last + 1;
    }

    /// The one that forks generations, or will when it has loaded.
    pub(super) fn usable(&self) -> Option<u64> {
        let can_fork = |stage: LoadStage| stage == LoadStage::Ready || stage.is_loading();
        let mut usable = self.all.range(self.oldest_usable..).rev();
        usable.find(|(_, process)| can_fork(process.stage)).map(|(number, _)| *number)
    }

    pub(super) fn get(&self, number: u64) -> Option<&PreloadProcess> {
        self.all.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut PreloadProcess> {
        self.all.get_mut(&number)
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &PreloadProcess)> {
        self.all.iter().map(|(number, process)| (*number, process))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
