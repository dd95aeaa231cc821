//! Queues texts that wait to be embedded, and decides which of them go together.
//!
//! The texts of a request wait together, and requests take turns of a quarter of the plan's tokens.
//! A new request has a quarter of a batch before them, so one of one text does not wait for one of
//! ten thousand. Large ones are done one after the other, not all at the end. A text that two
//! requests want waits with the first, and goes to both; keys of two generations differ
//! (`texts/cache.rs`).
//!
//! Bounds: the plan's requests, and the tokens of [`BATCHES_MAX`] batches, which the last request
//! may pass. More is refused before its tokens are made. A text alone may have more tokens than a
//! batch.
//! Invariants: `recipients` holds the key of a text exactly as long as it waits or is in a batch. A
//! batch is of one generation. While texts wait, a drain is scheduled or runs, or as many batches
//! as may are computed; `texts/batcher.rs` does what `next` says.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use exchange::Refusal;
use models::Tokens;
use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;

use super::cache::{KnownVector, TextKey};
use super::embedding_generation::EmbeddingGeneration;
use super::request::{CompleteRequest, QueuePermit, VectorRequest};
use crate::config::TextPlan;

/// Requests that share a full batch.
const SHARES: usize = 4;

/// Batches whose tokens may wait before requests are refused: so many take minutes, and more would
/// take their memory for nothing.
const BATCHES_MAX: usize = 256;

/// How long a drain holds its thread while it waits for more texts: a pool of one thread reads
/// requests in between.
const WAIT_MAX: Duration = Duration::from_micros(250);

pub(super) struct TextQueue {
    state: Mutex<State>,
    /// Batches that are computed at once, at most.
    concurrency: usize,
    grown: Condvar,
    /// Requests that wait.
    requests: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<WaitingTexts>,
    /// The rows that each text goes to, while it waits or is in a batch.
    recipients: HashMap<TextKey, SmallVec<[Recipient; 1]>>,
    /// Tokens and texts in line.
    tokens: usize,
    texts: usize,
    is_scheduled: bool,
    /// Batches that are computed.
    running: usize,
}

/// The texts of one request that were not wanted before.
struct WaitingTexts {
    model: Arc<EmbeddingGeneration>,
    tokens: Tokens,
    /// Keys, and places in `tokens`.
    texts: VecDeque<(TextKey, usize)>,
    since: Instant,
    /// Tokens that it has had of its turn; none before its first.
    had: Option<usize>,
}

struct Recipient {
    request: Arc<VectorRequest>,
    row: usize,
}

/// Texts of one request that are to be embedded.
pub(super) struct MissingTexts {
    pub(super) model: Arc<EmbeddingGeneration>,
    pub(super) tokens: Tokens,
    /// Keys and rows, one for each text of `tokens`.
    pub(super) texts: Vec<(TextKey, usize)>,
}

/// Texts that are embedded together.
pub(super) struct TextBatch {
    pub(super) model: Arc<EmbeddingGeneration>,
    pub(super) tokens: Tokens,
    pub(super) keys: Vec<TextKey>,
}

/// What a drain finds.
pub(super) struct DrainStep {
    /// `None` while more texts are waited for, and where nobody waits for those in line.
    pub(super) batch: Option<TextBatch>,
    /// The model of what is left, if a drain must be scheduled for it.
    pub(super) next: Option<Arc<EmbeddingGeneration>>,
    /// Texts that nobody waits for any more.
    pub(super) abandoned: usize,
}

/// What came of adding a request.
pub(super) struct Enqueued {
    /// The model of what waits, if a drain must be scheduled for it.
    pub(super) next: Option<Arc<EmbeddingGeneration>>,
    /// Texts that others had asked for already.
    pub(super) joined: usize,
}

impl TextQueue {
    pub(super) fn new(concurrency: usize) -> Self {
        let (state, grown, requests) = (Mutex::default(), Condvar::new(), Arc::default());
        Self { state, concurrency, grown, requests }
    }

    /// Takes a place among the requests that wait, unless as many do as may.
    pub(super) fn permit(&self, plan: &TextPlan) -> Option<QueuePermit> {
        let is_full = self.state.lock().tokens >= plan.batch_tokens_max.saturating_mul(BATCHES_MAX);
        (!is_full).then(|| QueuePermit::take(&self.requests, plan.queue_max)).flatten()
    }

    pub(super) fn add(&self, missing: MissingTexts, request: &Arc<VectorRequest>) -> Enqueued {
        let MissingTexts { model, tokens, texts } = missing;
        let mut line = WaitingTexts {
            model,
            tokens,
            texts: VecDeque::new(),
            since: Instant::now(),
            had: None,
        };
        let mut state = self.state.lock();
        let mut joined = 0;
        for (index, (key, row)) in texts.into_iter().enumerate() {
            let recipient = Recipient { request: request.clone(), row };
            match state.recipients.entry(key) {
                Entry::Occupied(mut others) => {
                    others.get_mut().push(recipient);
                    joined += 1;
                }
                Entry::Vacant(first) => {
                    first.insert(SmallVec::from_iter([recipient]));
                    state.tokens += line.tokens.of(index).len();
                    state.texts += 1;
                    line.texts.push_back((key, index));
                }
            }
        }
        if !line.texts.is_empty() {
            state.put_first(line);
            self.grown.notify_all();
        }
        Enqueued { next: state.schedule(self.concurrency), joined }
    }

