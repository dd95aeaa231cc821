//! Reads OpenAI's `POST /v1/embeddings`, and writes its answer.
//!
//! ```json
//! {"input": ["a text", …], "model": "…", "encoding_format": "float", "dimensions": 256}
//! ```
//!
//! As there, vectors have length 1. An empty text is 400, one with too many tokens 413;
//! `"truncate": true`, which is ours, has such a text cut. Keys that mean nothing here, such as
//! `user`, are ignored. A new key goes into `describe/openapi.json`.
//! Elsewhere: embedding and its limits (`texts.rs`), choosing the model and refusing token ids
//! (`text_body.rs`), the list of models (`status.rs`).

pub(crate) mod error_form;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use exchange::Refusal;
use serde::Deserialize;

use crate::json::push_text;
use crate::queued::json;
use crate::refusal;
use crate::text_body::{EmbedTask, TextInput, chosen, read};
use crate::texts::{EmbeddingModel, VectorOptions, Vectors, write_numbers};

#[derive(Debug, Deserialize)]
struct EmbeddingsBody {
    input: TextInput,
    model: Option<String>,
    encoding_format: Option<Format>,
    dimensions: Option<usize>,
    truncate: Option<bool>,
}

/// How a vector is written.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// An array of numbers.
    #[default]
    Float,
    /// Floats of 32 bits, little-endian: a fifth of the bytes, which OpenAI's own client asks for.
    Base64,
}

/// Reads a body.
pub(crate) fn ask(models: &[Arc<EmbeddingModel>], body: &[u8]) -> Result<EmbedTask, Refusal> {
    let body: EmbeddingsBody = read(body, 400)?;
    let model = chosen(models, body.model.as_deref())?.clone();
    let texts = body.input.into_texts();
    if texts.is_empty() {
        return Err(refusal::bad("`input` is empty"));
    }
    if let Some(index) = texts.iter().position(String::is_empty) {
        return Err(refusal::bad(format!("`input[{index}]` is an empty text")));
    }
    let truncate = body.truncate.unwrap_or(false);
    let options = VectorOptions { normalise: Some(true), truncate, dims: body.dimensions };
    let (name, format) = (model.plan().name.clone(), body.encoding_format.unwrap_or_default());
    let make_answer = move |vectors: Vectors| Ok(json(written(&vectors, &name, format)));
    Ok(EmbedTask { model, texts, options, make_answer: Box::new(make_answer) })
}

fn written(vectors: &Vectors, name: &str, format: Format) -> Vec<u8> {
    let mut out = Vec::with_capacity(vectors.len() * (64 + 12 * vectors.dims()) + 128);
    out.extend_from_slice(b"{\"object\":\"list\",\"data\":[");
    vectors.each(|index, numbers| {
        let gap = if index == 0 { "" } else { "," };
        let opening = format!("{gap}{{\"object\":\"embedding\",\"index\":{index},\"embedding\":");
        out.extend_from_slice(opening.as_bytes());
        match format {
            Format::Float => write_numbers(&mut out, numbers),
            Format::Base64 => write_base64(&mut out, numbers),
        }
        out.push(b'}');
    });
    out.extend_from_slice(b"],\"model\":");
    push_text(&mut out, name);
    let tokens = vectors.tokens();
    let usage = format!(",\"usage\":{{\"prompt_tokens\":{tokens},\"total_tokens\":{tokens}}}}}");
    out.extend_from_slice(usage.as_bytes());
    out
}

fn write_base64(out: &mut Vec<u8>, numbers: &[f32]) {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}

#[cfg(test)]
mod tests;
