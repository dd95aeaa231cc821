//! Keeps a trail of operators' actions: append-only, chained by hashes, witnessed by syslog.
//!
//! [`ActionRecorder`] writes an entry before an action and one after it. [`read`] returns the
//! actions with each place where the chain breaks. [`compare`] holds a file of syslog against the
//! trail. Invariants: an entry is on disk before its action begins, or the action is refused or
//! done and said, as [`OnFull`] tells. Nothing in a trail is overwritten, shortened or removed
//! here. Several processes may write one trail at once. Bounds: an entry has at most 128 KB, a file
//! 16 MB, a datagram 2,000 bytes; longer text is cut. Refuses: what an action does, who may act,
//! the environment, and questions to the network.

mod actor;
mod entry;
mod files;
mod head;
mod process;
mod reading;
mod recorder;
mod secrets;
mod syslog;
mod trail;
mod witness;

#[cfg(test)]
mod tests;

pub use actor::Actor;
pub use entry::{Kind, rfc3339};
pub use process::{connection_uid, user_name};
pub use reading::{AuditedAction, Break, BreakKind, Note, Reading, read};
pub use recorder::{ActionRecorder, Begun, OnFull, Options};
pub use secrets::{pair_without_secrets, without_secrets, words_without_secrets};
pub use trail::{Trail, TrailError};
pub use witness::{Contradiction, Witnesses, compare};
