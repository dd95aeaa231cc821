//! Hands calls out to threads at their times, and collects what became of them.
//!
//! It makes calls of arrivals: bursts, turns of several targets that begin with any, numbers for
//! `{n}`.
//! `arrivals.rs` says when, `worker_threads.rs` makes the calls, `clock.rs` notes steps of the
//! clock.
//! Invariant: of the calls that have arrived, the earliest is handed out first, 2 ms before its
//! time (docs/lab/probe.md says so, too). When all threads are busy it waits, and `was_full` says
//! so. A stop is heard within 50 ms; what is under way then is given up and counted.
//! Of n targets, each n arrivals that follow each other are a turn, with one call or burst to each.
//! `gather.rs` finds partners by that, from the number of the arrival.
//! Never here: series (`gather.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stdx::Random;

use super::arrivals::Schedule;
use super::callers::callers;
use super::clock::{ClockSteps, Origin};
use super::plan::{HttpOptions, Plan};
use super::worker_threads::{FinishedCall, PlannedCall, WorkerThreads};
use crate::LabError;

/// How long before its moment a call is handed to a thread: enough to wake it.
const LEAD_NS: u64 = 2_000_000;
/// How often somebody who wants to stop is heard.
const LOOK: Duration = Duration::from_millis(50);

/// A scheduler that is not run for so long has been stopped, or its host slept.
pub(crate) const PAUSE_NS: u64 = 1_000_000_000;

/// What is said of a pause.
pub(crate) fn paused(ns: u64) -> String {
    format!(
        "this program did not run for {}: calls that were due then are left out, and those under \
         way took that long by its fault",
        screen::number::time(ns as f64 / 1e6)
    )
}

/// How far a probe is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Calls that ended.
    pub done: u64,
    /// Calls there will be, where that is known.
    pub planned: Option<u64>,
    /// Calls that failed.
    pub failed: u64,
    /// Milliseconds of the last call that succeeded.
    pub last_ms: Option<f64>,
    /// Time since the probe began.
    pub elapsed: Duration,
    /// What came of the calls to each target, where there are several.
    pub targets: Vec<TargetCalls>,
}

/// What came of the calls to a target so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TargetCalls {
    /// Milliseconds of those that succeeded, in the order in which they ended.
    pub ms: Vec<f64>,
    /// How many failed.
    pub failed: u64,
}

/// A probe under way.
pub(crate) struct Scheduler<'p> {
    plan: &'p Plan,
    http: Arc<HttpOptions>,
    pub(crate) origin: Origin,
    schedule: Schedule,
    threads: WorkerThreads,
    steps: ClockSteps,
    order: Random,
    due: BinaryHeap<Reverse<PlannedCall>>,
    arrivals: u64,
    /// When the last arrival was.
    arrived_ns: u64,
    /// The target of the first half of the present turn.
    first_arm: usize,
    calls: Vec<FinishedCall>,
    was_full: bool,
    pauses: Pauses,
    progress: Progress,
}

/// Times in which this program did not run.
#[derive(Debug)]
struct Pauses {
    /// When it last ran.
    ran_ns: u64,
    /// How long it has not run, each time.
    lasted_ns: Vec<u64>,
}

/// What a probe leaves.
pub(crate) struct ProbeRecord {
    pub(crate) origin: Origin,
    pub(crate) calls: Vec<FinishedCall>,
    pub(crate) rate: Option<f64>,
    /// Steps of the system's clock: milliseconds since the origin, and by how many.
    pub(crate) steps: Vec<(f64, f64)>,
    /// Whether calls waited for a thread.
    pub(crate) was_full: bool,
    /// Calls that were under way when it was stopped.
    pub(crate) given_up: usize,
    /// How long this program has not run, each time.
    pub(crate) paused_ns: Vec<u64>,
}

impl<'p> Scheduler<'p> {
    /// # Errors
    /// When a target cannot be called.
    pub(crate) fn new(plan: &'p Plan, origin: Origin) -> Result<Self, LabError> {
        let http = Arc::new(plan.http.clone());
        Ok(Self {
            plan,
            origin,
            schedule: Schedule::new(plan),
            threads: WorkerThreads::new(plan, &http, origin)?,
            http,
            steps: ClockSteps::new(origin.both()),
            order: Random::new(plan.seed.wrapping_add(1)),
            due: BinaryHeap::new(),
            arrivals: 0,
            arrived_ns: 0,
            first_arm: 0,
            calls: Vec::new(),
            was_full: false,
            pauses: Pauses { ran_ns: origin.ns(), lasted_ns: Vec::new() },
            progress: Progress {
                planned: plan.planned(),
                targets: match plan.targets.len() {
                    1 => Vec::new(),
                    count => vec![TargetCalls::default(); count],
                },
                ..Progress::default()
            },
        })
    }

