//! Reads the sums of what was recorded so far, from the rollups of the demo's `tidegate.toml`.
//!
//! They are the rows that `tidegate events query` reads, and are about a second late. Names of
//! file, tables and columns must be those of `examples/news/tidegate.toml`.
//! Invariant: a database that is missing or cannot be read gives 0 and no error.

use std::path::Path;

use serde_json::Value;

const DATABASE: &str = "data/events.db";
const REQUESTS: &str = "SELECT route, decision, cache, SUM(count) FROM requests GROUP BY 1, 2, 3";
const READS: &str = "SELECT SUM(count) FROM reads_by_item";

/// Sums of the rollups.
#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: Vec<Group>,
    /// Reads of items.
    pub reads: u64,
}

#[derive(Debug)]
struct Group {
    route: String,
    decision: String,
    cache: String,
    count: u64,
}

impl Counts {
    /// Reads them; nothing as long as nothing was delivered.
    pub(super) fn read(dir: &Path) -> Self {
        let ask = |sql| sinks::ask_sql(&dir.join(DATABASE), sql).map(|answer| answer.rows);
        let requests = ask(REQUESTS).unwrap_or_default();
        let reads = ask(READS).unwrap_or_default();
        let reads = reads.first().and_then(|row| row[0].as_u64()).unwrap_or(0);
        Self { requests: requests.iter().map(|row| Group::new(row)).collect(), reads }
    }

    /// All requests.
    pub(super) fn all(&self) -> u64 {
        self.requests.iter().map(|group| group.count).sum()
    }

    /// Requests to a route.
    pub(super) fn of_route(&self, route: &str) -> u64 {
        self.sum(|group| group.route == route)
    }

    /// Requests to a route that were decided so.
    pub(super) fn decided(&self, route: &str, decision: &str) -> u64 {
        self.sum(|group| group.route == route && group.decision == decision)
    }

    /// Requests to a route that the cache answered so.
    pub(super) fn cached(&self, route: &str, cache: &str) -> u64 {
        self.sum(|group| group.route == route && group.cache == cache)
    }

    fn sum(&self, wanted: impl Fn(&Group) -> bool) -> u64 {
        self.requests.iter().filter(|group| wanted(group)).map(|group| group.count).sum()
    }
}

impl Group {
    fn new(row: &[Value]) -> Self {
        let text = |at: usize| row[at].as_str().unwrap_or_default().to_owned();
        let count = row[3].as_u64().unwrap_or(0);
        Self { route: text(0), decision: text(1), cache: text(2), count }
    }
}
