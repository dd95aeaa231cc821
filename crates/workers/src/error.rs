//! Names the reasons for which a pool cannot be started at all.
//!
//! Invariant: an error names its pool, and hints at what to change, unless the system lacked
//! threads or processes.
//! Never here: errors of a configuration (`config.rs`), why a request gets no worker (`LendError`
//! in `pool.rs`), and what happens to workers later (`Incident` in `status.rs`).

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::plan::Plan;

/// A pool cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkersError {
    /// The Python that was named is not there.
    #[error(
        "pool `{pool}`: there is no interpreter {looked_for}; hint: name the app's Python with \
         `interpreter`, such as \".venv/bin/python\""
    )]
    NoInterpreter {
        /// The pool.
        pool: String,
        /// The path, or the name and where it was looked for.
        looked_for: String,
    },
    /// The directory that the app is imported from is not there.
    #[error("pool `{pool}`: `{}` is no directory; hint: set `app_dir`", path.display())]
    NoAppDir {
        /// The pool.
        pool: String,
        /// Where the app was said to be.
        path: PathBuf,
    },
    /// The path of a socket would be longer than the system can name.
    #[error(
        "pool `{pool}`: the path of its sockets' directory `{}` has {bytes} bytes, and may have \
         {max}; hint: set `dir` to a shorter path", dir.display()
    )]
    PathTooLong {
        /// The pool.
        pool: String,
        /// Its directory.
        dir: PathBuf,
        /// How long its path is.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The pool's directory is another running pool's.
    #[error(
        "pool `{pool}`: `{}` and the directory beside it are in use by two other pools or \
         processes; hint: give each its own `dir`", dir.display()
    )]
    InUse {
        /// The pool.
        pool: String,
        /// Its directory.
        dir: PathBuf,
    },
    /// The pool's directory cannot be used.
    #[error(
        "pool `{pool}`: {operation} `{}`; hint: `dir` must be writable for this user",
        path.display()
    )]
    Dir {
        /// The pool.
        pool: String,
        /// What was tried.
        operation: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system gave no thread or no process.
    #[error("pool `{pool}`: start its processes")]
    Thread {
        /// The pool.
        pool: String,
        /// What the system says.
        source: io::Error,
    },
}

impl WorkersError {
    /// What the system said when the first process was to be started.
    pub(crate) fn of_start(plan: &Plan, source: io::Error) -> Self {
        let pool = plan.name.clone();
        let is_missing = matches!(source.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
        if !is_missing {
            return Self::Thread { pool, source };
        }
        let path = plan.interpreter.display();
        let is_name = plan.interpreter.components().count() == 1;
        let place = if is_name { " in any directory of `PATH`" } else { "" };
        Self::NoInterpreter {
            pool,
            looked_for: format!("`{path}`{place} that can be run: {source}"),
        }
    }
}
