//! Holds the models of a process that rank, and answers the two ways to ask them.
//!
//! `rank` (a body) and `recommend` (a `GET` route) read top to bottom: find the model, read what is
//! asked, rank, write. Both work on the calling thread. The query fields `limit`, `explain` and
//! `category` are read here; `examples/news/README.md` names them.
//! `cost` and `body_cost` estimate beforehand; above 200 µs the gateway's `fetch/origin.rs` leaves
//! the I/O core. An unknown or unloaded model costs nothing. The figures are measured and rounded
//! up: measure them again after a change of speed.
//! A profile is not the client's doing: what of it does not fit the model counts as absent.
//!
//! Invariant: `rank` and `recommend` see one generation from their first look to the last byte. A
//! refusal leaves `out` as it was. A warm thread allocates for the reply and its impression only
//! (`tests/allocations.rs`).
//! Elsewhere: bodies (`ranking/body.rs`), replies (`ranking/reply.rs`), files (`ranking/files.rs`),
//! scores (`models::Ranker`).

mod body;
mod files;
mod loaded;
mod reply;
mod scratch;

pub(crate) use files::{ModelFiles, check};
pub(crate) use loaded::LoadedRanker;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use exchange::{ModelAnswer, ModelRequest, Refusal, query_value};
use generation::Poll;
use models::{Candidates, FeatureSource, RankRequest, RequestError};
use profiles::Profile;

use crate::config::ModelPlan;
use crate::hot_swap::HotSwap;
use crate::refusal;
use crate::status::ModelStatus;
use body::CandidateChoice;
use reply::{RankReply, impression};
use scratch::RankScratch;

/// The models of a process that rank. One for all threads.
pub struct Ranking {
    models: Vec<RankingModel>,
}

/// A model that ranks.
struct RankingModel {
    plan: Arc<ModelPlan>,
    files: Arc<HotSwap<ModelFiles>>,
}

/// What the query of a `GET` asks for.
struct Recommendation<'a> {
    /// As it is written; `None` takes the model's default.
    limit: Option<Cow<'a, str>>,
    /// Whether each item says what its score is made of.
    explain: bool,
    /// Only items of this category; one that no item has gives an empty list.
    category: Option<Cow<'a, str>>,
}

impl Ranking {
    /// Opens the models after a first look at their files; one without a good generation answers
    /// 503 until it has one.
    pub fn open(plans: Vec<ModelPlan>) -> Self {
        Self { models: plans.into_iter().map(RankingModel::open).collect() }
    }

    /// Returns what a `generation::Watcher` must look at.
    pub fn watched(&self) -> Vec<Arc<dyn Poll>> {
        self.models.iter().map(|model| Arc::clone(&model.files) as Arc<dyn Poll>).collect()
    }

    /// Returns where each model stands.
    pub fn status(&self) -> Vec<ModelStatus> {
        self.models.iter().map(RankingModel::status).collect()
    }

    /// Returns a model's files.
    pub(crate) fn files(&self, model: &str) -> Option<&HotSwap<ModelFiles>> {
        self.model(model).ok().map(|model| &*model.files)
    }

    /// Returns the generation of a model in use.
    pub(crate) fn loaded(&self, model: &str) -> Option<Arc<LoadedRanker>> {
        self.model(model).ok()?.loaded()
    }

    /// Answers `POST /v1/models/{model}/rank`: appends the reply to `out`.
    ///
    /// # Errors
    /// A [`Refusal`] to be sent to the client; `out` is then as it was.
    pub fn rank(
        &self,
        model: &str,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        self.with_loaded(model, |plan, loaded| rank_loaded(loaded, plan, request, out))
    }

