//! Pure model evaluation: linear models over resident items, trees and ONNX graphs over rows,
//! vectors of texts, groups of vectors.
//!
//! | type | is read from | gives |
//! |---|---|---|
//! | [`Linear`], [`Items`] | files of our own (`linear.rs`, `items.rs`) | joined, a [`Ranker`] |
//! | [`Trees`] | files of LightGBM and XGBoost (`trees.rs`) | scores of rows |
//! | [`OnnxModel`] | what scikit-learn exports (`onnx.rs`) | labels and scores of rows |
//! | [`Embedder`] | a directory of Hugging Face's libraries (`embed.rs`) | vectors of texts |
//! | [`Clustering`] | settings (`clusters.rs`) | groups of vectors |
//!
//! Invariants: what does not depend on a request is computed when the model is built. An answer
//! allocates only what its scratch ([`Scratch`], [`TreeScratch`], [`OnnxScratch`],
//! [`EmbedScratch`]) keeps for the next one.
//!
//! Refuses: tokio, HTTP, threads, clocks, random numbers. Callers hand over bytes. Only a directory
//! of embeddings is read here, so that its weights are packed part by part.

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
