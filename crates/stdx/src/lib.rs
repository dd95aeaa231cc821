//! Holds what std lacks and several crates need, and nothing about the product.
//!
//! It has clocks, the trait for disks, the opening of files that may be none, byte sizes,
//! durations, dates and retry delays. It has seeded random numbers, networks of addresses, the
//! limit of memory, and the names of HTTP's status codes. It has the error chain, local time, and
//! six Linux system calls. Each private module is one of these; this file only names them.
//! Invariant: this crate uses no other of the workspace. It brings few packages, because nearly
//! every crate builds it. Refuses: product nouns, tokio, the environment, and I/O other than files
//! and those calls.

mod backoff;
pub mod calendar;
mod chain;
mod clock;
mod disk;
mod memory;
mod network;
pub mod plain_file;
mod random;
mod reason;
mod size;
mod span;
mod system;

pub use backoff::Backoff;
pub use chain::Chain;
pub use clock::{Clock, ManualClock, SystemClock, unix_micros};
pub use disk::{Disk, DiskFile, FaultyDisk, FileIdentity, Lasting, Metadata, RealDisk};
pub use memory::memory_limit;
pub use network::{Network, NetworkError};
pub use random::{Random, mixed};
pub use reason::reason_phrase;
pub use size::{ByteSize, SizeError};
pub use span::{Span, SpanError};
pub use system::{
    cut_trains, end_with_reader, local_time, run_when_idle, take_passed, unacknowledged,
};
