//! Answers from files alone: the configuration, `data/live.toml`, the models and the profiles.
//!
//! It makes a gateway that serves nobody. Its cache is empty, its upstreams count as healthy, and
//! no worker is started.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use chassis::WorkPool;
use gateway::{Acquire, ExplainRequest, Gateway, NoWorker, Workers};
use metrics::Registry;
use serving::Models;
use tokio::time::Instant;

use super::answer::{Answer, Explainer, KnownFrom};
use crate::config::Plan;
use crate::overrides::Overrides;
use crate::ports::{ModelAnswers, ProfileLookup, WorkThreads, user_key};

/// Workers of whom nothing is known but that they are configured.
#[derive(Debug)]
struct Assumed;

impl Workers for Assumed {
    fn is_ready(&self) -> bool {
        true
    }

    fn take(&self, _: Instant) -> Acquire {
        Box::pin(std::future::ready(Err(NoWorker::Away)))
    }

    fn take_ahead(&self, end: Instant) -> Acquire {
        self.take(end)
    }
}

/// Answers a question by what the files of a configuration say.
///
/// # Errors
/// When the question is no request.
pub(super) fn answer(mut plan: Plan, question: &ExplainRequest) -> Result<Answer> {
    let secret = plan.journal.as_ref().and_then(|journal| journal.user_key.as_deref());
    let profiles = plan.profiles.as_ref().map(|profiles| {
        let options = profiles.file_options(user_key(secret));
        Arc::new(profiles::Profiles::open(&profiles.file, options))
    });
    let work = WorkPool::start(1, 1).context("start a work thread")?;
    let pool = Arc::new(WorkThreads::new(work.clone()));
    let models = Arc::new(Models::open(plan.models, profiles.clone(), pool));
    // A server that runs holds the disk of its cache.
    plan.gateway.store.disk = None;
    let upstreams = plan.gateway.upstreams.iter();
    let assumed = upstreams
        .map(|upstream| (upstream.name.to_string(), Arc::new(Assumed) as Arc<dyn Workers>));
    let workers: HashMap<_, _> = assumed.collect();
    let look_up = profiles.clone().map(|profiles| Arc::new(ProfileLookup(profiles)) as _);
    let compute = Some(Arc::new(ModelAnswers(Arc::clone(&models))) as _);
    let parts = gateway::Parts { profiles: look_up, compute, workers, work, tap: None };
    let gateway = Gateway::new(plan.gateway, parts, &Registry::default());
    if let Err(error) = Overrides::look(&plan.root, &gateway) {
        let error = crate::output::cleaned(&format!("{error:#}"));
        crate::output::tell!("note: live changes are not known: {error}");
    }
    let profiles = profiles.as_deref();
    let explainer = Explainer {
        gateway: &gateway,
        models: &models,
        profiles,
        public: plan.public,
        known_from: KnownFrom::Files,
    };
    explainer.answer(question).map_err(|reason| anyhow!(reason))
}
