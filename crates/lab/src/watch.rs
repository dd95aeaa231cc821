//! Watches targets and their host for days, into a file that [`recording`] reads again.
//!
//! One thread for each target probes it. One for each core sleeps and notes how late it wakes. One
//! hears of programs that start and end, where the system allows. This one reads the host's
//! counters ten times a second, and writes a block of intervals every ten seconds.
//! Invariant: calls and signals are dated by one monotonic clock since the start, so they stay
//! beside each other whatever the system's clock does. Its steps are noted in the file.
//! Bounds: the file has `bytes_max` and the age `keep_for`; the oldest goes first. What a full disk
//! refuses is kept for five minutes; what is older is lost, counted and noted.
//! Failure: a signal that the host lacks, or may not be read, is left out, and the file says why.
//!
//! `host.rs` reads counters, `processes.rs` programs, `grid.rs` puts both in intervals, `store.rs`
//! and `recording.rs` write and read the file. Verdicts are in `verdicts::signals`.

mod cgroup;
mod collections;
mod cores;
mod counters;
mod exits;
mod feed;
mod grid;
mod host;
mod plan;
mod processes;
mod program_name;
mod recording;
mod store;
mod usage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use verdicts::Series;

use crate::LabError;
use crate::probe::{self, ClockSteps, Origin, PAUSE_NS, paused};
use counters::{SIGNALS_MAX, SignalReadings, SignalSource};
use feed::StatsdFeed;
use grid::IntervalGrid;
use plan::INTERVAL_NS;
use store::WatchStore;

pub use plan::WatchPlan;
pub use recording::{Recording, is_recording, read_recording};

/// How far a watch is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchProgress {
    /// Time since it began.
    pub elapsed: Duration,
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Milliseconds of the last call.
    pub last_ms: Option<f64>,
    /// Bytes of the file.
    pub bytes: u64,
    /// What became known since the last time: signals that are left out, a disk that is full.
    pub notes: Vec<String>,
}

/// Watches a plan's targets and the host until `stop` is set, looked at in each interval. Returns
/// how far it came.
///
/// # Errors
/// When the file cannot be written at the start, or is another's, or a target cannot be called.
pub fn watch(
    plan: &WatchPlan,
    stop: &Arc<AtomicBool>,
    shown: &mut dyn FnMut(&WatchProgress),
) -> Result<WatchProgress, LabError> {
    let origin = Origin::now();
    let mut store = WatchStore::open(plan, origin.unix_ms)?;
    let mut notes = store.begin()?;
    let mut sources = sources(plan, &mut notes);
    notes.iter().for_each(|note| store.note(origin.unix_ms, note));
    let ProbeThreads { calls, threads } = probes(plan, origin, stop)?;
    let mut watching = Watching {
        origin,
        counters: SignalReadings::default(),
        grid: IntervalGrid::new(INTERVAL_NS),
        steps: ClockSteps::new(origin.both()),
        feed: plan.statsd.as_deref().map(StatsdFeed::new).transpose()?,
        is_full: false,
        progress: WatchProgress { notes, ..WatchProgress::default() },
    };
    let mut tick = 0;
    while !stop.load(Ordering::Relaxed) {
        tick = (origin.ns() / INTERVAL_NS).max(tick) + 1;
        origin.sleep_until(tick * INTERVAL_NS, Duration::ZERO);
        watching.note_pause(tick * INTERVAL_NS, &mut store);
        watching.look(&mut sources, &mut store);
        watching.take(&calls, plan, &mut store);
        // A probe ends by itself only where its target cannot be called at all.
        if threads.iter().any(JoinHandle::is_finished) {
            break;
        }
        shown(&watching.progress);
        watching.progress.notes.clear();
    }
    stop.store(true, Ordering::Relaxed);
    let ended: Result<Vec<()>, LabError> =
        threads.into_iter().map(|thread| thread.join().unwrap_or(Ok(()))).collect();
    watching.take(&calls, plan, &mut store);
    watching.grid.end(&mut |block| store.keep(block));
    if let Some(feed) = &mut watching.feed {
        feed.flush();
    }
    store.end(origin.both().1)?;
    ended.map(|_| watching.progress)
}

/// What is under way.
struct Watching {
    origin: Origin,
    counters: SignalReadings,
    grid: IntervalGrid,
    steps: ClockSteps,
    feed: Option<StatsdFeed>,
    /// Whether it was noted that there are too many signals.
    is_full: bool,
    progress: WatchProgress,
}

