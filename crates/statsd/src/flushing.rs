//! The thread that flushes: one round for each interval.
//!
//! A round: wait until it is due, collect, note that the interval is flushed, hand over to
//! backends, take over settings that were changed. Invariant: what is collected is handed over
//! whole, the last flush too.

use std::sync::Arc;

use crate::clock::{self, Clock, rounded_s};
use crate::flavour::Flavour;
use crate::flush::{self, Flush};
use crate::plan::Plan;
use crate::reload;
use crate::server::Shared;
use crate::statistics::TimerStatistics;

/// Names of a flush that is kept for who asks what was flushed last.
const NAMES_KEPT_MAX: usize = 10_000;

/// Flushes until the server ends, and once more then.
pub(crate) fn run(shared: &Shared, mut clock: Clock) {
    let mut last_unix_s = None;
    loop {
        let has_ended = shared.ends_within(clock.until_next(stdx::unix_micros()));
        let plan = shared.plan();
        let unix_s = rounded_s(stdx::unix_micros());
        if plan.flavour == Flavour::Statsd
            && let Some(last) = last_unix_s
        {
            let lag = unix_s as f64 - last as f64 - plan.interval.as_secs_f64();
            let name = format!("{}.timestamp_lag", plan.self_prefix);
            shared.gauges.lock().set(name.as_bytes(), lag);
        }
        last_unix_s = Some(unix_s);
        let is_native = plan.flavour == Flavour::Native;
        let slot = (has_ended && is_native).then(|| clock::next_slot_s(plan.interval));
        let flush = make(shared, &plan, (unix_s, slot));
        if has_ended {
            shared.workers.read().iter().for_each(|worker| worker.push_last(&flush));
            return;
        }
        shared.workers.read().iter().for_each(|worker| worker.push(&flush));
        reload::take_over(shared);
    }
}

fn make(shared: &Shared, plan: &Plan, (unix_s, slot): (u64, Option<u64>)) -> Arc<Flush> {
    shared.take_own();
    let (number, took) = shared.interval.next();
    let interval = match plan.flavour {
        Flavour::Native => clock::elapsed(took, plan.interval),
        // They reckon with the interval as it is meant.
        Flavour::Statsd | Flavour::Perl => plan.interval,
    };
    let wanted = TimerStatistics::by(plan, interval);
    let keep = (&plan.keep, plan.timer_values_max);
    let mut flush = flush::collect(&shared.tables, &shared.gauges, keep, &wanted);
    flush.unix_s = unix_s;
    flush.slot_unix_s = slot;
    flush.interval = interval;
    flush.percentiles = plan.percentiles.clone();
    let flush = Arc::new(flush);
    *shared.last_flush.lock() = (flush.names() <= NAMES_KEPT_MAX).then(|| Arc::clone(&flush));
    if let Some(keeper) = &shared.snapshot {
        keeper.flushed(number);
    }
    flush
}
