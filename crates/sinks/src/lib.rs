//! Where the pipeline delivers: one module per engine, all of the same anatomy.
//!
//! Each module has a struct that holds the connection, `connect`, and the three methods of
//! [`pipeline::Sink`]. SQL texts come from `sql`, which knows the dialects.
//! Invariant: rows and checkpoint are committed together or not at all.

mod sql;
mod sqlite;

use std::path::Path;

use pipeline::Sink;

pub use sqlite::SqliteSink;

/// A sink's address that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    /// No engine has this scheme.
    #[error("`{scheme}` is no engine; there is sqlite:FILE")]
    Scheme {
        /// What stands before the colon.
        scheme: String,
    },
    /// Something is missing.
    #[error("`{url}` names no {what}")]
    Incomplete {
        /// The address.
        url: String,
        /// What it lacks.
        what: &'static str,
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
        "sqlite" => Ok(Box::new(SqliteSink::new(&root.join(rest)))),
        _ => Err(UrlError::Scheme { scheme: scheme.to_owned() }),
    }
}
