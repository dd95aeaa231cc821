//! Declares the command line of `tidegate lab bench`: hyperfine's options, and a few more.
//!
//! Plain data that clap parses; doc comments are what `--help` prints. Names, short forms and
//! values are hyperfine's, so none of them may change. Ours are `--vs`, `--save`, and a program
//! after `--`; docs/lab/bench.md lists them.
//! Values such as those of `--style`, `--sort` and `--time-unit` stay text, and `lab/bench.rs`
//! compares them. A new value that `lab/bench.rs` does not know counts there as the last case.
//! The default of `--min-runs` is set there, too. `lab/bench.rs` and `lab/bench/subjects.rs` check
//! counts, and which options fit together.

use std::path::PathBuf;

use clap::Args;

use super::fail_if::FailIfArgs;

pub(super) const EXAMPLE: &str = "\
Examples: tidegate lab bench -- convert in.jpg -rotate 90 out.jpg
          tidegate lab bench --warmup 3 'grep -r todo .' 'rg todo'
          tidegate lab bench 'sort a.txt' --vs 'sort --parallel=2 a.txt'
          tidegate lab bench -P jobs 1 4 'make -j {jobs}' -p 'make clean'
          tidegate lab bench -N --export-json out.json 'jq . big.json'
Options, environment and JSON are those of hyperfine; what stands after `--` is one program with \
its arguments, run without a shell. Exports to - are printed at the end. --vs runs two commands \
in turns and compares run by run. Ctrl-C ends with what was measured.
Exit codes: 0 measured, 1 a command failed, 2 wrong usage; of --fail-if 3 exceeded, 4 cannot be \
told.";

/// What is run, how often, and where the results go.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Commands, each one line for the shell.
    #[arg(value_name = "COMMAND", required_unless_present = "program")]
    pub command: Vec<String>,
    /// A program and its arguments, run without a shell.
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "command")]
    pub program: Vec<String>,
    /// Another command, run in turns with the only other one: how much slower is it, pair by pair?
    #[arg(long, value_name = "COMMAND", conflicts_with = "reference")]
    pub vs: Option<String>,

    /// The configuration whose `[audit]` says where commands are recorded [default:
    /// tidegate.toml, if it is there; else syslog alone].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Runs before the measurement, to fill caches.
    #[arg(short, long, value_name = "NUM", default_value_t = 0)]
    pub warmup: u64,
    /// Runs of each command, exactly; otherwise at least ten, and as many as three seconds hold.
    #[arg(short, long, value_name = "NUM", conflicts_with_all = ["min_runs", "max_runs"])]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub runs: Option<u64>,
    /// Runs of each command at least [default: 10].
    #[arg(short, long, value_name = "NUM")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub min_runs: Option<u64>,
    /// Runs of each command at most.
    #[arg(short = 'M', long, value_name = "NUM")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub max_runs: Option<u64>,
    /// Seconds that the runs of each command take at least together.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 3.0)]
    pub min_benchmarking_time: f64,

    /// Run once before the runs of each command.
    #[arg(short, long, value_name = "CMD")]
    pub setup: Option<String>,
    /// Run before each run; once for all commands, or once for each.
    #[arg(short, long, value_name = "CMD")]
    pub prepare: Vec<String>,
    /// Run after each run; once for all commands, or once for each.
    #[arg(short = 'C', long, value_name = "CMD")]
    pub conclude: Vec<String>,
    /// Run once after the runs of each command.
    #[arg(short, long, value_name = "CMD")]
    pub cleanup: Option<String>,

    /// Run with each value from MIN to MAX in place of {VAR}.
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"])]
    #[arg(allow_hyphen_values = true)]
    pub parameter_scan: Vec<String>,
    /// The step of the scan.
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan")]
    pub parameter_step_size: Option<String>,
    /// Run with each value of a comma-separated list in place of {VAR}; several lists combine.
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"])]
    #[arg(allow_hyphen_values = true, conflicts_with = "parameter_scan")]
    pub parameter_list: Vec<String>,

    /// The shell: a name, a command line, `default`, or `none`.
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "default")]
    pub shell: String,
    /// Without a shell, as `--shell=none`.
    #[arg(short = 'N', conflicts_with = "shell")]
    pub no_shell: bool,
    /// Failed runs are no reason to stop: all of them, or those with these exit codes.
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "all-non-zero")]
    pub ignore_failure: Option<String>,
    /// Where commands read from: null or a file.
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,
    /// Where their output goes: null, pipe, inherit or a file; once for all, or once for each.
    #[arg(long, value_name = "WHERE", conflicts_with = "show_output")]
    pub output: Vec<String>,
    /// Show their output, as `--output=inherit`.
    #[arg(long, conflicts_with = "style")]
    pub show_output: bool,

    /// What a command is called in results; once for each.
    #[arg(short = 'n', long, value_name = "NAME")]
    pub command_name: Vec<String>,
    /// What the others are compared with; otherwise the fastest.
    #[arg(long, value_name = "CMD")]
    pub reference: Option<String>,
    /// What the reference is called.
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub reference_name: Option<String>,
    /// The order of the comparison: auto and mean-time by time, command as given.
    #[arg(long, value_name = "METHOD", value_parser = ["auto", "command", "mean-time"])]
    #[arg(default_value = "auto")]
    pub sort: String,
    /// The unit of what is shown.
    #[arg(short = 'u', long, value_name = "UNIT")]
    #[arg(value_parser = ["microsecond", "millisecond", "second"])]
    pub time_unit: Option<String>,
    /// What is shown: none, or with and without colours and progress.
    #[arg(long, value_name = "TYPE", default_value = "auto")]
    #[arg(value_parser = ["auto", "basic", "full", "nocolor", "color", "none"])]
    pub style: String,

    /// Write everything, as hyperfine's JSON, in seconds.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,
    /// Write a line for each command, as CSV, in seconds.
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    /// Write a table in Markdown.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    /// Write a table in AsciiDoc.
    #[arg(long, value_name = "FILE")]
    pub export_asciidoc: Option<PathBuf>,
    /// Write a table for Emacs org-mode.
    #[arg(long, value_name = "FILE")]
    pub export_orgmode: Option<PathBuf>,
    /// What is a failure.
    #[command(flatten)]
    pub bounds: FailIfArgs,
    /// Keep the runs of all commands for `tidegate lab report`.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}
