//! Sums what programs use, by their names: processor, waits for a core, reads, writes and faults.
//!
//! All processes are looked at about once a second, less often where that would take more than
//! [`COST_MAX`] of a core. One that used no processor since is not looked at further. What a
//! process used up to its end comes from `exits.rs`, so short children count, too.
//! Invariant: what a process uses is counted once: at its end only what was not yet counted. A
//! process is known by its number and its start, so a number that comes again is another process.
//! Failure: reads and writes of processes of others need `CAP_SYS_PTRACE`. Without it they are left
//! out, silently for each, and a note says so once.
//! Source of the fields: proc(5).

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::counters::{SignalReadings, SignalSource};
use super::exits::{ProgramEvent, ProgramEvents};
use super::plan::INTERVAL_NS;
use super::program_name::{ProgramName, ScriptNames};
use super::usage::{ProcessUsage, schedule};

/// Share of a core that looking at all processes may take.
const COST_MAX: f64 = 0.003;
const LOOK_MIN: Duration = Duration::from_secs(1);

/// Every process, and what is known of it.
pub(super) struct Processes {
    known: HashMap<u32, KnownProcess>,
    scripts: ScriptNames,
    exits: Option<ProgramEvents>,
    next_ns: u64,
    looked_ns: u64,
    round: u64,
}

#[derive(Debug)]
struct KnownProcess {
    name: ProgramName,
    usage: ProcessUsage,
    /// Nanoseconds on a core: what did not run has not changed.
    ran: u64,
    round: u64,
}

impl Processes {
    pub(super) fn new(exits: Option<ProgramEvents>, notes: &mut Vec<String>) -> Self {
        let is_refused = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/io")).is_err();
        // One may have ended meanwhile, or be the system's first.
        if pids().filter(is_refused).take(3).count() == 3 {
            notes.push(
                "left out: reads and writes of programs of other users (they need CAP_SYS_PTRACE)"
                    .to_owned(),
            );
        }
        Self {
            known: HashMap::new(),
            scripts: ScriptNames::default(),
            exits,
            next_ns: 0,
            looked_ns: 0,
            round: 0,
        }
    }

    fn look(&mut self, found: &mut SignalReadings) {
        let now_ns = found.now_ns();
        let is_first = self.round == 0;
        self.round += 1;
        let span_ns = [self.looked_ns, now_ns];
        for pid in pids() {
            let Some((ran, waited_ms)) = schedule(pid) else { continue };
            if let Some(known) = self.known.get_mut(&pid)
                && known.ran == ran
            {
                known.round = self.round;
                continue;
            }
            let Some((name, usage)) = ProcessUsage::beside(pid, (ran, waited_ms)) else { continue };
            let before = self.known.get(&pid).filter(|known| known.usage.began == usage.began);
            // What ran before the watch began is no part of it; what began since is.
            let before = before.map(|known| known.usage).or(is_first.then_some(usage));
            let shown = self.scripts.shown(&name);
            usage.since(before.unwrap_or_default()).report(&shown, span_ns, found);
            self.known.insert(pid, KnownProcess { name, usage, ran, round: self.round });
        }
        self.known.retain(|_, known| known.round == self.round);
        self.looked_ns = now_ns;
    }

    /// Counts programs that started, and what those used that ended.
    fn receive(&mut self, found: &mut SignalReadings) {
        let Some(exits) = &self.exits else { return };
        let now_ns = found.now_ns();
        let lost = exits.lost.load(Ordering::Relaxed);
        found.counter("programs not heard of", "", lost as f64);
        for event in exits.events.try_iter() {
            match event {
                ProgramEvent::Started { name } => {
                    let name = self.scripts.shown(&name);
                    let span_ns = [now_ns.saturating_sub(INTERVAL_NS), now_ns];
                    found.of_program(&format!("starts of {name}"), "", span_ns, 1.0);
                }
                ProgramEvent::Ended { pid, usage } => {
                    let known = self.known.remove(&pid);
                    // Before the first look all that a program used would seem to be of now.
                    let Some((name, usage)) = usage.filter(|_| self.round > 0) else { continue };
                    let began_ns = now_ns.saturating_sub(usage.lived_ns().max(INTERVAL_NS));
                    let from_ns = known.as_ref().map_or(began_ns, |_| self.looked_ns);
                    let before = known.as_ref().map(|known| known.usage).unwrap_or_default();
                    // It may have run since before the watch, and then only looks know its script.
                    let known = known.map(|known| known.name);
                    let name = known.filter(|known| known.plain == name.plain).unwrap_or(name);
                    let shown = self.scripts.shown(&name);
                    usage.since(before).report(&shown, [from_ns, now_ns], found);
                }
            }
        }
    }
}

impl SignalSource for Processes {
    fn sample(&mut self, found: &mut SignalReadings) {
        self.receive(found);
        if found.now_ns() < self.next_ns {
            return;
        }
        let began = Instant::now();
        self.look(found);
        let wait = began.elapsed().div_f64(COST_MAX).max(LOOK_MIN);
        self.next_ns = found.now_ns() + u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
    }
}

/// The processes that there are.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests;
