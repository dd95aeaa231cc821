//! Defines what can stop a measurement, or the reading of one, by what its user has to mend.
//!
//! Most variants name the object: target, host, file, row, URL, line, command. `Trust`, `Journal`
//! and `Load` pass on errors of other crates; `Input` is for the rest.
//! The binary chooses by variant. `lab/misuse.rs` takes `File`, `Line` and what has an `io::Error`
//! as source for no wrong usage. Hints follow `Command`, `System`, `Echo` and `Load`. `Plan` of a
//! probe is wrong usage, and `cli/lab/probe.rs` shows only the reason of `Target`. So another
//! variant for the same error changes exit code or hint.
//! Never here: probed or loaded calls that fail, which the series counts. A run of a benchmarked
//! command that fails is an error, unless failures are ignored (`command/program.rs`).

use std::io;

use journal::JournalError;
use trust::TrustError;

/// A measurement that could not take place, or a file that holds none.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The text names nothing that can be probed: correct it.
    #[error("probe `{text}`: {reason}")]
    Target {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The plan contradicts itself: correct it.
    #[error("plan of the probe: {0}")]
    Plan(String),
    /// The system refused something that no call can do without.
    #[error("{what}")]
    System {
        /// What was asked of it.
        what: String,
        /// Its refusal.
        source: io::Error,
    },
    /// The system lets this user send no echo requests.
    #[error("send echo requests to `{host}`: neither a ping socket nor a raw one is allowed")]
    Echo {
        /// Where they were to go.
        host: String,
        /// The refusal of the raw socket.
        source: io::Error,
    },
    /// The authorities that servers are to be believed by cannot be read: name another file.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A file as a whole is not what it should be: name another.
    #[error("read `{file}`: {reason}")]
    File {
        /// Which file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A row is bad, and none may be: correct it, or read less strictly.
    #[error("{place}: {reason}")]
    Row {
        /// `file:line: column`.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// The journal cannot be read.
    #[error("read the journal")]
    Journal(#[from] JournalError),
    /// A URL that the generator cannot call: correct it.
    #[error("`{text}`: {reason}")]
    Url {
        /// What was written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What was asked for contradicts itself or is not there: correct it.
    #[error("{0}")]
    Input(String),
    /// A line of a file says something else than it should: correct it.
    #[error("read `{file}`, line {line}: {reason}")]
    Line {
        /// Which file.
        file: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A command did not succeed: mend it, or ignore its failures.
    #[error("`{command}`: {how} {when}")]
    Command {
        /// Its line.
        command: String,
        /// How it ended: `exit code 1`, `killed by signal 9`.
        how: String,
        /// When: `in run 3`, `as preparation`.
        when: String,
    },
    /// This process may open no further file or connection: let it.
    #[error("too many open files: raise `ulimit -n`")]
    Descriptors,
    /// The load generator could not begin.
    #[error(transparent)]
    Load(#[from] load::LoadError),
}

/// What the system says, without its number.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
