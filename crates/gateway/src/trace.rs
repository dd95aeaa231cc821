//! Notes one exchange under way: times by phase, user, decision, what the cache did.
//!
//! Invariant: [`Trace::mark`] ends a phase where the next begins, so marked phases never overlap.
//! Phases within another (`queue` to `store` within `fetch`) are added by [`Trace::add`]
//! and count in both. A phase saturates after 71 minutes. Every step writes its part. Later steps
//! rely on it: the key and `fetch::origin_request` take user, arm and decision from it.
//! `reply::respond` reads it for `Server-Timing`, `record` and `request` for records and metrics.
//! `lab/src/import/exchanges.rs` takes each recorded phase for a step of its own. Never here:
//! writing the record (`record`), the names of phases (`exchange`).

use std::time::{Duration, Instant};

use exchange::{CacheResult, Decision, Impression, Phase};
use smallvec::SmallVec;
use std::sync::Arc;

use crate::clients::Bypass;

/// A user id; one of usual length needs no heap.
pub(crate) type UserId = SmallVec<[u8; 48]>;

/// One exchange under way.
#[derive(Debug)]
pub struct Trace {
    /// The time at which its head was complete.
    pub start: Instant,
    last: Instant,
    /// The same time in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The request id.
    pub id: u128,
    /// Microseconds by phase.
    pub phases: [u32; Phase::COUNT],
    /// Index of its route.
    pub route: Option<usize>,
    /// Index of the arm of the route.
    pub arm: usize,
    /// The decision.
    pub decision: Decision,
    /// A word that says more of the decision, for `Tidegate-Decision`.
    pub detail: Option<&'static str>,
    /// What the cache did.
    pub cache: CacheResult,
    /// The user id; empty if there is none.
    pub user: UserId,
    /// Whose work the answer is.
    pub answered_by: AnsweredBy,
    /// The impression, if this exchange made the ranking.
    pub shown: Option<Arc<Impression<'static>>>,
    /// Whether it was recorded before the reply was sent.
    pub recorded: bool,
    /// What waits for the end of its reply.
    pub(crate) until_sent: UntilSent,
}

/// The ids of exchanges whose work answers this one.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnsweredBy {
    /// The one that made the ranking.
    pub ranked_by: Option<u128>,
    /// The one whose fetch was waited for.
    pub fetched_by: Option<u128>,
}

/// What waits until the reply of an exchange is sent.
#[derive(Debug, Default)]
pub(crate) struct UntilSent {
    /// The time that the head of a user's own response took, for the guard.
    pub guarded: Option<Duration>,
    /// Counts the exchange among the reads past the cache.
    pub bypass: Option<Bypass>,
}

impl Trace {
    /// Begins an exchange.
    pub fn begin(start: Instant, time_us: u64, id: u128) -> Self {
        Self {
            start,
            last: start,
            time_us,
            id,
            phases: [0; Phase::COUNT],
            route: None,
            arm: 0,
            decision: Decision::Generic,
            detail: None,
            cache: CacheResult::None,
            user: UserId::new(),
            answered_by: AnsweredBy::default(),
            shown: None,
            recorded: false,
            until_sent: UntilSent::default(),
        }
    }

    /// Ends a phase: the time since the end of the last phase belongs to it.
    pub fn mark(&mut self, phase: Phase) -> Instant {
        let now = Instant::now();
        self.add(phase, now.duration_since(self.last));
        self.last = now;
        now
    }

    /// Returns the time from the start to the end of the last phase.
    pub fn so_far(&self) -> Duration {
        self.last.duration_since(self.start)
    }

    /// Adds time to a phase that ran within another.
    pub fn add(&mut self, phase: Phase, time: Duration) {
        let cell = &mut self.phases[phase.index()];
        *cell = cell.saturating_add(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    /// Returns the user id, if there is one.
    pub fn user(&self) -> Option<&[u8]> {
        (!self.user.is_empty()).then_some(&self.user[..])
    }
}
