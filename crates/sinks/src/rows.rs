//! Runs any query in SQLite, PostgreSQL, MariaDB or MySQL, and hands over its rows one by one.
//!
//! Also here: which engines run queries, and which `[[sink]]` the query of another section runs in.
//! Values are texts but for blobs of SQLite, which are bytes.
//! The engine is asked to change nothing. In servers that guards against mistakes, not against
//! hostile text, which may undo the setting. In SQLite no text can (`sqlite/read_only.rs`).
//! Refuses: engines that know no SQL (ClickHouse is not asked either), and limits to how long the
//! engine may take: who asked can wait.
//! `events query`, `read_back.rs` and the profiles' `query` call it. `profiles/src/query.rs`
//! (`unix_ms`) reads times in the forms that are handed over here: another form needs a change
//! there. A new engine also goes into `runs_queries`, both messages that list the engines, and
//! `SqlEngine` in `read_back.rs`. Default ports stand in `open` (`lib.rs`), too.

use std::path::Path;

use pipeline::{SinkError, SinkPlan};

use crate::take_row::TakeRow;
use crate::{DriverLeftOut, UrlError, sqlite};
#[cfg(feature = "drivers")]
use crate::{address::ServerAddress, mysql, postgres};

/// How queries begin that only read.
const READING: [&str; 4] = ["select", "with", "values", "table"];

/// A query gave no rows, or not all.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The engine is not there, or does not want the query.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// Its address makes no sense.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It runs no queries.
    #[error("`{scheme}` runs no query; SQLite, PostgreSQL, MariaDB and MySQL do")]
    Engine {
        /// What stands before the colon.
        scheme: String,
    },
}

/// The sink among `sinks` whose engine runs the query of another section: the one called `name`,
/// or without a name the only one there is.
///
/// # Errors
/// Why there is none, for whoever wrote the configuration.
pub fn query_sink<'p>(name: Option<&str>, sinks: &'p [SinkPlan]) -> Result<&'p SinkPlan, String> {
    let sink = match (name, sinks) {
        (Some(name), _) => sinks
            .iter()
            .find(|sink| sink.name == *name)
            .ok_or_else(|| format!("`{name}` is no [[sink]]"))?,
        (None, [only]) => only,
        (None, []) => return Err("is missing, and there is no [[sink]] to run `query` in".into()),
        (None, _) => return Err("is missing; name the [[sink]] that `query` runs in".into()),
    };
    if !runs_queries(&sink.url) {
        let name = &sink.name;
        return Err(format!("`{name}` runs no query; SQLite, PostgreSQL, MariaDB and MySQL do"));
    }
    Ok(sink)
}

/// Checks that the engine at `url` runs queries, and that the address makes sense. Nothing is
/// connected.
///
/// # Errors
/// What is wrong with it.
pub fn check_query_url(url: &str, root: &Path) -> Result<(), RowsError> {
    crate::open(url, root)?;
    let scheme = || url.split_once(':').map_or(url, |(scheme, _)| scheme).to_owned();
    match runs_queries(url) {
        true => Ok(()),
        false => Err(RowsError::Engine { scheme: scheme() }),
    }
}

/// Whether a query begins as one that only reads; comments and parentheses may stand before that.
///
/// It catches what was written by mistake, such as nothing or `SET`. It is no barrier: what follows
/// is for the engine to refuse.
pub fn begins_as_reading(query: &str) -> bool {
    let mut rest = query;
    loop {
        rest = rest.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        let comment = |begin, end| rest.strip_prefix(begin)?.split_once(end);
        match comment("--", "\n").or_else(|| comment("/*", "*/")) {
            Some((_, after)) => rest = after,
            None => break,
        }
    }
    let first = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    READING.iter().any(|word| word.eq_ignore_ascii_case(first))
}

/// Whether the engine at `url` runs queries.
pub fn runs_queries(url: &str) -> bool {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    matches!(scheme, "sqlite" | "postgres" | "postgresql" | "mysql" | "mariadb")
}

/// Runs `query` in the engine at `url`, as in [`open`](crate::open), and hands `take` each row.
///
/// # Errors
/// When the engine runs no queries, is not there, or refuses this one. What was handed over before
/// is then a part of the rows.
pub fn rows(url: &str, root: &Path, query: &str, take: &mut TakeRow<'_>) -> Result<(), RowsError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    match scheme {
        "sqlite" => sqlite::rows(&root.join(rest), query, take)?,
        #[cfg(feature = "drivers")]
        "postgres" | "postgresql" => {
            postgres::rows(&ServerAddress::parse(scheme, rest, 5432, root)?, query, take)?;
        }
        #[cfg(feature = "drivers")]
        "mysql" | "mariadb" => {
            mysql::rows(&ServerAddress::parse(scheme, rest, 3306, root)?, query, take)?;
        }
        _ => {
            DriverLeftOut::check(scheme).map_err(UrlError::from)?;
            return Err(RowsError::Engine { scheme: scheme.to_owned() });
        }
    }
    Ok(())
}
