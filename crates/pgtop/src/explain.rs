//! Asks for the plan of a query, in the database that it runs in.
//!
//! A connection of its own is made for it, which only reads and gives up as the others do. Its end
//! ends the transaction. A query with `$1` is prepared first, and its generic plan is shown, which
//! every version from 12 on can.
//! Invariants: the text is one statement, or the server refuses it, because the extended protocol
//! takes no second one. The options stand in parentheses, so that a text which begins with
//! `ANALYZE` cannot become a part of the command: nothing is executed.
//! Names of the query are looked up in `pg_catalog` first, then where the database says. That is
//! set for one transaction, which only reads, and the first line of the plan says it.
//! What remains: planning runs functions that their owners call immutable, as this role. It should
//! be one with `pg_monitor`, and no superuser.

use crate::address::PgAddress;
use crate::connection::{MISSING_VALUES, PgConnection, PgError};
use crate::sample::grant;
use crate::value::SqlScalar;

/// SQLSTATE of a lack of rights.
const DENIED: &str = "42501";
const EXPLAIN: &str = "EXPLAIN (FORMAT TEXT)";

/// `pg_catalog`, and what a session of this role in this database would have by itself.
const SEARCH_PATH: &str = "\
SELECT 'pg_catalog, ' || coalesce((SELECT substr(setting, 13) \
FROM pg_catalog.pg_db_role_setting, LATERAL unnest(setconfig) AS setting \
WHERE setting LIKE 'search_path=%' AND setdatabase IN (0, (SELECT oid FROM \
pg_catalog.pg_database WHERE datname = current_database())) AND setrole IN (0, (SELECT oid FROM \
pg_catalog.pg_roles WHERE rolname = session_user)) \
ORDER BY setrole = 0 OR setdatabase = 0, setrole = 0, \
setdatabase = 0 LIMIT 1), '\"$user\", public')";

/// Returns the plan of a query in a database of a server.
///
/// # Errors
/// When the database cannot be connected to, or the server does not plan the text.
pub fn explain(address: &PgAddress, database: &str, query: &str) -> Result<String, PgError> {
    let address = PgAddress { database: database.to_owned(), ..address.clone() };
    let mut connection = PgConnection::open(&address)?;
    let rows = connection.once(SEARCH_PATH)?;
    let path = rows.first().and_then(|row| row[0].text()).unwrap_or("pg_catalog").to_owned();
    connection.once("BEGIN READ ONLY")?;
    connection.rows("SELECT pg_catalog.set_config('search_path', $1, true)", &[&path])?;
    let rows = match connection.once(&format!("{EXPLAIN} {query}")) {
        // Our own refusal, before the server has run anything: the transaction is as it was.
        Err(PgError::Answered { state, .. }) if state == MISSING_VALUES => {
            generic(&mut connection, query)
        }
        planned => planned,
    };
    let rows = match rows {
        Err(PgError::Answered { state, message }) if state == DENIED => {
            let help = grant("pg_read_all_data", &address.user);
            let message = format!("{message}: GRANT SELECT on it, or {help}");
            return Err(PgError::Answered { state, message });
        }
        rows => rows?,
    };
    let lines = rows.iter().filter_map(|row| row.first().and_then(SqlScalar::text));
    let first = format!("search_path: {path}");
    Ok([&*first].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
}

fn generic(connection: &mut PgConnection, query: &str) -> Result<Vec<Vec<SqlScalar>>, PgError> {
    connection.once("SET plan_cache_mode = force_generic_plan")?;
    connection.once(&format!("PREPARE pgtop_explained AS {query}"))?;
    let rows = connection.once(
        "SELECT cardinality(parameter_types) FROM pg_catalog.pg_prepared_statements \
         WHERE name = 'pgtop_explained'",
    )?;
    let count = rows.first().and_then(|row| row[0].whole()).unwrap_or(0);
    let values = vec!["NULL"; usize::try_from(count).unwrap_or(0)].join(", ");
    connection.once(&format!("{EXPLAIN} EXECUTE pgtop_explained({values})"))
}