impl Watching {
    /// Reads every source, and writes what is whole.
    fn look(&mut self, sources: &mut [Box<dyn SignalSource>], store: &mut WatchStore) {
        let now_ns = self.origin.ns();
        self.counters.begin(now_ns);
        for source in sources {
            source.sample(&mut self.counters);
        }
        if self.counters.is_full() && !std::mem::replace(&mut self.is_full, true) {
            let note = format!("{SIGNALS_MAX} signals are kept: those of other names are not");
            store.note(self.origin.unix_ms + now_ns as f64 / 1e6, &note);
            self.progress.notes.push(note);
        }
        let (grid, feed) = (&mut self.grid, &mut self.feed);
        self.counters.grown(&mut |grown| {
            grid.add(grown);
            if let Some(feed) = feed {
                feed.signal(grown);
            }
        });
        grid.whole(now_ns, &mut |block| store.keep(block));
        self.steps.look(self.origin.both());
        let unix_ms = |ns: f64| self.origin.unix_ms + ns;
        for (at_ms, by_ms) in self.steps.seen.drain(..) {
            let note = format!("the system's clock was set by {:+.3} s", by_ms / 1000.0);
            store.note(unix_ms(at_ms), &note);
            self.progress.notes.push(note);
        }
        self.progress.notes.extend(store.tend(now_ns));
        self.progress.elapsed = Duration::from_nanos(now_ns);
        self.progress.bytes = store.bytes();
        if let Some(feed) = feed {
            feed.send();
        }
    }

    /// Notes that this program did not run when it should have.
    fn note_pause(&mut self, due_ns: u64, store: &mut WatchStore) {
        let late_ns = self.origin.ns().saturating_sub(due_ns);
        if late_ns > PAUSE_NS {
            let note = paused(late_ns);
            store.note(self.origin.unix_ms + due_ns as f64 / 1e6, &note);
            self.progress.notes.push(note);
        }
    }

    /// Takes the calls that ended.
    fn take(
        &mut self,
        calls: &Receiver<(usize, Series)>,
        plan: &WatchPlan,
        store: &mut WatchStore,
    ) {
        for (target, series) in calls.try_iter() {
            self.progress.calls += series.len() as u64;
            self.progress.failed += series.left_out.total();
            self.progress.last_ms = series.total_ms.last().copied().or(self.progress.last_ms);
            if let Some(feed) = &mut self.feed {
                feed.calls(&plan.probes[target].targets[0].to_string(), &series);
            }
            store.calls(target, series, self.origin.both().0);
        }
    }
}

/// The sources of signals that this host has; `notes` says which ones it lacks.
fn sources(plan: &WatchPlan, notes: &mut Vec<String>) -> Vec<Box<dyn SignalSource>> {
    let mut found: Vec<Box<dyn SignalSource>> = Vec::new();
    found.extend(host::sources(notes));
    found.extend(cgroup::sources(&plan.pids, notes));
    let exits = exits::listen(notes);
    found.push(Box::new(processes::Processes::new(exits, notes)));
    found.extend(cores::sleepers(notes));
    for log in &plan.collector_logs {
        match collections::CollectorLog::open(log) {
            Ok(log) => found.push(Box::new(log)),
            Err(error) => notes.push(format!("left out: `{}` ({error})", log.display())),
        }
    }
    found
}

/// The probes under way, and the calls that ended, with the place of their target.
struct ProbeThreads {
    calls: Receiver<(usize, Series)>,
    threads: Vec<JoinHandle<Result<(), LabError>>>,
}

/// Starts the probes, each of which sends the calls that ended with its place.
fn probes(
    plan: &WatchPlan,
    origin: Origin,
    stop: &Arc<AtomicBool>,
) -> Result<ProbeThreads, LabError> {
    let (tell, calls) = channel();
    let mut threads = Vec::new();
    for (place, probe) in plan.probes.iter().cloned().enumerate() {
        let (tell, stop) = (tell.clone(), Arc::clone(stop));
        let work = move || {
            probe::follow(&probe, origin, &stop, &mut |series| {
                // Nobody hears only once the watch is over.
                let _ = tell.send((place, series));
            })
        };
        let started = thread::Builder::new().name("watch-probe".to_owned()).spawn(work);
        let refused = |source| LabError::System { what: "start a thread".to_owned(), source };
        threads.push(started.map_err(refused)?);
    }
    Ok(ProbeThreads { calls, threads })
}
