//! What the gateway remembers of one exchange while it lives: times by phase, and why it was
//! answered as it was. Becomes the record.

use std::time::{Duration, Instant};

use exchange::{CacheResult, Decision, Impression, Phase};
use smallvec::SmallVec;
use std::sync::Arc;

/// A user id; usual ones need no heap.
pub(crate) type UserId = SmallVec<[u8; 48]>;

/// One exchange under way.
#[derive(Debug)]
pub struct Trace {
    /// When its head was complete.
    pub start: Instant,
    last: Instant,
    /// The same in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The request id.
    pub id: u128,
    /// Microseconds by phase.
    pub phases: [u32; Phase::COUNT],
    /// Index of its route.
    pub route: Option<usize>,
    /// Which of the route's targets.
    pub arm: usize,
    /// Why this answer.
    pub decision: Decision,
    /// What the cache did.
    pub cache: CacheResult,
    /// The user id; empty when there is none.
    pub user: UserId,
    /// The upstream that was asked, by index.
    pub upstream: Option<usize>,
    /// The ranking that made the answer.
    pub ranked_by: Option<u128>,
    /// What was shown, when this exchange ran the ranking.
    pub shown: Option<Arc<Impression<'static>>>,
    /// Recorded before the answer was sent.
    pub recorded: bool,
    /// Why the gateway answered by itself.
    pub refusal: Option<&'static str>,
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
            cache: CacheResult::None,
            user: UserId::new(),
            upstream: None,
            ranked_by: None,
            shown: None,
            recorded: false,
            refusal: None,
        }
    }

    /// Ends a phase: the time since the last one ended is its own.
    pub fn mark(&mut self, phase: Phase) -> Instant {
        let now = Instant::now();
        self.add(phase, now.duration_since(self.last));
        self.last = now;
        now
    }

    /// Time from the start to the end of the last phase.
    pub fn so_far(&self) -> Duration {
        self.last.duration_since(self.start)
    }

    /// Adds time to a phase that ran within another.
    pub fn add(&mut self, phase: Phase, time: Duration) {
        let cell = &mut self.phases[phase.index()];
        *cell = cell.saturating_add(u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    }

    /// The user id, when there is one.
    pub fn user(&self) -> Option<&[u8]> {
        (!self.user.is_empty()).then_some(&self.user[..])
    }
}
