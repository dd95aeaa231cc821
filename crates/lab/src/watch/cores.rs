//! Keeps a sleeper on each core that notes how late it wakes up: a hiccup meter (Tene, jHiccup).
//!
//! Each sleeps 5 ms at a time, on its own core. With many cores they sleep longer, so that all
//! together wake at most [`WAKES_MAX`] times a second. A sleeper that wakes 80 ms late has stalled
//! for 80 ms: all intervals of that time get the lateness.
//! Invariant: lateness is a level in milliseconds, reported for the whole time of the stall.
//! Failure: a core that this process may not run on has no sleeper. Where none can be started, a
//! note says so.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::counters::{SignalReadings, SignalSource};

/// Wakes a second of all sleepers together.
const WAKES_MAX: u32 = 800;
const SLEEP_MIN: Duration = Duration::from_millis(5);
/// Lateness that is reported: below, it is what every sleep has.
const LATE_MIN: Duration = Duration::from_millis(1);
const STACK_BYTES: usize = 64 << 10;

/// What a sleeper saw: which core, when it woke up, and how late.
struct LateWake {
    core: usize,
    woke: Instant,
    late: Duration,
}

/// What all sleepers saw.
struct Sleepers {
    names: Vec<String>,
    wakes: Receiver<LateWake>,
}

/// Starts a sleeper on each core.
pub(super) fn sleepers(notes: &mut Vec<String>) -> Option<Box<dyn SignalSource>> {
    let allowed = sched_getaffinity(None).ok()?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let count = u32::try_from(cores.len()).unwrap_or(u32::MAX).max(1);
    let sleep = SLEEP_MIN.max(Duration::from_secs(1) * count / WAKES_MAX);
    let (tell, wakes) = channel();
    for core in &cores {
        let (core, tell) = (*core, tell.clone());
        let named = thread::Builder::new().name("watch-core".to_owned()).stack_size(STACK_BYTES);
        if named.spawn(move || wake_up(core, sleep, &tell)).is_err() {
            notes.push("left out: stalls of cores (no thread could be started)".to_owned());
            return None;
        }
    }
    let names = (0..=cores.last().copied().unwrap_or(0)).map(super::recording::core_name).collect();
    Some(Box::new(Sleepers { names, wakes }))
}

/// Sleeps and wakes until nobody listens.
fn wake_up(core: usize, sleep: Duration, tell: &Sender<LateWake>) {
    let mut only = CpuSet::new();
    only.set(core);
    if sched_setaffinity(None, &only).is_err() {
        return;
    }
    loop {
        let due = Instant::now() + sleep;
        thread::sleep(sleep);
        let woke = Instant::now();
        let late = woke.saturating_duration_since(due);
        if late >= LATE_MIN && tell.send(LateWake { core, woke, late }).is_err() {
            return;
        }
    }
}

impl SignalSource for Sleepers {
    fn sample(&mut self, found: &mut SignalReadings) {
        let (now, now_ns) = (Instant::now(), found.now_ns());
        for wake in self.wakes.try_iter() {
            let ns = |moment: Instant| {
                let ago = now.saturating_duration_since(moment);
                now_ns.saturating_sub(u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX))
            };
            let span = [ns(wake.woke - wake.late), ns(wake.woke)];
            found.peak(&self.names[wake.core], "ms", span, wake.late.as_secs_f64() * 1e3);
        }
    }
}
