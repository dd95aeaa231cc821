//! Lists the paths behind which models of texts answer, and hands each request to its API.
//!
//! Invariant: a path has one method, GET for `/info` and POST for all others; the router checks it.
//! `/info` and `/tokenize` are answered at once, all others by embedding. A path that is not listed
//! never comes here.
//! To add one: `PATHS`, an arm of `reply` (without one it is taken for OpenAI's), and
//! `describe/openapi.json`. If its answers are to be kept, also `text_key` in `router/texts.rs`.

use std::sync::Arc;

use exchange::Refusal;

use crate::clusters;
use crate::openai;
use crate::queued::{AnswerSender, QueuedRequest, WholeAnswer};
use crate::tei;
use crate::text_body::{EmbedTask, chosen};
use crate::texts::EmbeddingModel;

/// How a path is answered.
enum TextReply {
    Ready(WholeAnswer),
    Embed(EmbedTask),
}

/// The path that tells of a model; all others are asked by POST.
const INFO: &str = "/info";

const PATHS: [&str; 7] =
    ["/v1/embeddings", "/embeddings", "/embed", "/similarity", "/tokenize", INFO, "/cluster"];

/// Returns the method of a path that is answered here.
pub(crate) fn method_of(path: &str) -> Option<&'static str> {
    PATHS.contains(&path).then_some(if path == INFO { "GET" } else { "POST" })
}

/// Answers a request to one of the paths here, by its method. To be called on a thread of the pool.
pub(crate) fn answer_texts(
    models: &[Arc<EmbeddingModel>],
    request: &QueuedRequest,
    sender: Box<dyn AnswerSender>,
) {
    match reply(models, request) {
        Ok(TextReply::Embed(EmbedTask { model, texts, options, make_answer })) => {
            model.embed(&texts, options, sender, make_answer);
        }
        Ok(TextReply::Ready(answer)) => sender.send(Ok(answer)),
        Err(refusal) => sender.send(Err(refusal)),
    }
}

fn reply(models: &[Arc<EmbeddingModel>], request: &QueuedRequest) -> Result<TextReply, Refusal> {
    let (path, body) = (request.path.as_str(), &request.body[..]);
    let task = match path {
        INFO => return tei::info(chosen(models, None)?).map(TextReply::Ready),
        "/tokenize" => return tei::tokenize(models, body).map(TextReply::Ready),
        "/embed" => tei::embed(models, body),
        "/similarity" => tei::similarity(models, body),
        "/cluster" => clusters::ask(models, body),
        _ => openai::ask(models, body),
    };
    task.map(TextReply::Embed)
}
