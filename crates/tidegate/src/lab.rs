//! Dispatches `tidegate lab …` to a file for each verb, and prints errors of the command line.
//!
//! `misspelt` prints what clap refuses, of any command, and what `--help` and `--version` say. For
//! `lab probe --plugin` it prints one line to stdout and ends with 3, which is UNKNOWN. Nagios
//! reads stdout, and takes 2 for a critical target. It finds these three words by their text, so a
//! rename in `cli` also goes here.
//! Never here: measuring and reports, which the crate `lab` has. Files here read arguments, show
//! progress and write results.

mod audited;
mod bench;
mod fail_if;
mod load;
mod misuse;
mod probe;
mod report;
mod steps;
mod strace;
mod switch;
mod watch;
mod written;

pub(crate) use audited::{is_unrecorded, recorder as action_recorder};

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::LabCommand;
use crate::output;

/// `tidegate lab …`
pub(crate) fn command(command: LabCommand) -> Result<()> {
    match command {
        LabCommand::Bench(args) => bench::run(&args),
        LabCommand::Load(args) => load::run(&args),
        LabCommand::Probe(args) => probe::run(&args),
        LabCommand::Report(args) => report::run(&args),
        LabCommand::Steps(args) => steps::run(&args),
        LabCommand::Switch(args) => switch::run(&args),
        LabCommand::Strace(args) => strace::run(&args),
        LabCommand::Watch(args) => watch::run(&args),
    }
}

/// Prints what is wrong with the command line, and returns its exit code. Nagios reads stdout, and
/// takes 2 for a critical target, which is wrong usage everywhere else.
pub(crate) fn misspelt(error: &clap::Error) -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let is_plugin = words.starts_with(&["lab".into(), "probe".into()])
        && words.iter().any(|word| word == "--plugin");
    if is_plugin && error.use_stderr() {
        return probe::unknown(error);
    }
    if error.use_stderr() {
        crate::output::tell_on!("{}", output::cleaned(&error.render().to_string()));
    } else {
        // Where nobody reads, nothing is to be said.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}
