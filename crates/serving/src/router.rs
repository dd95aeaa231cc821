//! Holds all models of a process, and routes each request to its API and model.
//!
//! | path | API |
//! |---|---|
//! | `POST /v1/models/{m}/rank` | rankings, our own |
//! | `/v2/…` | Open Inference Protocol (`oip.rs`) |
//! | `POST /v1/embeddings`, `/embeddings` | OpenAI's (`openai.rs`) |
//! | `POST /embed`, `/similarity`, `/tokenize`, `GET /info`, `/health` | TEI's (`tei.rs`) |
//! | `POST /cluster` | groups of sentences, our own (`clusters.rs`) |
//! | `GET /v1/models` | names of all models, OpenAI's |
//! | `GET /openapi.json`, `/docs` | what there is, and a page to try it (`describe.rs`) |
//!
//! Also here: `GET` routes with a user's profile, estimates of cost, queueing on the pool, loading
//! and unloading, readiness.
//! Invariant: a path that is none of these is 404, another method than its own 405; HEAD counts as
//! GET. Texts are answered on the pool only: `answer` refuses them with 503.
//! A new path: `router/path.rs`, an arm of `answer_api`, `describe/openapi.json`; `cost` and
//! `is_queued` if it takes long. A path of texts: `text_paths.rs`.
//! Refuses: to decide which thread works. Callers ask `cost` and `is_queued`, then call `answer` or
//! `queue`.

mod path;
mod share;
mod texts;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use exchange::{ModelAnswer, ModelRequest, Refusal};
use generation::{Generation, Poll};
use profiles::Profiles;
use serde_json::{Value, json};

use crate::answer_cache::AnswerCache;
use crate::concurrency_limit::{ConcurrencyLimit, PendingAnswer};
use crate::config::{ModelPlans, TextPlan};
use crate::describe;
use crate::golden;
use crate::hot_swap::{HotSwap, WatchedFiles};
use crate::oip::{self, InferRequest, ModelPath, OipEndpoint};
use crate::openai::error_form::{OpenAiSender, as_openai, is_openai};
use crate::predicting::PredictingModel;
use crate::predictor::Predictor;
use crate::queued::{AnswerSender, JobGroup, JobPool, QueuedRequest};
use crate::ranking::Ranking;
use crate::refusal;
use crate::status::{self, ModelStatus};
use crate::text_paths::answer_texts;
use crate::texts::{EmbeddingModel, GoldenCheck};

use path::Api;
use share::{SHORT_MAX, TEXT_BYTES_SHORT, asked_model};
use texts::{embed_tensor, text_input, text_key, text_output};

/// What a request costs whatever it asks, in nanoseconds, and a byte of its body, in picoseconds.
const REQUEST_NS: u64 = 4000;
const BODY_BYTE_PS: u64 = 1500;

/// What is never computed on an I/O core.
const LONG: Duration = Duration::from_secs(1);

/// All models of a process. One for all threads.
pub struct Models {
    ranking: Ranking,
    predictors: Vec<PredictingModel>,
    texts: Vec<NamedEmbedding>,
    answers: Arc<AnswerCache>,
    profiles: Option<Arc<Profiles>>,
    pool: Arc<dyn JobPool>,
}

/// A model that embeds texts.
struct NamedEmbedding {
    name: String,
    model: Arc<HotSwap<EmbeddingModel>>,
}

impl Models {
    /// Opens all models after a first look at their files. `profiles` tell of users, `pool` takes
    /// what takes long.
    pub fn open(
        plans: ModelPlans,
        profiles: Option<Arc<Profiles>>,
        pool: Arc<dyn JobPool>,
    ) -> Self {
        let predicting = |plan| PredictingModel::open(plan, Arc::clone(&pool));
        Self {
            ranking: Ranking::open(plans.rankers),
            predictors: plans.predictors.into_iter().map(predicting).collect(),
            texts: plans.texts.into_iter().map(|plan| embedding(plan, &pool)).collect(),
            answers: AnswerCache::new(),
            profiles,
            pool,
        }
    }

