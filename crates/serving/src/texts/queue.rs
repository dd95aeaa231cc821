//! Texts that wait to be embedded, and which of them go together.
//!
//! Each request with texts of its own stands in line once; lines take turns, a quarter of a batch
//! each, so that a request of one text does not wait for one of ten thousand. A text that two
//! requests want stands in the line of the first, and goes to both.
//!
//! Bounds: the plan's requests, and the tokens of [`BATCHES_MAX`] batches, which the last request
//! may pass; more is refused before its tokens are made.
//!
//! Invariants: a text is in a line, or in a batch, exactly as long as `wanted` holds its key; a
//! batch is of one generation; while texts are in line a drain is scheduled.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exchange::Refusal;
use models::Tokens;
use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;

use super::cache::{Key, Known};
use super::generation::TextModel;
use super::request::{Ready, Request, Slot};
use crate::config::TextPlan;

/// Turns that make a full batch.
const TURNS: usize = 4;

/// Batches whose tokens may wait before requests are refused: so many take minutes, and more would
/// take their memory for nothing.
const BATCHES_MAX: usize = 256;

/// How long a drain holds its thread while it waits for more texts: a pool of one thread reads
/// requests in between.
const HOLD: Duration = Duration::from_micros(250);

pub(super) struct Queue {
    state: Mutex<State>,
    grown: Condvar,
    /// Requests that wait.
    requests: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Line>,
    /// Who wants each text that is in line or in a batch.
    wanted: HashMap<Key, SmallVec<[Wanter; 1]>>,
    /// Tokens and texts in line.
    tokens: usize,
    texts: usize,
    is_scheduled: bool,
}

/// The texts of one request that were not wanted before.
struct Line {
    model: Arc<TextModel>,
    tokens: Tokens,
    /// Keys, and places in `tokens`.
    texts: VecDeque<(Key, usize)>,
    since: Instant,
}

struct Wanter {
    request: Arc<Request>,
    row: usize,
}

/// Texts of one request that are to be embedded.
pub(super) struct Wanted {
    pub(super) model: Arc<TextModel>,
    pub(super) tokens: Tokens,
    /// Keys and rows, one for each text of `tokens`.
    pub(super) texts: Vec<(Key, usize)>,
}

/// Texts that are embedded together.
pub(super) struct Batch {
    pub(super) model: Arc<TextModel>,
    pub(super) tokens: Tokens,
    pub(super) keys: Vec<Key>,
}

/// What a drain finds.
pub(super) struct Taken {
    /// `None` while more texts are waited for, and where nobody waits for those in line.
    pub(super) batch: Option<Batch>,
    /// Whether texts are left: then the drain that took the batch must see to the next.
    pub(super) is_more: bool,
    /// Texts that nobody waits for any more.
    pub(super) abandoned: usize,
}

