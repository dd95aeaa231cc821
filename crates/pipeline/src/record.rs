//! Joins both ends of the record process, which runs the pipelines beside the edge process.
//!
//! The edge process starts it and keeps it running with a [`RecordSupervisor`]. The record process
//! writes what a [`StatusBoard`] knows to its stdout, once a second. The edge process keeps the
//! last of these documents in a [`RecordStatus`].
//! Invariant: no end of the record process ends the edge process. When the edge process is gone,
//! the record process ends in order. Neither waits for the other while both run. Only the stop of
//! the edge process waits until the record process has ended, or kills it after 10 s.
//! Refuses: to read what is recorded. The journal's files are the only way for that.

mod board;
mod status;
mod supervisor;

pub use board::{BoardEntry, StatusBoard};
pub use status::RecordStatus;
pub use supervisor::{RecordSupervisor, SupervisorOptions};
