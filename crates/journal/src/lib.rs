//! Keeps a durable log of lines in a directory and lets it be used as a queue: append, sync,
//! rotate, tail, resume.
//!
//! Lines go from lanes, one per I/O core, through one `writer` into segments. A `syncer` makes them
//! durable. A `sealer` compresses segments and deletes old ones. A `reader` in any process follows
//! the files; crate `recount` reads segments by code of its own.
//!
//! | file | holds |
//! |---|---|
//! | `00000000000000000017.log` | lines from offset 17 on |
//! | `00000000000000000017.log.zst` | the same, sealed and compressed |
//! | `synced` | up to which offset readers may read |
//! | `consumers/NAME` | from which offset on lines are kept for a consumer |
//! | `readers/NAME` | how far somebody has read for whom nothing is kept |
//! | `sessions` | at which offset each process that wrote began |
//! | `lock` | locked by the one process that writes |
//!
//! An offset is a position in the journal as a whole, in plain bytes, just after a complete line.
//! Sinks store places (`place`), and directories outlive versions: names and formats must stay
//! readable. Invariant: a line whose ticket says that it is durable survives a kill and a power
//! cut. It is there until retention deletes its segment. A full lane, a full disk and a full byte
//! cap block nobody: `options::OnFull` says whether lines are dropped or refused, and they are
//! counted. Refuses: to know what a line says, to let an append wait for the disk, to write from
//! two processes.

mod backlog;
mod bell;
mod buffer;
mod consumer;
mod dir;
mod durable;
mod error;
mod evidence;
mod file_reader;
mod health;
mod hold;
mod intake;
mod journal;
mod lane;
mod limit;
mod open;
mod options;
mod place;
mod reader;
mod retention;
mod seal;
mod sealer;
mod segment;
mod sessions;
mod signal;
mod syncer;
mod ticket;
mod writer;

pub use backlog::Unread;
pub use consumer::{Bookmark, Consumer};
pub use error::{JournalError, Unrecorded};
pub use journal::{Health, Journal, Stats};
pub use lane::Lane;
pub use options::{Keep, OnFull, Options, Sync};
pub use place::{Change, Displaced, NoPlace, Place};
pub use reader::{JournalLines, JournalRead, Reader};
pub use ticket::Ticket;

#[cfg(test)]
mod tests;
