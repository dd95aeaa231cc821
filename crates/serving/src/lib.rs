//! Model APIs: ranking behind `POST /v1/models/{model}/rank` and behind a `GET` route.
//!
//! [`Ranking`] holds the models of a process; each is a generation of its own (model file and items
//! file together), swapped in whole, the last good one kept.
//!
//! Invariant: whatever the body, an answer is a ranking or a [`Refusal`] with status 4xx (503 while
//! a model has no good generation); a refusal writes nothing into the reply.
//!
//! Refuses: HTTP types and sockets (callers pass bytes and get bytes), tokio, the gateway.

mod answer;
mod answers;
mod apis;
mod body;
mod clusters;
mod config;
mod describe;
mod digest;
mod features;
mod files;
mod golden;
mod inspect;
mod json;
mod lines;
mod load;
mod oip;
mod openai;
mod predictor;
mod queued;
mod ranking;
mod refusal;
mod slot;
mod table;
mod tei;
mod text_paths;
mod texts;
mod turns;

pub use apis::Models;
pub use clusters::{Grouping, How};
pub use config::{
    CandidatesConfig, CandidatesPlan, GoldenPlan, ModelConfig, ModelPlan, ModelPlans,
    PrecisionConfig, PredictorPlan, TextPlan, plan,
};
pub use files::ModelFiles;
pub use inspect::{InspectError, Inspection, ItemsInspection, inspect, score};
pub use lines::{LinesDone, LinesError, cluster_lines, embed_lines};
pub use load::{LoadError, Loaded};
pub use predictor::Predictor;
pub use queued::{AnswerSender, Pool, QueuedAnswer};
pub use ranking::{ModelStatus, Ranking};
pub use table::{TableError, score_table};
pub use texts::TextCounts;

#[cfg(test)]
mod tests;