    /// Answers a `GET` route: appends the reply to `out`. Without a profile no user feature is
    /// known; with one its features count and what its user has recently read is left out.
    ///
    /// # Errors
    /// A [`Refusal`] to be sent to the client; `out` is then as it was.
    pub fn recommend(
        &self,
        model: &str,
        profile: Option<&Profile>,
        request: &ModelRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Result<ModelAnswer, Refusal> {
        self.with_loaded(model, |plan, loaded| {
            recommend_loaded((loaded, plan), profile, request, out)
        })
    }

    /// Estimates the time to rank `candidates` of a model, all of its default ones by default;
    /// zero for a model that does not exist. To be compared with what an I/O core may spend.
    pub fn cost(&self, model: &str, candidates: Option<usize>) -> Duration {
        let Ok(RankingModel { plan, .. }) = self.model(model) else { return Duration::ZERO };
        let Some(loaded) = self.loaded(model) else { return Duration::ZERO };
        let all = count(default_candidates(plan, &loaded), &loaded);
        let candidates = candidates.unwrap_or(all);
        let of_each = CANDIDATE_PS * candidates as u64 / 1000;
        let of_model = match loaded.ranker.multiplications() {
            Some(count) => MULTIPLICATION_PS * (count * candidates) as u64 / 1000,
            None => loaded.rows.cost_ns(candidates),
        };
        Duration::from_nanos(REQUEST_NS + of_each + of_model)
    }

    /// Estimates the time to explain so many items, the default ones by default.
    pub(crate) fn explain_cost(&self, model: &str, items: Option<usize>) -> Duration {
        let Ok(RankingModel { plan, .. }) = self.model(model) else { return Duration::ZERO };
        let Some(loaded) = self.loaded(model) else { return Duration::ZERO };
        let items = items.unwrap_or(plan.limit).min(loaded.ranker.len()) as u64;
        Duration::from_nanos(items * loaded.ranker.nodes_explained() as u64 * EXPLAINED_NODE_NS)
    }

    /// Estimates the time of a `GET` by what its query asks for.
    pub(crate) fn query_cost(&self, model: &str, query: &str) -> Duration {
        // A wrong query is refused before anything is explained.
        let explaining = match Recommendation::read(query) {
            Ok(Recommendation { limit, explain: true, .. }) => {
                self.explain_cost(model, limit.and_then(|limit| limit.parse().ok()))
            }
            _ => Duration::ZERO,
        };
        self.cost(model, None) + explaining
    }

    /// Estimates the time to answer a `rank` body by its length. A body lists at most one id in
    /// four bytes, or it names a set or ranks everything.
    pub fn body_cost(&self, model: &str, body: &[u8]) -> Duration {
        let body_bytes = body.len();
        let Ok(RankingModel { plan, .. }) = self.model(model) else { return Duration::ZERO };
        let Some(loaded) = self.loaded(model) else { return Duration::ZERO };
        let unlisted = loaded.sets.iter().map(|(_, set)| set.rows().len()).max().unwrap_or(0);
        let unlisted = unlisted.max(count(default_candidates(plan, &loaded), &loaded));
        let candidates = unlisted.max(body_bytes / 4);
        let reading = Duration::from_nanos(body_bytes as u64 * BODY_BYTE_PS / 1000);
        let takes_long = loaded.ranker.nodes_explained() > 0;
        let explaining = match takes_long && asks_for_explanations(body) {
            true => self.explain_cost(model, Some(plan.limit_max)),
            false => Duration::ZERO,
        };
        self.cost(model, Some(candidates)) + reading + explaining
    }

    /// Returns the models' names.
    pub(crate) fn model_names(&self) -> impl Iterator<Item = &str> {
        self.models.iter().map(|model| model.plan.name.as_str())
    }

    /// Hands over a model's plan and the generation in use, without touching reference counts.
    fn with_loaded<R>(
        &self,
        model: &str,
        answer: impl FnOnce(&ModelPlan, &LoadedRanker) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let RankingModel { plan, files } = self.model(model)?;
        let files = files.peek();
        let loaded = files.as_ref().map(|files| files.peek());
        match loaded.as_deref() {
            Some(Some(loaded)) => answer(plan, loaded),
            _ => Err(refusal::not_ready(model)),
        }
    }

    fn model(&self, name: &str) -> Result<&RankingModel, Refusal> {
        let found = self.models.iter().find(|model| model.plan.name == name);
        found.ok_or_else(|| refusal::no_model(name, self.model_names()))
    }
}

impl RankingModel {
    fn open(plan: ModelPlan) -> Self {
        let plan = Arc::new(plan);
        let opened = Arc::clone(&plan);
        let files = HotSwap::new(move || Arc::new(ModelFiles::open(ModelPlan::clone(&opened))));
        Self { plan, files: Arc::new(files) }
    }

    fn loaded(&self) -> Option<Arc<LoadedRanker>> {
        self.files.peek().as_ref()?.peek().clone()
    }

