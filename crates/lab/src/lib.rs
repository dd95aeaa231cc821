//! Measures calls, loads and commands, reads what others measured, and reports on all of it.
//!
//! Every source of calls becomes a [`Series`](verdicts::Series), which [`verdicts`] judges.
//! [`Report`] puts figures and verdicts together, as text, JSON or HTML.
//!
//! | module | gets its series from |
//! |---|---|
//! | [`probe`] | single calls to a target, on a schedule |
//! | [`load_test`] | many calls over HTTP, at a pace |
//! | [`command`] | runs of a command |
//! | [`switch`] | single calls in blocks, while commands switch something on and off |
//! | [`import`] | files of others, the journal, a [`session_file`] |
//!
//! [`watch()`] gathers calls and the host's signals for days; [`read_recording`] reads them.
//! [`bounds`] hold what was measured against limits, for exit codes.
//! Traces of system calls are no calls of that kind: [`strace`] reads and judges them by itself.
//! Invariant: a call that failed and a row that is bad are counted in the series, with the reason.
//! Calls that are left aside on purpose are not: warm-up, partners of failed calls, other times.
//! Never here: tokio, sampling profilers, tests and their intervals ([`verdicts`]), drawing in text
//! (`screen`). The command line is in the binary.

pub mod bounds;
pub mod command;
mod error;
mod hdr;
pub mod import;
pub mod input_file;
mod inside;
pub mod load_test;
mod pages;
pub mod probe;
mod report;
pub mod session_file;
pub mod strace;
pub mod switch;
mod targets;
mod watch;

pub use error::LabError;
pub use hdr::{IntervalLog, write_percentiles};
pub use report::{
    Beside, CallCounts, LatencyHistogram, PhaseSummary, Report, ReportOptions, Scatter,
    StepsReport, TimeMoments, Versus, Words, in_words,
};
pub use targets::{ComparedTarget, TargetRow, TargetsReport, target_table};
pub use watch::{Recording, WatchPlan, WatchProgress, is_recording, read_recording, watch};
