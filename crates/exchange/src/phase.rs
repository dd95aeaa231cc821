//! Names the steps of an exchange.
//!
//! One name serves as metric label, journal field, field of filters (`phase.NAME`) and
//! `Server-Timing` entry.
//! Invariant: a phase's index is its place in [`Phase::ALL`] and in `Exchange::phases`. Lines and
//! metrics carry names, so the order may change; a renamed phase is unknown in older lines.
//! A new phase needs a place in `COUNT`, `ALL` (in the order of the variants) and `name` here, and
//! in `PREFIXED` of `field.rs`. The page docs/operating/filters.md lists the names, too. Readers of
//! lines go by names, and need no change.
//! Never here: when a phase begins and ends. The gateway measures that (`gateway/src/trace.rs`).

/// A step of an exchange, in the order in which an exchange can pass through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Limits are checked, and the body of the request is received.
    Admit,
    /// The route is found.
    Route,
    /// It is decided who gets a personalised answer.
    Decide,
    /// The cache key is made.
    Key,
    /// The cache is asked.
    Lookup,
    /// Another exchange's flight is awaited.
    Wait,
    /// The upstream is asked.
    Fetch,
    /// Within the fetch: a free worker or thread is awaited.
    Queue,
    /// Features are gathered.
    Features,
    /// The model is evaluated.
    Score,
    /// The answer is stored.
    Store,
    /// The answer is written to the client.
    Respond,
    /// The exchange is recorded.
    Record,
}

impl Phase {
    /// The number of phases.
    pub const COUNT: usize = 13;

    /// Every phase; the index of a phase is its place in `Exchange::phases`.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Admit,
        Self::Route,
        Self::Decide,
        Self::Key,
        Self::Lookup,
        Self::Wait,
        Self::Fetch,
        Self::Queue,
        Self::Features,
        Self::Score,
        Self::Store,
        Self::Respond,
        Self::Record,
    ];

    /// Returns the name that logs, metrics and headers use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Route => "route",
            Self::Decide => "decide",
            Self::Key => "key",
            Self::Lookup => "lookup",
            Self::Wait => "wait",
            Self::Fetch => "fetch",
            Self::Queue => "queue",
            Self::Features => "features",
            Self::Score => "score",
            Self::Store => "store",
            Self::Respond => "respond",
            Self::Record => "record",
        }
    }

    /// Returns the phase of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Returns the place of this phase in `Exchange::phases`.
    pub const fn index(self) -> usize {
        self as usize
    }
}