    /// Returns what a `generation::Watcher` must look at.
    pub fn watched(&self) -> Vec<Arc<dyn Poll>> {
        let predictors = self.predictors.iter().map(|one| Arc::clone(&one.file) as Arc<dyn Poll>);
        let texts = self.texts.iter().map(|one| Arc::clone(&one.model) as Arc<dyn Poll>);
        self.ranking.watched().into_iter().chain(predictors).chain(texts).collect()
    }

    /// Returns where each model stands.
    pub fn status(&self) -> Vec<ModelStatus> {
        let predictors = self.predictors.iter().map(PredictingModel::status);
        let texts = self.texts.iter().map(|one| {
            let status = one.model.peek().as_ref().map(|texts| texts.status());
            ModelStatus {
                name: one.name.clone(),
                version: status.as_ref().and_then(|status| status.version.clone()),
                items: 0,
                absent: Vec::new(),
                items_file: None,
                texts: status.as_ref().map(|status| status.counts),
                file: status.map(|status| status.file),
            }
        });
        self.ranking.status().into_iter().chain(predictors).chain(texts).collect()
    }

    /// Returns every model: its version, its state, and the reason for that.
    pub fn index(&self) -> Value {
        status::index(&self.status())
    }

    /// Loads a model anew, or lets go of it.
    ///
    /// # Errors
    /// 404 for a model that is not configured, 400 with the reason when its files are unfit; what
    /// was loaded then stays.
    pub fn set_loaded(&self, model: &str, loaded: bool) -> Result<(), Refusal> {
        if let Some(one) = self.predictors.iter().find(|one| one.plan.name == model) {
            return set_loaded(&one.file, loaded);
        }
        if let Some(one) = self.texts.iter().find(|one| one.name == model) {
            return set_loaded(&one.model, loaded);
        }
        match self.ranking.files(model) {
            Some(files) => set_loaded(files, loaded),
            None => Err(refusal::no_model(model, self.model_names())),
        }
    }

    /// Estimates the time to answer a request, unread but for its length.
    pub fn cost(&self, request: &ModelRequest<'_>) -> Duration {
        if let Some(model) = request.model {
            return self.ranking.query_cost(model, request.query);
        }
        let body_bytes = request.body.len();
        match Api::of(request.path) {
            Some(Api::Rank(model)) => self.ranking.body_cost(model, request.body),
            Some(Api::Oip(OipEndpoint::Infer(model))) => self.infer_cost(model.name, body_bytes),
            Some(Api::Texts(_)) => LONG,
            _ => Duration::ZERO,
        }
    }

    /// Whether a request that takes long is to be answered by [`Self::queue`].
    pub fn is_queued(&self, request: &ModelRequest<'_>) -> bool {
        let is_ranking = || matches!(Api::of(request.path), Some(Api::Rank(_)) | None);
        request.model.is_none() && !is_ranking()
    }

    /// Answers a request on this thread: appends the body of the answer to `out`.
    ///
    /// # Errors
    /// A [`Refusal`] to be sent to the client; `out` is then as it was.
    pub fn answer(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        let begun = Instant::now();
        let answer = match request.model {
            Some(model) => self.recommend(model, request, out),
            None => self.answer_api(request, out),
        };
        answer.map(|answer| {
            let score = begun.elapsed().saturating_sub(answer.features);
            ModelAnswer { score, ..answer }
        })
    }

    /// Answers a `GET` route; with the user's profile, where the answer is for a user.
    fn recommend(
        &self,
        model: &str,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        let begun = Instant::now();
        let profile_of = |user| {
            let profile = self.profiles.as_ref().and_then(|profiles| profiles.data(user));
            profile.ok_or_else(|| Refusal::new(503, "the profile cannot be read"))
        };
        let profile = request.user.map(profile_of).transpose()?;
        let features = begun.elapsed();
        let answer = self.ranking.recommend(model, profile.as_ref(), request, out)?;
        Ok(ModelAnswer { features, ..answer })
    }

