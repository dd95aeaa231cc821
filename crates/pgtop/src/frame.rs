//! Holds what was seen of a server at one moment, as plain data.
//!
//! A [`PgFrame`] goes to the screen, into recordings and out as JSON, always in the same form.
//! Times are microseconds since 1970 by the server's clock, so that ages need no clock of ours.
//! Invariant: there is no password in a frame.
//! Never here: how it is read (`sample.rs`), and what is made of it (`view.rs`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::SqlScalar;

/// What PostgreSQL shows instead of another role's query.
const HIDDEN: &str = "<insufficient privilege>";

/// What was seen at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PgFrame {
    /// When, by the server's clock.
    pub time_us: i64,
    /// The server as a whole.
    pub server: ServerFacts,
    /// Its sessions and workers, without the one that asks.
    pub sessions: Vec<PgSession>,
    /// Rows of further views, by the view's name; those that were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grids: BTreeMap<String, Grid>,
    /// What could not be seen, and what would help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A server as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// What it is watched by, such as `db1:5432/shop`.
    #[serde(default)]
    pub name: String,
    /// Such as `15.14`.
    pub version: String,
    /// Such as 150014.
    pub version_number: i64,
    /// When the server was started.
    pub started_us: i64,
    /// Sessions that it lets in.
    pub connections_max: i64,
    /// Whether it follows another one.
    pub is_standby: bool,
    /// Seconds by which a standby is behind, where it says so.
    pub lag_s: Option<f64>,
    /// The database that is connected to.
    pub database: String,
    /// Which keys the role lacks rights for, with the GRANT; empty where it has them.
    #[serde(default)]
    pub rights: String,
    /// Transactions since the oldest that vacuum must respect for a prepared one or a slot.
    #[serde(default)]
    pub reserved_xmin_age: Option<i64>,
    /// When the oldest transaction was prepared that is so still.
    #[serde(default)]
    pub prepared_us: Option<i64>,
    /// Sums over all databases.
    pub totals: DatabaseTotals,
    /// Transactions that reading frames has made on this connection.
    pub watching_transactions: i64,
}

/// Sums over all databases, since their statistics were reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseTotals {
    /// Transactions that were committed.
    pub commits: i64,
    /// Transactions that were rolled back.
    pub rollbacks: i64,
    /// Blocks that came from outside the buffers.
    pub blocks_read: i64,
    /// Blocks that were in the buffers.
    pub blocks_hit: i64,
    /// Rows that scans of tables read, and entries that scans of indexes read (`tup_returned`).
    #[serde(default)]
    pub rows_returned: i64,
    /// Rows that were inserted.
    pub rows_inserted: i64,
    /// Rows that were updated.
    pub rows_updated: i64,
    /// Rows that were deleted.
    pub rows_deleted: i64,
    /// Bytes of temporary files.
    pub temp_bytes: i64,
    /// Deadlocks.
    pub deadlocks: i64,
}

/// Which query of which session: what a signal is checked against.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct QueryIdentity {
    /// The process.
    pub pid: i32,
    /// When the session began.
    pub backend_start_us: i64,
    /// When its query began; nothing where it has run none.
    pub query_start_us: Option<i64>,
}

/// A session or a worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PgSession {
    /// Which query of which session.
    #[serde(flatten)]
    pub identity: QueryIdentity,
    /// Whose it is.
    #[serde(flatten)]
    pub client: SessionClient,
    /// When its transaction began.
    pub transaction_start_us: Option<i64>,
    /// When its state changed.
    pub state_change_us: Option<i64>,
    /// Such as `active` or `idle in transaction`; workers may have none.
    pub state: String,
    /// Such as `client backend`; empty where the role may not see it.
    pub kind: String,
    /// What it waits for: the class and the event.
    pub wait: Option<(String, String)>,
    /// Its transaction's number, once it has written.
    pub xid: Option<i64>,
    /// By how many transactions it holds vacuum back.
    pub xmin_age: Option<i64>,
    /// What `pg_stat_statements` knows its query by (from PostgreSQL 14 on).
    pub query_id: Option<i64>,
    /// The session that a parallel worker works for (from PostgreSQL 13 on).
    pub leader: Option<i32>,
    /// The beginning of its query.
    pub query: String,
    /// Which sessions it waits for; read for the views of locks only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<BlockedSession>,
}

/// Whose session it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClient {
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// The client's address; empty for a local socket.
    pub address: String,
    /// The name of this address, where it was looked up.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host_name: String,
    /// What the client calls itself.
    pub application: String,
}

/// What a session waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedSession {
    /// The processes that hold what it wants, or wanted it before; 0 is a prepared transaction.
    pub blockers: Vec<i32>,
    /// What it wants, such as `relation 16384 AccessExclusiveLock`.
    pub lock: String,
    /// Since when (from PostgreSQL 14 on).
    pub start_us: Option<i64>,
}

/// Rows with named columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<SqlScalar>>,
}

impl PgFrame {
    /// Returns how many clients' sessions the role may not see, and what would help, if any.
    pub fn hidden(&self) -> Option<(usize, &str)> {
        let count = self.sessions.iter().filter(|it| it.is_client() && it.is_hidden()).count();
        let grant = self.missing.iter().find_map(|it| Some(&it[it.find("GRANT pg_monitor")?..]));
        (count > 0).then(|| (count, grant.unwrap_or("GRANT pg_monitor")))
    }
}

impl PgSession {
    /// Returns whether a client's query is under way.
    pub fn is_running(&self) -> bool {
        self.is_client() && matches!(self.state.as_str(), "active" | "fastpath function call")
    }

    /// Returns whether it is a client's session. What a role may not see has no kind: then it is
    /// one if it has a database.
    pub fn is_client(&self) -> bool {
        let is_hidden = self.kind.is_empty() && !self.client.database.is_empty();
        is_hidden || self.kind == "client backend"
    }

    /// Returns whether the role may not see what it does.
    pub fn is_hidden(&self) -> bool {
        self.state.is_empty() && self.query == HIDDEN
    }

    /// Returns whether it holds a transaction open without running anything.
    pub fn is_idle_in_transaction(&self) -> bool {
        self.state.starts_with("idle in transaction")
    }

    /// Returns whether it waits for a lock that another session holds.
    pub fn waits_for_lock(&self) -> bool {
        self.wait.as_ref().is_some_and(|(class, _)| class == "Lock")
    }

    /// Returns since when it is in its state: a query since it began, all else since the change.
    pub fn since_us(&self) -> Option<i64> {
        let query = self.identity.query_start_us;
        if self.state == "active" { query.or(self.state_change_us) } else { self.state_change_us }
    }

    /// Returns how long it is in its state at a moment of the server; never below 0.
    pub fn age_us(&self, now_us: i64) -> Option<i64> {
        self.since_us().map(|since| (now_us - since).max(0))
    }

    /// Returns the class of what an active session waits for: `CPU` where it waits for nothing.
    pub fn wait_class(&self) -> &str {
        self.wait.as_ref().map_or("CPU", |(class, _)| class)
    }

    /// Returns what it waits for.
    pub fn wait_event(&self) -> &str {
        self.wait.as_ref().map_or("CPU", |(_, event)| event)
    }
}

impl Grid {
    /// Returns a value by the name of its column.
    pub fn value(&self, row: &[SqlScalar], column: &str) -> SqlScalar {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| row.get(at)).cloned().unwrap_or_default()
    }
}
