//! What MariaDB and MySQL write differently, and how much of it fits one statement.

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
