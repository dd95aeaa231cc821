//! Reads what the JSON files of a directory say of its model.
//!
//! Read are `modules.json` and what it names (sentence-transformers 2 to 5), `config.json` of BERT
//! and of Model2Vec, and one limit of tokens. `sentence_bert_config.json` has that limit before
//! `tokenizer_config.json`. Model2Vec's `config.json` decides alone. Another directory without
//! `modules.json` gets no normalisation, and the pooling of `1_Pooling`, or the mean where that is
//! missing.
//!
//! Invariant: every size is within a bound that stands beside its key, and heads divide the hidden
//! size. A text never has more tokens than positions. Sums in `dense/rounded.rs` need the bounds of
//! `hidden_size` and `intermediate_size`. Sizes are compared with the weights in `encoder.rs`.
//! Keys that are not known are ignored; a wrong value is a problem with its file and key.
//! Refuses, by name: other architectures, other modules than a model, pooling and normalisation,
//! poolings that are joined or weighted, relative positions. Where two modules pool, the last one
//! counts. Normalisation comes last, wherever it stands behind the model.
//! `tei.rs` and `inspect.rs` of crates/serving print each [`Pooling`], the latter by its name in
//! Rust. Where a further file must be named, `embed.rs` says.

use serde_json::Value;

use super::model_dir::{JsonObject, ModelDir};
use crate::dense::Activation;
use crate::error::Problem;

const CONFIG: &str = "config.json";

/// The parts of a folder, as `modules.json` orders them.
#[derive(Debug)]
pub(super) struct Modules {
    /// Where tokenizer and tensors are.
    pub(super) model: ModelDir,
    pub(super) is_static: bool,
    pub(super) pooling: Pooling,
    pub(super) normalises: bool,
}

/// How the vectors of tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The first one, of the token that begins every text.
    First,
    /// The largest of each number.
    Max,
}

/// The shape of a BERT encoder.
#[derive(Debug)]
pub(super) struct EncoderDims {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) activation: Activation,
    pub(super) epsilon: f32,
    pub(super) positions: usize,
    pub(super) kinds: usize,
    pub(super) vocabulary: usize,
    /// Tokens of a text, those that mark its start and end among them.
    pub(super) tokens_max: usize,
}

impl Modules {
    pub(super) fn read(dir: &ModelDir) -> Result<Self, Problem> {
        let config = dir.keys(CONFIG)?;
        let kind = config.as_ref().map_or(Ok(None), |config| config.text("model_type"))?;
        if kind == Some("model2vec") {
            let normalises = config.as_ref().map_or(Ok(false), |keys| keys.flag("normalize"))?;
            let (model, pooling) = (dir.clone(), Pooling::Mean);
            return Ok(Self { model, is_static: true, pooling, normalises });
        }
        match dir.json("modules.json")? {
            None => Self::without_list(dir),
            Some(list) => Self::listed(dir, &list),
        }
    }

    fn without_list(dir: &ModelDir) -> Result<Self, Problem> {
        let pooling = Pooling::read(&dir.within("1_Pooling")?)?.unwrap_or(Pooling::Mean);
        let normalises = false;
        Ok(Self { model: dir.clone(), is_static: false, pooling, normalises })
    }

    fn listed(dir: &ModelDir, list: &Value) -> Result<Self, Problem> {
        let problem = |reason: String| Problem::new("modules.json", reason);
        let list = list.as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| problem("is no list of modules".to_owned()))?;
        let mut modules: Option<Self> = None;
        for (number, module) in list.iter().enumerate() {
            let text = |key: &str| {
                let text = module.get(key).and_then(Value::as_str);
                text.ok_or_else(|| problem(format!("module {number} has no text `{key}`")))
            };
            let within = dir.within(text("path")?)?;
            let kind = text("type")?;
            match (kind.rsplit('.').next().unwrap_or(kind), &mut modules) {
                (kind @ ("Transformer" | "StaticEmbedding"), None) => {
                    let is_static = kind == "StaticEmbedding";
                    let (pooling, normalises) = (Pooling::Mean, false);
                    modules = Some(Self { model: within, is_static, pooling, normalises });
                }
                ("Pooling", Some(modules)) if !modules.is_static => {
                    let pooling = Pooling::read(&within)?;
                    modules.pooling = pooling
                        .ok_or_else(|| Problem::new(within.name(CONFIG), "is not in the folder"))?;
                }
                ("Normalize", Some(modules)) => modules.normalises = true,
                _ => return Err(problem(format!("module {number}, `{kind}`, is not known there"))),
            }
        }
        modules.ok_or_else(|| problem("names no model".to_owned()))
    }
}

