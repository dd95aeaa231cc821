//! What std lacks, and nothing about the product: clock, byte sizes, durations, disk, error chain.
//!
//! Refuses: product nouns, tokio, I/O of its own beyond the disk.

mod chain;
mod clock;
mod size;
mod span;

pub use chain::Chain;
pub use clock::{Clock, ManualClock, SystemClock, unix_micros};
pub use size::ByteSize;
pub use span::{Span, SpanError};
