//! Runs an on/off experiment: commands set a switch, and calls are made in blocks of time between.
//!
//! Two blocks that follow each other are a pair, one on and one off, in random order. The command
//! of its state is run before each block, also where that is the state already. Then the settling
//! time passes, and calls arrive as in a probe. Without a rate, five calls find it before the first
//! block while the switch stands off, so all blocks have the same load.
//! Invariant: the experiment ends with the command of the state that is to be left, also after an
//! error and an interruption. Only the end of this process prevents it.
//! What a block cut short has measured is left out.
//! Failure: a command that fails ends the experiment. Its measured blocks stay in the record.
//!
//! `verdicts::switched` judges the blocks, and relies on pairs; [`SwitchReport`] shows them.
//! Never here: signals and the trail of actions, which the binary has (`lab/switch.rs`).

mod report;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use stdx::{Random, mixed};
use verdicts::{Attribute, AttributeValues, BURST, Series, SwitchBlock};

pub use report::{BlockRow, SwitchReport};

use crate::LabError;
use crate::command::{CommandInput, CommandOutput, FailurePolicy, Program};
use crate::command::{RunContext, RunPurpose};
use crate::probe::{self, Arrivals, End, Plan};

/// How often somebody who wants to stop is heard while the switch settles.
const LOOK: Duration = Duration::from_millis(50);
/// Calls that find the rate.
const PILOT_CALLS: u64 = 5;
/// Notes on single blocks that are kept.
const NOTES_MAX: usize = 6;

/// What is switched, and how it is measured.
#[derive(Debug, Clone)]
pub struct SwitchPlan {
    /// The calls of a block: one target, and how long a block lasts.
    pub probe: Plan,
    /// What switches on.
    pub on: Program,
    /// What switches off.
    pub off: Program,
    /// What is left out after each command.
    pub settle: Duration,
    /// Pairs of blocks.
    pub pairs: u64,
    /// Whether it is left on at the end.
    pub is_left_on: bool,
}

/// What ends an experiment early.
#[derive(Debug, Default)]
pub struct SwitchEnd {
    /// Ends it after the command under way.
    pub soon: AtomicBool,
    /// Ends the command under way, too, but not the one that puts the state back.
    pub now: AtomicBool,
}

/// What was measured and done so far.
#[derive(Debug, Clone, Default)]
pub struct SwitchRecord {
    /// All calls, with the attributes `switch` and `block`.
    pub series: Series,
    /// The blocks in their order.
    pub blocks: Vec<TimedBlock>,
    /// How often the commands were run without failure: off, and on.
    pub runs: [u64; 2],
    /// Calls to the target, those that found the rate included.
    pub calls: u64,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
    /// Notes on blocks after the first: kept, and left out.
    notes: [usize; 2],
}

/// A block with its place in time.
#[derive(Debug, Clone, Default)]
pub struct TimedBlock {
    /// Milliseconds since the Unix epoch at which its calls began.
    pub began_unix_ms: f64,
    /// Its calls.
    pub block: SwitchBlock,
}

/// Runs an experiment into `record`. Commands run in process groups of their own.
/// `watch` is called before each block with its number and whether it is on.
///
/// # Errors
/// When a command fails, or the target cannot be called at all. What was measured is in the record.
pub fn run(
    plan: &SwitchPlan,
    end: &SwitchEnd,
    watch: &mut dyn FnMut(usize, bool),
    record: &mut SwitchRecord,
) -> Result<(), LabError> {
    plan.probe.check()?;
    if plan.probe.targets.len() != 1 {
        return Err(LabError::Plan("an experiment has one target".to_owned()));
    }
    record.series.name = plan.probe.targets[0].to_string();
    let mut experiment = Experiment { plan, end, record, arrived: 0 };
    let measured = experiment.measure(watch);
    experiment.record.end();
    let never = AtomicBool::new(false);
    let put_back = experiment.command(plan.is_left_on, "at the end", &never);
    match (measured, put_back) {
        (Err(LabError::Command { command, how, when }), Err(_)) => {
            let when = format!("{when}; nor could the state be put back at the end");
            Err(LabError::Command { command, how, when })
        }
        (measured, put_back) => measured.and(put_back),
    }
}

/// An experiment under way.
struct Experiment<'a> {
    plan: &'a SwitchPlan,
    end: &'a SwitchEnd,
    record: &'a mut SwitchRecord,
    /// Arrivals of earlier blocks: each has a number of its own.
    arrived: u64,
}

