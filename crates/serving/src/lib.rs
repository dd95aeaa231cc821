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
mod body;
mod config;
mod features;
mod files;
mod inspect;
mod json;
mod load;
mod ranking;
mod refusal;

pub use answer::{Impression, RankMeta};
pub use config::{CandidatesConfig, CandidatesPlan, ModelConfig, ModelPlan, plan};
pub use files::ModelFiles;
pub use inspect::{InspectError, Inspection, ItemsInspection, inspect, score};
pub use load::{LoadError, Loaded};
pub use ranking::{ModelStatus, Ranking, RecommendParams};
pub use refusal::Refusal;

#[cfg(test)]
mod tests;