    fn answer_api(
        &self,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        let begun = out.len();
        let answer = Api::asked(request.method, request.path).and_then(|api| match api {
            Api::Rank(model) => self.ranking.rank(model, request, out),
            Api::Oip(asked) => self.oip(asked, request, out),
            Api::Texts(_) => Err(refusal::overloaded()),
            Api::Names => Ok(push_json(&status::names(&self.status()), out)),
            Api::Document => Ok(push_json(&describe::openapi(), out)),
            Api::Page => {
                out.extend_from_slice(describe::PAGE.as_bytes());
                let content_type = "text/html; charset=utf-8";
                Ok(ModelAnswer { content_type, ..ModelAnswer::default() })
            }
        });
        if answer.is_err() {
            out.truncate(begun);
        }
        match is_openai(request.path) {
            true => answer.map_err(as_openai),
            false => answer,
        }
    }

    /// Answers a request on the pool, once for all who ask the same at the same time; `body` is
    /// the request's.
    pub fn queue(
        self: &Arc<Self>,
        request: &ModelRequest<'_>,
        body: Bytes,
        sender: Box<dyn AnswerSender>,
    ) {
        let request = QueuedRequest::new(request, body);
        let sender = match is_openai(&request.path) {
            true => Box::new(OpenAiSender(sender)),
            false => sender,
        };
        let (limit, group) = self.share(&request);
        let models = Arc::clone(self);
        let mut pending =
            PendingAnswer::new(sender, move |sender| models.answer_queued(&request, sender));
        pending.is_long = group.is_long;
        match limit {
            Some(limit) => limit.queue(pending),
            // A pool that is full drops the job, which refuses the request.
            None => _ = self.pool.spawn(group, Box::new(|| pending.make())),
        }
    }

    /// Returns the limit that a request is under, and the jobs that it shares a turn with.
    fn share(&self, request: &QueuedRequest) -> (Option<Arc<ConcurrencyLimit>>, JobGroup<'_>) {
        let bytes = request.body.len();
        let asked = match Api::of(&request.path) {
            Some(Api::Oip(OipEndpoint::Infer(model))) => Some(model.name),
            Some(Api::Texts(_)) => asked_model(&request.body),
            _ => return (None, JobGroup::short("")),
        };
        if let Some(one) = self.predictors.iter().find(|one| Some(&*one.plan.name) == asked) {
            let is_long = self.infer_cost(&one.plan.name, bytes) > SHORT_MAX;
            let group = JobGroup { model: &one.plan.name, is_long };
            return (Some(Arc::clone(&one.limit)), group);
        }
        let texts = self.texts.iter().find(|one| Some(&*one.name) == asked);
        let model = texts.or(self.texts.first()).map_or("", |one| one.name.as_str());
        (None, JobGroup { model, is_long: bytes > TEXT_BYTES_SHORT })
    }

    /// Answers on a thread of the pool.
    fn answer_queued(&self, request: &QueuedRequest, sender: Box<dyn AnswerSender>) {
        match Api::asked(&request.method, &request.path) {
            Ok(Api::Texts(_)) => self.answer_texts(request, sender),
            Ok(Api::Oip(OipEndpoint::Infer(model))) => match self.texts(model) {
                Some(texts) => embed_tensor((model, &texts), request, sender),
                None => self.predict(model, request, sender),
            },
            _ => {
                let mut out = Vec::new();
                let answer = self.answer(&request.request(), &mut out);
                sender.send(answer.map(|answer| (answer, out.into())));
            }
        }
    }