impl Pooling {
    /// Reads the configuration of a pooling, or `None` where there is none.
    fn read(dir: &ModelDir) -> Result<Option<Self>, Problem> {
        let Some(keys) = dir.keys(CONFIG)? else { return Ok(None) };
        if let Some(name) = keys.text("pooling_mode")? {
            let pooling = Self::named(name).ok_or_else(|| unknown_pooling(&keys, name))?;
            return Ok(Some(pooling));
        }
        let mut chosen = None;
        for key in keys.beginning("pooling_mode_") {
            if keys.flag(key)? {
                let name = key.trim_start_matches("pooling_mode_");
                let name = name.trim_end_matches("_tokens").trim_end_matches("_token");
                let pooling = Self::named(name).ok_or_else(|| unknown_pooling(&keys, name))?;
                if chosen.replace(pooling).is_some() {
                    return Err(
                        keys.problem(key, "is the second pooling; joined, they are not read")
                    );
                }
            }
        }
        let missing = || keys.problem("pooling_mode_mean_tokens", "is not true, nor is another");
        chosen.map(Some).ok_or_else(missing)
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "mean" => Some(Self::Mean),
            "cls" => Some(Self::First),
            "max" => Some(Self::Max),
            _ => None,
        }
    }
}

fn unknown_pooling(keys: &JsonObject, name: &str) -> Problem {
    keys.problem("pooling_mode", format!("`{name}` is not read; `mean`, `cls` and `max` are"))
}

impl EncoderDims {
    pub(super) fn read(dir: &ModelDir) -> Result<Self, Problem> {
        let keys = dir.keys(CONFIG)?;
        let keys = keys.ok_or_else(|| Problem::new(dir.name(CONFIG), "is not in the folder"))?;
        match keys.text("model_type")? {
            Some("bert") | None => {}
            Some(other) => {
                let reason = format!("`{other}` is not read; `bert` and `model2vec` are");
                return Err(keys.problem("model_type", reason));
            }
        }
        if let Some(kind) = keys.text("position_embedding_type")?.filter(|kind| *kind != "absolute")
        {
            let reason = format!("`{kind}` is not read; `absolute` is");
            return Err(keys.problem("position_embedding_type", reason));
        }
        let hidden = keys.count("hidden_size", 1..=16_384)?;
        let heads = keys.count("num_attention_heads", 1..=hidden)?;
        if !hidden.is_multiple_of(heads) {
            let reason = format!("{heads} heads do not divide `hidden_size`, {hidden}");
            return Err(keys.problem("num_attention_heads", reason));
        }
        let epsilon = keys.number("layer_norm_eps")?.unwrap_or(1e-12);
        if !(0.0..1.0).contains(&epsilon) {
            return Err(keys.problem("layer_norm_eps", format!("is {epsilon}, must be below 1")));
        }
        let positions = keys.count_if_there("max_position_embeddings", 3..=1 << 20)?.unwrap_or(512);
        Ok(Self {
            hidden,
            layers: keys.count("num_hidden_layers", 1..=256)?,
            heads,
            inner: keys.count("intermediate_size", 1..=65_536)?,
            activation: activation(&keys)?,
            epsilon: epsilon as f32,
            positions,
            kinds: keys.count_if_there("type_vocab_size", 1..=1024)?.unwrap_or(2),
            vocabulary: keys.count("vocab_size", 1..=1 << 24)?,
            tokens_max: tokens_max(dir)?.map_or(positions, |count| count.min(positions)),
        })
    }
}

/// Returns how many tokens of a text are taken, where a file says so.
/// Reads `hidden_act` of a configuration.
fn activation(keys: &JsonObject) -> Result<Activation, Problem> {
    match keys.text("hidden_act")?.unwrap_or("gelu") {
        "gelu" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
        "relu" => Ok(Activation::Relu),
        other => Err(keys.problem("hidden_act", format!("`{other}` is not known here"))),
    }
}

fn tokens_max(dir: &ModelDir) -> Result<Option<usize>, Problem> {
    // Those who train write 1e30 for "no limit".
    let at_most = |count: f64| Some(count as usize).filter(|_| count >= 3.0);
    for (file, key) in [
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ] {
        let Some(keys) = dir.keys(file)? else { continue };
        if let Some(count) = keys.number(key)? {
            let reason = format!("is {count}, must be at least 3");
            return at_most(count).map(Some).ok_or_else(|| keys.problem(key, reason));
        }
    }
    Ok(None)
}
