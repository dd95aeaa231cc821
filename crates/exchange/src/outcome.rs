//! Names how an exchange was answered: the decision about personalisation, and the cache's part in
//! it.
//!
//! These are the names of the journal, the metrics, the filter language and exported training data.
//! Those of decisions also stand in headers and answers, and in `tidegate/src/demo/readers.rs`. A
//! name that is changed here makes older lines undecodable.
//! Invariant: each name is that of one value, and `from_name` is the inverse of `name`; an unknown
//! name gives `None`. `ALL` is in the order of the variants: `gateway/src/metrics.rs` and
//! `cache/src/encodings.rs` index by `as usize`.
//! Never here: the decision itself, which the gateway takes.
//! A new value goes into `ALL`, or `from_name` does not find it. A new cache result also goes into
//! both mappings from nginx's names: `cache_result` in `pipeline/src/decode/event.rs` and `cache`
//! in `recount/src/texts.rs`. `tidegate/src/demo/screen.rs` (hits) and `gateway/src/record.rs`
//! (upstream) list results by hand. A new decision also goes into docs/operating/status.md and
//! docs/ARCHITECTURE.md.

/// Why the client got this answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Decision {
    /// The route does not personalise.
    #[default]
    Generic,
    /// The request carries no user id.
    Anonymous,
    /// The user has no profile, or the id is not acceptable.
    NoProfile,
    /// The user has a profile and is not yet let in.
    OutsideRollout,
    /// The user belongs to the control group.
    HeldOut,
    /// The answer was made for this user.
    Personalised,
    /// Personalisation is broken or switched off.
    Fallback,
}

impl Decision {
    /// Every decision, in the order of the checks that lead to it.
    pub const ALL: [Self; 7] = [
        Self::Generic,
        Self::Anonymous,
        Self::NoProfile,
        Self::OutsideRollout,
        Self::HeldOut,
        Self::Personalised,
        Self::Fallback,
    ];

    /// Returns the name that logs, metrics and headers use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Anonymous => "anonymous",
            Self::NoProfile => "no-profile",
            Self::OutsideRollout => "outside-rollout",
            Self::HeldOut => "held-out",
            Self::Personalised => "personalised",
            Self::Fallback => "fallback",
        }
    }

    /// Returns the decision of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// What the cache did for an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheResult {
    /// The route has no cache, or the exchange never reached it.
    #[default]
    None,
    /// A fresh entry answered.
    Hit,
    /// An entry past its lifetime answered.
    Stale,
    /// The exchange led the fetch.
    Miss,
    /// The exchange waited on another exchange's flight and shared its answer.
    Collapsed,
    /// The exchange went past the cache.
    Pass,
}

impl CacheResult {
    /// Every result.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Hit, Self::Stale, Self::Miss, Self::Collapsed, Self::Pass];

    /// Returns the name that logs and metrics use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Miss => "miss",
            Self::Collapsed => "collapsed",
            Self::Pass => "pass",
        }
    }

    /// Returns the result of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.name() == name)
    }
}