    /// Predicts, unless somebody does so already.
    fn predict(&self, model: ModelPath<'_>, queued: &QueuedRequest, sender: Box<dyn AnswerSender>) {
        let mut out = Vec::new();
        let read = || {
            let request = InferRequest::read(&queued.body, queued.json_length)?;
            let Some((one, loaded)) = self.predicting(model) else { return Ok(None) };
            model.check(&loaded.value.version)?;
            Ok(Some((one, loaded, request)))
        };
        match read() {
            Err(refusal) => sender.send(Err(refusal)),
            Ok(None) => {
                let answer = self.answer(&queued.request(), &mut out);
                sender.send(answer.map(|answer| (answer, out.into())));
            }
            Ok(Some((one, loaded, mut request))) => {
                let key = request.key(&one.plan.name, &loaded.value.version);
                let Some(sender) = self.answers.ask(key, sender) else { return };
                let answer = one.infer(&loaded.value, &mut request, &mut out);
                sender.send(answer.map(|answer| (answer, out.into())));
            }
        }
    }

    /// Answers a path of texts; groups are made once for all who ask for the same.
    fn answer_texts(&self, request: &QueuedRequest, sender: Box<dyn AnswerSender>) {
        let loaded: Vec<Arc<EmbeddingModel>> =
            self.texts.iter().filter_map(|one| one.model.peek().clone()).collect();
        let sender = match text_key(&loaded, request) {
            Some(key) => self.answers.ask(key, sender),
            None => Some(sender),
        };
        if let Some(sender) = sender {
            answer_texts(&loaded, request, sender);
        }
    }

    fn texts(&self, model: ModelPath<'_>) -> Option<Arc<EmbeddingModel>> {
        let one = self.texts.iter().find(|one| one.name == model.name)?;
        one.model.peek().clone()
    }

