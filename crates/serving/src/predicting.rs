//! Serves a model that predicts: it watches its file, and holds its share of the pool.
//!
//! Invariant: a generation that serves has scored 16 rows of zeros without an error, and answered
//! its golden input where it has one. Whatever is unfit is an error with the file's name, and the
//! last good generation stays. The limit on the pool outlives generations and loads.
//! The commands read files by `load`, too: they refuse what the server does, but for golden inputs
//! (`table.rs`).
//! Elsewhere: what a model computes (`predictor.rs`), the protocol (`oip.rs`), loading on demand
//! (`hot_swap.rs`).

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use exchange::{ModelAnswer, Refusal};
use generation::{Generation, Watched};
use models::Iterations;

use crate::concurrency_limit::{ConcurrencyLimit, Limits};
use crate::config::{GoldenPlan, PredictorPlan};
use crate::error::LoadError;
use crate::golden;
use crate::hot_swap::HotSwap;
use crate::model_file;
use crate::oip::{self, InferCounts, InferRequest};
use crate::predictor::Predictor;
use crate::queued::JobPool;
use crate::status::ModelStatus;

/// A model that predicts.
pub(crate) struct PredictingModel {
    pub(crate) plan: PredictorPlan,
    pub(crate) limit: Arc<ConcurrencyLimit>,
    pub(crate) file: Arc<HotSwap<Watched<Predictor>>>,
    pub(crate) counts: InferCounts,
}

impl PredictingModel {
    /// Opens a plan's file after a first look at it.
    pub(crate) fn open(plan: PredictorPlan, pool: Arc<dyn JobPool>) -> Self {
        let opened = plan.clone();
        let open = move || {
            let loading = opened.clone();
            Arc::new(Watched::open(&opened.file, move |_: &Path| load(&loading)))
        };
        let limits = Limits { concurrency: plan.concurrency, queue_max: plan.queue_max };
        let limit = ConcurrencyLimit::new(&plan.name, limits, pool);
        let (file, counts) = (Arc::new(HotSwap::new(open)), InferCounts::default());
        Self { plan, limit, file, counts }
    }

    /// Returns the generation in use.
    pub(crate) fn loaded(&self) -> Option<Arc<Generation<Predictor>>> {
        self.file.peek().as_ref()?.current()
    }

    /// Returns where the model stands.
    pub(crate) fn status(&self) -> ModelStatus {
        ModelStatus {
            name: self.plan.name.clone(),
            version: self.loaded().map(|loaded| loaded.value.version.clone()),
            items: 0,
            file: self.file.peek().as_ref().map(|file| file.status()),
            absent: Vec::new(),
            items_file: None,
            texts: None,
        }
    }

    /// Answers `infer` with one generation.
    pub(crate) fn infer(
        &self,
        predictor: &Predictor,
        request: &mut InferRequest,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        let named = (self.plan.name.as_str(), predictor);
        let (begun, rows) = (Instant::now(), request.rows_given());
        let answer = oip::infer(named, request, self.plan.rows_max, out);
        self.counts.add(answer.is_ok().then_some(rows), begun.elapsed());
        let json_length = answer?;
        Ok(ModelAnswer { json_length, ..ModelAnswer::default() })
    }
}

/// Reads and checks the file of a plan.
///
/// # Errors
/// Whatever makes it unfit, with the file's name.
pub(crate) fn load(plan: &PredictorPlan) -> Result<Predictor, LoadError> {
    let path = || plan.file.clone();
    let bytes = model_file::read(&plan.file)?;
    let mut predictor = Predictor::read(&bytes, plan.version.clone(), plan.iterations)
        .map_err(|source| LoadError::Invalid { path: path(), source })?;
    check(&mut predictor, (&plan.file, plan.iterations), plan.golden.as_ref())?;
    Ok(predictor)
}

/// Tries a model: some rows, and its golden input where it has one.
///
/// # Errors
/// What it fails, with the file's name.
pub(crate) fn check(
    predictor: &mut Predictor,
    (file, iterations): (&Path, Iterations),
    golden: Option<&GoldenPlan>,
) -> Result<(), LoadError> {
    let unfit = |path: &Path, reason| LoadError::Check { path: path.to_owned(), reason };
    if iterations == Iterations::All && !predictor.can_stop_early() {
        let reason = "`iterations` is for models of XGBoost; leave it out".to_owned();
        return Err(unfit(file, reason));
    }
    predictor.warm_up().map_err(|reason| unfit(file, reason))?;
    if let Some(golden) = golden {
        let checked = golden::check(golden, predictor, golden.tolerance);
        checked.map_err(|reason| unfit(&golden.file, reason))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
