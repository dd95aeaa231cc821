//! What time brings: deadlines, pings, memory, changed files.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::exits::LAST_WORDS;
use super::fleet::{HolderStage, Stage, Who};
use super::{ReloadRequest, Supervisor, WELL_AFTER};
use crate::memory::{self, Memory};
use crate::slot::WorkerSlot;
use crate::status::Reason;

const PING_EVERY: Duration = Duration::from_secs(1);
/// Pings that an idle worker may leave unanswered.
const PINGS_MISSED_MAX: u64 = 5;
/// Those that keepers and parents may, which fork meanwhile.
const PINGS_HOLDERS_MISS_MAX: u64 = 30;
const MEASURE_EVERY: Duration = Duration::from_secs(5);
/// Where a limit depends on it.
const MEASURE_OFTEN: Duration = Duration::from_secs(1);
/// Between being told by a signal and being killed.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long a process may live that has hung up.
const CLOSED_GRACE: Duration = Duration::from_secs(1);

/// When what was done last.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pinged: Option<Instant>,
    measured: Option<Instant>,
}

impl Supervisor {
    /// Looks at the clock.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        self.stop_listening(now);
        self.bury(now);
        self.end_holders(now);
        let ids: Vec<u64> = self.workers.keys().copied().collect();
        for id in &ids {
            self.look_at(*id, now);
        }
        if is_due(&mut self.clock.pinged, PING_EVERY, now) {
            self.ping_all();
            self.pool.measure_queue();
        }
        let often = self.pool.plan.memory_max.is_some();
        let every = if often { MEASURE_OFTEN } else { MEASURE_EVERY };
        if is_due(&mut self.clock.measured, every, now) {
            ids.iter().for_each(|id| self.measure(*id));
            self.add_up_memory();
        }
        if self.pool.plan.reload && self.end_by.is_none() {
            let changed = self.watch.look(now);
            if changed.any {
                tracing::info!(pool = self.pool.name(), keepers = changed.keepers, "files changed");
                let keepers = changed.keepers || self.wish.is_some_and(|it| it.with_new_keeper);
                self.wish = Some(ReloadRequest { reason: "files", with_new_keeper: keepers });
            }
        }
        if self.end_by.is_some_and(|by| by < now) {
            self.kill_all();
        }
    }

    /// A worker's deadlines.
    fn look_at(&mut self, id: u64, now: Instant) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let closed = worker.member.as_ref().and_then(|member| member.closed);
        if closed.is_some_and(|at| now > at + CLOSED_GRACE)
            && let Some(process) = worker.process()
        {
            process.signal(Signal::KILL);
        }
        let is_old = self.pool.plan.age_max.is_some_and(|max| worker.began + max < now);
        match worker.stage {
            Stage::Starting(until) if now > until => {
                let seconds = self.pool.plan.boot_timeout.as_secs_f64();
                let asked = if worker.socket.is_some() { "answer the canary" } else { "start" };
                let reason = format!("worker {id} did not {asked} within {seconds} s");
                let stage = if worker.socket.is_some() { "canary" } else { "boot" };
                let trouble = Self::trouble(stage, reason);
                self.kill(id, Reason::Boot, Some(trouble));
            }
            Stage::Serving(_) if worker.abandoned_until.is_some_and(|until| now > until) => {
                worker.abandoned_until = None;
                if self.pool.plan.concurrency > 1 {
                    // The others that it has need not die for this one.
                    return self.pool.change(id, WorkerSlot::forget_abandoned);
                }
                let seconds = self.pool.plan.timeout.as_secs_f64();
                let reason =
                    format!("a request that was given up went on for more than {seconds} s");
                let trouble = Self::trouble("run", reason);
                self.hang(id, trouble, Stage::Dying(now + LAST_WORDS));
            }
            Stage::Serving(since)
                if now > since + WELL_AFTER && self.pace.is_mended_by(worker.began) =>
            {
                self.pace.succeed();
            }
            Stage::Serving(_) if is_old => self.wear(id, Reason::Age),
            Stage::Draining(until) | Stage::Leaving(until) if now > until => {
                tracing::warn!(pool = self.pool.name(), worker = id, "does not leave in time");
                worker.stage = Stage::Terminating(now + TERM_GRACE);
                if let Some(process) = worker.process() {
                    process.signal(Signal::TERM);
                }
            }
            Stage::Terminating(until) | Stage::Dying(until) if now > until => {
                if let Some(process) = worker.process() {
                    process.signal(Signal::KILL);
                }
            }
            _ => {}
        }
    }

    /// Deadlines of keepers and parents.
    fn end_holders(&mut self, now: Instant) {
        let seconds = self.pool.plan.boot_timeout.as_secs_f64();
        let mut ends = Vec::new();
        for (number, keeper) in &mut self.keepers {
            if let HolderStage::Loading(until) = keeper.stage
                && now > until
                && keeper.failed.is_none()
            {
                let reason = format!("the keeper did not load within {seconds} s");
                keeper.failed = Some(Self::trouble("preload", reason));
            }
            if is_over(keeper.stage, now) {
                keeper.child.signal(Signal::KILL);
                ends.push(Who::Preload(*number));
            }
        }
        let mut unborn = None;
        for (number, generation) in &mut self.generations {
            if !is_over(generation.stage, now) {
                continue;
            }
            if matches!(generation.stage, HolderStage::Loading(_)) && generation.failed.is_none() {
                let reason = format!("the app was not imported within {seconds} s");
                generation.failed = Some(Self::trouble("import", reason));
            }
            if generation.member.is_none() {
                unborn = Some((*number, generation.failed.clone().unwrap_or_default()));
            }
            ends.push(Who::Parent(*number));
        }
        for who in ends {
            if let Some(process) = self.process(who) {
                process.signal(Signal::KILL);
            }
        }
        if let Some((number, trouble)) = unborn {
            self.generation_failed(number, trouble);
        }
    }

    fn ping_all(&mut self) {
        let mut silent = Vec::new();
        for (id, worker) in &mut self.workers {
            let is_idle = self.pool.with(*id, |slot| slot.loans == 0).unwrap_or(false);
            let Some(member) = &mut worker.member else { continue };
            if !matches!(worker.stage, Stage::Serving(_)) {
                continue;
            }
            if !is_idle {
                // What a request keeps from answering is the request's own deadline's business.
                member.answered = member.asked;
            }
            if member.unanswered() >= PINGS_MISSED_MAX {
                silent.push(*id);
            }
            member.ping();
        }
        for id in silent {
            let reason =
                format!("worker {id} was idle and answered no ping for {PINGS_MISSED_MAX} s");
            self.kill(id, Reason::Silent, Some(Self::trouble("run", reason)));
        }
        let keepers = self.keepers.values_mut().map(|it| (it.stage, it.member.as_mut()));
        let parents = self.generations.values_mut().map(|it| (it.stage, it.member.as_mut()));
        for (stage, member) in keepers.chain(parents) {
            let Some(member) = member.filter(|_| stage == HolderStage::Ready) else { continue };
            if member.unanswered() >= PINGS_HOLDERS_MISS_MAX {
                member.process.signal(Signal::KILL);
            }
            member.ping();
        }
    }

    /// Reads the memory of a worker, and marks it when that is too much.
    pub(super) fn measure(&mut self, id: u64) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        let Some(process) = worker.process() else { return };
        let Some(memory) = memory::of(process.pid()) else { return };
        let is_first = worker.memory.is_none();
        worker.memory = Some(memory);
        let Some(max) = self.pool.plan.memory_max else { return };
        if is_first {
            self.notes.fresh_private = Some(memory.private);
        }
        // Replacing what is too large from the start would go on for ever.
        let is_born_large = self.notes.fresh_private.is_some_and(|fresh| fresh > max);
        if memory.private > max && !is_born_large {
            self.wear(id, Reason::Memory);
        }
    }

    /// Sets the gauges of memory.
    pub(super) fn add_up_memory(&mut self) {
        let all = self.workers.values().filter_map(|worker| worker.memory);
        let sum = all.fold(Memory::default(), |sum, memory| Memory {
            private: sum.private + memory.private,
            shared: sum.shared + memory.shared,
            pss: sum.pss + memory.pss,
        });
        let metrics = &self.pool.metrics;
        metrics.private_bytes.set(i64::try_from(sum.private).unwrap_or(i64::MAX));
        metrics.pss_bytes.set(i64::try_from(sum.pss).unwrap_or(i64::MAX));
    }

    fn kill_all(&mut self) {
        let workers = self.workers.values().filter_map(|worker| worker.process());
        let keepers = self.keepers.values().map(|keeper| &keeper.child);
        workers.chain(keepers).for_each(|process| process.signal(Signal::KILL));
        let parents = self.generations.values().filter_map(|it| it.member.as_ref());
        parents.for_each(|parent| parent.process.signal(Signal::KILL));
    }
}

fn is_over(stage: HolderStage, now: Instant) -> bool {
    matches!(stage, HolderStage::Loading(until) | HolderStage::Leaving(until) if now > until)
}

fn is_due(last: &mut Option<Instant>, every: Duration, now: Instant) -> bool {
    let is_due = last.is_none_or(|last| now >= last + every);
    if is_due {
        *last = Some(now);
    }
    is_due
}