impl Experiment<'_> {
    fn measure(&mut self, watch: &mut dyn FnMut(usize, bool)) -> Result<(), LabError> {
        let Some(arrivals) = self.arrivals()? else { return Ok(()) };
        let mut order = Random::new(mixed(self.plan.probe.seed));
        for _ in 0..self.plan.pairs {
            let first_is_on = order.bits() & 1 == 1;
            for is_on in [first_is_on, !first_is_on] {
                watch(self.record.blocks.len() + 1, is_on);
                if !self.block(is_on, arrivals)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// How calls arrive in every block; nothing when it was stopped.
    fn arrivals(&mut self) -> Result<Option<Arrivals>, LabError> {
        let arrivals = self.plan.probe.arrivals;
        if !matches!(arrivals, Arrivals::Poisson(None) | Arrivals::Uniform(None)) {
            return Ok(Some(arrivals));
        }
        if !self.set(false, "before the first block")? {
            return Ok(None);
        }
        let found = self.probe(arrivals, End::Count(PILOT_CALLS), 0)?;
        Ok(found.map(|found| match arrivals {
            Arrivals::Uniform(_) => Arrivals::Uniform(found.rate),
            _ => Arrivals::Poisson(found.rate),
        }))
    }

    /// Makes the calls of a block; returns whether it came to its end.
    fn block(&mut self, is_on: bool, arrivals: Arrivals) -> Result<bool, LabError> {
        let number = self.record.blocks.len() + 1;
        if !self.set(is_on, &format!("before block {number}"))? {
            return Ok(false);
        }
        let seed = self.plan.probe.seed.wrapping_add(number as u64 - 1);
        let before = self.arrived;
        let Some(mut probed) = self.probe(arrivals, self.plan.probe.end, seed)? else {
            return Ok(false);
        };
        self.record.take(probed.series.swap_remove(0), is_on, before);
        Ok(true)
    }

    /// Makes calls; nothing when it was stopped meanwhile.
    fn probe(
        &mut self,
        arrivals: Arrivals,
        end: End,
        seed: u64,
    ) -> Result<Option<probe::ProbeResult>, LabError> {
        let number_first = self.plan.probe.number_first.wrapping_add(self.arrived);
        let plan = Plan { arrivals, end, seed, number_first, ..self.plan.probe.clone() };
        let probed = probe::run(&plan, &self.end.soon, &mut |_| {})?;
        let calls = probed.series[0].len() as u64 + probed.series[0].left_out.total();
        self.record.calls += calls;
        self.arrived += calls.div_ceil(u64::from(plan.burst.calls));
        self.record.is_interrupted |= probed.is_interrupted;
        Ok((!probed.is_interrupted).then_some(probed))
    }

    /// Runs the command of a state and lets it settle; returns whether it was not stopped.
    fn set(&mut self, is_on: bool, when: &str) -> Result<bool, LabError> {
        if self.is_stopped() {
            return Ok(false);
        }
        match self.command(is_on, when, &self.end.now) {
            Err(_) if self.end.now.load(Ordering::Relaxed) => {
                self.record.is_interrupted = true;
                Ok(false)
            }
            done => done.map(|()| self.has_settled()),
        }
    }

    /// Runs the command of a state, unless `end` ends it.
    fn command(&mut self, is_on: bool, when: &str, end: &AtomicBool) -> Result<(), LabError> {
        let program = if is_on { &self.plan.on } else { &self.plan.off };
        let around = RunContext {
            input: &CommandInput::Null,
            output: &CommandOutput::Errors,
            failures: &FailurePolicy::Fatal,
            occasion: RunPurpose::Beside("a switch"),
            apart: Some(end),
        };
        program.run(&around).map_err(|error| match error {
            LabError::Command { command, how, .. } => {
                LabError::Command { command, how, when: when.to_owned() }
            }
            other => other,
        })?;
        self.record.runs[usize::from(is_on)] += 1;
        Ok(())
    }

    /// Waits for the settling time; returns whether it was not stopped.
    fn has_settled(&mut self) -> bool {
        let begun = Instant::now();
        while !self.is_stopped() {
            match self.plan.settle.checked_sub(begun.elapsed()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(LOOK)),
                _ => return true,
            }
        }
        false
    }

    fn is_stopped(&mut self) -> bool {
        self.record.is_interrupted |= self.end.soon.load(Ordering::Relaxed);
        self.record.is_interrupted
    }
}

impl SwitchRecord {
    /// Adds the calls of a block, before which so many bursts arrived.
    fn take(&mut self, mut series: Series, is_on: bool, arrived: u64) {
        let number = self.blocks.len() + 1;
        let total_ms = series.total_ms.clone();
        let block = SwitchBlock { is_on, total_ms, failed: series.left_out.total() };
        let began_unix_ms = series.origin_unix_ms.unwrap_or_default();
        self.blocks.push(TimedBlock { began_unix_ms, block });
        let calls = series.len();
        for attribute in &mut series.attributes {
            if let (BURST, AttributeValues::Numbers(bursts)) =
                (attribute.name.as_str(), &mut attribute.values)
            {
                bursts.iter_mut().for_each(|burst| *burst += arrived as f64);
            }
        }
        let names = vec![if is_on { "on" } else { "off" }.to_owned()];
        let state = AttributeValues::Names { names, of: vec![0; calls] };
        series.attributes.push(Attribute { name: "switch".to_owned(), values: state });
        let numbers = AttributeValues::Numbers(vec![number as f64; calls]);
        series.attributes.push(Attribute { name: "block".to_owned(), values: numbers });
        // How calls arrived is the same in all blocks but for the seed.
        let notes = std::mem::take(&mut series.notes);
        for note in notes.into_iter().skip(usize::from(number > 1)) {
            if number == 1 {
                series.notes.push(note);
            } else if self.notes[0] == NOTES_MAX {
                self.notes[1] += 1;
            } else if !self.series.notes.contains(&note) {
                self.notes[0] += 1;
                series.notes.push(format!("block {number}: {note}"));
            }
        }
        self.series.append(series);
    }

    /// Notes what was left out.
    fn end(&mut self) {
        if self.notes[1] > 0 {
            let note = format!("{} more notes on single blocks are left out", self.notes[1]);
            self.series.notes.push(note);
        }
        if self.is_interrupted {
            let block = self.blocks.len() + 1;
            let note = format!("interrupted in block {block}, whose calls are left out");
            self.series.notes.push(note);
        }
    }
}

#[cfg(test)]
mod tests;
