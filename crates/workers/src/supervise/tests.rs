//! States of pools without processes, as tests of decisions begin with them.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::fleet::{
    Contact, Generation, LoadStage, PreloadProcess, StartTime, Worker, WorkerStage,
};
use super::state::State;
use crate::plan::Plan;

/// A pool of two planned workers, and the time.
pub(super) struct Fixture {
    pub state: State,
    pub now: Instant,
}

impl Fixture {
    /// Nothing has been started, and nobody asks for it.
    pub(super) fn empty(change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::new("test", "app:app", Path::new("/app"), Path::new("/pool"));
        plan.workers = 2;
        change(&mut plan);
        let mut state = State::new(Arc::new(plan), 1);
        state.reload = None;
        Self { state, now: Instant::now() }
    }

    /// Generation 1 serves, with workers 1 and 2, of preload process 1.
    pub(super) fn serving(change: impl FnOnce(&mut Plan)) -> Self {
        let mut pool = Self::empty(change);
        pool.add_preload(LoadStage::Ready);
        pool.add_candidate(LoadStage::Ready);
        pool.state.generations.promote(1);
        for _ in 0..2 {
            pool.add_worker(1, WorkerStage::Serving(pool.now));
        }
        pool
    }

    /// As [`Fixture::serving`], with generation 2 as the candidate.
    pub(super) fn reloading(stage: LoadStage) -> Self {
        let mut pool = Self::serving(|_| {});
        pool.add_candidate(stage);
        pool
    }

    /// A preload process, with pid 10 for the first; it has said hello.
    pub(super) fn add_preload(&mut self, stage: LoadStage) -> u64 {
        let number = self.state.preloads.take_number();
        let pid = i32::try_from(number).unwrap() * 10;
        let mut process = PreloadProcess::new(pid, self.start(), self.now);
        (process.stage, process.contact) = (stage, Some(Contact::new(pid)));
        self.state.preloads.insert(number, process);
        number
    }

    /// A generation that is tried, of the usable preload process, with pid 100 for the first.
    pub(super) fn add_candidate(&mut self, stage: LoadStage) -> u64 {
        let number = self.state.generations.take_number();
        let pid = i32::try_from(number).unwrap() * 100;
        let preload = self.state.preloads.usable();
        let mut generation = Generation::new(preload, self.start());
        generation.stage = stage;
        let has_parent = preload.is_some() && stage != LoadStage::Waiting;
        generation.contact = has_parent.then(|| Contact::new(pid));
        self.state.generations.try_out(number, generation);
        number
    }

    /// A worker, with pid 1001 for the first; it has said hello.
    pub(super) fn add_worker(&mut self, generation: u64, stage: WorkerStage) -> u64 {
        let worker = Worker::new(generation, self.start(), self.now);
        let id = self.state.workers.add(worker);
        let pid = 1000 + i32::try_from(id).unwrap();
        self.worker(id).stage = stage;
        self.worker(id).contact = Some(Contact::new(pid));
        id
    }

    pub(super) fn worker(&mut self, id: u64) -> &mut Worker {
        self.state.workers.get_mut(id).unwrap()
    }

    pub(super) fn generation(&mut self, number: u64) -> &mut Generation {
        self.state.generations.get_mut(number).unwrap()
    }

    /// What was made at the time of the fixture, at a time that no file has.
    fn start(&self) -> StartTime {
        StartTime { instant: self.now, date: SystemTime::UNIX_EPOCH }
    }

    pub(super) fn advance(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
    }
}
