//! Tells the time of a probe: nanoseconds since its origin, by the monotonic clock.
//!
//! Also waits for a moment, sleeping first and looking at the clock last, and notes steps of the
//! system's clock.
//! Invariant: calls are timed by the monotonic clock only. The system's clock dates the origin,
//! once. A step is noted where the two drift apart by over 5 ms more than slewing explains.
//! How early a thread wakes is chosen in `plan.rs`, between `SPIN_MIN` and `SPIN_MAX`. How late
//! calls are depends on them: docs/lab/probe.md names both, and what was measured with them. That
//! threads yield, and what else was tried, is in docs/decisions/lab.md. A text of
//! `bench/src/rows/lab/probe.rs` has the 500 µs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long before a moment a thread stops sleeping and looks at the clock instead. Nearly all
/// sleeps overshoot by less (docs/lab/probe.md has what was measured).
pub(crate) const SPIN_MAX: Duration = Duration::from_micros(500);
/// The same where calls are close together: on an idle machine sleeps overshoot by less.
pub(crate) const SPIN_MIN: Duration = Duration::from_micros(150);
/// Slewing moves the clock by half a millisecond a second at most; anything faster is a step.
const SLEW: f64 = 0.000_5;
const STEP_MS_MIN: f64 = 5.0;

/// When a probe began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    instant: Instant,
    /// Milliseconds since the Unix epoch.
    pub(crate) unix_ms: f64,
}

/// Compares the system's clock with the monotonic one.
#[derive(Debug)]
pub(crate) struct ClockSteps {
    /// Milliseconds of the monotonic clock, and how far the other was ahead then.
    last: (f64, f64),
    /// What was seen: when, and by how much.
    pub(crate) seen: Vec<(f64, f64)>,
}

impl Origin {
    pub(crate) fn now() -> Self {
        Self { instant: Instant::now(), unix_ms: unix_ms() }
    }

    /// Nanoseconds since the origin.
    pub(crate) fn ns(&self) -> u64 {
        self.ns_of(Instant::now())
    }

    /// Nanoseconds from the origin to a moment; 0 before it.
    pub(crate) fn ns_of(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.instant);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Sleeps until `before` the moment `ns`, or somewhat longer.
    pub(crate) fn sleep_until(&self, ns: u64, before: Duration) {
        let left = Duration::from_nanos(ns.saturating_sub(self.ns()));
        std::thread::sleep(left.saturating_sub(before));
    }

    /// Looks at the clock until `ns`. While more than one thread is `awake`, others go first: a
    /// thread that waits for a later moment would keep the rest from theirs.
    pub(crate) fn look_until(&self, ns: u64, awake: &AtomicUsize) {
        while self.ns() < ns {
            match awake.load(Ordering::Relaxed) {
                0 | 1 => std::hint::spin_loop(),
                _ => std::thread::yield_now(),
            }
        }
    }

    /// Both clocks, in milliseconds: since the origin, and since the Unix epoch.
    pub(crate) fn both(&self) -> (f64, f64) {
        (self.ns() as f64 / 1e6, unix_ms())
    }
}

impl ClockSteps {
    pub(crate) fn new((monotonic_ms, unix_ms): (f64, f64)) -> Self {
        Self { last: (monotonic_ms, unix_ms - monotonic_ms), seen: Vec::new() }
    }

    /// Notes a step when the distance of the clocks has changed by more than slewing can.
    pub(crate) fn look(&mut self, (monotonic_ms, unix_ms): (f64, f64)) {
        let ahead = unix_ms - monotonic_ms;
        let changed = ahead - self.last.1;
        let slewed = (monotonic_ms - self.last.0) * SLEW;
        if changed.abs() > STEP_MS_MIN + slewed {
            self.seen.push((monotonic_ms, changed));
        }
        self.last = (monotonic_ms, ahead);
    }
}

fn unix_ms() -> f64 {
    // A clock before 1970 is as wrong as one that stands there.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests;
