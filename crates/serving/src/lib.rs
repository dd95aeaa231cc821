//! Answers the model APIs: rankings, predictions, vectors and groups, from models in this process.
//!
//! [`Models`] holds all models of a process, and answers the requests of all APIs (`router.rs`).
//!
//! | a model that | stands in | answers |
//! |---|---|---|
//! | ranks items | `ranking.rs` | `POST /v1/models/{m}/rank`, `GET` routes, `infer` |
//! | predicts from rows | `predicting.rs` | the Open Inference Protocol (`oip.rs`) |
//! | embeds texts | `texts.rs` | paths of OpenAI and TEI, `/cluster` (`text_paths.rs`), `infer` |
//!
//! Also here: the commands over files, which use the same models (`inspect.rs`, `table.rs`,
//! `lines.rs`).
//! A short request is answered on the thread that asks, a long one on a thread of a [`JobPool`]. A
//! long ranking stays on the thread that asks; its caller chooses one. Each model is a generation:
//! it is read, checked, swapped in whole, and the last good one stays.
//!
//! Invariant: an answer is made by one generation. A refusal writes nothing into the reply. It is
//! 4xx for what the client sent and for a full queue. It is 500 where a model fails, and 503
//! without a good generation, a readable profile or a free thread (`refusal.rs`). On paths of
//! texts, an unloaded model is 404 (`text_body.rs`).
//! Refuses: HTTP types and sockets, tokio, the gateway. Threads are the caller's, but for those of
//! `lines.rs`.

mod answer_cache;
mod check;
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
mod model_file;
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

pub use check::{ProfileNames, check_files};
pub use clusters::{ClusterOptions, Grouping};
pub use config::{
    CandidatesConfig, CandidatesPlan, GoldenPlan, IterationsConfig, ModelConfig, ModelPlan,
    ModelPlans, PrecisionConfig, PredictorPlan, TextPlan, plan,
};
pub use error::{InspectError, LinesError, LoadError, TableError};
pub use inspect::{Inspection, ItemsInspection, inspect, score};
pub use lines::{LinesDone, ModelDir, cluster_lines, embed_lines};
pub use models::on_pause;
pub use predictor::Predictor;
pub use queued::{AnswerSender, JobGroup, JobPool, QueuedAnswer};
pub use ranking::Ranking;
pub use router::Models;
pub use status::ModelStatus;
pub use table::score_table;
pub use texts::TextCounts;

#[cfg(test)]
mod tests;
