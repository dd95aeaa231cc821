//! Reads `[[model]]` as written, checks it, and makes a plan of each by what the model does.
//!
//! | a model | does |
//! |---|---|
//! | with `items` | ranks them |
//! | whose `file` is a directory, or has no extension | embeds texts |
//! | any other | predicts from rows of numbers |
//!
//! Every key is optional in the type, so that all errors can be reported at once; `plan` checks
//! what is required. The doc comments are the reference manual, defaults included.
//! Invariant: a key that its kind does not have is an error, and so is a name given twice. Plans
//! hold every default but the two similarities, which are up to the kind of model. The keys of
//! `COUNTS` may not be 0.
//! A new key stands in `RANKS`, `PREDICTS`, `WAITS` or `EMBEDS`. Models of texts lack the first
//! two rows of `PREDICTS`, so its order counts. A renamed key has a row in
//! `chassis/src/config/renamed.rs`. A default also stands in a doc comment, some in docs/MODELS.md,
//! and those of `limit` and `exclude_recent` in `inspect.rs`. The 200 µs at `concurrency` are
//! decided in the gateway's `fetch/origin.rs`, the two similarities and 5,000 rows in `models`,
//! which `clusters.rs` asks.
//! Never here: reading a model's files (`check.rs` does, for `config check`). Only whether `file`
//! is a directory is looked at.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use models::{Iterations, Precision, REPLY_FIELDS};
use schemars::JsonSchema;
use serde::Deserialize;
use stdx::{ByteSize, Span};

/// A model served from this process: a model file and the items it ranks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Name by which routes (`model:NAME`), `/v1/models/NAME/rank` and `/v2/models/NAME` refer to
    /// it.
    pub name: Option<String>,
    /// Model file: `tidegate-linear-1`, LightGBM's text, XGBoost's JSON or UBJSON, a graph in ONNX;
    /// or a folder with a model of texts (`config.json`, `tokenizer.json`, `model.safetensors`).
    /// Watched; a new good one is swapped in.
    pub file: Option<PathBuf>,
    /// Items file, JSON lines: then the model ranks these items. Watched; a new good one is swapped
    /// in.
    pub items: Option<PathBuf>,
    /// Version that answers name; default: what the file says, else a digest of the file.
    pub version: Option<String>,
    /// File with a request of the Open Inference Protocol and the `outputs` it must have: a new
    /// generation that answers otherwise is refused.
    pub golden: Option<PathBuf>,
    /// How far a number of an output may be from the golden one, relative to numbers above 1;
    /// default 1e-6, for texts 1e-3.
    pub tolerance: Option<f64>,
    /// Which trees count of a model that XGBoost stopped early: those up to its `best_iteration`
    /// (`best`, the default), or `all`. XGBoost's interface of scikit-learn takes the best, its
    /// `Booster.predict` all.
    pub iterations: Option<IterationsConfig>,
    /// Rows that a body may bring; default 100000. More is 413.
    pub rows_max: Option<usize>,
    /// What vectors of texts are computed in: `f32` (default), `bf16`, `int8`.
    pub precision: Option<PrecisionConfig>,
    /// Texts that a body may bring; default 10000. More is 413.
    pub texts_max: Option<usize>,
    /// Tokens of the texts that are embedded at once; default 16384. Requests that wait are
    /// embedded together up to this; with an encoder, up to 256.
    pub batch_tokens_max: Option<usize>,
    /// How long the first text of a batch waits for others, such as `2ms`; default 0. With 0, texts
    /// that came while others were embedded go together.
    pub batch_timeout: Option<String>,
    /// Requests that may wait for the model; default 512. More is 429.
    pub queue_max: Option<usize>,
    /// Threads of the work pool that may compute with the model at once; default: all. Requests
    /// that are answered on an I/O core, within 200 µs, take no turn. Not for models that rank.
    pub concurrency: Option<usize>,
    /// Memory for vectors of texts that were embedded before, such as `64MB` (default); `0B`
    /// remembers none.
    pub embedding_cache_bytes_max: Option<String>,
    /// Mean cosine from which groups of sentences are joined by `/cluster`, for up to 5,000
    /// sentences; default 0.35.
    pub linkage_similarity_min: Option<f32>,
    /// Cosine from which sentences are neighbours for `/cluster` of more than 5,000; default 0.5
    /// with an encoder, 0.55 with static embeddings.
    pub community_similarity_min: Option<f32>,
    /// Fields of the items file that an answer shows of each item, such as `["title", "price"]`;
    /// `id` always is. Default: all. They take as much memory as in the file.
    pub fields: Option<Vec<String>>,
    /// Items in an answer that asks for no number; default 10.
    pub limit: Option<usize>,
    /// The largest number that may be asked for; default 1000.
    pub limit_max: Option<usize>,
    /// Ids that a body may list as candidates, and as exclusions; default 100000. More is 413.
    pub candidates_max: Option<usize>,
    /// Named candidate sets that a body may name instead of listing ids.
    pub candidates: Option<Vec<CandidatesConfig>>,
    /// Set that `GET` routes rank, and bodies that give no candidates; default: every item.
    pub candidates_default: Option<String>,
    /// Items of one category in an answer, at most; default: no bound.
    pub per_category_max: Option<usize>,
    /// Whether items that the user has recently read are left out; default true.
    pub exclude_recent: Option<bool>,
}