/// What came of adding a request.
pub(super) struct Added {
    /// Whether a drain must be scheduled.
    pub(super) must_schedule: bool,
    /// Texts that others had asked for already.
    pub(super) joined: usize,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), grown: Condvar::new(), requests: Arc::default() }
    }

    /// Takes a place among the requests that wait, unless as many do as may.
    pub(super) fn slot(&self, plan: &TextPlan) -> Option<Slot> {
        let is_full = self.state.lock().tokens >= plan.batch_tokens.saturating_mul(BATCHES_MAX);
        (!is_full).then(|| Slot::take(&self.requests, plan.queue_max)).flatten()
    }

    pub(super) fn add(&self, wanted: Wanted, request: &Arc<Request>) -> Added {
        let Wanted { model, tokens, texts } = wanted;
        let mut line = Line { model, tokens, texts: VecDeque::new(), since: Instant::now() };
        let mut state = self.state.lock();
        let mut joined = 0;
        for (index, (key, row)) in texts.into_iter().enumerate() {
            let wanter = Wanter { request: request.clone(), row };
            match state.wanted.entry(key) {
                Entry::Occupied(mut others) => {
                    others.get_mut().push(wanter);
                    joined += 1;
                }
                Entry::Vacant(first) => {
                    first.insert(SmallVec::from_iter([wanter]));
                    state.tokens += line.tokens.of(index).len();
                    state.texts += 1;
                    line.texts.push_back((key, index));
                }
            }
        }
        if !line.texts.is_empty() {
            state.lines.push_back(line);
            self.grown.notify_all();
        }
        let must_schedule = !state.is_scheduled && !state.lines.is_empty();
        state.is_scheduled |= must_schedule;
        Added { must_schedule, joined }
    }

    /// Takes what is to be embedded next, once it is full or has waited long enough.
    pub(super) fn take(&self, plan: &TextPlan) -> Taken {
        let mut state = self.state.lock();
        if !state.is_ripe(plan) {
            self.hold(&mut state, plan.batch_wait);
        }
        let before = state.texts;
        let batch = state.is_ripe(plan).then(|| state.batch(plan.batch_tokens)).flatten();
        let taken = batch.as_ref().map_or(0, |batch| batch.keys.len());
        state.is_scheduled = !state.lines.is_empty();
        let abandoned = before - state.texts - taken;
        Taken { batch, is_more: state.is_scheduled, abandoned }
    }

    /// Hands a batch's vectors to whoever wants them; returns the requests that are whole.
    pub(super) fn hand_out(&self, keys: &[Key], outcomes: &[Result<Known, Refusal>]) -> Vec<Ready> {
        let wanters: Vec<_> = {
            let mut state = self.state.lock();
            keys.iter().map(|key| state.wanted.remove(key).unwrap_or_default()).collect()
        };
        let mut ready = Vec::new();
        for (wanters, outcome) in wanters.into_iter().zip(outcomes) {
            ready.extend(wanters.iter().filter_map(|it| it.request.take(it.row, outcome)));
        }
        ready
    }

    /// Returns requests that wait, texts and tokens in line.
    pub(super) fn lengths(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        let requests = self.requests.load(Ordering::Acquire);
        (requests, state.texts, state.tokens)
    }

    fn hold(&self, state: &mut MutexGuard<'_, State>, at_most: Duration) {
        // Woken early or late: the state is looked at again.
        let _ = self.grown.wait_for(state, at_most.min(HOLD));
    }
}

impl State {
    fn is_ripe(&self, plan: &TextPlan) -> bool {
        let now = Instant::now();
        let has_waited = |line: &Line| now.duration_since(line.since) >= plan.batch_wait;
        plan.batch_wait.is_zero()
            || self.tokens >= plan.batch_tokens
            || self.lines.iter().any(has_waited)
    }

    fn batch(&mut self, tokens_max: usize) -> Option<Batch> {
        let mut batch: Option<Batch> = None;
        while let Some(mut line) = self.lines.pop_front() {
            let other = batch.as_ref().is_some_and(|batch| !Arc::ptr_eq(&batch.model, &line.model));
            let is_full = other || self.turn(&mut line, &mut batch, tokens_max);
            match (line.texts.is_empty(), is_full) {
                (true, _) => (),
                (false, true) => self.lines.push_front(line),
                (false, false) => self.lines.push_back(line),
            }
            if is_full {
                break;
            }
        }
        batch
    }

    /// Moves some texts of a line into a batch; returns whether it is full.
    fn turn(&mut self, line: &mut Line, batch: &mut Option<Batch>, tokens_max: usize) -> bool {
        let mut turn = 0;
        while turn < tokens_max.div_ceil(TURNS) {
            let Some((key, index)) = line.texts.front().copied() else { break };
            let tokens = line.tokens.of(index).len();
            let is_wanted = self.is_wanted(key);
            if is_wanted {
                let batch = batch.get_or_insert_with(|| Batch::new(line.model.clone()));
                if !batch.keys.is_empty() && batch.tokens.total() + tokens > tokens_max {
                    return true;
                }
                batch.tokens.add_from(&line.tokens, index);
                batch.keys.push(key);
                turn += tokens;
            }
            line.texts.pop_front();
            self.tokens -= tokens;
            self.texts -= 1;
        }
        false
    }

    /// Whether anybody waits for a text; forgets it where not.
    fn is_wanted(&mut self, key: Key) -> bool {
        let Some(wanters) = self.wanted.get(&key) else { return false };
        if wanters.iter().any(|wanter| wanter.request.is_waiting()) {
            return true;
        }
        self.wanted.remove(&key);
        false
    }
}

impl Batch {
    fn new(model: Arc<TextModel>) -> Self {
        Self { model, tokens: Tokens::default(), keys: Vec::new() }
    }
}
