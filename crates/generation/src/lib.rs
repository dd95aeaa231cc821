//! Keeps values built from files fresh: watches each file, loads it, swaps whole, keeps the last
//! good.
//!
//! One mechanism serves everything that is replaced as a whole while the process runs, such as
//! profiles and models. `Watched` owns one file and the `Generation` built from it. `Watcher` polls
//! a set of them, with a pause of 200 ms. `Load` is what the owner of a kind of file implements.
//!
//! Invariant: a reader sees nothing, or one complete generation that its `load` returned. A file
//! that is missing or refused leaves the generation in use. If the full check of the generation in
//! use fails, the last one that passed returns. If none has passed, readers see nothing.
//! Refuses: to know what it loads, to write files, tokio.

mod file_version;
mod load;
mod watched;
mod watcher;

pub use file_version::FileVersion;
pub use load::{Failure, Load, Stop};
pub use watched::{FileProblem, Generation, Guard, Polled, Status, Watched};
pub use watcher::{POLL_INTERVAL, Poll, Watcher, WatcherError};