/// What vectors are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionConfig {
    /// Floats of 32 bits.
    F32,
    /// Weights and inputs of 16 bits.
    Bf16,
    /// Weights and inputs of 8 bits.
    Int8,
}

/// Which trees of a model that was stopped early count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IterationsConfig {
    /// Those up to the best iteration.
    Best,
    /// All.
    All,
}

/// A candidate set, computed when the items are loaded.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CandidatesConfig {
    /// Name of the set.
    pub name: Option<String>,
    /// Text fields and the text that each must have, such as `{ category = "b" }`; default: any.
    #[serde(rename = "where")]
    pub fields: Option<BTreeMap<String, String>>,
    /// Number field by which the highest are taken, such as `popularity`; items without it come
    /// last. Goes with `count`.
    pub by: Option<String>,
    /// How many are taken; default: all.
    pub count: Option<usize>,
}

/// The models of a configuration, by what they do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelPlans {
    pub rankers: Vec<ModelPlan>,
    pub predictors: Vec<PredictorPlan>,
    pub texts: Vec<TextPlan>,
}

/// A checked `[[model]]` that ranks items.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    pub name: String,
    pub file: PathBuf,
    pub items: PathBuf,
    /// Fields that are shown; all where it is `None`.
    pub fields: Option<Vec<String>>,
    pub limit: usize,
    pub limit_max: usize,
    pub candidates_max: usize,
    pub candidates: Vec<CandidatesPlan>,
    /// Index into `candidates`.
    pub candidates_default: Option<usize>,
    pub per_category_max: Option<usize>,
    pub exclude_recent: bool,
    /// Instead of what the file says, or its digest.
    pub version: Option<String>,
    pub golden: Option<GoldenPlan>,
    pub iterations: Iterations,
}

/// A checked `[[model]]` that predicts from rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictorPlan {
    pub name: String,
    pub file: PathBuf,
    /// Instead of what the file says, or its digest.
    pub version: Option<String>,
    pub golden: Option<GoldenPlan>,
    pub iterations: Iterations,
    pub rows_max: usize,
    /// Requests computed at once, off the I/O cores.
    pub concurrency: usize,
    pub queue_max: usize,
}

/// A checked `[[model]]` that embeds texts.
#[derive(Debug, Clone, PartialEq)]
pub struct TextPlan {
    pub name: String,
    pub dir: PathBuf,
    /// Instead of a digest of the weights.
    pub version: Option<String>,
    pub golden: Option<GoldenPlan>,
    pub precision: Precision,
    pub texts_max: usize,
    pub batch_tokens_max: usize,
    pub batch_timeout: Duration,
    /// Batches computed at once.
    pub concurrency: usize,
    pub queue_max: usize,
    /// 0 for no cache.
    pub cache_bytes: u64,
    /// `None` for what suits the kind of model, which only its files tell.
    pub linkage_similarity_min: Option<f32>,
    /// `None` likewise.
    pub community_similarity_min: Option<f32>,
}

