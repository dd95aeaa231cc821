//! Runs the thread that flushes, a round for each interval. Also here: what a start and an end do
//! with an interval that a restart breaks off.
//!
//! A round: wait until it is due, in statsd's flavour set the gauge `timestamp_lag`, and count what
//! the process has gained. Then begin the next interval, collect, and keep the flush for `last`.
//! Then note in the snapshot that the interval is flushed, hand over to backends, take over changed
//! settings.
//! Invariant: the next interval begins before anything is collected, and the one that ended is
//! noted as flushed before a backend gets it. `snapshot.rs` relies on both. Every backend is
//! offered the same whole flush. An interval that an end breaks off is flushed once: by the next
//! start where a snapshot has it, else at the end. Its time is that at which it was due, which no
//! flush before it has (docs/decisions/statsd.md).
//! Rates of `Native` use the time that has passed (`clock::elapsed`), those of the others the
//! interval as it is meant. `legacy.rs` repeats `timestamp_lag`, so that it is never idle.

use std::sync::Arc;

use crate::backend::Backends;
use crate::clock::{self, FlushClock, rounded_s};
use crate::flavour::Flavour;
use crate::flush::{self, Flush};
use crate::plan::Plan;
use crate::snapshot::LeftInterval;
use crate::state::ServerState;
use crate::statistics::TimerStatistics;

/// Makes the clock of a server, and flushes what the server before it has left, if that is due by
/// now. Else it is in the first flush.
pub(crate) fn begin(state: &ServerState, started_us: u64) -> FlushClock {
    let plan = state.plan();
    let mut clock = FlushClock::new(plan.flavour, plan.interval, started_us);
    match state.snapshot.as_ref().map_or(LeftInterval::Unknown, |store| store.left()) {
        LeftInterval::Due(due_us) if due_us <= started_us => {
            let slot = rounded_s(due_us);
            let flush = make(state, &plan, (slot, Some(slot)));
            hand(state, |backends| backends.push(&flush));
        }
        LeftInterval::Due(due_us) => clock.go_on(due_us),
        LeftInterval::None => {}
        LeftInterval::Unknown => clock.skip_slot(started_us),
    }
    clock
}

/// Flushes until the server ends.
pub(crate) fn run(state: &ServerState, mut clock: FlushClock) {
    let mut last_unix_s = None;
    loop {
        let wait = clock.until_next(stdx::unix_micros());
        state.tally.interval.set_due(clock.due_us());
        if state.shutdown.ends_within(wait) {
            return;
        }
        let plan = state.plan();
        let unix_s = rounded_s(stdx::unix_micros());
        if plan.flavour == Flavour::Statsd
            && let Some(last) = last_unix_s
        {
            let lag = unix_s as f64 - last as f64 - plan.interval.as_secs_f64();
            let name = format!("{}.timestamp_lag", plan.self_prefix);
            state.tally.gauges.lock().set(name.as_bytes(), lag);
        }
        last_unix_s = Some(unix_s);
        let flush = make(state, &plan, (unix_s, None));
        hand(state, |backends| backends.push(&flush));
        state.apply_reloaded();
    }
}

/// Ends the interval that goes on: the snapshot keeps it for the next start. Without a snapshot, or
/// where its disk fails, it is flushed. Then waits until backends have delivered. Every other
/// thread of the server has ended.
pub(crate) fn end(state: &ServerState) {
    state.take_self_metrics();
    let hand_over = || {
        let store = state.snapshot.as_ref();
        store.is_some_and(|store| store.hand_over(&state.tally, &|| state.under_way()))
    };
    if hand_over() {
        let had_more = !state.under_way().is_empty();
        state.backends.end();
        // Nothing is on its way any more.
        if had_more {
            hand_over();
        }
        return;
    }
    let slot = rounded_s(state.tally.interval.due_us());
    let flush = make(state, &state.plan(), (rounded_s(stdx::unix_micros()), Some(slot)));
    hand(state, |backends| backends.push_last(&flush));
    state.backends.end();
}

fn hand(state: &ServerState, push: impl Fn(&Backends)) {
    push(&state.backends);
    state.tally.interval.handed();
}

fn make(state: &ServerState, plan: &Plan, (unix_s, slot): (u64, Option<u64>)) -> Arc<Flush> {
    state.take_self_metrics();
    let (number, took) = state.tally.interval.next();
    let interval = match plan.flavour {
        Flavour::Native => clock::elapsed(took, plan.interval),
        // They reckon with the interval as it is meant.
        Flavour::Statsd | Flavour::Perl => plan.interval,
    };
    let statistics = TimerStatistics::by(plan, interval);
    let keep = (&plan.keep, plan.timer_values_max);
    let mut flush = flush::collect(&state.tally.tables, &state.tally.gauges, keep, &statistics);
    flush.unix_s = unix_s;
    flush.slot_unix_s = slot;
    flush.interval = interval;
    flush.percentiles = plan.percentiles.clone();
    let flush = Arc::new(flush);
    state.keep_flush(&flush);
    if let Some(snapshot) = &state.snapshot {
        snapshot.flushed(number);
    }
    flush
}

#[cfg(test)]
mod tests;
