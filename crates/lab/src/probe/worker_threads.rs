//! Keeps the threads that make calls, each with a caller for each target.
//!
//! A thread is added when all are busy, up to [`IN_FLIGHT_MAX`]; beyond that `hand_out` says no,
//! and the scheduler waits. A thread prepares its call, waits for the moment, and then makes it.
//! Invariant: a call goes to a thread that does nothing else. The thread that was freed last is
//! taken first: its connection is warm. Threads end when nobody hands out or hears any more; one in
//! a call is not waited for.
//! The order of [`PlannedCall`]'s fields is the order of calls: `scheduler.rs` takes the least
//! first, and `gather.rs` sorts rows by it. So `at_ns` stays in front.
//! When calls are handed out is in `scheduler.rs`, how threads wait in `clock.rs`. There threads
//! yield by `awake`, which is counted here.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::call::{CallDetails, CallFailure, Caller, Stopwatch};
use super::callers::callers;
use super::clock::Origin;
use super::plan::{HttpOptions, IN_FLIGHT_MAX, Plan};
use crate::LabError;

const STACK_BYTES: usize = 512 << 10;

/// A call that is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlannedCall {
    /// Nanoseconds since the origin; first, so that calls are ordered by it.
    pub(crate) at_ns: u64,
    /// Its place in its burst, from 0.
    pub(crate) position: u32,
    /// Counts arrivals from 0.
    pub(crate) arrival: u64,
    /// Which target.
    pub(crate) arm: usize,
    /// Stands for `{n}`.
    pub(crate) number: u64,
    /// Whether it waits for `at_ns`, or is made at once.
    pub(crate) is_timed: bool,
}

/// A call that was made.
#[derive(Debug)]
pub(crate) struct FinishedCall {
    pub(crate) due: PlannedCall,
    pub(crate) sent_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) phases: Vec<(&'static str, f64)>,
    pub(crate) made: Result<CallDetails, CallFailure>,
}

/// What each thread goes by.
#[derive(Debug, Clone)]
struct ThreadTiming {
    origin: Origin,
    timeout: Duration,
    spin: Duration,
    /// Threads that look at the clock or make a call.
    awake: Arc<AtomicUsize>,
}

/// The threads.
pub(crate) struct WorkerThreads {
    pace: ThreadTiming,
    /// What each thread is told.
    threads: Vec<Sender<PlannedCall>>,
    idle: Vec<usize>,
    ended: Receiver<(usize, FinishedCall)>,
    tell: Sender<(usize, FinishedCall)>,
}

impl WorkerThreads {
    /// # Errors
    /// When a target of the plan cannot be called, or the system has no threads.
    pub(crate) fn new(
        plan: &Plan,
        http: &Arc<HttpOptions>,
        origin: Origin,
    ) -> Result<Self, LabError> {
        let (tell, ended) = channel();
        let (threads, idle) = (Vec::new(), Vec::new());
        let (timeout, spin) = (plan.timeout, plan.spin());
        let pace = ThreadTiming { origin, timeout, spin, awake: Arc::default() };
        let mut threads = Self { pace, threads, idle, ended, tell };
        threads.grow(callers(plan, http)?)?;
        Ok(threads)
    }

    /// Hands a call to a thread; false when all that there may be are busy.
    ///
    /// # Errors
    /// When the system has no threads left.
    pub(crate) fn hand_out(
        &mut self,
        due: PlannedCall,
        callers: impl FnOnce() -> Result<Vec<Box<dyn Caller>>, LabError>,
    ) -> Result<bool, LabError> {
        if self.idle.is_empty() {
            if self.threads.len() >= IN_FLIGHT_MAX {
                return Ok(false);
            }
            self.grow(callers()?)?;
        }
        let thread = self.idle.pop().expect("it was made if there was none");
        self.threads[thread].send(due).expect("threads end when nobody tells them anything");
        Ok(true)
    }

    /// Waits for a call to end.
    pub(crate) fn wait(&mut self, time: Duration) -> Option<FinishedCall> {
        match self.ended.recv_timeout(time) {
            Ok((thread, call)) => {
                self.idle.push(thread);
                Some(call)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the crew can tell itself"),
        }
    }

    /// Calls that are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.threads.len() - self.idle.len()
    }

    fn grow(&mut self, callers: Vec<Box<dyn Caller>>) -> Result<(), LabError> {
        let (sender, receiver) = channel();
        let number = self.threads.len();
        let (tell, pace) = (self.tell.clone(), self.pace.clone());
        let named = thread::Builder::new().name("probe".to_owned()).stack_size(STACK_BYTES);
        let work = move || make(callers, pace, &receiver, |c| tell.send((number, c)).is_ok());
        let started = named.spawn(work);
        let refused = |source| LabError::System { what: "start a thread".to_owned(), source };
        started.map_err(refused)?;
        self.threads.push(sender);
        self.idle.push(number);
        Ok(())
    }
}

/// Makes calls until nobody hands any out or hears of them.
fn make(
    mut callers: Vec<Box<dyn Caller>>,
    ThreadTiming { origin, timeout, spin, awake }: ThreadTiming,
    dues: &Receiver<PlannedCall>,
    tell: impl Fn(FinishedCall) -> bool,
) {
    // Where the system refuses, sleeps last 50 µs longer, and calls are late by that.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    for due in dues {
        let caller = &mut callers[due.arm];
        caller.prepare(due.number);
        if due.is_timed {
            origin.sleep_until(due.at_ns, spin);
        }
        awake.fetch_add(1, Ordering::Relaxed);
        if due.is_timed {
            origin.look_until(due.at_ns, &awake);
        }
        let mut watch = Stopwatch::start(timeout);
        let sent_ns = origin.ns_of(watch.moment());
        let made = caller.call(&mut watch);
        let ended_ns = origin.ns();
        awake.fetch_sub(1, Ordering::Relaxed);
        if !tell(FinishedCall { due, sent_ns, ended_ns, phases: watch.phases, made }) {
            return;
        }
    }
}