/// What a new generation must answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GoldenPlan {
    pub file: PathBuf,
    pub tolerance: f64,
}

/// A checked candidate set.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidatesPlan {
    pub name: String,
    /// Field and text.
    pub fields: Vec<(String, String)>,
    /// Number field and how many of the highest are taken.
    pub highest: Option<(String, usize)>,
}

/// Tells of a problem: the dotted key, and what is wrong.
type Wrong<'w> = &'w mut dyn FnMut(&str, String);

/// Checks the models of a configuration; relative paths are taken from `root`.
///
/// Each problem is handed to `wrong` with its dotted key (`model[0].file`); the plans returned are
/// for use only if there was none.
pub fn plan(models: &[ModelConfig], root: &Path, wrong: Wrong<'_>) -> ModelPlans {
    let mut seen = HashSet::new();
    let mut plans = ModelPlans::default();
    for (index, model) in models.iter().enumerate() {
        let at = format!("model[{index}]");
        let wrong = &mut |key: &str, message: String| wrong(&dotted(&at, key), message);
        let name = required("name", model.name.clone().filter(|name| !name.is_empty()), wrong);
        if !name.is_empty() && !seen.insert(name.clone()) {
            wrong("name", format!("model `{name}` is given twice"));
        }
        let file = root.join(required("file", model.file.clone(), wrong));
        for (key, _) in COUNTS.iter().filter(|(_, count)| count(model) == Some(0)) {
            wrong(key, "is 0; write at least 1".to_owned());
        }
        if let Some(items) = &model.items {
            refuse(model, &PREDICTS[1..3], "a model that ranks items", wrong);
            refuse(model, &EMBEDS, "a model that ranks items", wrong);
            refuse(model, &WAITS, "a model that ranks items", wrong);
            let golden = plan_golden(model, (root, 1e-6), wrong);
            let plan = plan_ranker(model, (name, file, root.join(items)), wrong);
            plans.rankers.push(ModelPlan { golden, ..plan });
        } else if file.is_dir() || file.extension().is_none() {
            refuse(model, &RANKS, "a model of texts; its `file` is a folder", wrong);
            refuse(model, &PREDICTS[..2], "a model of texts; its `file` is a folder", wrong);
            plans.texts.push(plan_texts(model, (name, file, root), wrong));
        } else {
            refuse(model, &RANKS, "a model without `items`", wrong);
            refuse(model, &EMBEDS, "a model that is a file, not a folder", wrong);
            plans.predictors.push(PredictorPlan {
                name,
                file,
                version: model.version.clone(),
                golden: plan_golden(model, (root, 1e-6), wrong),
                iterations: iterations(model),
                rows_max: model.rows_max.unwrap_or(100_000),
                concurrency: model.concurrency.unwrap_or(usize::MAX),
                queue_max: model.queue_max.unwrap_or(QUEUE_MAX),
            });
        }
    }
    plans
}

fn iterations(model: &ModelConfig) -> Iterations {
    match model.iterations {
        None | Some(IterationsConfig::Best) => Iterations::Best,
        Some(IterationsConfig::All) => Iterations::All,
    }
}

/// Requests that may wait for a model where the file says nothing.
const QUEUE_MAX: usize = 512;

