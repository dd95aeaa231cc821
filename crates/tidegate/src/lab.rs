//! `tidegate lab …`: measures, and prints what the laboratory says of it. A file for each verb.

mod bench;
mod load;
mod output;
mod probe;
mod report;

use anyhow::Result;

use crate::cli::LabCommand;

/// `tidegate lab …`
pub fn command(command: LabCommand) -> Result<()> {
    match command {
        LabCommand::Bench(args) => bench::run(&args),
        LabCommand::Load(args) => load::run(&args),
        LabCommand::Probe(args) => probe::run(&args),
        LabCommand::Report(args) => report::run(&args),
    }
}
