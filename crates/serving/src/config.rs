//! `[[model]]` as written, and what it means.
//!
//! Every key is optional in the type, so that all errors of a file can be reported at once; `plan`
//! checks what is required. The doc comments are the reference manual.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// A model served from this process: a model file and the items it ranks.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Name by which routes (`model:NAME`) and `POST /v1/models/NAME/rank` refer to it.
    pub name: Option<String>,
    /// Model file, format `tidegate-linear-1`. Watched; a new good one is swapped in.
    pub file: Option<PathBuf>,
    /// Items file, JSON lines. Watched; a new good one is swapped in.
    pub items: Option<PathBuf>,
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

/// A checked `[[model]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPlan {
    pub name: String,
    pub file: PathBuf,
    pub items: PathBuf,
    pub limit: usize,
    pub limit_max: usize,
    pub candidates_max: usize,
    pub candidates: Vec<CandidatesPlan>,
    /// Index into `candidates`.
    pub candidates_default: Option<usize>,
    pub per_category_max: Option<usize>,
    pub exclude_recent: bool,
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

/// Checks the models of a configuration; relative paths are taken from `root`.
///
/// Each problem is handed to `wrong` with its dotted key (`model[0].file`); the plans returned are
/// for use only if there was none.
pub fn plan(
    models: &[ModelConfig],
    root: &Path,
    wrong: &mut dyn FnMut(&str, String),
) -> Vec<ModelPlan> {
    let mut seen = HashSet::new();
    let mut plans = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let at = format!("model[{index}]");
        let plan = plan_model(model, root, &mut |key, message| wrong(&dotted(&at, key), message));
        if !plan.name.is_empty() && !seen.insert(plan.name.clone()) {
            wrong(&dotted(&at, "name"), format!("model `{}` is given twice", plan.name));
        }
        plans.push(plan);
    }
    plans
}

fn plan_model(model: &ModelConfig, root: &Path, wrong: &mut dyn FnMut(&str, String)) -> ModelPlan {
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
        name: required("name", model.name.clone().filter(|name| !name.is_empty()), wrong),
        file: root.join(required("file", model.file.clone(), wrong)),
        items: root.join(required("items", model.items.clone(), wrong)),
        limit,
        limit_max,
        candidates_max: model.candidates_max.unwrap_or(100_000),
        candidates,
        candidates_default,
        per_category_max: model.per_category_max,
        exclude_recent: model.exclude_recent.unwrap_or(true),
    }
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
