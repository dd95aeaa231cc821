//! The command line of the laboratory.

mod probe;
mod report;

use clap::Subcommand;

pub use probe::{HttpArgs, PluginArgs, ProbeArgs};
pub use report::ReportArgs;

/// What to measure, and how.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Time single calls to a server, a name server, a host or a program, phase by phase.
    #[command(after_help = probe::EXAMPLE)]
    Probe(Box<ProbeArgs>),
    /// Say what latencies that were measured are made of: quantised, which step, which property.
    #[command(after_help = report::EXAMPLE)]
    Report(Box<ReportArgs>),
}
