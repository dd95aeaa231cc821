//! Takes texts that wait, embeds them together, and has their requests answered.
//!
//! A drain, a job that takes a batch, is put behind the model's jobs in the pool's queue. Requests
//! that came before it are read first, and their texts go together (docs/decisions/models.md,
//! "Requests to models gather"). What is left is another drain at the back, so models that share
//! the pool take turns. Where the pool takes no more jobs, the calling thread drains. At most
//! `concurrency` batches are computed at once.
//!
//! Invariant: every text of a batch gets its vector or a refusal, also where the model fails or
//! panics. Then each text is embedded alone, so one that the model cannot do fails alone.
//! Answers of 256 rows and more are written by jobs of their own, or here where the pool is full.
//! Elsewhere: which texts go together (`texts/queue.rs`).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use exchange::Refusal;
use models::{EmbedScratch, Tokens};
use parking_lot::Mutex;

use super::cache::KnownVector;
use super::counters::Counters;
use super::embedding_generation::EmbeddingGeneration;
use super::queue::{MissingTexts, TextBatch, TextQueue};
use super::request::{CompleteRequest, VectorRequest};
use crate::config::TextPlan;
use crate::queued::{JobGroup, JobPool};
use crate::refusal;

/// Rows of an answer from which writing it is a job of its own: others of the batch do not wait.
const ROWS_ALONE: usize = 256;

thread_local! {
    /// Taken while a batch is computed, for another model's may be computed within it.
    static SCRATCH: Cell<Option<Box<EmbedScratch>>> = const { Cell::new(None) };
}

/// The texts that wait for a model of texts, and who works them off.
pub(super) struct Batcher {
    pub(super) plan: TextPlan,
    pub(super) queue: TextQueue,
    pub(super) counters: Counters,
    pool: Arc<dyn JobPool>,
}

impl Batcher {
    pub(super) fn new(plan: TextPlan, pool: Arc<dyn JobPool>) -> Arc<Self> {
        let (queue, counters) = (TextQueue::new(plan.concurrency), Counters::default());
        Arc::new(Self { plan, queue, counters, pool })
    }

    /// Puts the texts that a request lacks in line.
    pub(super) fn add(self: &Arc<Self>, missing: MissingTexts, request: &Arc<VectorRequest>) {
        let added = self.queue.add(missing, request);
        self.counters.joined.add(added.joined);
        // Where the pool takes no more jobs, the queue is worked off here.
        if added.next.is_some_and(|next| !self.schedule(&next)) {
            self.drain();
        }
    }

    /// Schedules a drain; false where the pool takes no more jobs.
    fn schedule(self: &Arc<Self>, next: &EmbeddingGeneration) -> bool {
        let batcher = self.clone();
        let group = JobGroup { model: &self.plan.name, is_long: next.is_slow() };
        self.pool.spawn(group, Box::new(move || batcher.drain()))
    }

    fn drain(self: &Arc<Self>) {
        loop {
            let step = self.queue.take(&self.plan);
            self.counters.abandoned.add(step.abandoned);
            let mut is_done = step.next.is_none_or(|next| self.schedule(&next));
            if let Some(batch) = step.batch {
                let complete = self.compute(&batch);
                is_done &= self.queue.finish().is_none_or(|next| self.schedule(&next));
                self.answer(complete);
            }
            if is_done {
                return;
            }
        }
    }

    /// Embeds a batch, and returns the requests that are whole with it.
    fn compute(&self, batch: &TextBatch) -> Vec<CompleteRequest> {
        self.counters.batches.add(1);
        self.counters.texts.add(batch.keys.len());
        self.counters.tokens.add(batch.tokens.total());
        let outcomes = embed(&self.plan.name, &batch.model, &batch.tokens);
        for (key, outcome) in batch.keys.iter().zip(&outcomes) {
            if let Ok(known) = outcome {
                batch.model.cache.put(*key, known);
            }
        }
        self.queue.hand_out(&batch.keys, &outcomes)
    }

    fn answer(&self, complete: Vec<CompleteRequest>) {
        let (long, short): (Vec<_>, Vec<_>) =
            complete.into_iter().partition(|request| request.len() >= ROWS_ALONE);
        long.into_iter().for_each(|request| self.answer_apart(request));
        short.into_iter().for_each(CompleteRequest::answer);
    }

    fn answer_apart(&self, request: CompleteRequest) {
        let request = Arc::new(Mutex::new(Some(request)));
        let answer = |request: &Mutex<Option<CompleteRequest>>| {
            let taken = request.lock().take();
            taken.into_iter().for_each(CompleteRequest::answer);
        };
        let apart = request.clone();
        let group = JobGroup::long(&self.plan.name);
        if !self.pool.spawn(group, Box::new(move || answer(&apart))) {
            answer(&request);
        }
    }
}

fn embed(
    name: &str,
    model: &EmbeddingGeneration,
    tokens: &Tokens,
) -> Vec<Result<KnownVector, Refusal>> {
    let dims = model.embedder.about().dims;
    let mut numbers = vec![0.0; tokens.len() * dims];
    match embed_into(model, tokens, &mut numbers) {
        Ok(()) => {
            let rows = numbers.chunks_exact(dims).enumerate();
            let known = |(row, numbers): (usize, &[f32])| KnownVector {
                numbers: numbers.into(),
                tokens: tokens.of(row).len() as u32,
            };
            rows.map(known).map(Ok).collect()
        }
        Err(reason) if tokens.len() == 1 => vec![Err(refusal::failed(name, &reason))],
        // One text that the model cannot do fails alone.
        Err(_) => (0..tokens.len())
            .flat_map(|text| {
                let mut alone = Tokens::default();
                alone.add_from(tokens, text);
                embed(name, model, &alone)
            })
            .collect(),
    }
}

/// A panic must not leave its texts in the queue: a request for one would wait for ever.
fn embed_into(
    model: &EmbeddingGeneration,
    tokens: &Tokens,
    numbers: &mut [f32],
) -> Result<(), String> {
    let embed = || {
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let done = model.embedder.embed_tokens(tokens, Some(false), &mut scratch, numbers);
        SCRATCH.set(Some(scratch));
        done
    };
    match catch_unwind(AssertUnwindSafe(embed)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("it panicked; the log has its place".to_owned()),
    }
}
