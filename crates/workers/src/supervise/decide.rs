//! What is to be done, decided from the whole picture after each thing that happened.
//!
//! The rules, in order: a generation whose first worker has answered is in service; a wish or a
//! loss makes a new one, which is tried with one worker first; the generation in service has as
//! many workers as planned, and one more while a worn one waits for its successor; what is too
//! many leaves, old generations first; what holds nothing any more ends.

use std::io;
use std::time::{Duration, Instant, SystemTime};

use super::fleet::{Generation, HolderStage, PreloadProcess, Stage, Who, Worker};
use super::{END_WITHIN, ReloadRequest, Supervisor};
use crate::memory;
use crate::pool::Availability;
use crate::status::{Incident, Reason};
use crate::wire::Do;

/// How long a keeper or a parent may take to end.
const EXIT_WITHIN: Duration = Duration::from_secs(2);
/// A new worker is assumed to come to take at least so much.
const WORKER_BYTES_MIN: u64 = 16_000_000;

impl Supervisor {
    /// Does what the picture asks for.
    pub(super) fn decide(&mut self) {
        let now = Instant::now();
        if self.end_by.is_some() {
            self.wind_down();
        } else {
            self.promote(now);
            self.try_new_generation(now);
            self.ask_for_parent(now);
            self.start_workers(now);
            self.retire_surplus();
        }
        self.dismiss(now);
        self.stand();
    }

