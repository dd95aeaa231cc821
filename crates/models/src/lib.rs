//! Pure model evaluation: linear models over items that stay resident, trees and ONNX graphs over
//! rows, vectors of texts, and groups of vectors.
//!
//! A [`Linear`] model and an [`Items`] table are read from files (formats: `linear.rs`,
//! `items.rs`), joined into a [`Ranker`], and asked to rank. [`Trees`] are read from the files of
//! LightGBM and XGBoost (`trees.rs`), and score rows of numbers; an [`OnnxModel`] is read from what
//! scikit-learn exports, and answers labels and scores (`onnx.rs`). An [`Embedder`] is read from a
//! folder of Hugging Face's libraries (`embed.rs`), and makes vectors of texts; a [`Clustering`]
//! groups those that point in the same direction (`clusters.rs`).
//!
//! Invariant: everything that does not depend on a request is computed when the model is built;
//! an answer allocates nothing but what the caller's [`Scratch`], [`TreeScratch`], [`OnnxScratch`]
//! or [`EmbedScratch`] keeps for the next one.
//!
//! Refuses: tokio, HTTP, threads, clocks, random numbers. Callers hand over bytes; only a folder of
//! embeddings is read here, so that its weights are packed part by part.

mod clusters;
mod column;
mod embed;
mod error;
mod ids;
mod inputs;
mod items;
mod joined;
mod linear;
mod matrix;
mod onnx;
mod rank;
mod rows;
mod top;
mod trees;

pub use clusters::{Cluster, Clustering, Clusters, Method};
pub use embed::{
    AboutEmbedder, EmbedOptions, EmbedScratch, Embedder, EmbedderKind, Pooling, Precision, Token,
    Tokens, half, to_length_one,
};
pub use error::{Error, Problem};
pub use inputs::{Inputs, RequestError};
pub use items::{Codes, Items, WantedColumns};
pub use linear::{Cross, Feature, FeatureName, FeatureSource, Linear, LinkFunction};
pub use onnx::{
    AboutOnnx, OnnxAnswer, OnnxInput, OnnxKind, OnnxModel, OnnxOutput, OnnxScratch, OnnxTexts,
    OnnxValues,
};
pub use rank::{CandidateSet, Candidates, PROPENSITY, RankRequest, Ranker};
pub use rows::LinearRows;
pub use top::{Marks, Ranked, Scratch};
pub use trees::{AboutTrees, Number, TreeFormat, TreeScratch, Trees};
