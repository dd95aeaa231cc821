//! Serves a model of texts: its weights, watched; its queue; the vectors it remembers.
//!
//! `embed` reads as the life of a request: check the limits, look up what is known, make tokens of
//! the rest, wait in the queue. What waits is embedded in batches (`texts/batcher.rs`), by the
//! generation that made its tokens.
//!
//! Invariants: the number of texts is checked before any is looked at, the queue before any tokens
//! are made. A vector is the same to the bit whether it was remembered, embedded alone, or with
//! others (`models::Embedder`). One call of `embed` sees one generation.
//! Refuses: threads, which a [`JobPool`] has; to know how vectors are asked for (`openai.rs`,
//! `tei.rs`, `clusters.rs`).

mod batcher;
mod cache;
mod counters;
mod embedding_generation;
mod queue;
mod request;
mod vectors;

use std::path::Path;
use std::sync::Arc;

use exchange::Refusal;
use generation::{Poll, Status, Stop, Watched};
use models::{Embedder, Error, Tokens};

pub use counters::TextCounts;
pub(crate) use embedding_generation::{EmbeddingGeneration, GoldenCheck};
pub(crate) use request::MakeAnswer;
pub(crate) use vectors::{VectorOptions, Vectors, write_numbers};

use crate::config::TextPlan;
use crate::hot_swap::WatchedFiles;
use crate::queued::{AnswerSender, JobPool};
use crate::refusal;
use batcher::Batcher;
use cache::TextKey;
use queue::MissingTexts;
use request::{CompleteRequest, QueuePermit, VectorRequest, VectorRows};

/// A model of texts. One for all threads.
pub(crate) struct EmbeddingModel {
    weights: Watched<Arc<EmbeddingGeneration>>,
    batcher: Arc<Batcher>,
}

/// What an operator asks about a model of texts.
#[derive(Debug, Clone)]
pub(crate) struct TextStatus {
    /// The version in use; none before the first good generation.
    pub version: Option<String>,
    /// The file with the weights.
    pub file: Status,
    pub counts: TextCounts,
}

/// The texts that a request lacks, and its place among those that wait.
type Lacking = (MissingTexts, QueuePermit);

impl EmbeddingModel {
    /// Opens a directory after a first look at it. One that is missing or unfit is no error here:
    /// the model answers 503 until it has a good generation.
    pub(crate) fn open(plan: TextPlan, pool: Arc<dyn JobPool>, check: GoldenCheck) -> Arc<Self> {
        let loading = plan.clone();
        let load = move |_: &Path| EmbeddingGeneration::load(&loading, &check).map(Arc::new);
        let weights = Watched::open(&Embedder::weights(&plan.dir), load);
        Arc::new(Self { weights, batcher: Batcher::new(plan, pool) })
    }

    pub(crate) fn plan(&self) -> &TextPlan {
        &self.batcher.plan
    }

    /// Returns where the model stands, and what it has done.
    pub(crate) fn status(&self) -> TextStatus {
        let loaded = self.loaded();
        let cached = loaded.as_ref().map_or((0, 0), |model| model.cache.size());
        TextStatus {
            version: loaded.map(|model| model.version.clone()),
            file: self.weights.status(),
            counts: self.batcher.counters.read(self.batcher.queue.lengths(), cached),
        }
    }

    /// Returns the generation in use.
    pub(crate) fn loaded(&self) -> Option<Arc<EmbeddingGeneration>> {
        self.weights.peek().as_ref().map(|generation| generation.value.clone())
    }

    /// # Errors
    /// 413 for more texts than the plan's.
    pub(crate) fn check_count(&self, count: usize) -> Result<(), Refusal> {
        match self.plan().texts_max {
            most if count > most => {
                Err(refusal::too_large(format!("{count} texts, at most {most} at once")))
            }
            _ => Ok(()),
        }
    }

    /// Embeds texts, hands the vectors to `make_answer`, and its answer to `sender`. This happens
    /// on a thread of the pool, or on this one where every vector is known. Nothing is sent where
    /// nobody waits any more.
    ///
    /// Refused with 413 are more texts than the plan's, and texts with too many tokens. A request
    /// beyond those that may wait is 429. While there is no generation, all are 503.
    pub(crate) fn embed(
        &self,
        texts: &[String],
        options: VectorOptions,
        sender: Box<dyn AnswerSender>,
        make_answer: MakeAnswer,
    ) {
        let (rows, lacking) = match self.prepare(texts, options) {
            Ok(prepared) => prepared,
            Err(refusal) => return sender.send(Err(refusal)),
        };
        let Some((missing, permit)) = lacking else {
            return CompleteRequest::new(rows, sender, make_answer).answer();
        };
        let request = VectorRequest::new(rows, sender, make_answer, permit);
        self.batcher.add(missing, &Arc::new(request));
    }

    fn prepare(
        &self,
        texts: &[String],
        options: VectorOptions,
    ) -> Result<(VectorRows, Option<Lacking>), Refusal> {
        self.check_count(texts.len())?;
        let model = self.loaded().ok_or_else(|| refusal::not_ready(&self.plan().name))?;
        let dims_max = model.embedder.about().dims;
        if let Some(dims) = options.dims.filter(|dims| !(1..=dims_max).contains(dims)) {
            let message = format!("`dimensions` is {dims}, not from 1 to {dims_max}");
            return Err(refusal::bad(message));
        }
        let mut rows =
            VectorRows { model, options, rows: Vec::with_capacity(texts.len()), missing: 0 };
        let mut lacking = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            let (key, known) = rows.model.known(text, options.truncate);
            if known.is_none() {
                lacking.push((key, row));
            }
            rows.rows.push(known);
        }
        rows.missing = lacking.len();
        self.batcher.counters.misses.add(rows.missing);
        self.batcher.counters.hits.add(texts.len() - rows.missing);
        let lacking = match lacking.is_empty() {
            true => None,
            false => Some(self.tokenize(texts, &rows, lacking)?),
        };
        Ok((rows, lacking))
    }

    fn tokenize(
        &self,
        texts: &[String],
        rows: &VectorRows,
        lacking: Vec<(TextKey, usize)>,
    ) -> Result<Lacking, Refusal> {
        let Some(permit) = self.batcher.queue.permit(self.plan()) else {
            self.batcher.counters.busy.add(1);
            return Err(refusal::busy(&self.plan().name));
        };
        let mut tokens = Tokens::default();
        for (_, row) in &lacking {
            models::pause();
            rows.model
                .embedder
                .tokenize(&texts[*row], rows.options.truncate, &mut tokens)
                .map_err(|error| too_long(*row, error))?;
        }
        let model = rows.model.clone();
        Ok((MissingTexts { model, tokens, texts: lacking }, permit))
    }
}

impl WatchedFiles for EmbeddingModel {
    fn statuses(&self) -> Vec<Status> {
        vec![self.weights.status()]
    }
}

impl Poll for EmbeddingModel {
    fn poll(&self) {
        self.weights.poll();
    }

    fn verify(&self, stop: &Stop) {
        self.weights.verify(stop);
    }
}

/// Refuses the text of an index.
pub(crate) fn too_long(row: usize, error: Error) -> Refusal {
    match error {
        Error::Text { reason, .. } => refusal::too_large(format!("text {row} {reason}")),
        error => refusal::bad(format!("text {row}: {error}")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
