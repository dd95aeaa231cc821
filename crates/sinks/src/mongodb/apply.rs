//! Applies a committed batch, once to each document, however often it is tried.
//!
//! An update matches only a document whose member `tidegate` has a smaller sequence of this node
//! and source. The latest value of a `last` column goes by its time instead. Sketches are read,
//! merged here and written back; nothing keeps another source of the node from writing between.
//! Invariant: sums, min, max are changed and the sequence is noted in one update. At most 64
//! updates make a command; at most five tries are made where another node makes the same document.
//! A batch that is not there as a whole is `Unreachable`: another process has applied it.
//! The members of a batch's document are written by `mongodb/encode.rs`, and stored. A batch of an
//! older version may lie there, so their names and meanings stay. `TRIES` is also that of
//! `mysql.rs` and `postgres.rs`.

use std::collections::HashMap;

use metrics::merge_sketches;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

use super::documents::{
    BATCHES, CHECKPOINTS, CheckpointDocument, collection, identity, number, text,
};
use super::encode::writer;
use crate::attempt::AttemptError;
use crate::runtime::TRIES;

/// What a server says when the document that it makes is there already.
const DUPLICATE_KEY: i64 = 11_000;
/// Updates in one command. FerretDB holds one of its 100 connections to SQLite for each until the
/// command ends, and waits for itself when they are used up.
const UPDATES_MAX: usize = 64;

/// Applies the batch that `stored` names, and has the checkpoint forget it.
pub(super) async fn all(
    database: &Database,
    stored: &CheckpointDocument,
) -> Result<(), AttemptError> {
    let of_batch = doc! { "attempt": stored.applying };
    let mut found = collection(database, BATCHES).find(of_batch.clone()).await?;
    let mut parts = Vec::new();
    while found.advance().await? {
        parts.push(found.deserialize_current()?);
    }
    if i64::try_from(parts.len()) != Ok(stored.parts) {
        // Another process has applied it meanwhile, and claims.
        return Err(AttemptError::Unreachable(
            "the batch under way is not there as a whole".into(),
        ));
    }
    for part in &parts {
        apply(database, part, stored).await?;
    }
    let id = identity(&stored.checkpoint.node, &stored.checkpoint.source);
    let under_way = doc! { "_id": id, "applying": stored.applying };
    let done = doc! { "$set": { "applying": 0_i64 } };
    collection(database, CHECKPOINTS).update_one(under_way, done).await?;
    collection(database, BATCHES).delete_many(of_batch).await?;
    Ok(())
}

async fn apply(
    database: &Database,
    part: &Document,
    stored: &CheckpointDocument,
) -> Result<(), AttemptError> {
    let target = text(part, "target");
    let rows = part.get_array("rows").map_err(|error| AttemptError::Refused(error.to_string()))?;
    let rows: Vec<&Document> = rows.iter().filter_map(Bson::as_document).collect();
    let sketches = stored_sketches(database, &target, &rows).await?;
    let fence = Fence {
        member: format!("tidegate.{}", writer(&stored.checkpoint.node, &stored.checkpoint.source)),
        sequence: i64::try_from(stored.checkpoint.sequence).unwrap_or(i64::MAX),
    };
    let made: Vec<_> = rows.iter().map(|row| make(row)).collect();
    let added = rows.iter().filter(|row| !is_plain(row)).map(|row| fence.add(row, &sketches));
    let added = added.collect::<Result<Vec<_>, _>>()?;
    // Most documents are there already; where one is not, or has this batch, fewer match.
    if added.len() < rows.len() || send(database, &target, &added, false).await? < added.len() {
        send(database, &target, &made, true).await?;
        send(database, &target, &added, false).await?;
    }
    let last: Vec<_> = rows.iter().flat_map(|row| last(row)).collect();
    send(database, &target, &last, false).await?;
    Ok(())
}

/// Who applies what.
struct Fence {
    member: String,
    sequence: i64,
}

impl Fence {
    /// Adds a row to its document, unless that has this batch.
    fn add(&self, row: &Document, stored: &Sketches) -> Result<Update, AttemptError> {
        let id = text(row, "id");
        let mut replaced = doc! { &self.member: self.sequence };
        for (name, new) in &part(row, "sketches") {
            let there = stored.get(&id).and_then(|document| document.get(name));
            replaced.insert(name, merged(there, new)?);
        }
        let mut update = doc! { "$set": replaced };
        for (operator, name) in [("$inc", "sums"), ("$min", "least"), ("$max", "greatest")] {
            let members = part(row, name);
            if !members.is_empty() {
                update.insert(operator, members);
            }
        }
        Ok((doc! { "_id": id, &self.member: { "$not": { "$gte": self.sequence } } }, update))
    }
}

