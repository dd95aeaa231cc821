//! Answers `/embed`, `/similarity`, `/tokenize`, `/info` as text-embeddings-inference does.
//!
//! ```json
//! {"inputs": ["a text", …], "normalize": true, "truncate": false, "dimensions": 256}
//! {"inputs": {"source_sentence": "…", "sentences": ["…", …]}, "parameters": {"truncate": true}}
//! {"inputs": ["a text", …], "add_special_tokens": true}
//! ```
//!
//! The original is Hugging Face's. Statuses are as there: 413 for too many texts or tokens, 422 for
//! a body that does not fit, 429 where too many requests wait. What is no JSON is 400, and so are
//! `dimensions` out of range. The key `model` is ours: it names one of several; `/info` tells of
//! the first one that is not unloaded.
//! Names of keys are the original's, and its clients read them. A new key goes into
//! `describe/openapi.json`, which leaves out `/tokenize`.
//! Refuses: prompts by name, because settings for them are not read; cutting texts on the left.
//! Elsewhere: the methods of these paths (`text_paths.rs`), embedding (`texts.rs`).

use std::sync::Arc;

use exchange::Refusal;
use models::{EmbedderKind, Pooling, Precision, Token};
use serde::Deserialize;
use serde_json::{Value, json as json_value};

use crate::queued::{WholeAnswer, json};
use crate::refusal;
use crate::text_body::{EmbedTask, TextInput, chosen, read};
use crate::texts::{EmbeddingModel, VectorOptions, Vectors, too_long, write_numbers};

/// What does not fit.
const UNFIT: u16 = 422;

