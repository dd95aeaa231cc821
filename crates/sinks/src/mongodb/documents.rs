//! Names the sink's own collections in MongoDB, and reads the checkpoint's document.
//!
//! Plain data. A member that is missing or of another type is 0 or empty text, which means: nothing
//! was delivered yet. So a collection, a member or the text of `identity` that gets another name
//! makes old logs count twice.
//! Elsewhere: who writes these documents (`mongodb.rs`, `mongodb/apply.rs`), rollups' documents
//! (`mongodb/apply.rs`).

use ::mongodb::bson::{Bson, Document};
use ::mongodb::{Collection, Database};
use pipeline::Checkpoint;

/// Batches, until they are applied.
pub(super) const BATCHES: &str = "tidegate_batches";
pub(super) const CHECKPOINTS: &str = "tidegate_checkpoints";

/// What the checkpoint's document says.
#[derive(Debug)]
pub(super) struct CheckpointDocument {
    pub checkpoint: Checkpoint,
    pub epoch: i64,
    /// The batch that is committed but perhaps not applied; 0 for none.
    pub applying: i64,
    /// Documents of that batch.
    pub parts: i64,
}

impl CheckpointDocument {
    pub(super) fn of(document: &Document) -> Self {
        Self {
            checkpoint: Checkpoint {
                node: text(document, "node"),
                source: text(document, "source"),
                sequence: number(document, "sequence").unsigned_abs(),
                position: text(document, "position"),
            },
            epoch: number(document, "epoch"),
            applying: number(document, "applying"),
            parts: number(document, "parts"),
        }
    }
}

/// A collection of our documents.
pub(super) fn collection(database: &Database, name: &str) -> Collection<Document> {
    database.collection(name)
}

/// The checkpoint's document of a node and source.
pub(super) fn identity(node: &str, source: &str) -> String {
    format!("{node}/{source}")
}

/// A member that is a whole number; 0 where there is none.
pub(super) fn number(document: &Document, name: &str) -> i64 {
    match document.get(name) {
        Some(Bson::Int64(number)) => *number,
        Some(Bson::Int32(number)) => i64::from(*number),
        _ => 0,
    }
}

/// A member that is text; empty where there is none.
pub(super) fn text(document: &Document, name: &str) -> String {
    document.get_str(name).unwrap_or_default().to_owned()
}
