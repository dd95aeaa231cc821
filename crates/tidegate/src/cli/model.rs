//! Declares the command line of `tidegate model`, with its examples.
//!
//! Plain data that clap parses; doc comments are what `--help` prints.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const SCORE_EXAMPLE: &str = "\
Example: echo '{\"user\": {\"affinity\": {\"b\": 1}}, \"limit\": 3}' |
         tidegate model score model.json --items items.jsonl
         tidegate model score lightgbm.txt --rows rows.csv > predictions.csv";

const EMBED_EXAMPLE: &str = "\
Example: echo 'The Joy of Dog Walking' | tidegate model embed all-MiniLM-L6-v2";

const CLUSTER_EXAMPLE: &str = "\
Example: tidegate model cluster all-MiniLM-L6-v2 headlines.txt --members-min 3";

/// What to do with a model.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Show what a model is made of: features and weights, trees, inputs and outputs, layers.
    Inspect {
        /// The model file, or the directory of a model of texts.
        file: PathBuf,
        /// Check the model against these items, too.
        #[arg(long, value_name = "FILE")]
        items: Option<PathBuf>,
    },
    /// Rank items with a model, as `POST /v1/models/NAME/rank` does; or, without items, predict a
    /// table's rows: CSV in, a line of predictions per row out.
    #[command(after_help = SCORE_EXAMPLE)]
    Score {
        /// The model file.
        file: PathBuf,
        /// The items file; the request's body, a JSON object, is then read from stdin.
        #[arg(long, value_name = "FILE")]
        items: Option<PathBuf>,
        /// The table, with or without a header; stdin by default.
        #[arg(long, value_name = "FILE", conflicts_with = "items")]
        rows: Option<PathBuf>,
    },
    /// Embed texts: a text per line in, a JSON object per line out.
    #[command(after_help = EMBED_EXAMPLE)]
    Embed(LinesArgs),
    /// Group sentences by meaning, as `POST /cluster` does: a sentence per line in, JSON out.
    #[command(after_help = CLUSTER_EXAMPLE)]
    Cluster {
        /// Which model and texts.
        #[command(flatten)]
        lines: LinesArgs,
        /// How groups are found; by default `linkage` for up to 5,000 sentences.
        #[arg(long, value_enum)]
        method: Option<GroupingArg>,
        /// Cosine from which sentences belong together, from -1 to 1; default 0.35 for `linkage`,
        /// 0.5 for `communities`, 0.55 with static embeddings.
        #[arg(long, value_name = "COSINE", allow_negative_numbers = true)]
        similarity_min: Option<f32>,
        /// Sentences of the smallest group.
        #[arg(long, value_name = "N")]
        members_min: Option<usize>,
    },
}

/// A model of texts, and lines for it.
#[derive(Debug, Args)]
pub(crate) struct LinesArgs {
    /// The model's directory: config.json, tokenizer.json, model.safetensors.
    pub dir: PathBuf,
    /// The texts, one per line; stdin by default.
    pub texts: Option<PathBuf>,
    /// What is computed in.
    #[arg(long, value_enum, default_value = "f32")]
    pub precision: PrecisionArg,
}

/// What vectors are computed in.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PrecisionArg {
    /// Floats of 32 bits.
    F32,
    /// Weights and inputs of 16 bits.
    Bf16,
    /// Weights and inputs of 8 bits.
    Int8,
}

/// How groups are found.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum GroupingArg {
    /// Groups are joined while their mean cosine is high enough.
    Linkage,
    /// Groups of neighbours, for many sentences.
    Communities,
}
