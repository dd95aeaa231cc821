//! Reads the body of `POST /cluster`, groups sentences that mean the same, and writes the answer.
//!
//! ```json
//! {"sentences": ["…", …], "method": "linkage", "similarity_min": 0.35, "members_min": 2}
//! ```
//!
//! Every key but `sentences` is optional (`model` too), an unknown one is 400. By default the
//! model's plan gives the similarity, or else its kind; the number of sentences gives the method.
//! Sentences with too many tokens are cut. More than 32,768 sentences are 413; so are more than
//! `texts_max` (`texts.rs`).
//!
//! Invariant: groups depend on the sentences, the options and the generation only. Neither other
//! requests nor the order of the sentences changes them, which docs/MODELS.md promises.
//! `grouped` also makes what `tidegate model cluster` prints (`lines.rs`). A new key goes into
//! `describe/openapi.json`; a new option also into `tidegate/src/cli.rs`.
//! Elsewhere: the methods (`models::Clustering`), embedding (`texts.rs`).

use std::sync::Arc;

use exchange::Refusal;
use models::{Cluster, Clustering, Clusters, EmbedderKind, Method};
use serde::Deserialize;

use crate::config::TextPlan;
use crate::json::push_text;
use crate::queued::json;
use crate::refusal;
use crate::text_body::{EmbedTask, chosen, read};
use crate::texts::{EmbeddingModel, VectorOptions, Vectors};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterBody {
    sentences: Vec<String>,
    model: Option<String>,
    method: Option<Grouping>,
    similarity_min: Option<f32>,
    members_min: Option<usize>,
}

/// What differs from the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClusterOptions {
    pub method: Option<Grouping>,
    /// From -1 to 1; a cosine.
    pub similarity_min: Option<f32>,
    /// Sentences of the smallest group, from 1; default 2.
    pub members_min: Option<usize>,
}

/// By what sentences are grouped; see [`Method`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    Linkage,
    Communities,
}

/// How long sentences are embedded for grouping: only directions matter.
pub(crate) const OPTIONS: VectorOptions =
    VectorOptions { normalise: Some(false), truncate: true, dims: None };

/// Reads a body.
pub(crate) fn ask(models: &[Arc<EmbeddingModel>], body: &[u8]) -> Result<EmbedTask, Refusal> {
    let body: ClusterBody = read(body, 400)?;
    let model = chosen(models, body.model.as_deref())?.clone();
    let sentences: Arc<[String]> = body.sentences.into();
    let ClusterBody { method, similarity_min, members_min, .. } = body;
    let options = ClusterOptions { method, similarity_min, members_min };
    if sentences.len() > Clustering::ROWS_MAX {
        let (count, most) = (sentences.len(), Clustering::ROWS_MAX);
        return Err(refusal::too_large(format!("{count} sentences, at most {most} are grouped")));
    }
    let texts = sentences.clone();
    let planning = model.clone();
    let make_answer = move |vectors: Vectors| {
        let kind = vectors.model.embedder.about().kind;
        let planned = |method| planned(planning.plan(), method);
        let clustering = options.clustering(sentences.len(), kind, planned);
        let mut values = Vec::with_capacity(vectors.len() * vectors.dims());
        (0..vectors.len()).for_each(|row| vectors.push_row(row, &mut values));
        grouped(&sentences, &values, vectors.dims(), clustering).map(json)
    };
    Ok(EmbedTask { model, texts, options: OPTIONS, make_answer: Box::new(make_answer) })
}

/// Groups sentences by their vectors; returns the answer in JSON.
pub(crate) fn grouped(
    sentences: &[String],
    values: &[f32],
    dims: usize,
    clustering: Clustering,
) -> Result<Vec<u8>, Refusal> {
    let found =
        clustering.cluster(values, dims).map_err(|error| refusal::bad(error.to_string()))?;
    Ok(written(sentences, &found))
}

impl ClusterOptions {
    /// Returns how to group so many sentences; `planned` says the similarity of each method, or
    /// leaves it to the kind of model.
    pub(crate) fn clustering(
        self,
        rows: usize,
        kind: EmbedderKind,
        planned: impl Fn(Method) -> Option<f32>,
    ) -> Clustering {
        let chosen = Clustering::for_rows(rows, kind);
        let method = match self.method {
            None => chosen.method,
            Some(Grouping::Linkage) => Method::Linkage,
            Some(Grouping::Communities) => Method::Communities,
        };
        let similarity_min = self.similarity_min.or_else(|| planned(method));
        Clustering {
            method,
            similarity_min: similarity_min.unwrap_or_else(|| method.similarity_min(kind)),
            members_min: self.members_min.unwrap_or(chosen.members_min),
        }
    }
}

fn planned(plan: &TextPlan, method: Method) -> Option<f32> {
    match method {
        Method::Linkage => plan.linkage_similarity_min,
        Method::Communities => plan.community_similarity_min,
    }
}

fn written(sentences: &[String], found: &Clusters) -> Vec<u8> {
    let mut out = b"{\"clusters\":[".to_vec();
    for (index, cluster) in found.clusters.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_cluster(&mut out, sentences, cluster);
    }
    out.extend_from_slice(b"],\"noise\":");
    write_sentences(&mut out, sentences, &found.noise);
    out.push(b'}');
    out
}

fn write_cluster(out: &mut Vec<u8>, sentences: &[String], cluster: &Cluster) {
    out.extend_from_slice(b"{\"label\":");
    push_text(out, &sentences[cluster.label() as usize]);
    out.extend_from_slice(b",\"cohesion\":");
    out.extend_from_slice(zmij::Buffer::new().format_finite(cluster.cohesion).as_bytes());
    out.extend_from_slice(b",\"sentences\":");
    write_sentences(out, sentences, &cluster.members);
    out.push(b'}');
}

fn write_sentences(out: &mut Vec<u8>, sentences: &[String], rows: &[u32]) {
    out.push(b'[');
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_text(out, &sentences[*row as usize]);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests;