    /// Takes what is to be embedded next, once it is full or has waited long enough. After a batch,
    /// `finish` must be called.
    pub(super) fn take(&self, plan: &TextPlan) -> DrainStep {
        let mut state = self.state.lock();
        if state.running >= self.concurrency {
            state.is_scheduled = false;
            return DrainStep { batch: None, next: None, abandoned: 0 };
        }
        if !state.is_ripe(plan) {
            self.wait(&mut state, plan.batch_timeout);
        }
        let before = state.texts;
        let batch = state.is_ripe(plan).then(|| state.batch(plan.batch_tokens_max)).flatten();
        let taken = batch.as_ref().map_or(0, |batch| batch.keys.len());
        state.running += usize::from(batch.is_some());
        let abandoned = before - state.texts - taken;
        state.is_scheduled = false;
        DrainStep { batch, next: state.schedule(self.concurrency), abandoned }
    }

    /// Notes that a batch is computed; returns the model of what waits, if a drain must be
    /// scheduled for it.
    pub(super) fn finish(&self) -> Option<Arc<EmbeddingGeneration>> {
        let mut state = self.state.lock();
        state.running -= 1;
        state.schedule(self.concurrency)
    }

    /// Hands a batch's vectors to their recipients; returns the requests that are whole.
    pub(super) fn hand_out(
        &self,
        keys: &[TextKey],
        outcomes: &[Result<KnownVector, Refusal>],
    ) -> Vec<CompleteRequest> {
        let recipients: Vec<_> = {
            let mut state = self.state.lock();
            keys.iter().map(|key| state.recipients.remove(key).unwrap_or_default()).collect()
        };
        let mut ready = Vec::new();
        for (recipients, outcome) in recipients.into_iter().zip(outcomes) {
            ready.extend(recipients.iter().filter_map(|it| it.request.take(it.row, outcome)));
        }
        ready
    }

    /// Returns requests that wait, texts and tokens in line.
    pub(super) fn lengths(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        let requests = self.requests.load(Ordering::Acquire);
        (requests, state.texts, state.tokens)
    }

    fn wait(&self, state: &mut MutexGuard<'_, State>, at_most: Duration) {
        // Woken early or late: the state is looked at again.
        let _ = self.grown.wait_for(state, at_most.min(WAIT_MAX));
    }
}

impl State {
    /// Returns the model of what waits, and counts a drain as scheduled for it. It is `None` if one
    /// is scheduled, or as many batches as may are computed.
    fn schedule(&mut self, concurrency: usize) -> Option<Arc<EmbeddingGeneration>> {
        if self.is_scheduled || self.running >= concurrency {
            return None;
        }
        let next = self.waiting.front().map(|line| line.model.clone());
        self.is_scheduled = next.is_some();
        next
    }

    fn is_ripe(&self, plan: &TextPlan) -> bool {
        let now = Instant::now();
        let has_waited = |line: &WaitingTexts| now.duration_since(line.since) >= plan.batch_timeout;
        plan.batch_timeout.is_zero()
            || self.tokens >= plan.batch_tokens_max
            || self.waiting.iter().any(has_waited)
    }

    fn batch(&mut self, tokens_max: usize) -> Option<TextBatch> {
        let mut batch: Option<TextBatch> = None;
        let whole_turn = tokens_max.div_ceil(SHARES);
        while let Some(mut line) = self.waiting.pop_front() {
            let tokens_max = line.model.batch_tokens(tokens_max);
            let other = batch.as_ref().is_some_and(|batch| !Arc::ptr_eq(&batch.model, &line.model));
            let left = line
                .had
                .map_or(tokens_max.div_ceil(SHARES), |had| whole_turn.saturating_sub(had).max(1));
            let is_full = other || self.turn(&mut line, &mut batch, (left, tokens_max));
            match (line.texts.is_empty(), is_full) {
                (true, _) => (),
                // It goes on with its turn once those that have had none have begun.
                (false, true) => self.put_first(line),
                (false, false) => {
                    line.had = Some(0);
                    self.waiting.push_back(line);
                }
            }
            if is_full {
                break;
            }
        }
        batch
    }

    /// Puts a line before all that have begun, behind those that have not.
    fn put_first(&mut self, line: WaitingTexts) {
        let at = self.waiting.iter().take_while(|line| line.had.is_none()).count();
        self.waiting.insert(at, line);
    }

    /// Moves some texts of a line into a batch, up to so many tokens; returns whether it is full.
    fn turn(
        &mut self,
        line: &mut WaitingTexts,
        batch: &mut Option<TextBatch>,
        (left, tokens_max): (usize, usize),
    ) -> bool {
        let mut turn = 0;
        while turn < left {
            let Some((key, index)) = line.texts.front().copied() else { break };
            let tokens = line.tokens.of(index).len();
            let is_wanted = self.is_wanted(key);
            if is_wanted {
                let batch = batch.get_or_insert_with(|| TextBatch::new(line.model.clone()));
                if !batch.keys.is_empty() && batch.tokens.total() + tokens > tokens_max {
                    return true;
                }
                batch.tokens.add_from(&line.tokens, index);
                batch.keys.push(key);
                turn += tokens;
                line.had = Some(line.had.unwrap_or(0) + tokens);
            }
            line.texts.pop_front();
            self.tokens -= tokens;
            self.texts -= 1;
        }
        false
    }

    /// Whether anybody waits for a text; forgets it where not.
    fn is_wanted(&mut self, key: TextKey) -> bool {
        let Some(recipients) = self.recipients.get(&key) else { return false };
        if recipients.iter().any(|recipient| recipient.request.is_waiting()) {
            return true;
        }
        self.recipients.remove(&key);
        false
    }
}

impl TextBatch {
    fn new(model: Arc<EmbeddingGeneration>) -> Self {
        Self { model, tokens: Tokens::default(), keys: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