    fn status(&self) -> ModelStatus {
        let loaded = self.loaded();
        let [file, items_file] = match &*self.files.peek() {
            Some(files) => files.status().map(Some),
            None => [None, None],
        };
        ModelStatus {
            name: self.plan.name.clone(),
            version: loaded.as_ref().map(|loaded| loaded.version.clone()),
            items: loaded.as_ref().map_or(0, |loaded| loaded.ranker.len()),
            absent: loaded.map_or_else(Vec::new, |loaded| loaded.absent.clone()),
            file,
            items_file,
            texts: None,
        }
    }
}

/// What a request costs whatever it ranks, in nanoseconds. Measured as the others are, on the
/// machine of docs/BENCHMARKS.md, and rounded up: the estimate decides where to work, not whether.
const REQUEST_NS: u64 = 4000;
/// What a candidate costs before its features, in picoseconds.
const CANDIDATE_PS: u64 = 4000;
/// What each live feature of a candidate adds, in picoseconds.
const MULTIPLICATION_PS: u64 = 150;
/// What a byte of a body costs to read, its ids looked up, in picoseconds.
const BODY_BYTE_PS: u64 = 3000;
/// What explaining an item costs for each node of trees, in nanoseconds.
const EXPLAINED_NODE_NS: u64 = 40;
/// How the query of a `GET` names a feature of the moment.
const CONTEXT: &str = "context.";
/// How a body asks for explanations.
const EXPLAIN: &[u8] = b"\"explain\"";

/// What the answer to a user with a profile says of it, where the model reads affinities, and none
/// of them is in the profile.
const NO_AFFINITY: &str = "no-affinity";

/// Answers a body with one generation.
pub(crate) fn rank_loaded(
    loaded: &LoadedRanker,
    plan: &ModelPlan,
    request: &ModelRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<ModelAnswer, Refusal> {
    let ranker = &loaded.ranker;
    RankScratch::with(ranker.inputs(), ranker.len(), |work| {
        let asked = body::read(request.body, loaded, plan, work)?;
        let candidates = match asked.candidates {
            CandidateChoice::Listed => Candidates::Rows(work.listed.rows()),
            CandidateChoice::Set(index) => Candidates::Packed(&loaded.sets[index].1),
            CandidateChoice::Default => default_candidates(plan, loaded),
        };
        let ranking = RankRequest {
            inputs: &work.slots,
            candidates,
            excluded: &work.excluded,
            limit: asked.limit,
            per_category_max: plan.per_category_max,
        };
        ranker.rank(&ranking, &mut work.scratch, &mut work.ranked).map_err(unfit)?;
        let mut reply = RankReply { loaded, work, id: request.id, explain: asked.explain };
        reply.write_rank(request.body, out);
        let impression = Some(impression(loaded, &work.ranked));
        Ok(ModelAnswer { impression, ..ModelAnswer::default() })
    })
}

/// Answers a query with one generation.
fn recommend_loaded(
    (loaded, plan): (&LoadedRanker, &ModelPlan),
    profile: Option<&Profile>,
    request: &ModelRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<ModelAnswer, Refusal> {
    let Recommendation { limit, explain, category } = Recommendation::read(request.query)?;
    let limit = limit.map_or(Ok(plan.limit), |written| body::limit(&written, plan));
    let limit = limit.map_err(|reason| refusal::parameter("limit", &reason))?;
    let ranker = &loaded.ranker;
    RankScratch::with(ranker.inputs(), ranker.len(), |work| {
        let mut detail = "";
        if let Some(profile) = profile {
            take_profile(profile, plan, loaded, work);
            if ranker.inputs().lack_affinity(&work.slots) {
                detail = NO_AFFINITY;
            }
        }
        take_context(request.query, loaded, work)?;
        rank_category(loaded, plan, (category.as_deref(), limit), work)?;
        let mut reply = RankReply { loaded, work, id: request.id, explain };
        let decision_at = reply.write_recommendation(request.decision, out);
        Ok(ModelAnswer {
            impression: Some(impression(loaded, &work.ranked)),
            decision_at: Some(decision_at),
            detail,
            ..ModelAnswer::default()
        })
    })
}

impl<'a> Recommendation<'a> {
    fn read(query: &'a str) -> Result<Self, Refusal> {
        let value = |name| query_value(query.as_bytes(), name);
        let text = |name| match value(name)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        let explain = match value("explain").as_deref() {
            None | Some(b"0" | b"false") => false,
            Some(b"1" | b"true") => true,
            Some(_) => return Err(refusal::parameter("explain", "must be 1 or 0")),
        };
        Ok(Self { limit: text("limit"), explain, category: text("category") })
    }
}

/// Whether a body that was not read yet may ask for explanations. A key may be written by escapes.
fn asks_for_explanations(body: &[u8]) -> bool {
    let holds = |wanted: &[u8]| memchr::memmem::find(body, wanted).is_some();
    holds(EXPLAIN) || holds(b"\\u006") || holds(b"\\u007")
}

fn default_candidates<'l>(plan: &ModelPlan, loaded: &'l LoadedRanker) -> Candidates<'l> {
    match plan.candidates_default {
        Some(index) => Candidates::Packed(&loaded.sets[index].1),
        None => Candidates::All,
    }
}

fn count(candidates: Candidates<'_>, loaded: &LoadedRanker) -> usize {
    candidates.rows().map_or(loaded.ranker.len(), <[u32]>::len)
}

/// A profile is not the client's doing: what does not fit the model counts as absent.
fn take_profile(
    profile: &Profile,
    plan: &ModelPlan,
    loaded: &LoadedRanker,
    work: &mut RankScratch,
) {
    let inputs = loaded.ranker.inputs();
    for (name, value) in profile.features() {
        let _unfit = inputs.set_number(FeatureSource::User, name, value, &mut work.slots);
    }
    for (name, text) in profile.texts() {
        let _unfit = inputs.set_text(FeatureSource::User, name, text, &mut work.slots);
    }
    if plan.exclude_recent {
        let items = loaded.ranker.items();
        work.excluded.extend(profile.recent().filter_map(|id| items.row(id.as_bytes())));
    }
}

/// Takes the features `context.NAME` of a query. A name that the model does not know says nothing.
fn take_context(query: &str, loaded: &LoadedRanker, work: &mut RankScratch) -> Result<(), Refusal> {
    let inputs = loaded.ranker.inputs();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = exchange::decode_query(name.as_bytes());
        let Some(feature) = name.strip_prefix(CONTEXT.as_bytes()) else { continue };
        let value = exchange::decode_query(value.as_bytes());
        let texts = std::str::from_utf8(feature).ok().zip(std::str::from_utf8(&value).ok());
        let Some((feature, value)) = texts else { continue };
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let mut text = || inputs.set_text(FeatureSource::Context, feature, value, &mut work.slots);
        let set = match number {
            None => text(),
            Some(number) => {
                let slots = &mut work.slots;
                let set = inputs.set_number(FeatureSource::Context, feature, number, slots);
                match set {
                    Err(RequestError::WantsText) => {
                        inputs.set_text(FeatureSource::Context, feature, value, slots)
                    }
                    set => set,
                }
            }
        };
        set.map_err(|error| {
            refusal::parameter(&format!("{CONTEXT}{feature}"), &error.to_string())
        })?;
    }
    Ok(())
}