    fn oip(
        &self,
        asked: OipEndpoint<'_>,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        match asked {
            OipEndpoint::Server => Ok(push_json(&oip::server(), out)),
            OipEndpoint::Live => Ok(push_json(&json!({"live": true}), out)),
            OipEndpoint::Ready => match self.unready() {
                None => Ok(push_json(&json!({"ready": true}), out)),
                Some(model) => Err(refusal::not_ready(&model)),
            },
            OipEndpoint::Index => Ok(push_json(&self.index(), out)),
            OipEndpoint::Metadata(model) => {
                self.metadata(model).map(|about| push_json(&about, out))
            }
            OipEndpoint::Config(model) => {
                let about = self.metadata(model)?;
                let one = self.predictors.iter().find(|one| one.plan.name == model.name);
                let rows_max = one.map_or(ROWS, |one| one.plan.rows_max);
                Ok(push_json(&oip::config(&about, rows_max), out))
            }
            OipEndpoint::Stats(model) => {
                if let Some(model) = model {
                    self.metadata(model)?;
                }
                Ok(push_json(&json!({ "model_stats": self.counts(model) }), out))
            }
            OipEndpoint::ModelReady(model) => {
                self.metadata(model)?;
                Ok(push_json(&json!({"name": model.name, "ready": true}), out))
            }
            OipEndpoint::Infer(model) => {
                let mut request = InferRequest::read(request.body, request.json_length)?;
                if let Some((one, loaded)) = self.predicting(model) {
                    model.check(&loaded.value.version)?;
                    return one.infer(&loaded.value, &mut request, out);
                }
                let ranker = self.rows_of(model)?;
                let json_length = oip::infer((model.name, &ranker), &mut request, ROWS, out)?;
                Ok(ModelAnswer { json_length, ..ModelAnswer::default() })
            }
        }
    }

    /// Counts of the models that predict, or of one.
    fn counts(&self, model: Option<ModelPath<'_>>) -> Vec<Value> {
        let asked = |one: &&PredictingModel| model.is_none_or(|it| it.name == one.plan.name);
        let stats = |one: &PredictingModel| {
            let loaded = one.loaded();
            let version = loaded.as_ref().map_or("", |loaded| loaded.value.version.as_str());
            one.counts.as_json((&one.plan.name, version))
        };
        self.predictors.iter().filter(asked).map(stats).collect()
    }

    fn metadata(&self, model: ModelPath<'_>) -> Result<Value, Refusal> {
        let about = |predictor: &Predictor| {
            model.check(&predictor.version)?;
            let (version, platform) = (predictor.version.as_str(), predictor.platform);
            let about = (predictor.inputs.as_slice(), predictor.outputs.as_slice());
            Ok(oip::metadata((model.name, version, platform), about))
        };
        if let Some(loaded) = self.texts(model).and_then(|texts| texts.loaded()) {
            model.check(&loaded.version)?;
            let (input, output) = (text_input(), text_output(&loaded));
            let named = (model.name, loaded.version.as_str(), TEXTS);
            return Ok(oip::metadata(named, (&[input], &[output])));
        }
        match self.predicting(model) {
            Some((_, loaded)) => about(&loaded.value),
            None => self.rows_of(model).and_then(|ranker| about(&ranker)),
        }
    }

    /// The linear model of one that ranks, over rows that the client brings.
    fn rows_of(&self, model: ModelPath<'_>) -> Result<Arc<Predictor>, Refusal> {
        let name = model.name;
        let is_known = self.predictors.iter().any(|one| one.plan.name == name)
            || self.texts.iter().any(|one| one.name == name)
            || self.ranking.files(name).is_some();
        let refusal = || match is_known {
            true => refusal::not_ready(name),
            false => refusal::no_model(name, self.model_names()),
        };
        let loaded = self.ranking.loaded(name).ok_or_else(refusal)?;
        model.check(&loaded.rows.version)?;
        Ok(Arc::clone(&loaded.rows))
    }

    fn model_names(&self) -> impl Iterator<Item = &str> {
        let predictors = self.predictors.iter().map(|one| one.plan.name.as_str());
        let texts = self.texts.iter().map(|one| one.name.as_str());
        self.ranking.model_names().chain(predictors).chain(texts)
    }

    fn predicting(
        &self,
        model: ModelPath<'_>,
    ) -> Option<(&PredictingModel, Arc<Generation<Predictor>>)> {
        let one = self.predictors.iter().find(|one| one.plan.name == model.name)?;
        one.loaded().map(|loaded| (one, loaded))
    }

    fn infer_cost(&self, model: &str, body_bytes: usize) -> Duration {
        if self.texts.iter().any(|one| one.name == model) {
            return LONG;
        }
        let reading = REQUEST_NS + body_bytes as u64 * BODY_BYTE_PS / 1000;
        let path = ModelPath { name: model, version: None };
        let predicting = self.predicting(path).map_or(0, |(_, loaded)| {
            let rows = body_bytes / (3 * loaded.value.width().max(1));
            loaded.value.cost_ns(rows)
        });
        Duration::from_nanos(reading + predicting).min(LONG)
    }

    /// The first model that has no good generation.
    fn unready(&self) -> Option<String> {
        let mut models = self.status().into_iter();
        models.find(|model| model.file.is_some() && model.version.is_none()).map(|model| model.name)
    }
}

/// Rows that a body may bring to a model that ranks.
const ROWS: usize = 100_000;

/// What models of texts are called in metadata.
const TEXTS: &str = "sentence-transformers";

fn embedding(plan: TextPlan, pool: &Arc<dyn JobPool>) -> NamedEmbedding {
    let (name, pool) = (plan.name.clone(), Arc::clone(pool));
    let golden = plan.golden.clone();
    let check: GoldenCheck =
        Arc::new(move |embedder, _| golden::check_texts(golden.as_ref(), embedder));
    let model = HotSwap::new(move || {
        EmbeddingModel::open(plan.clone(), Arc::clone(&pool), Arc::clone(&check))
    });
    NamedEmbedding { name, model: Arc::new(model) }
}

/// Appends a value that is ready.
fn push_json(value: &Value, out: &mut Vec<u8>) -> ModelAnswer {
    out.extend_from_slice(value.to_string().as_bytes());
    ModelAnswer::default()
}

fn set_loaded<F: WatchedFiles>(model: &HotSwap<F>, loaded: bool) -> Result<(), Refusal> {
    match loaded {
        true => model.load().map_err(refusal::bad),
        false => {
            model.unload();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
