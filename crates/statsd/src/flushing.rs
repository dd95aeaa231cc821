//! Runs the thread that flushes: one round for each interval, and a last one at the end.
//!
//! A round: wait until it is due, in statsd's flavour set the gauge `timestamp_lag`, and count what
//! the process has gained. Then begin the next interval, collect, and keep the flush for `last`.
//! Then note in the snapshot that the interval is flushed, hand over to backends, take over changed
//! settings. The last round takes over none.
//! Invariant: the next interval begins before anything is collected, and the one that ended is
//! noted as flushed before a backend gets it. `snapshot.rs` relies on both. Every backend is
//! offered the same whole flush; one without room gives it up and counts it, but for the last
//! flush, which waits.
//! Rates of `Native` use the time that has passed (`clock::elapsed`), those of the others the
//! interval as it is meant. `legacy.rs` repeats `timestamp_lag`, so that it is never idle.

use std::sync::Arc;

use crate::clock::{self, FlushClock, rounded_s};
use crate::flavour::Flavour;
use crate::flush::{self, Flush};
use crate::plan::Plan;
use crate::state::ServerState;
use crate::statistics::TimerStatistics;

/// Flushes until the server ends, and once more then.
pub(crate) fn run(state: &ServerState, mut clock: FlushClock) {
    let mut last_unix_s = None;
    loop {
        let has_ended = state.shutdown.ends_within(clock.until_next(stdx::unix_micros()));
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
        let is_native = plan.flavour == Flavour::Native;
        let slot = (has_ended && is_native).then(|| clock::next_slot_s(plan.interval));
        let flush = make(state, &plan, (unix_s, slot));
        if has_ended {
            state.backends.push_last(&flush);
            return;
        }
        state.backends.push(&flush);
        state.apply_reloaded();
    }
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