#[derive(Debug, Deserialize)]
struct EmbedBody {
    inputs: TextInput,
    normalize: Option<bool>,
    dimensions: Option<usize>,
    model: Option<String>,
    truncate: Option<bool>,
    truncation_direction: Option<String>,
    prompt_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SimilarityBody {
    inputs: Sentences,
    parameters: Option<TruncateParameters>,
    model: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sentences {
    source_sentence: String,
    sentences: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct TokenizeBody {
    inputs: TextInput,
    add_special_tokens: Option<bool>,
    model: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct TruncateParameters {
    truncate: Option<bool>,
    truncation_direction: Option<String>,
    prompt_name: Option<String>,
}

/// Reads a body of `/embed`.
pub(crate) fn embed(models: &[Arc<EmbeddingModel>], body: &[u8]) -> Result<EmbedTask, Refusal> {
    let body: EmbedBody = read(body, UNFIT)?;
    let model = chosen(models, body.model.as_deref())?.clone();
    if body.inputs.len() == 0 {
        return Err(unfit("`inputs` is empty"));
    }
    let EmbedBody { truncate, truncation_direction, prompt_name, .. } = body;
    let truncate = TruncateParameters { truncate, truncation_direction, prompt_name }.truncate()?;
    let normalise = Some(body.normalize.unwrap_or(true));
    let options = VectorOptions { normalise, truncate, dims: body.dimensions };
    let make_answer = |vectors: Vectors| Ok(json(written(&vectors)));
    Ok(EmbedTask {
        model,
        texts: body.inputs.into_texts(),
        options,
        make_answer: Box::new(make_answer),
    })
}

/// Reads a body of `/similarity`.
pub(crate) fn similarity(
    models: &[Arc<EmbeddingModel>],
    body: &[u8],
) -> Result<EmbedTask, Refusal> {
    let body: SimilarityBody = read(body, UNFIT)?;
    let model = chosen(models, body.model.as_deref())?.clone();
    let Sentences { source_sentence, mut sentences } = body.inputs;
    if sentences.is_empty() {
        return Err(unfit("`inputs.sentences` is empty"));
    }
    sentences.insert(0, source_sentence);
    let truncate = body.parameters.unwrap_or_default().truncate()?;
    let options = VectorOptions { normalise: Some(true), truncate, dims: None };
    let make_answer = |vectors: Vectors| Ok(json(compared(&vectors)));
    Ok(EmbedTask { model, texts: sentences.into(), options, make_answer: Box::new(make_answer) })
}

/// Answers `/tokenize`: of each text its tokens, however many the model takes.
pub(crate) fn tokenize(
    models: &[Arc<EmbeddingModel>],
    body: &[u8],
) -> Result<WholeAnswer, Refusal> {
    let body: TokenizeBody = read(body, UNFIT)?;
    let model = chosen(models, body.model.as_deref())?;
    let (plan, texts) = (model.plan(), body.inputs.into_texts());
    if texts.is_empty() {
        return Err(unfit("`inputs` is empty"));
    }
    model.check_count(texts.len())?;
    let loaded = model.loaded().ok_or_else(|| refusal::not_ready(&plan.name))?;
    let marked = body.add_special_tokens.unwrap_or(true);
    let tokens = texts.iter().enumerate().map(|(index, text)| {
        let pieces = loaded.embedder.pieces(text, marked);
        let pieces = pieces.map_err(|error| too_long(index, error))?;
        Ok(pieces.iter().map(shown).collect::<Value>())
    });
    let tokens = tokens.collect::<Result<Value, Refusal>>()?;
    Ok(json(tokens.to_string()))
}

fn shown(token: &Token) -> Value {
    json_value!({
        "id": token.number,
        "text": token.text,
        "special": token.chars.is_none(),
        "start": token.chars.as_ref().map(|chars| chars.start),
        "stop": token.chars.as_ref().map(|chars| chars.end),
    })
}

/// Answers `/info`.
pub(crate) fn info(model: &EmbeddingModel) -> Result<WholeAnswer, Refusal> {
    let plan = model.plan();
    let loaded = model.loaded().ok_or_else(|| refusal::not_ready(&plan.name))?;
    let about = loaded.embedder.about();
    let pooling = match about.pooling {
        Pooling::Mean => "mean",
        Pooling::First => "cls",
        Pooling::Max => "max",
    };
    let precision = match about.precision {
        Precision::Single => "float32",
        Precision::Bf16 => "bfloat16",
        Precision::Int8 => "int8",
    };
    let info = json_value!({
        "model_id": plan.name,
        "model_sha": loaded.version,
        "model_dtype": precision,
        "model_type": { "embedding": { "pooling": pooling } },
        "dimensions": about.dims,
        "max_input_length": about.tokens_max,
        "max_batch_tokens": plan.batch_tokens_max,
        "max_client_batch_size": plan.texts_max,
        "max_concurrent_requests": plan.queue_max,
        "auto_truncate": about.kind == EmbedderKind::Static,
        "version": env!("CARGO_PKG_VERSION"),
    });
    Ok(json(info.to_string()))
}

impl TruncateParameters {
    /// Returns whether long texts are cut.
    fn truncate(&self) -> Result<bool, Refusal> {
        match self.truncation_direction.as_deref() {
            None | Some("right" | "Right") => (),
            Some(other) => {
                let message = format!("`truncation_direction` is `{other}`; texts are cut right");
                return Err(unfit(message));
            }
        }
        match &self.prompt_name {
            None => Ok(self.truncate.unwrap_or(false)),
            Some(name) => Err(unfit(format!(
                "`prompt_name` is `{name}`; put the prompt before the text instead"
            ))),
        }
    }
}

fn written(vectors: &Vectors) -> Vec<u8> {
    let mut out = Vec::with_capacity(vectors.len() * 12 * vectors.dims() + 2);
    out.push(b'[');
    vectors.each(|index, numbers| {
        if index > 0 {
            out.push(b',');
        }
        write_numbers(&mut out, numbers);
    });
    out.push(b']');
    out
}

/// Cosines of the first row with each of the others.
fn compared(vectors: &Vectors) -> Vec<u8> {
    let mut source = Vec::new();
    let mut cosines = Vec::with_capacity(vectors.len());
    vectors.each(|index, numbers| match index {
        0 => source.extend_from_slice(numbers),
        _ => {
            let products = source.iter().zip(numbers).map(|(a, b)| f64::from(*a) * f64::from(*b));
            cosines.push(products.sum::<f64>() as f32);
        }
    });
    let mut out = Vec::with_capacity(16 * cosines.len());
    write_numbers(&mut out, &cosines);
    out
}

fn unfit(message: impl Into<String>) -> Refusal {
    Refusal::new(UNFIT, message.into())
}

#[cfg(test)]
mod tests;