/// Ranks the default candidates, or those of a category.
fn rank_category(
    loaded: &LoadedRanker,
    plan: &ModelPlan,
    (category, limit): (Option<&str>, usize),
    work: &mut RankScratch,
) -> Result<(), Refusal> {
    let ranker = &loaded.ranker;
    if category.is_some() && loaded.categories.is_empty() {
        return Err(refusal::parameter("category", "is asked for, but no item has one"));
    }
    let candidates = match (category, default_candidates(plan, loaded)) {
        (None, candidates) => candidates,
        (Some(category), candidates) => match candidates.rows() {
            None => Candidates::Rows(rows_in(loaded, category)),
            Some(rows) => {
                let both = rows_in(loaded, category).iter();
                work.chosen.extend(both.filter(|row| rows.binary_search(row).is_ok()));
                Candidates::Rows(&work.chosen)
            }
        },
    };
    let rank = |slots: &[f64], scratch: &mut models::Scratch, ranked: &mut Vec<_>| {
        let request = RankRequest {
            inputs: slots,
            candidates,
            excluded: &work.excluded,
            limit,
            per_category_max: plan.per_category_max,
        };
        ranker.rank(&request, scratch, ranked)
    };
    match rank(&work.slots, &mut work.scratch, &mut work.ranked) {
        Err(_) => {
            // A profile with such values is worth nothing, and no error to its user.
            ranker.inputs().clear(&mut work.slots);
            rank(&work.slots, &mut work.scratch, &mut work.ranked)
        }
        result => result,
    }
    .map_err(unfit)
}

fn unfit(error: RequestError) -> Refusal {
    refusal::bad(error.to_string())
}

fn rows_in<'l>(loaded: &'l LoadedRanker, category: &str) -> &'l [u32] {
    let codes = loaded.ranker.items().text("category").expect("items always keep `category`");
    codes.code(category).map_or(&[], |code| &loaded.categories[code as usize])
}

#[cfg(test)]
mod tests;
