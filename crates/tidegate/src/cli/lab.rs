//! The command line of the laboratory.

mod probe;

use clap::Subcommand;

pub use probe::{HttpArgs, PluginArgs, ProbeArgs};

/// What to measure, and how.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Time single calls to a server, a name server, a host or a program, phase by phase.
    #[command(after_help = probe::EXAMPLE)]
    Probe(Box<ProbeArgs>),
}
