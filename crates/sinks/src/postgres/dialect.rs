//! Says what PostgreSQL writes differently in SQL, and names the column of row numbers in twins.
//!
//! Plain data; `sql.rs` writes the statements with it. Sums stop at the bounds of `sanitise.rs`,
//! which `recount` knows, too (`expected.rs`).

use pipeline::Kind;

use crate::sql::Dialect;

/// The column of a temporary twin that holds the number of the row. No column of a rollup has this
/// name.
pub(super) const ROW: &str = "\"#\"";

pub(super) const DIALECT: Dialect = Dialect {
    quote: '"',
    types: ["text", "bigint", "double precision", "timestamp with time zone", "bytea"],
    also: &["character varying"],
    also_in_keys: &["text", "character varying"],
    incoming: ("excluded.", ""),
    on_conflict: " ON CONFLICT ({keys}) DO UPDATE SET ",
    least_greatest: ("LEAST", "GREATEST"),
    computed: "STORED",
    sums_stop_at: Some([(Kind::Integer, "4611686018427387903"), (Kind::Real, "1e300")]),
};