/// A filter, and what becomes of the document that matches it.
type Update = (Document, Document);

/// Makes a row's document where there is none; one without keys is whole with that.
fn make(row: &Document) -> Update {
    (doc! { "_id": text(row, "id") }, doc! { "$setOnInsert": part(row, "set") })
}

fn is_plain(row: &Document) -> bool {
    row.get_bool("is_plain").unwrap_or(false)
}

fn part(row: &Document, name: &str) -> Document {
    row.get_document(name).cloned().unwrap_or_default()
}

/// The latest value is the same however often it is applied, so it needs no fence.
fn last(row: &Document) -> Vec<Update> {
    let values = row.get_array("last").map(Vec::as_slice).unwrap_or_default();
    let values = values.iter().filter_map(Bson::as_document).map(|last| {
        let (name, time_name) = (text(last, "name"), text(last, "time_name"));
        let value = last.get("value").cloned().unwrap_or(Bson::Null);
        let time = last.get("time").cloned().unwrap_or(Bson::Null);
        let is_newer = doc! { "_id": text(row, "id"), &time_name: { "$not": { "$gt": &time } } };
        (is_newer, doc! { "$set": { name: value, time_name: time } })
    });
    values.collect()
}

type Sketches = HashMap<String, Document>;

async fn stored_sketches(
    database: &Database,
    target: &str,
    rows: &[&Document],
) -> Result<Sketches, AttemptError> {
    let has = |row: &&&Document| row.get_document("sketches").is_ok_and(|one| !one.is_empty());
    let ids: Vec<String> = rows.iter().filter(has).map(|row| text(row, "id")).collect();
    let mut stored = Sketches::new();
    if ids.is_empty() {
        return Ok(stored);
    }
    let mut found = collection(database, target).find(doc! { "_id": { "$in": ids } }).await?;
    while found.advance().await? {
        let document: Document = found.deserialize_current()?;
        stored.insert(text(&document, "_id"), document);
    }
    Ok(stored)
}

fn merged(there: Option<&Bson>, new: &Bson) -> Result<Bson, AttemptError> {
    let (Some(Bson::Binary(there)), Bson::Binary(new)) = (there, new) else {
        return Ok(new.clone());
    };
    let bytes = merge_sketches(&there.bytes, &new.bytes);
    let bytes = bytes.map_err(|error| AttemptError::Refused(error.to_string()))?;
    Ok(Bson::Binary(mongodb::bson::Binary { subtype: new.subtype, bytes }))
}

/// Sends updates; returns how many documents matched, or were made.
async fn send(
    database: &Database,
    target: &str,
    updates: &[Update],
    upsert: bool,
) -> Result<usize, AttemptError> {
    let mut matched = 0;
    for some in updates.chunks(UPDATES_MAX) {
        let some: Vec<Document> =
            some.iter().map(|(q, u)| doc! { "q": q, "u": u, "upsert": upsert }).collect();
        let mut tries = 0;
        matched += loop {
            if let Some(matched) = send_some(database, target, &some).await? {
                break matched;
            }
            tries += 1;
            if tries == TRIES {
                return Err(AttemptError::Unreachable(format!(
                    "`{target}`: made by others meanwhile"
                )));
            }
        };
    }
    Ok(matched)
}

/// Sends updates as one command; returns how many documents matched or were made, or nothing when
/// another node made one at the same moment. FerretDB leaves out all updates behind such a one.
async fn send_some(
    database: &Database,
    target: &str,
    updates: &[Document],
) -> Result<Option<usize>, AttemptError> {
    let command = doc! {
        "update": target, "updates": updates, "ordered": false,
        "writeConcern": { "w": "majority" },
    };
    let answer = database.run_command(command).await?;
    let errors = answer.get_array("writeErrors").map(Vec::as_slice).unwrap_or_default();
    for error in errors.iter().filter_map(Bson::as_document) {
        if number(error, "code") != DUPLICATE_KEY {
            return Err(AttemptError::Refused(format!("`{target}`: {}", text(error, "errmsg"))));
        }
    }
    match answer.get("writeConcernError") {
        Some(error) => Err(AttemptError::Unreachable(error.to_string())),
        None if !errors.is_empty() => Ok(None),
        None => Ok(usize::try_from(number(&answer, "n")).ok()),
    }
}