    /// Begins the end: no request is taken any more, workers finish.
    pub(super) fn begin_end(&mut self) {
        if self.end_by.is_none() {
            tracing::info!(pool = self.pool.name(), "the pool ends");
            self.end_by = Some(Instant::now() + self.pool.plan.drain_timeout + END_WITHIN);
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        let is_empty = self.workers.is_empty()
            && self.generations.is_empty()
            && self.keepers.is_empty()
            && self.children.is_empty()
            && self.dead.is_empty();
        self.end_by.is_some_and(|by| is_empty || by < Instant::now())
    }

    /// Marks a worker for replacement.
    pub(super) fn wear(&mut self, id: u64, reason: Reason) {
        if let Some(worker) = self.workers.get_mut(&id)
            && worker.is_serving()
        {
            worker.reason.get_or_insert(reason);
        }
    }

    pub(super) fn recycle_all(&mut self) {
        tracing::info!(pool = self.pool.name(), "all workers are to be replaced");
        let ids: Vec<u64> = self.workers.keys().copied().collect();
        ids.into_iter().for_each(|id| self.wear(id, Reason::Command));
    }

    /// Tells a worker to leave that has nothing left to do.
    pub(super) fn leave(&mut self, id: u64) {
        let until = Instant::now() + self.pool.plan.drain_timeout;
        if let Some(worker) = self.workers.get_mut(&id)
            && matches!(worker.stage, Stage::Draining(_))
        {
            worker.stage = Stage::Leaving(until);
            if let Some(member) = &worker.member {
                member.tell(Do::Leave);
            }
        }
    }

    fn promote(&mut self, now: Instant) {
        let Some(candidate) = self.candidate else { return };
        let serves = |worker: &Worker| worker.generation == candidate && worker.is_serving();
        if !self.workers.values().any(serves) {
            return;
        }
        let Some(generation) = self.generations.get(&candidate) else { return };
        let seconds = now.duration_since(generation.began).as_secs_f64();
        tracing::info!(pool = self.pool.name(), generation = candidate, seconds, "in service");
        (self.current, self.candidate) = (Some(candidate), None);
        self.notes.in_service_s = Some(seconds);
        self.notes.reload_failed = None;
        self.pace.succeed();
        let keeper = generation.keeper.and_then(|number| self.keepers.get(&number));
        let keepers = keeper.map(|keeper| keeper.files.as_slice()).unwrap_or_default();
        self.watch.keep(keepers, &generation.files);
    }

    /// Begins a new import of the app when somebody wants one, or when none can be forked from.
    fn try_new_generation(&mut self, now: Instant) {
        if let Some(wish) = self.wish.take() {
            if let Some(candidate) = self.candidate.take() {
                tracing::info!(pool = self.pool.name(), generation = candidate, "given up");
                self.abandon_generation(candidate);
            }
            self.begin_generation(now, wish);
        } else if self.candidate.is_none() && self.pace.may_start(now) && self.has_lost_its_source()
        {
            self.begin_generation(now, ReloadRequest { reason: "loss", with_new_keeper: false });
        }
    }

    /// Whether nothing new could be forked, or imported warm.
    pub(super) fn has_lost_its_source(&self) -> bool {
        let Some(generation) = self.current.and_then(|number| self.generations.get(&number)) else {
            return true;
        };
        let keeper = generation.keeper.and_then(|number| self.keepers.get(&number));
        let has_lost_keeper = generation.keeper.is_some() && keeper.is_none();
        generation.stage != HolderStage::Ready || has_lost_keeper
    }

    fn begin_generation(&mut self, now: Instant, wish: ReloadRequest) {
        let number = self.count(1);
        tracing::info!(
            pool = self.pool.name(),
            generation = number,
            reason = wish.reason,
            "begins"
        );
        if wish.with_new_keeper {
            self.oldest_keeper = self.counted[0] + 1;
        }
        let keeper = if self.pool.plan.share {
            match self.keeper_for(now) {
                Ok(keeper) => Some(keeper),
                Err(error) => return self.cannot_spawn(now, error),
            }
        } else {
            None
        };
        let stage = if keeper.is_some() { HolderStage::Waiting } else { HolderStage::Ready };
        let generation = Generation {
            keeper,
            member: None,
            stage,
            began: now,
            began_at: SystemTime::now(),
            files: Vec::new(),
            kind: None,
            failed: None,
        };
        self.generations.insert(number, generation);
        self.candidate = Some(number);
    }

    /// The keeper that forks, if there is one.
    fn usable_keeper(&self) -> Option<u64> {
        let is_usable = |stage| matches!(stage, HolderStage::Ready | HolderStage::Loading(_));
        let mut keepers = self.keepers.range(self.oldest_keeper..).rev();
        keepers.find(|(_, keeper)| is_usable(keeper.stage)).map(|(number, _)| *number)
    }

    /// The keeper that is to fork: the one there is, or a new one.
    fn keeper_for(&mut self, now: Instant) -> io::Result<u64> {
        if let Some(number) = self.usable_keeper() {
            return Ok(number);
        }
        let number = self.count(0);
        let child = self.spawn(Who::Preload(number))?;
        let keeper = PreloadProcess {
            child,
            member: None,
            stage: HolderStage::Loading(now + self.pool.plan.boot_timeout),
            began: now,
            began_at: SystemTime::now(),
            files: Vec::new(),
            seconds: None,
            failed: None,
        };
        self.keepers.insert(number, keeper);
        Ok(number)
    }

    fn cannot_spawn(&mut self, now: Instant, error: io::Error) {
        let plan = &self.pool.plan;
        let reason = format!("start `{}`: {error}", plan.interpreter.display());
        let hint = Some("name the app's Python with `interpreter`".to_owned());
        self.notes.trouble = Some(Incident { hint, ..Self::trouble("start", reason) });
        self.notes.spawn_error = Some(error);
        self.pace.fail(now);
    }

    fn ask_for_parent(&mut self, now: Instant) {
        let Some(number) = self.candidate else { return };
        let Some(generation) = self.generations.get_mut(&number) else { return };
        let keeper = generation.keeper.and_then(|number| self.keepers.get(&number));
        if generation.stage == HolderStage::Waiting
            && let Some(keeper) = keeper.filter(|keeper| keeper.stage == HolderStage::Ready)
            && let Some(member) = &keeper.member
        {
            member.tell(Do::Parent { generation: number });
            generation.stage = HolderStage::Loading(now + self.pool.plan.boot_timeout);
            generation.began_at = SystemTime::now();
        }
    }

    fn start_workers(&mut self, now: Instant) {
        if let Some(candidate) = self.candidate
            && self.can_fork(candidate)
            && !self.workers.values().any(|worker| worker.generation == candidate)
        {
            self.start_worker(now, candidate);
        }
        let Some(current) = self.current.filter(|number| self.can_fork(*number)) else { return };
        while self.pace.may_start(now) && self.wants_worker(current) {
            let is_extra = self.counted_in() >= self.pool.plan.workers;
            if is_extra && self.is_memory_short() {
                self.make_room();
                return;
            }
            self.start_worker(now, current);
        }
    }

    fn can_fork(&self, generation: u64) -> bool {
        let generation = self.generations.get(&generation);
        generation.is_some_and(|generation| generation.stage == HolderStage::Ready)
    }

    /// Whether the generation in service has fewer workers than it ought to.
    fn wants_worker(&self, current: u64) -> bool {
        let own = |worker: &&Worker| worker.generation == current;
        let own = self.workers.values().filter(own);
        let (mut counted, mut worn) = (0, 0);
        for worker in own.filter(|worker| worker.is_starting() || worker.is_serving()) {
            counted += 1;
            worn += usize::from(worker.reason.is_some());
        }
        counted < self.pool.plan.workers + worn.min(1)
    }

    /// Workers that serve or are about to.
    fn counted_in(&self) -> usize {
        let counts = |worker: &&Worker| worker.is_starting() || worker.is_serving();
        self.workers.values().filter(counts).count()
    }

    fn is_memory_short(&self) -> bool {
        let Some(available) = memory::available() else { return false };
        let private = |worker: &Worker| worker.memory.map(|memory| memory.private);
        let largest = self.workers.values().filter_map(private).max().unwrap_or(0);
        available < self.pool.plan.memory_reserve.saturating_add(largest.max(WORKER_BYTES_MIN))
    }

    /// Break before make: lets one go whose successor finds no room beside it.
    fn make_room(&mut self) {
        if self.workers.values().any(Worker::is_starting) {
            return;
        }
        if let Some(id) = self.next_to_go() {
            let pool = self.pool.name();
            tracing::warn!(pool, worker = id, "memory is short: it leaves before its successor");
            self.retire(id, Reason::Reload);
        }
    }

    fn start_worker(&mut self, now: Instant, generation: u64) {
        let id = self.count(2);
        let worker = Worker {
            generation,
            child: None,
            member: None,
            stage: Stage::Starting(now + self.pool.plan.boot_timeout),
            began: now,
            began_at: SystemTime::now(),
            socket: None,
            reason: None,
            failed: None,
            memory: None,
            error: None,
            suspect_until: None,
            abandoned_until: None,
            leads: false,
        };
        self.workers.insert(id, worker);
        let parent = self.generations.get(&generation).and_then(|it| it.member.as_ref());
        if let Some(parent) = parent {
            parent.tell(Do::Worker { id });
            return;
        }
        match self.spawn(Who::Worker(id)) {
            Ok(process) => {
                if let Some(worker) = self.workers.get_mut(&id) {
                    worker.child = Some(process);
                }
            }
            Err(error) => {
                self.workers.remove(&id);
                self.cannot_spawn(now, error);
            }
        }
    }

    fn retire_surplus(&mut self) {
        let serving = self.workers.values().filter(|worker| worker.is_serving()).count();
        for _ in self.pool.plan.workers..serving {
            let Some(id) = self.next_to_go() else { return };
            self.retire(id, Reason::Reload);
        }
    }

    /// Of those in service: one of an old generation, or one that is worn, or the newest.
    fn next_to_go(&self) -> Option<u64> {
        let serving = || self.workers.iter().filter(|(_, worker)| worker.is_serving());
        let old = |worker: &Worker| Some(worker.generation) != self.current;
        let found = serving().find(|(_, worker)| old(worker));
        let found = found.or_else(|| serving().find(|(_, worker)| worker.reason.is_some()));
        found.or_else(|| serving().next_back()).map(|(id, _)| *id)
    }

    /// Lends a worker no more, and lets it finish; `reason` if it has none yet.
    fn retire(&mut self, id: u64, reason: Reason) {
        let until = Instant::now() + self.pool.plan.drain_timeout;
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.reason.get_or_insert(reason);
        worker.stage = Stage::Draining(until);
        if self.pool.close(id) {
            self.leave(id);
        }
    }

    /// Ends generations and keepers that hold nothing any more.
    fn dismiss(&mut self, now: Instant) {
        let (current, candidate) = (self.current, self.candidate);
        let is_ending = self.end_by.is_some();
        let (workers, dead, ends) = (&self.workers, &self.dead, &self.ends);
        let owes = |who| Self::owes_an_end(dead, ends, who);
        self.generations.retain(|number, generation| {
            let is_kept = !is_ending && (current == Some(*number) || candidate == Some(*number));
            let has_workers = workers.values().any(|worker| worker.generation == *number);
            let is_needed = generation.stage != HolderStage::Lost && owes(Who::Parent(*number));
            if is_kept || has_workers || is_needed {
                return true;
            }
            let leaving = &mut generation.stage;
            match (&generation.member, *leaving) {
                (None, HolderStage::Loading(_)) => true,
                (None, _) | (Some(_), HolderStage::Lost) => false,
                (Some(_), HolderStage::Leaving(_)) => true,
                (Some(member), _) => {
                    member.tell(Do::Exit);
                    *leaving = HolderStage::Leaving(now + EXIT_WITHIN);
                    true
                }
            }
        });
        // What is loaded stays loaded, also while no import of the app succeeds.
        let usable = self.usable_keeper().filter(|_| !is_ending);
        let (generations, dead, ends) = (&self.generations, &self.dead, &self.ends);
        let owes = |who| Self::owes_an_end(dead, ends, who);
        for (number, keeper) in &mut self.keepers {
            let has_generation = generations.values().any(|it| it.keeper == Some(*number));
            let is_kept = usable == Some(*number) || has_generation;
            if is_kept
                || owes(Who::Preload(*number))
                || matches!(keeper.stage, HolderStage::Leaving(_))
            {
                continue;
            }
            keeper.stage = HolderStage::Leaving(now + EXIT_WITHIN);
            match &keeper.member {
                Some(member) => member.tell(Do::Exit),
                None => keeper.child.signal(rustix::process::Signal::KILL),
            }
        }
    }

    fn wind_down(&mut self) {
        if let Some(candidate) = self.candidate.take() {
            self.abandon_generation(candidate);
        }
        let ids: Vec<u64> = self.workers.keys().copied().collect();
        for id in ids {
            let Some(worker) = self.workers.get(&id) else { continue };
            if worker.is_starting() {
                self.kill(id, Reason::End, None);
            } else if worker.is_serving() {
                self.retire(id, Reason::End);
            }
        }
    }

    /// Tells requests whether waiting makes sense.
    fn stand(&mut self) {
        let serves = |worker: &Worker| {
            worker.is_serving() || matches!(worker.stage, Stage::Draining(_) | Stage::Leaving(_))
        };
        let is_hopeless = if self.end_by.is_some() {
            true
        } else {
            // Once is an accident, and the next try is on its way.
            let has_failed = self.pace.failures > usize::from(self.current.is_some()) as u32;
            has_failed && !self.workers.values().any(serves)
        };
        let reason = if self.end_by.is_some() {
            "the pool ends".to_owned()
        } else {
            let trouble = self.notes.trouble.as_ref();
            trouble.map_or_else(|| "none could be started".to_owned(), |it| it.reason.clone())
        };
        if is_hopeless != self.notes.is_hopeless || is_hopeless {
            let standing = Availability::Unavailable(reason.into());
            self.pool.set_availability(if is_hopeless {
                standing
            } else {
                Availability::Available
            });
        }
        self.notes.is_hopeless = is_hopeless;
    }

    pub(super) fn suspect(&mut self, id: u64) {
        if let Some(worker) = self.workers.get_mut(&id)
            && let Some(member) = &mut worker.member
        {
            worker.suspect_until = Some(member.ping());
        }
    }
}
