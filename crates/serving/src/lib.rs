//! Model APIs: rankings, predictions, vectors and groups of texts, from models in this process.
//!
//! [`Models`] holds all models of a process, and answers the requests of all APIs (`router.rs`).
//!
//! | a model that | stands in | answers |
//! |---|---|---|
//! | ranks items | `ranking.rs` | `POST /v1/models/{model}/rank`, and `GET` routes |
//! | predicts from rows | `predicting.rs` | the Open Inference Protocol (`oip.rs`) |
//! | embeds texts | `texts.rs` | OpenAI's paths, TEI's, `POST /cluster` (`text_paths.rs`) |
//!
//! A short request is answered on the thread that asks. A long one waits for a thread of a
//! [`JobPool`], where requests that ask the same share an answer. Each model is a generation: it is
//! read, checked, swapped in whole, and the last good one stays.
//!
//! Invariants: one request sees one generation. A refusal is 4xx for what the client sent, 503
//! while a model has no good generation, and 500 where a model fails. It writes nothing into the
//! reply.
//!
//! Refuses: HTTP types and sockets, tokio, threads, the gateway. Callers pass bytes and get bytes.

mod answer_cache;
mod clusters;
mod concurrency_limit;
mod config;
mod describe;
mod digest;
mod error;
mod golden;
mod hot_swap;
mod inspect;
mod json;
mod lines;
mod oip;
mod openai;
mod predicting;
mod predictor;
mod queued;
mod ranking;
mod refusal;
mod router;
mod status;
mod table;
mod tei;
mod tensor;
mod text_body;
mod text_paths;
mod texts;

pub use clusters::{ClusterOptions, Grouping};
pub use config::{
    CandidatesConfig, CandidatesPlan, GoldenPlan, ModelConfig, ModelPlan, ModelPlans,
    PrecisionConfig, PredictorPlan, TextPlan, plan,
};
pub use error::{InspectError, LinesError, LoadError, TableError};
pub use inspect::{Inspection, ItemsInspection, inspect, score};
pub use lines::{LinesDone, ModelDir, cluster_lines, embed_lines};
pub use predictor::Predictor;
pub use queued::{AnswerSender, JobPool, QueuedAnswer};
pub use ranking::Ranking;
pub use router::Models;
pub use status::ModelStatus;
pub use table::score_table;
pub use texts::TextCounts;

#[cfg(test)]
mod tests;
