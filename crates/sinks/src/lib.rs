//! Delivers batches into engines, one module each, and reads rows back from those that know SQL.
//!
//! [`open`] makes the [`pipeline::Sink`] of an address; it connects at the first call. Engines are
//! SQLite, files, ClickHouse, PostgreSQL, MySQL, Kafka and MongoDB. Also here: queries (`rows`,
//! `read_back`, [`ask`]), and files of training examples (`examples`). `rows` repeats the schemes
//! and default ports of SQL engines.
//! The modules of SQL engines share `sql` (statements), `existing` (tables that are there),
//! `readable` (numbers beside sketches), and `sanitise` (values that a server takes).
//! The feature `drivers` brings the drivers that take long to compile; `drivers` names them. The
//! crate's public items are the same with and without it.
//! Invariant: a batch counts once, however often it is delivered (bounds: each module, above all
//! `clickhouse`). SQL engines, Kafka and files commit rows and checkpoint at once. ClickHouse and
//! MongoDB write the batch first, and the next claim finishes it; readers may see a part of it.
//! Refuses: to decide what is delivered or when, and how often it is tried again (`pipeline`).

#![cfg_attr(
    not(feature = "drivers"),
    expect(dead_code, reason = "modules that all engines share have functions for drivers only")
)]

mod address;
mod attempt;
mod clickhouse;
mod drivers;
mod examples;
mod existing;
mod files;
mod json;
#[cfg(feature = "drivers")]
mod kafka;
#[cfg(feature = "drivers")]
mod mongodb;
#[cfg(feature = "drivers")]
mod mysql;
#[cfg(feature = "drivers")]
mod postgres;
mod read_back;
mod readable;
mod rows;
#[cfg(feature = "drivers")]
mod runtime;
#[cfg(feature = "drivers")]
mod sanitise;
mod sql;
mod sqlite;
mod take_row;
mod time;
#[cfg(feature = "drivers")]
mod tls;

use std::path::{Path, PathBuf};

use files::Format;
use pipeline::Sink;
#[cfg(feature = "drivers")]
use {
    address::ServerAddress, kafka::KafkaSink, mongodb::MongoSink, mysql::MySqlSink,
    postgres::PostgresSink,
};

pub use clickhouse::ClickHouseSink;
pub use drivers::DriverLeftOut;
pub use examples::{COLUMNS as EXAMPLE_COLUMNS, CsvExamples, ParquetExamples};
pub use files::FileSink;
pub use read_back::{OwnedCell, ReadBack, ReadBackError, ReadBackQuery, read_back};
pub use rows::{RowsError, begins_as_reading, check_query_url, query_sink, rows, runs_queries};
pub use sqlite::{Query, QueryAnswer, QueryError, SqliteSink, ask, ask_sql, copy};
pub use take_row::TakeRow;

/// A sink's address that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    /// No engine has this scheme.
    #[error(
        "`{scheme}` is no engine; there are `sqlite:FILE`, `ndjson:DIR`, `csv:DIR`, \
         `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, `mysql://` and \
         `mariadb://` likewise, `kafka://HOST:PORT/PREFIX`, \
         `clickhouse://USER:PASSWORD@HOST:PORT/DATABASE`, `mongodb://` likewise"
    )]
    Scheme {
        /// What stands before the colon.
        scheme: String,
    },
    /// This build leaves out the engine's driver.
    #[error(transparent)]
    Driver(#[from] DriverLeftOut),
    /// Something is missing.
    #[error("`{url}` names no {what}")]
    Incomplete {
        /// The address.
        url: String,
        /// What it lacks.
        what: &'static str,
    },
    /// Something in it makes no sense.
    #[error("`{url}`: {reason}")]
    Wrong {
        /// The address, without its password.
        url: String,
        /// What makes no sense.
        reason: String,
    },
}

/// A sink for `url`; relative paths start at `root`. Nothing is connected yet.
///
/// # Errors
/// When the address names no engine, or lacks something.
pub fn open(url: &str, root: &Path) -> Result<Box<dyn Sink>, UrlError> {
    let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
    match scheme {
        "sqlite" if rest.is_empty() => {
            Err(UrlError::Incomplete { url: url.to_owned(), what: "file" })
        }
        #[cfg(feature = "drivers")]
        "mongodb" => Ok(Box::new(MongoSink::new(url)?)),
        "ndjson" | "csv" if rest.is_empty() => {
            Err(UrlError::Incomplete { url: url.to_owned(), what: "directory" })
        }
        "ndjson" => Ok(Box::new(FileSink::new(&root.join(rest), Format::Ndjson))),
        "csv" => Ok(Box::new(FileSink::new(&root.join(rest), Format::Csv))),
        #[cfg(feature = "drivers")]
        "mysql" | "mariadb" => {
            Ok(Box::new(MySqlSink::new(ServerAddress::parse(scheme, rest, 3306, root)?)))
        }
        #[cfg(feature = "drivers")]
        "postgres" | "postgresql" => {
            Ok(Box::new(PostgresSink::new(ServerAddress::parse(scheme, rest, 5432, root)?)))
        }
        "sqlite" => Ok(Box::new(SqliteSink::new(&root.join(rest)))),
        "clickhouse" => Ok(Box::new(ClickHouseSink::new(rest, root)?)),
        #[cfg(feature = "drivers")]
        "kafka" => Ok(Box::new(KafkaSink::new(url)?)),
        _ => {
            DriverLeftOut::check(scheme)?;
            // What is no scheme may be a password.
            let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
            let shown = if is_scheme && url.contains(':') { scheme } else { "…" };
            Err(UrlError::Scheme { scheme: shown.to_owned() })
        }
    }
}

/// The file or directory that a sink writes on this machine; none for an engine elsewhere.
pub fn local_path(url: &str, root: &Path) -> Option<PathBuf> {
    let (scheme, rest) = url.split_once(':')?;
    matches!(scheme, "sqlite" | "ndjson" | "csv").then(|| root.join(rest))
}

#[cfg(test)]
mod tests;
