//! Reads the whole text of one query, if it is still the one that was seen.
//!
//! A frame has the beginnings of queries only. Refuses: a session's next query, and what was cut
//! by the server is said to be.

use crate::activity;
use crate::connection::PgError;
use crate::frame::QueryIdentity;
use crate::sample::FrameSource;
use crate::value::ServerTime;

/// A query's text, as much of it as the server keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeText {
    /// The text.
    pub text: String,
    /// The database that it runs in.
    pub database: String,
    /// Whether the server has cut it (`track_activity_query_size`).
    pub is_cut: bool,
}

impl FrameSource {
    /// Returns the whole text of a query that still runs; nothing where it has ended.
    ///
    /// # Errors
    /// When the server has gone, or refuses.
    pub fn whole_text(&mut self, identity: QueryIdentity) -> Result<Option<WholeText>, PgError> {
        let start = ServerTime(identity.backend_start_us);
        let query = identity.query_start_us.map(ServerTime);
        let rows = self.run(|connection| {
            connection.rows(activity::WHOLE_TEXT, &[&identity.pid, &start, &query])
        })?;
        Ok(rows.first().map(|row| {
            let text = row[0].text().unwrap_or_default().to_owned();
            let bytes_max = row[2].whole().unwrap_or(i64::MAX);
            // The server keeps a byte for the end.
            let is_cut = text.len() as i64 >= bytes_max - 1;
            WholeText { text, database: row[1].text().unwrap_or_default().to_owned(), is_cut }
        }))
    }
}
