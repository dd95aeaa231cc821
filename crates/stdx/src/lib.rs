//! What std lacks, and nothing about the product: clock, byte sizes, durations, disk, error chain.
//!
//! Invariant: a crate that uses this builds few packages more. Refuses: product nouns, tokio, I/O
//! beyond the disk and a few system calls.

mod backoff;
pub mod calendar;
mod chain;
mod clock;
mod disk;
mod random;
mod size;
mod span;
mod system;

pub use backoff::Backoff;
pub use chain::Chain;
pub use clock::{Clock, ManualClock, SystemClock, unix_micros};
pub use disk::{Disk, DiskFile, FaultyDisk, FileIdentity, Lasting, Metadata, RealDisk};
pub use random::{Random, mixed};
pub use size::ByteSize;
pub use span::{Span, SpanError};
pub use system::{cut_trains, run_when_idle};
