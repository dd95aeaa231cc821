//! Builds, checks and looks up profile files: which users have a profile, and what is in it.
//!
//! A profile file is SQLite. `Profiles` serves look-ups from the newest good file and swaps in
//! another when it appears. `Builder` writes a file from reads, which `rebuild_from_journal` and
//! `rebuild_from_query` supply. `BuildScheduler` repeats a build. `config` reads `[profiles]`;
//! `check` and `inspect` are for operators.
//!
//! Invariants: a look-up returns no error. Without a good file it is `Lookup::NoGeneration`, and
//! where the file fails to answer `Lookup::Broken`. After the full check, presence comes from
//! memory, whatever happens to the file. A build replaces the file by one rename and never writes
//! into it.
//! Refuses: to repair or write to the file it serves, or to map it into memory, since a truncated
//! mapping kills the process. Refuses tokio and HTTP.

mod builder;
mod changes;
mod checks;
pub mod config;
mod connections;
mod error;
mod file;
mod filter;
mod handle;
mod header;
mod inspect;
mod key;
mod key_text;
mod meta;
mod options;
mod profile;
mod query;
mod rebuild;
mod samples;
mod scheduler;
mod schema;
mod state;
mod table;
#[cfg(test)]
mod tests;

pub use builder::{BuildOptions, BuildSummary, Builder, UserRead};
pub use error::ProfilesError;
pub use file::{FileStatus, ProfileFile};
pub use handle::{Profiles, Status};
pub use inspect::{CheckReport, Inspection, UserInspection, check, inspect};
pub use key::UserKey;
pub use options::FileOptions;
pub use profile::{Profile, ProfileError};
pub use query::{TakeRow, rebuild_from_query};
pub use rebuild::{
    BuildComparison, Output, compare_with_whole, forget_journal, rebuild_from_journal,
};
pub use scheduler::{BuildOutcome, BuildScheduler, LastBuild};
pub use schema::Schema;

/// What a look-up found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// No good file has been seen yet.
    NoGeneration,
    /// The file in use fails to answer: it was changed in place, or is corrupt.
    Broken,
    /// The user has no profile, or the id is empty or longer than the limit.
    Absent,
    /// The user has a profile.
    Present,
}
