//! Answers `infer` for models of texts, and makes the key of an answer about texts.
//!
//! In `infer`, texts with too many tokens are cut. Input and output are called `text` and
//! `embedding`: clients send and read these names.
//! Only `/cluster` and `/similarity` have a key: their answers are dear to make and short to keep.
//! A body that is no JSON, or whose model is unknown or not loaded, has none, and is refused later.
//! The key holds path, model, version and the body with its keys sorted: `serde_json` sorts them
//! while no package turns on its feature `preserve_order`.
//! `EmbeddingModel::embed` takes the generation anew, which may be newer than the one checked or
//! keyed here. The reply names the one that embedded.
//! Elsewhere: keys of predictions (`oip/request.rs`), embedding (`texts.rs`).

use std::sync::Arc;

use exchange::ModelAnswer;
use serde_json::Value;

use crate::digest::key_of;
use crate::oip::{self, InferRequest, ModelPath};
use crate::queued::{AnswerSender, QueuedRequest, json};
use crate::refusal;
use crate::tensor::{Data, Datatype, Tensor, TensorAbout};
use crate::text_body::chosen;
use crate::texts::{EmbeddingGeneration, EmbeddingModel, VectorOptions, Vectors};

/// Answers `infer` of a model of texts.
pub(super) fn embed_tensor(
    (model, texts): (ModelPath<'_>, &Arc<EmbeddingModel>),
    queued: &QueuedRequest,
    sender: Box<dyn AnswerSender>,
) {
    let read = || {
        let loaded = texts.loaded().ok_or_else(|| refusal::not_ready(model.name))?;
        model.check(&loaded.version)?;
        let mut request = InferRequest::read(&queued.body, queued.json_length)?;
        request.wants_only(&[text_output(&loaded)])?;
        let given = request.texts(&text_input())?;
        Ok((request, given))
    };
    let (request, given) = match read() {
        Ok(read) => read,
        Err(refusal) => return sender.send(Err(refusal)),
    };
    let options = VectorOptions { normalise: None, truncate: true, dims: None };
    let name = model.name.to_owned();
    let make_answer = move |vectors: Vectors| {
        let shape = vec![vectors.len(), vectors.dims()];
        let mut numbers = Vec::with_capacity(shape[0] * shape[1]);
        vectors.each(|_, row| numbers.extend(row.iter().map(|number| f64::from(*number))));
        let about = text_output(&vectors.model);
        let data = Data::Numbers(numbers);
        let mut output = Tensor { name: about.name, datatype: about.datatype, shape, data };
        if let Some(count) = request.classes(&output.name)? {
            output = oip::classes_of(&output, count, &[])?;
        }
        let mut out = Vec::new();
        let named = (name.as_str(), vectors.model.version.as_str());
        let json_length = oip::write_reply(named, &request, &[output], &mut out);
        let (answer, body) = json(out);
        Ok((ModelAnswer { json_length, ..answer }, body))
    };
    texts.embed(&given, options, sender, Box::new(make_answer));
}

pub(super) fn text_input() -> TensorAbout {
    TensorAbout::rows("text", Datatype::Bytes, 0)
}

pub(super) fn text_output(model: &EmbeddingGeneration) -> TensorAbout {
    TensorAbout::rows("embedding", Datatype::Fp32, model.embedder.about().dims)
}

/// The key of a body that is dear to answer and short to keep; none for any other.
pub(super) fn text_key(models: &[Arc<EmbeddingModel>], queued: &QueuedRequest) -> Option<u128> {
    if !matches!(&*queued.path, "/cluster" | "/similarity") {
        return None;
    }
    // Keys of objects are sorted, and numbers and texts written in one way.
    let body: Value = serde_json::from_slice(&queued.body).ok()?;
    let model = chosen(models, body["model"].as_str()).ok()?;
    let version = model.loaded()?.version.clone();
    let parts = [&queued.path, &model.plan().name, &version, &body.to_string()];
    Some(key_of(&parts.map(|part| part.clone().into_bytes())))
}
