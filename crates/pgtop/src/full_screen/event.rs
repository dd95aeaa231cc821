//! What happens to the screen, and what it asks for: plain data.

use screen::Input;

use crate::frame::PgFrame;
use crate::signal::{SignalKind, SignalOutcome, Victim};

/// What happens.
#[derive(Debug, Clone)]
pub enum TopEvent {
    /// A server was read. A frame that is not full is a sample for the history alone.
    Frame {
        /// Which server.
        tab: usize,
        /// What was read.
        frame: Box<PgFrame>,
        /// Whether it is to be shown.
        is_full: bool,
    },
    /// A server cannot be read.
    Lost {
        /// Which server.
        tab: usize,
        /// Such as `GONE`.
        what: &'static str,
        /// Why, and what is done.
        reason: String,
    },
    /// A place of a recording was read.
    Replayed {
        /// Of which server.
        tab: usize,
        /// The frame to count from.
        before: Option<Box<PgFrame>>,
        /// The frame there.
        frame: Box<PgFrame>,
        /// Its number, from 0 on, and how many there are.
        place: (usize, usize),
    },
    /// Queries were signalled.
    Signalled {
        /// Which server.
        tab: usize,
        /// How.
        kind: SignalKind,
        /// What became of each.
        results: Vec<(Victim, SignalOutcome)>,
    },
    /// A text that was asked for has come: a title, and the text.
    Text(String, String),
    /// Something that was asked for is done.
    Done(String),
    /// Something that was asked for has failed.
    Failed(String),
    /// A key, a paste, another size.
    Input(Input),
    /// It is so late by this machine's clock, in microseconds since 1970.
    Time(i64),
}

/// What is to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum TopAction {
    /// The user leaves.
    Quit,
    /// A text goes to the clipboard.
    Copy(String),
    /// What is read of servers has changed.
    Watch,
    /// Frames are wanted each so many seconds.
    Delay(f64),
    /// Queries are to be signalled, if they still run.
    Signal {
        /// Which server.
        tab: usize,
        /// How.
        kind: SignalKind,
        /// Which queries.
        victims: Vec<Victim>,
    },
    /// The whole text of a query is wanted.
    WholeText(usize, Victim),
    /// The plan of a query is wanted.
    Explain(usize, Victim),
    /// Another place of a recording is wanted.
    Seek(SeekStep),
}

/// Where to go in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeekStep {
    /// So many frames on, or back.
    Frames(i64),
    /// So many seconds on, or back.
    Seconds(i64),
    /// To a time of the day of the frame that is shown, in seconds since midnight.
    TimeOfDay(i64),
    /// The same place again, for another view.
    Again,
}
