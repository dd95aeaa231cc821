//! Makes single calls to a target, each with its phases, at times that were chosen beforehand.
//!
//! [`run`] makes the calls of a [`Plan`] and returns a [`ProbeResult`], whose series have a row for
//! each call that succeeded. A call counts from the moment at which it was really sent. Where it
//! had a time, its attribute `late_ms` is how much later that was than intended.
//! Invariant: every call that was begun is a row, a failure, or counted in a note. Notes count
//! calls given up at an interruption, and those left out because another target failed in the turn.
//! Bound: at most [`IN_FLIGHT_MAX`] calls at once. Calls beyond that wait, and are noted as late
//! from 1 ms on.
//!
//! [`follow`] does the same for `watch.rs`, for days: what ended is handed over and forgotten.
//!
//! `scheduler.rs` hands calls out, `gather.rs` makes series of them. Verdicts are in `report.rs`;
//! load over many connections is in `load_test.rs`.

mod arrivals;
mod call;
mod callers;
mod clock;
mod command;
mod dns;
mod gather;
mod http;
mod icmp;
mod numbered_text;
mod perfdata;
mod pin;
mod plan;
mod scheduler;
mod target;
mod tcp;
mod timing;
pub(crate) mod tls;
mod worker_threads;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub(crate) use clock::{ClockSteps, Origin};
pub use gather::ProbeResult;
pub use pin::Pin;
pub use plan::{AddressFamily, Arrivals, Burst, End, HttpOptions, IN_FLIGHT_MAX, Plan};
pub(crate) use scheduler::{PAUSE_NS, paused};
pub use scheduler::{Progress, TargetCalls};
pub use target::{Endpoint, ProbeTarget, Question, Url};
pub(crate) use timing::times as server_times;

use verdicts::Series;

use crate::LabError;
use crate::pages::SmallPages;
use scheduler::Scheduler;

/// How often calls are handed over by a probe that goes on for days.
const HAND_OVER: Duration = Duration::from_secs(1);

/// Makes the calls of a plan. `stop`, looked at every 50 ms, ends it early: calls in flight are
/// given up then. `watch` is called for every call that ended, and every 50 ms.
///
/// # Errors
/// When a target cannot be called at all, before the first call: correct the plan.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&Progress),
) -> Result<ProbeResult, LabError> {
    plan.check()?;
    let runs_programs = plan.targets.iter().any(|target| matches!(target, ProbeTarget::Command(_)));
    let _pages = (!runs_programs).then(SmallPages::hold);
    let mut scheduler = Scheduler::new(plan, Origin::now())?;
    let is_interrupted = scheduler.serve(stop, &mut |progress, _| watch(progress))?;
    Ok(gather::gather(plan, scheduler.end(), is_interrupted))
}

/// Makes the calls of a plan of one target, and hands over what ended, about once a second. Times
/// are counted from `origin`. Memory does not grow with the number of calls.
///
/// # Errors
/// When the target cannot be called at all, before the first call.
pub(crate) fn follow(
    plan: &Plan,
    origin: Origin,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Series),
) -> Result<(), LabError> {
    plan.check()?;
    let mut scheduler = Scheduler::new(plan, origin)?;
    let mut handed_over = Duration::ZERO;
    scheduler.serve(stop, &mut |progress, calls| {
        if progress.elapsed >= handed_over + HAND_OVER && !calls.is_empty() {
            handed_over = progress.elapsed;
            each(gather::batch(&mut std::mem::take(calls), origin.unix_ms));
        }
    })?;
    each(gather::batch(&mut scheduler.end().calls, origin.unix_ms));
    Ok(())
}

#[cfg(test)]
mod tests;