    /// Makes the calls; returns whether it was stopped early. `watch` may take calls that ended,
    /// which are then in no series of this probe.
    ///
    /// # Errors
    /// When the system has no threads or descriptors left.
    pub(crate) fn serve(
        &mut self,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(&Progress, &mut Vec<FinishedCall>),
    ) -> Result<bool, LabError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(true);
            }
            self.steps.look(self.origin.both());
            self.skip_pause();
            let arrives_ns = self.take_up();
            let next_ns = self.hand_out()?.into_iter().chain(arrives_ns).min();
            if next_ns.is_none() && self.threads.in_flight() == 0 {
                return Ok(false);
            }
            let time = next_ns.map_or(LOOK, |at| self.wait_for(at));
            if let Some(call) = self.threads.wait(time.min(LOOK)) {
                if call.made.as_ref().is_err_and(|failure| failure.lacks_descriptors) {
                    return Err(LabError::Descriptors);
                }
                self.note(call);
            }
            self.progress.elapsed = Duration::from_nanos(self.origin.ns());
            watch(&self.progress, &mut self.calls);
        }
    }

    /// What there is to report; threads that are still busy are left alone.
    pub(crate) fn end(self) -> ProbeRecord {
        ProbeRecord {
            origin: self.origin,
            rate: self.schedule.rate(),
            steps: self.steps.seen,
            was_full: self.was_full,
            given_up: self.threads.in_flight(),
            paused_ns: self.pauses.lasted_ns,
            calls: self.calls,
        }
    }

    /// Leaves out the arrivals of a time in which this program did not run: all at once they would
    /// be a load of its own.
    fn skip_pause(&mut self) {
        let now_ns = self.origin.ns();
        let paused_ns = now_ns.saturating_sub(self.pauses.ran_ns);
        self.pauses.ran_ns = now_ns;
        if paused_ns > PAUSE_NS {
            self.schedule.skip_until(now_ns);
            self.pauses.lasted_ns.push(paused_ns);
        }
    }

    /// Puts arrivals whose time is near among what is due; returns when the next one is.
    fn take_up(&mut self) -> Option<u64> {
        loop {
            let now_ns = self.origin.ns();
            let is_idle = self.due.is_empty() && self.threads.in_flight() == 0;
            let next_ns = self.schedule.next(now_ns, is_idle)?;
            if next_ns > now_ns + LEAD_NS {
                return Some(next_ns);
            }
            self.schedule.take();
            self.arrive(next_ns);
        }
    }

    fn arrive(&mut self, at_ns: u64) {
        let arrival = self.arrivals;
        let turn = arrival % self.plan.targets.len() as u64;
        if turn == 0 {
            self.first_arm = self.order.up_to(self.plan.targets.len() as u64 - 1) as usize;
        }
        let arm = (self.first_arm + turn as usize) % self.plan.targets.len();
        let burst = self.plan.burst;
        // A burst has to be together even where its first call could be made at once.
        let is_burst = burst.calls > 1;
        let is_timed = is_burst || !self.schedule.is_closed();
        let first_ns = if is_burst && self.schedule.is_closed() { at_ns + LEAD_NS } else { at_ns };
        let stagger_ns = u64::try_from(burst.stagger.as_nanos()).unwrap_or(u64::MAX);
        for position in 0..burst.calls {
            let at_ns = first_ns.saturating_add(stagger_ns.saturating_mul(position.into()));
            let number = self.plan.number_first.wrapping_add(arrival);
            self.due.push(Reverse(PlannedCall { at_ns, position, arrival, arm, number, is_timed }));
        }
        self.arrivals += 1;
        self.arrived_ns = first_ns;
    }

    /// Hands out what is due soon; returns when the next call is, unless it waits for a thread.
    fn hand_out(&mut self) -> Result<Option<u64>, LabError> {
        while let Some(Reverse(due)) = self.due.peek() {
            if due.at_ns > self.origin.ns() + LEAD_NS {
                return Ok(Some(due.at_ns));
            }
            let (plan, http) = (self.plan, &self.http);
            if !self.threads.hand_out(*due, || callers(plan, http))? {
                self.was_full = true;
                return Ok(Some(u64::MAX));
            }
            self.due.pop();
        }
        Ok(None)
    }

    fn wait_for(&self, at_ns: u64) -> Duration {
        Duration::from_nanos(at_ns.saturating_sub(LEAD_NS).saturating_sub(self.origin.ns()))
    }

    fn note(&mut self, call: FinishedCall) {
        self.progress.done += 1;
        // One target may be followed for days, so that its times must not gather.
        let target = self.progress.targets.get_mut(call.due.arm);
        match &call.made {
            Ok(_) => {
                let ms = (call.ended_ns - call.sent_ns) as f64 / 1e6;
                self.progress.last_ms = Some(ms);
                if let Some(target) = target {
                    target.ms.push(ms);
                }
            }
            Err(_) => {
                self.progress.failed += 1;
                if let Some(target) = target {
                    target.failed += 1;
                }
            }
        }
        let is_last = self.due.is_empty() && self.threads.in_flight() == 0;
        if is_last && self.schedule.learns() {
            // A target that does not answer should not make the probe last for hours.
            let took_ns = match call.made {
                Ok(_) => call.ended_ns.saturating_sub(self.arrived_ns),
                Err(_) => 0,
            };
            self.schedule.took(took_ns, self.origin.ns());
        }
        self.calls.push(call);
    }
}
