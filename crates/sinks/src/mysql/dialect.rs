//! Says what MariaDB and MySQL write differently in SQL, and how many rows go into one statement.
//!
//! Plain data; `sql.rs` writes the statements with it. Sums stop at the bounds of `sanitise.rs`,
//! which `recount` knows, too (`expected.rs`).

use pipeline::Kind;

use crate::sql::Dialect;

/// Rows of one statement; more gain nothing.
pub(super) const ROWS_AT_ONCE: usize = 500;

pub(super) const DIALECT: Dialect = Dialect {
    quote: '`',
    types: ["longtext", "bigint", "double", "datetime(6)", "longblob"],
    also: &[],
    also_in_keys: &["varchar"],
    incoming: ("VALUES(", ")"),
    on_conflict: " ON DUPLICATE KEY UPDATE ",
    least_greatest: ("LEAST", "GREATEST"),
    computed: "STORED",
    sums_stop_at: Some([(Kind::Integer, "4611686018427387903"), (Kind::Real, "1e300")]),
};
