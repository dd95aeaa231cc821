//! Holds how a profile file is read and what makes it fit, for `file.rs` and `checks.rs`.
//!
//! Plain data with defaults; `config.rs` fills it from `[profiles]` and checks the values. No key
//! sets `schema` and `connections`, which keep their defaults. The other defaults stand in
//! `config.rs` again; `inspect.rs` goes by those here. Nothing here depends on a build, whose
//! options are `BuildOptions` in `builder.rs`.

use crate::key::UserKey;
use crate::schema::Schema;

/// How a profile file is read, and what makes it fit.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// Names of the table and its columns.
    pub schema: Schema,
    /// How a user's id becomes a key.
    pub user_key: UserKey,
    /// Ids longer than this have no profile; 100.
    pub id_bytes_max: usize,
    /// A file with fewer rows is refused; 0.
    pub rows_min: u64,
    /// A file that lost more than this share of the last good one's rows is refused; 0.5. Not
    /// applied when the last good one had fewer than 100.
    pub shrink_max: f64,
    /// Threads that look up without meeting each other; two more than there are cores, at most 64.
    pub connections: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            schema: Schema::default(),
            user_key: UserKey::default(),
            id_bytes_max: 100,
            rows_min: 0,
            shrink_max: 0.5,
            connections: (cores + 2).min(64),
        }
    }
}
