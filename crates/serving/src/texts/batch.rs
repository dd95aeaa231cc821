//! The drain: takes texts that wait, embeds them together, answers.
//!
//! It runs at the back of the pool's queue, so requests that came before it are read first and go
//! together. What is left is another job at the back: models that share the pool take turns, and
//! another thread may take it at once.
//!
//! Invariant: every text of a batch gets its vector or a refusal, whatever the model does.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use exchange::Refusal;
use models::{EmbedScratch, Tokens};
use parking_lot::Mutex;

use super::Texts;
use super::cache::Known;
use super::generation::TextModel;
use super::queue::Batch;
use super::request::Ready;
use crate::refusal;

/// Rows of an answer from which writing it is a job of its own: others of the batch do not wait.
const ROWS_ALONE: usize = 256;

thread_local! {
    static SCRATCH: RefCell<EmbedScratch> = RefCell::default();
}

/// Schedules a drain; works off the queue here where the pool takes no more jobs.
pub(super) fn schedule(texts: &Arc<Texts>) {
    if !spawn(texts) {
        drain(texts);
    }
}

fn spawn(texts: &Arc<Texts>) -> bool {
    let drained = texts.clone();
    texts.pool.spawn(Box::new(move || drain(&drained)))
}

fn drain(texts: &Arc<Texts>) {
    loop {
        let taken = texts.queue.take(&texts.plan);
        texts.counters.abandoned.add(taken.abandoned);
        let is_done = !taken.is_more || spawn(texts);
        if let Some(batch) = taken.batch {
            run(texts, &batch);
        }
        if is_done {
            return;
        }
    }
}

fn run(texts: &Texts, batch: &Batch) {
    texts.counters.batches.add(1);
    texts.counters.texts.add(batch.keys.len());
    texts.counters.tokens.add(batch.tokens.total());
    let outcomes = embed(&texts.plan.name, &batch.model, &batch.tokens);
    for (key, outcome) in batch.keys.iter().zip(&outcomes) {
        if let Ok(known) = outcome {
            batch.model.cache.put(*key, known);
        }
    }
    let ready = texts.queue.hand_out(&batch.keys, &outcomes);
    let (long, short): (Vec<_>, Vec<_>) =
        ready.into_iter().partition(|ready| ready.len() >= ROWS_ALONE);
    long.into_iter().for_each(|ready| answer_apart(texts, ready));
    short.into_iter().for_each(Ready::answer);
}

fn answer_apart(texts: &Texts, ready: Ready) {
    let ready = Arc::new(Mutex::new(Some(ready)));
    let answer = |ready: &Mutex<Option<Ready>>| {
        let taken = ready.lock().take();
        taken.into_iter().for_each(Ready::answer);
    };
    let apart = ready.clone();
    if !texts.pool.spawn(Box::new(move || answer(&apart))) {
        answer(&ready);
    }
}

fn embed(name: &str, model: &TextModel, tokens: &Tokens) -> Vec<Result<Known, Refusal>> {
    let dims = model.embedder.about().dims;
    let mut numbers = vec![0.0; tokens.len() * dims];
    match embed_into(model, tokens, &mut numbers) {
        Ok(()) => {
            let rows = numbers.chunks_exact(dims).enumerate();
            let known = |(row, numbers): (usize, &[f32])| Known {
                numbers: numbers.into(),
                tokens: tokens.of(row).len() as u32,
            };
            rows.map(known).map(Ok).collect()
        }
        Err(cause) if tokens.len() == 1 => vec![Err(refusal::failed(name, &cause))],
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

/// A panic must not leave its texts wanted: whoever asked for one of them would wait for ever.
fn embed_into(model: &TextModel, tokens: &Tokens, numbers: &mut [f32]) -> Result<(), String> {
    let embed = || {
        SCRATCH.with_borrow_mut(|scratch| {
            model.embedder.embed_tokens(tokens, Some(false), scratch, numbers)
        })
    };
    match catch_unwind(AssertUnwindSafe(embed)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("it panicked; the log has its place".to_owned()),
    }
}
