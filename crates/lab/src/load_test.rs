//! Loads HTTP servers: makes calls at a pace from several threads, and says what came of each.
//!
//! An open loop sends at intended times whatever the server does. Latencies count from those times,
//! so every call that a stall delays shows it (no coordinated omission). A closed loop sends when
//! replies come.
//! Invariant: every call that the engine takes up after the warm-up is counted as succeeded, or as
//! failed with its reason. The series holds each that succeeded up to `kept_max`, then a random
//! sample. A run that is interrupted, or whose server dies, gives what was measured until then.
//! Failure: an error of the engine on one thread stops the others, and the outcome is that error.
//!
//! The crate `load` sends and receives. `plan.rs` shares the calls among threads, `recorder.rs`
//! notes them, `merged.rs` and `outcome.rs` add up. Small pages are kept to while it runs;
//! docs/decisions/lab.md says what that saves.
//! Over TLS the calls are HTTP/1.1, too (`tls.rs`).
//! Refuses: HTTP/2; docs/decisions/lab.md says why.

mod address;
mod calls;
mod merged;
mod outcome;
mod plan;
mod recorder;
mod sample;
mod seconds;
mod slices;
mod text;
mod tls;
mod trace;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Instant;

use load::{Plan, Report};

pub use calls::{CallDefaults, Calls, HttpCall, header};
pub use outcome::{LoadOutcome, TimeSummary};
pub use plan::{LoadTest, Pacing};
pub use seconds::Second;
pub use slices::Slice;
pub use text::{notes, text};
pub use tls::TlsTrust;
pub use trace::Trace;

use crate::pages::SmallPages;
use crate::{LabError, hdr};
use merged::{MergedRun, ThreadOutcome};
use outcome::Measured;
use plan::ThreadPlan;
use recorder::{CallOrder, Recorder, Task};
use seconds::Seconds;

impl LoadTest {
    /// Makes the calls, and tells each second of the run when it is over.
    ///
    /// # Errors
    /// When there is nothing to call, the plan contradicts itself, or a server cannot be reached
    /// at all. What goes wrong later is part of the outcome.
    pub fn run(
        &self,
        calls: &[HttpCall],
        each: &mut dyn FnMut(&Second),
    ) -> Result<LoadOutcome, LabError> {
        let parts = self.parts(calls)?;
        let pages = SmallPages::hold();
        let (cpu_before, begun) = (outcome::cpu(), Instant::now());
        let mut histogram = hdr::nanoseconds();
        let (sender, beats) = mpsc::channel();
        let ended: Vec<Result<ThreadOutcome<'_>, LabError>> = std::thread::scope(|scope| {
            let start = |(number, part): (usize, &ThreadPlan)| {
                let turn = CallOrder { calls, order: Arc::clone(&part.order), at: part.at };
                let task = Task {
                    part: number,
                    turn,
                    warm_up: self.warm_up,
                    timeout: self.timeout,
                    kept_max: self.kept_max,
                    beats: Some(sender.clone()),
                    cancel: Arc::clone(&self.cancel),
                };
                let plan = part.plan.clone();
                scope.spawn(move || one(&plan, Recorder::new(task)))
            };
            let running: Vec<_> = parts.iter().enumerate().map(start).collect();
            drop(sender);
            let mut seconds = Seconds::new(parts.len());
            let mut each = |second: &Second| {
                histogram.add(&second.latency).expect("all of them share their bounds");
                each(second);
            };
            for beat in beats {
                seconds.take(beat, &mut each);
            }
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().expect("a part of the load does not panic")
            };
            running.into_iter().map(join).collect()
        });
        let cpu = outcome::cpu().saturating_sub(cpu_before);
        drop(pages);
        let ended = ended.into_iter().collect::<Result<Vec<_>, _>>()?;
        let measured = Measured { begun, cpu, histogram };
        Ok(LoadOutcome::new(self, calls, &MergedRun::of(ended, self.kept_max), measured))
    }
}

/// Runs the part of one thread; an error ends the others, too.
fn one<'a>(plan: &Plan, mut recorder: Recorder<'a>) -> Result<ThreadOutcome<'a>, LabError> {
    let outcome: Result<Report, _> = load::run(plan, &mut recorder);
    if outcome.is_err() {
        plan.cancel.iter().for_each(|cancel| cancel.store(true, Ordering::Relaxed));
    }
    recorder.end();
    Ok(ThreadOutcome { report: outcome?, recorder })
}

#[cfg(test)]
mod tests;
