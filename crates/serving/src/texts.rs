//! A model of texts: its folder, watched; its queue; its cache.
//!
//! `embed` reads as the life of a request: check the limits, look up what is known, make tokens of
//! the rest, stand in line. What is in line is embedded in batches (`batch.rs`), for the generation
//! that made its tokens.
//!
//! Invariants: limits are checked before any work on texts; a vector is the same to the bit whether
//! it was remembered, embedded alone, or with others; one request sees one generation.
//!
//! Refuses: threads of its own (a [`Pool`] has them), and to know how vectors are asked for
//! (`openai.rs`, `tei.rs`, `clusters.rs`).

mod batch;
mod cache;
mod counters;
mod generation;
mod queue;
mod request;
mod vectors;

use std::path::Path;
use std::sync::Arc;

use ::generation::{Poll, Status, Stop, Watched};
use models::{Embedder, Error, Tokens};

pub use counters::TextCounts;
pub(crate) use generation::{GoldenCheck, TextModel};
pub(crate) use request::Then;
pub(crate) use vectors::{Vectors, Wish, write_numbers};

use crate::config::TextPlan;
use crate::queued::{AnswerSender, Pool};
use crate::refusal;
use crate::slot::Files;
use cache::Key;
use counters::Counters;
use exchange::Refusal;
use queue::{Queue, Wanted};
use request::{Ready, Request, Rows, Slot};

/// A model of texts. One for all threads.
pub(crate) struct Texts {
    plan: TextPlan,
    folder: Watched<Arc<TextModel>>,
    pool: Arc<dyn Pool>,
    queue: Queue,
    counters: Counters,
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

/// What a request lacks, and its place among those that wait.
struct Lacking {
    tokens: Tokens,
    texts: Vec<(Key, usize)>,
    slot: Slot,
}

impl Texts {
    /// Opens a folder after a first look at it; one that is missing or unfit is no error here: the
    /// model answers 503 until it has a good generation.
    pub(crate) fn open(plan: TextPlan, pool: Arc<dyn Pool>, check: GoldenCheck) -> Arc<Self> {
        let loading = plan.clone();
        let load = move |_: &Path| TextModel::load(&loading, &check).map(Arc::new);
        let folder = Watched::open(&Embedder::weights(&plan.folder), load);
        let (queue, counters) = (Queue::new(), Counters::default());
        Arc::new(Self { plan, folder, pool, queue, counters })
    }

    pub(crate) fn plan(&self) -> &TextPlan {
        &self.plan
    }

    /// Returns where the model stands, and what it has done.
    pub(crate) fn status(&self) -> TextStatus {
        let loaded = self.loaded();
        let cached = loaded.as_ref().map_or((0, 0), |model| model.cache.size());
        TextStatus {
            version: loaded.map(|model| model.version.clone()),
            file: self.folder.status(),
            counts: self.counters.read(self.queue.lengths(), cached),
        }
    }

    /// Returns the generation in use.
    pub(crate) fn loaded(&self) -> Option<Arc<TextModel>> {
        self.folder.peek().as_ref().map(|generation| generation.value.clone())
    }

    /// # Errors
    /// 413 for more texts than the plan's.
    pub(crate) fn check_count(&self, count: usize) -> Result<(), Refusal> {
        match self.plan.texts_max {
            most if count > most => {
                Err(refusal::too_large(format!("{count} texts, at most {most} at once")))
            }
            _ => Ok(()),
        }
    }

    /// Embeds texts, hands the vectors to `then`, and what it makes of them to `sender`. This
    /// happens on a thread of the pool, on this one where every vector is known. Whoever no longer
    /// waits gets nothing.
    ///
    /// Refused: more texts than the plan's (413), texts with too many tokens (413), where as many
    /// requests wait as may (429), and while there is no generation (503).
    pub(crate) fn embed(
        self: &Arc<Self>,
        texts: &[String],
        wish: Wish,
        sender: Box<dyn AnswerSender>,
        then: Then,
    ) {
        let (rows, lacking) = match self.prepare(texts, wish) {
            Ok(prepared) => prepared,
            Err(refusal) => return sender.send(Err(refusal)),
        };
        let Some(Lacking { tokens, texts, slot }) = lacking else {
            return Ready::new(rows, sender, then).answer();
        };
        let wanted = Wanted { model: rows.model.clone(), tokens, texts };
        let added = self.queue.add(wanted, &Arc::new(Request::new(rows, sender, then, slot)));
        self.counters.joined.add(added.joined);
        if added.must_schedule {
            batch::schedule(self);
        }
    }

    fn prepare(&self, texts: &[String], wish: Wish) -> Result<(Rows, Option<Lacking>), Refusal> {
        self.check_count(texts.len())?;
        let model = self.loaded().ok_or_else(|| refusal::not_ready(&self.plan.name))?;
        let dims_max = model.embedder.about().dims;
        if let Some(dims) = wish.dims.filter(|dims| !(1..=dims_max).contains(dims)) {
            let message = format!("`dimensions` is {dims}, not from 1 to {dims_max}");
            return Err(refusal::bad(message));
        }
        let mut rows = Rows { model, wish, rows: Vec::with_capacity(texts.len()), missing: 0 };
        let mut lacking = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            let (key, known) = rows.model.known(text, wish.truncate);
            if known.is_none() {
                lacking.push((key, row));
            }
            rows.rows.push(known);
        }
        rows.missing = lacking.len();
        self.counters.misses.add(rows.missing);
        self.counters.hits.add(texts.len() - rows.missing);
        let lacking = match lacking.is_empty() {
            true => None,
            false => Some(self.tokenize(texts, &rows, lacking)?),
        };
        Ok((rows, lacking))
    }

    fn tokenize(
        &self,
        texts: &[String],
        rows: &Rows,
        lacking: Vec<(Key, usize)>,
    ) -> Result<Lacking, Refusal> {
        let Some(slot) = self.queue.slot(&self.plan) else {
            self.counters.busy.add(1);
            return Err(refusal::busy(&self.plan.name));
        };
        let mut tokens = Tokens::default();
        for (_, row) in &lacking {
            rows.model
                .embedder
                .tokenize(&texts[*row], rows.wish.truncate, &mut tokens)
                .map_err(|error| too_long(*row, error))?;
        }
        Ok(Lacking { tokens, texts: lacking, slot })
    }
}

impl Files for Texts {
    fn statuses(&self) -> Vec<Status> {
        vec![self.folder.status()]
    }
}

impl Poll for Texts {
    fn poll(&self) {
        self.folder.poll();
    }

    fn verify(&self, stop: &Stop) {
        self.folder.verify(stop);
    }
}

/// Refuses the text of an index.
pub(crate) fn too_long(row: usize, error: Error) -> Refusal {
    match error {
        Error::Text { cause, .. } => refusal::too_large(format!("text {row} {cause}")),
        error => refusal::bad(format!("text {row}: {error}")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
