//! Reads traces of system calls, and says which of them requests waited for.
//!
//! [`read_trace`] reads what `strace -f -ttt -T` has written (`-y`, `-yy`, `-Y`, `-k` help), or
//! `perf trace`. Source 002 read 28 million such lines by hand, and was led astray by peaks of
//! timers. So timed waits are told from work by their timeout, and idle ones from those on the path
//! of a request. What is left is ranked by the time that requests paid. Invariants: a line that is
//! no call is counted, never an error. Memory goes with the threads that live and the bounds of
//! each table, not with the lines. Failure: a source that cannot be read, and one without a call.
//! Never here: running strace, which the binary does.

mod arguments;
mod bins;
mod census;
mod family;
mod html;
mod ledger;
mod line;
mod ndjson;
mod perf_trace;
mod reading;
mod report;
mod requests;
mod stacks;
mod syscalls;
mod text;
mod threads;
mod waits;
mod words;

pub use bins::LatencyPeak;
pub use census::TraceCounts;
pub use family::ChildTotals;
pub use ledger::FileTotals;
pub use reading::read_trace;
pub use report::{OnPathTime, StraceReport, SyscallSummary};
pub use requests::RequestSummary;
pub use stacks::StackSummary;
pub use waits::WaitTotals;

#[cfg(test)]
mod tests;
