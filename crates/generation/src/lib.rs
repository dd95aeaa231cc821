//! Watch, validate, swap whole, keep the last good, know its age.
//!
//! One mechanism for everything that is replaced as a whole while the process runs: profiles, a
//! model, a certificate, a configuration. [`Watched`] owns one file and the [`Generation`] built
//! from it; [`Watcher`] looks at a set of them every 200 ms.
//!
//! Invariant: a reader sees either nothing or one complete generation that passed its loader's
//! checks. A file that is refused never takes the last good generation away. Only a full check that
//! fails does, and then the previous good one returns.
//! Refuses: to know what it loads, to write files, tokio.

mod file_version;
mod load;
mod watched;
mod watcher;

pub use file_version::FileVersion;
pub use load::{Failure, Load, Stop};
pub use watched::{FileProblem, Generation, Guard, Polled, Status, Watched};
pub use watcher::{POLL_INTERVAL, Poll, Watcher, WatcherError};
