//! Watch, validate, swap whole, keep the last good, know its age.
//!
//! One mechanism for everything that is replaced as a whole while the process runs: profiles, a
//! model, a certificate, a configuration. [`Watched`] owns one file and the [`Generation`] built
//! from it; [`Watcher`] looks at a set of them every 200 ms.
//!
//! Invariant: a reader sees either nothing or one complete generation that passed its loader's
//! checks; a failing file never takes the last good generation away, only a failing full check
//! does, and then the previous good one returns.
//! Refuses: to know what it loads, to write files, tokio.

mod load;
mod source;
mod watched;
mod watcher;

pub use load::{Failure, Load, Stop};
pub use source::Source;
pub use watched::{Fault, Generation, Guard, Polled, Status, Watched};
pub use watcher::{POLL_EVERY, Poll, Watcher, WatcherError};
