//! Model APIs: ranking behind `POST /v1/models/{model}/rank` and behind a `GET` route.
//!
//! [`Ranking`] holds the models of a process; each is a generation of its own (model file and items
//! file together), swapped in whole, the last good one kept.
//!
//! Invariant: whatever the body, an answer is a ranking or a [`Refusal`] with status 4xx (503 while
//! a model has no good generation); a refusal writes nothing into the reply.
//!
//! Refuses: HTTP types and sockets (callers pass bytes and get bytes), tokio, the gateway.

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
