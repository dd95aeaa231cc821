//! Counts delivered lines again, from the log's first byte, and compares with what a sink holds.
//!
//! It exists to find mistakes of the delivery. So it shares no code with the delivery in which a
//! mistake could hide: no reader of lines, no window, no batch. Lines are read plainly ([`plain`]),
//! counted in maps ([`count`]), and compared cell by cell ([`compare`]).
//!
//! | it uses | since |
//! |---|---|
//! | plans, tables and rules of `pipeline` | both must answer the same question |
//! | [`pipeline::FileSource::extents`] | only its content tells which file holds a log |
//! | times, escapes, parameters and filters of `exchange` | each reads one text, and has tests |
//! | [`sinks::read_back`] | it reads SQL that the delivery never runs |
//! | sketches of `metrics` | a sketch of the same values has the same bytes |
//!
//! The binary copies the sink's contents of one moment into a SQLite file
//! (`tidegate/src/events/copy.rs`, by `SqliteSink`), and hands the file over with its checkpoints.
//! Invariant: file and log are only read, while others go on writing the log. The log is counted up
//! to the checkpoints handed over.
//! Refuses: to use a decoder of `pipeline` outside tests, to print, and to mend what differs.

mod columns;
mod compare;
mod count;
mod cut;
mod error;
mod escapes;
mod expected;
mod formats;
mod lines;
mod moment;
mod object;
mod plain;
mod scalar;
mod several;
mod shown;
mod sink;
mod sketch;
mod texts;
mod variable;
mod wrapped;

pub use error::RecountError;
pub use sink::{RollupComparison, SinkContents, SinkRecount, SourceCount};
