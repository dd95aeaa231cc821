//! Declares the command line of `tidegate lab`: its verbs; each verb's arguments have a file.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. What the verbs do is in
//! `lab.rs` beside `cli.rs`, and in the files below it.

mod bench;
mod call;
mod fail_if;
mod load;
mod probe;
mod report;
mod steps;
mod strace;
mod switch;
mod watch;
mod written;

use clap::Subcommand;

pub(crate) use bench::BenchArgs;
pub(crate) use call::{CallArgs, HttpArgs};
pub(crate) use fail_if::FailIfArgs;
pub(crate) use load::{LoadArgs, Rate};
pub(crate) use probe::{PluginArgs, ProbeArgs};
pub(crate) use report::{ReportArgs, SourceArgs};
pub(crate) use steps::StepsArgs;
pub(crate) use strace::StraceArgs;
pub(crate) use switch::SwitchArgs;
pub(crate) use watch::WatchArgs;
pub(crate) use written::WrittenArgs;

/// What to measure, and how.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Time single calls to a server, a name server, a host or a program, phase by phase.
    #[command(after_help = probe::EXAMPLE)]
    Probe(Box<ProbeArgs>),
    /// Say what latencies that were measured are made of: quantised, which step, which property.
    #[command(after_help = report::EXAMPLE)]
    Report(Box<ReportArgs>),
    /// Say which step makes the slow calls slow, in measurements, logs and traces that are there.
    #[command(after_help = steps::EXAMPLE)]
    Steps(Box<StepsArgs>),
    /// Switch something on and off in random blocks, and say what that does to a target's latency.
    #[command(after_help = switch::EXAMPLE)]
    Switch(Box<SwitchArgs>),
    /// Put load on HTTP servers, and say how long calls took from when they were meant to be made.
    #[command(after_help = load::EXAMPLE)]
    Load(Box<LoadArgs>),
    /// Run commands again and again, and say how long one run takes; speaks hyperfine's options.
    #[command(after_help = bench::EXAMPLE)]
    Bench(Box<BenchArgs>),
    /// Read system calls that strace has written, and say which of them requests waited for.
    #[command(after_help = strace::EXAMPLE)]
    Strace(Box<StraceArgs>),
    /// Probe targets for days, with what the host does beside them, into a file.
    #[command(after_help = watch::EXAMPLE)]
    Watch(Box<WatchArgs>),
}
