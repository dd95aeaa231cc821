//! Evaluates models: linear ones, trees and ONNX graphs over resident items or rows, vectors of
//! texts, groups of vectors.
//!
//! | type | is read from | gives |
//! |---|---|---|
//! | [`Linear`], [`Items`] | files of our own (`linear.rs`, `items.rs`) | joined, a [`Ranker`] |
//! | [`RowModel`] | [`Trees`] or an [`OnnxModel`] (`row_model.rs`) | with [`Items`], a [`Ranker`] |
//! | [`LinearRows`] | a [`Linear`] (`rows.rs`) | scores of rows |
//! | [`Trees`] | files of LightGBM and XGBoost (`trees.rs`) | scores of rows |
//! | [`OnnxModel`] | what scikit-learn exports (`onnx.rs`) | labels and scores of rows |
//! | [`Embedder`] | a directory of Hugging Face's libraries (`embed.rs`) | vectors of texts |
//! | [`Clustering`] | settings (`clusters.rs`) | groups of vectors |
//!
//! Invariants: a model that was read never changes, so threads share it. What an answer needs
//! beyond it is in a scratch of the caller's ([`Scratch`], [`TreeScratch`], [`OnnxScratch`],
//! [`EmbedScratch`]). Rankings and trees allocate nothing else once it is warm. Graphs, tokenizers
//! and clusterings do.
//!
//! Long computations let other work in (`pause.rs`).
//! Refuses: tokio, HTTP, threads, clocks, random results. Callers hand over bytes. Only a directory
//! of embeddings is read here, so that its weights are packed part by part.
//! A new kind of file for rows also goes into `predictor.rs` of crates/serving, which tells kinds
//! by their bytes. It needs a fuzz target and docs/MODELS.md too.

mod clusters;
mod column;
mod column_name;
mod dense;
mod embed;
mod error;
mod ids;
mod inputs;
mod items;
mod joined;
mod linear;
mod matrix;
mod onnx;
mod pause;
mod rank;
mod row_columns;
mod row_model;
mod rows;
mod top;
mod trees;

pub use clusters::{Cluster, Clustering, Clusters, Method};
pub use dense::Precision;
pub use embed::{
    AboutEmbedder, EmbedOptions, EmbedScratch, Embedder, EmbedderKind, Pooling, Token, Tokens,
    half, to_length_one,
};
pub use error::{Error, Problem};
pub use inputs::{Inputs, RequestError};
pub use items::{Codes, Items, REPLY_FIELDS, WantedColumns};
pub use linear::{Cross, Feature, FeatureName, FeatureSource, Linear, LinkFunction};
pub use onnx::{
    AboutOnnx, OnnxAnswer, OnnxInput, OnnxKind, OnnxModel, OnnxOutput, OnnxScratch, OnnxTexts,
    OnnxValues,
};
pub use pause::{on_pause, pause};
pub use rank::{
    CandidateSet, Candidates, ExplainStart, PROPENSITY, RankModel, RankRequest, Ranker, Scratch,
};
pub use row_model::RowModel;
pub use rows::LinearRows;
pub use top::{Marks, Ranked};
pub use trees::{AboutTrees, Iterations, Number, TreeFormat, TreeScratch, Trees};
