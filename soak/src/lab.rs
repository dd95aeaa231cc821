//! The laboratory against truth: servers whose latency has a known cause, and equal ones without.
//!
//! The real binary probes, watches or switches each, and does not know which it is.
//! Invariant: the cause is really there (a real nginx, a real quota, a real signal), and so is its
//! absence. An arm that this machine cannot make prints the reason on a line of its own.
//!
//! A busy machine slows servers down from outside by itself. A sleeper beside the server
//! ([`control`]) notices that, and then "outside the request" is no wrong verdict.
//!
//! The rows are those of the list of known causes in docs/lab/trust.md.

use std::time::Instant;

use anyhow::{Result, bail};

mod arm;
mod cause;
mod control;
mod options;
mod truth;
mod world;

use arm::{Arm, Outcome};
pub(crate) use options::Options;

/// Measures every arm and compares what is said with what is true.
///
/// # Errors
/// How many verdicts were wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    println!("seed {}", options.seed);
    let begun = Instant::now();
    let is_wanted = |arm: &Arm| options.only.as_ref().is_none_or(|only| arm.name.contains(only));
    let arms = arm::all(options.short);
    let mut wrong = 0;
    for arm in arms.iter().filter(|arm| is_wanted(arm)) {
        let begun = Instant::now();
        let (verdict, words) = match arm.judge(options)? {
            Outcome::Absent(reason) => ("SKIPPED", reason),
            Outcome::Right(words) => ("ok", words),
            Outcome::Wrong(words) => {
                wrong += 1;
                ("WRONG", words)
            }
        };
        println!("{verdict:<8}{:<44}{:>5.0} s  {words}", arm.name, begun.elapsed().as_secs_f64());
    }
    println!("{:.0} s in all", begun.elapsed().as_secs_f64());
    match wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} verdicts are not the truth"),
    }
}
