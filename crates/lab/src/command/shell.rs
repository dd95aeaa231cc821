//! Measures how long the start of a shell takes, and takes that off the times of what the shell
//! ran.
//!
//! The start is 50 runs of an empty line: the median of their real times, the means of their CPU
//! times. The page docs/lab/bench.md repeats the 50 and the median.
//! Invariant: what is left is never below zero. Peak memory and exit codes are left as they are. A
//! shell that fails once is an error.
//! A run without a shell has no start; `command.rs` calls `off` only where one was measured.

use verdicts::Sorted;

use super::program::{
    CommandInput, CommandOutput, FailurePolicy, Program, RunContext, RunPurpose, Trial,
};
use crate::LabError;

/// Starts that are measured.
const STARTS: usize = 50;

/// The times of an empty shell, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ShellStart {
    /// Median of the real time.
    pub real: f64,
    /// Mean CPU time in user mode.
    pub user: f64,
    /// Mean CPU time in the kernel.
    pub system: f64,
    /// How precisely `real` is known: the spread of the starts (1.4826 × MAD).
    pub spread: f64,
}

impl ShellStart {
    /// Measures the start of a shell that is given nothing to do.
    ///
    /// # Errors
    /// When the shell cannot be run.
    pub fn measure(shell: &[String]) -> Result<Self, LabError> {
        let program = Program::Shell(shell.to_vec(), String::new());
        let surroundings = RunContext {
            input: &CommandInput::Null,
            output: &CommandOutput::Null,
            failures: &FailurePolicy::Fatal,
            occasion: RunPurpose::Beside("start of the shell"),
            apart: None,
        };
        let mut trials = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            trials.push(program.run(&surroundings)?);
        }
        let mean = |of: fn(&Trial) -> f64| trials.iter().map(of).sum::<f64>() / STARTS as f64;
        let real = Sorted::of(trials.iter().map(|trial| trial.real));
        Ok(Self {
            real: real.median(),
            user: mean(|trial| trial.user),
            system: mean(|trial| trial.system),
            spread: real.spread(),
        })
    }

    /// Returns the trial without the shell's share.
    pub(crate) fn off(self, trial: Trial) -> Trial {
        Trial {
            real: (trial.real - self.real).max(0.0),
            user: (trial.user - self.user).max(0.0),
            system: (trial.system - self.system).max(0.0),
            ..trial
        }
    }
}