/// A key with a count, and the count that a model has.
type CountKey = (&'static str, fn(&ModelConfig) -> Option<usize>);

/// Keys whose value may not be 0.
const COUNTS: [CountKey; 9] = [
    ("rows_max", |model| model.rows_max),
    ("texts_max", |model| model.texts_max),
    ("batch_tokens_max", |model| model.batch_tokens_max),
    ("concurrency", |model| model.concurrency),
    ("queue_max", |model| model.queue_max),
    ("limit", |model| model.limit),
    ("limit_max", |model| model.limit_max),
    ("candidates_max", |model| model.candidates_max),
    ("per_category_max", |model| model.per_category_max),
];

/// A key, and whether a model has it.
type KindKey = (&'static str, fn(&ModelConfig) -> bool);

const RANKS: [KindKey; 8] = [
    ("fields", |model| model.fields.is_some()),
    ("limit", |model| model.limit.is_some()),
    ("limit_max", |model| model.limit_max.is_some()),
    ("candidates_max", |model| model.candidates_max.is_some()),
    ("candidates", |model| model.candidates.is_some()),
    ("candidates_default", |model| model.candidates_default.is_some()),
    ("per_category_max", |model| model.per_category_max.is_some()),
    ("exclude_recent", |model| model.exclude_recent.is_some()),
];

const PREDICTS: [KindKey; 6] = [
    ("iterations", |model| model.iterations.is_some()),
    ("rows_max", |model| model.rows_max.is_some()),
    ("concurrency", |model| model.concurrency.is_some()),
    ("version", |model| model.version.is_some()),
    ("golden", |model| model.golden.is_some()),
    ("tolerance", |model| model.tolerance.is_some()),
];

const WAITS: [KindKey; 1] = [("queue_max", |model| model.queue_max.is_some())];

const EMBEDS: [KindKey; 7] = [
    ("precision", |model| model.precision.is_some()),
    ("texts_max", |model| model.texts_max.is_some()),
    ("batch_tokens_max", |model| model.batch_tokens_max.is_some()),
    ("batch_timeout", |model| model.batch_timeout.is_some()),
    ("embedding_cache_bytes_max", |model| model.embedding_cache_bytes_max.is_some()),
    ("linkage_similarity_min", |model| model.linkage_similarity_min.is_some()),
    ("community_similarity_min", |model| model.community_similarity_min.is_some()),
];

fn refuse(model: &ModelConfig, keys: &[KindKey], kind: &str, wrong: Wrong<'_>) {
    for (key, _) in keys.iter().filter(|(_, is_given)| is_given(model)) {
        wrong(key, format!("means nothing to {kind}"));
    }
}

fn plan_ranker(
    model: &ModelConfig,
    (name, file, items): (String, PathBuf, PathBuf),
    wrong: Wrong<'_>,
) -> ModelPlan {
    let candidates = plan_candidates(model.candidates.as_deref().unwrap_or_default(), wrong);
    let limit_max = model.limit_max.unwrap_or(1000);
    let limit = model.limit.unwrap_or(limit_max.min(10));
    if limit > limit_max {
        wrong("limit", format!("is {limit}, more than `limit_max` ({limit_max})"));
    }
    let candidates_default = model.candidates_default.as_ref().and_then(|name| {
        let found = candidates.iter().position(|set| set.name == *name);
        if found.is_none() {
            wrong("candidates_default", format!("no candidate set `{name}`"));
        }
        found
    });
    ModelPlan {
        name,
        file,
        items,
        fields: plan_fields(model, wrong),
        limit,
        limit_max,
        candidates_max: model.candidates_max.unwrap_or(100_000),
        candidates,
        candidates_default,
        per_category_max: model.per_category_max,
        exclude_recent: model.exclude_recent.unwrap_or(true),
        version: model.version.clone(),
        golden: None,
        iterations: iterations(model),
    }
}

fn plan_fields(model: &ModelConfig, wrong: Wrong<'_>) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    for field in model.fields.iter().flatten() {
        if REPLY_FIELDS.contains(&field.as_str()) {
            wrong("fields", format!("`{field}` is the answer's own; items do not show theirs"));
        } else if !seen.insert(field) {
            wrong("fields", format!("`{field}` is given twice"));
        }
    }
    model.fields.clone()
}

fn plan_texts(
    model: &ModelConfig,
    (name, dir, root): (String, PathBuf, &Path),
    wrong: Wrong<'_>,
) -> TextPlan {
    TextPlan {
        name,
        dir,
        version: model.version.clone(),
        golden: plan_golden(model, (root, 1e-3), wrong),
        precision: match model.precision {
            None | Some(PrecisionConfig::F32) => Precision::Single,
            Some(PrecisionConfig::Bf16) => Precision::Bf16,
            Some(PrecisionConfig::Int8) => Precision::Int8,
        },
        texts_max: model.texts_max.unwrap_or(10_000),
        batch_tokens_max: model.batch_tokens_max.unwrap_or(16_384),
        batch_timeout: parsed(
            ("batch_timeout", model.batch_timeout.as_deref()),
            Span::or_zero,
            wrong,
        )
        .unwrap_or(Duration::ZERO),
        concurrency: model.concurrency.unwrap_or(usize::MAX),
        queue_max: model.queue_max.unwrap_or(QUEUE_MAX),
        cache_bytes: parsed(
            ("embedding_cache_bytes_max", model.embedding_cache_bytes_max.as_deref()),
            ByteSize::or_zero,
            wrong,
        )
        .unwrap_or(64_000_000),
        linkage_similarity_min: cosine(
            ("linkage_similarity_min", model.linkage_similarity_min),
            wrong,
        ),
        community_similarity_min: cosine(
            ("community_similarity_min", model.community_similarity_min),
            wrong,
        ),
    }
}

fn plan_golden(
    model: &ModelConfig,
    (root, default): (&Path, f64),
    wrong: Wrong<'_>,
) -> Option<GoldenPlan> {
    let tolerance = model.tolerance.unwrap_or(default);
    if tolerance.is_nan() || tolerance < 0.0 {
        wrong("tolerance", format!("is {tolerance}, not at least 0"));
    }
    if model.tolerance.is_some() && model.golden.is_none() {
        wrong("tolerance", "goes with `golden`".to_owned());
    }
    Some(GoldenPlan { file: root.join(model.golden.as_ref()?), tolerance })
}

/// Returns what `read` makes of a text: `or_zero` allows 0, `above_zero` does not.
fn parsed<T, E: Display>(
    (key, written): (&str, Option<&str>),
    read: fn(&str) -> Result<T, E>,
    wrong: Wrong<'_>,
) -> Option<T> {
    read(written?).map_err(|error| wrong(key, error.to_string())).ok()
}

fn cosine((key, given): (&str, Option<f32>), wrong: Wrong<'_>) -> Option<f32> {
    if let Some(cosine) = given.filter(|cosine| !(-1.0..=1.0).contains(cosine)) {
        wrong(key, format!("is {cosine}, not from -1 to 1"));
    }
    given
}

fn plan_candidates(
    sets: &[CandidatesConfig],
    wrong: &mut dyn FnMut(&str, String),
) -> Vec<CandidatesPlan> {
    let mut seen = HashSet::new();
    let mut plans = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let at = format!("candidates[{index}]");
        let wrong = &mut |key: &str, message: String| wrong(&dotted(&at, key), message);
        let name = required("name", set.name.clone().filter(|name| !name.is_empty()), wrong);
        if !name.is_empty() && !seen.insert(name.clone()) {
            wrong("name", format!("candidate set `{name}` is given twice"));
        }
        let highest = match (&set.by, set.count) {
            (Some(by), count) => Some((by.clone(), count.unwrap_or(usize::MAX))),
            (None, None) => None,
            (None, Some(_)) => {
                wrong("count", "goes with `by`, which says the highest of what".to_owned());
                None
            }
        };
        let fields = set.fields.clone().unwrap_or_default().into_iter().collect();
        plans.push(CandidatesPlan { name, fields, highest });
    }
    plans
}

fn required<T: Default>(key: &str, value: Option<T>, wrong: &mut dyn FnMut(&str, String)) -> T {
    value.unwrap_or_else(|| {
        wrong(key, "is missing".to_owned());
        T::default()
    })
}

fn dotted(at: &str, key: &str) -> String {
    format!("{at}.{key}")
}

#[cfg(test)]
mod tests;
