//! Delivers by MongoDB's wire protocol, without transactions over several documents.
//!
//! A batch is first written into `tidegate_batches`. Then one update of the checkpoint's document
//! commits it by naming the batch. The update holds only where the checkpoint before it and the
//! claim are those of this process. After that the batch is applied, document by document, and the
//! checkpoint's document forgets it. The next claim applies again what a crash interrupts. Each
//! document of a rollup with keys has a member `tidegate`: the last sequence of each node and
//! source that it has.
//!
//! Invariant: a batch is applied if and only if the checkpoint says so, and whole by the next claim
//! that succeeds. Until then readers may see some of its documents without the others.
//! The names of collections and members are stored: under a new name, nothing was delivered yet,
//! and rows count twice. `mongodb/documents.rs` reads the members that this file writes.
//! Elsewhere: applying (`mongodb/apply.rs`), documents of a batch (`mongodb/encode.rs`). Only the
//! scheme `mongodb:` comes here; `mongodb+srv:`, which needs DNS look-ups, is no engine (`lib.rs`).

mod apply;
mod documents;
mod encode;

use std::sync::Arc;
use std::time::Duration;

use ::mongodb::bson::{Bson, doc};
use ::mongodb::error::{Error, ErrorKind};
use ::mongodb::options::{
    ClientOptions, ConnectionString, ReadConcern, ReturnDocument, SelectionCriteria, WriteConcern,
};
use ::mongodb::{Client, Database};
use pipeline::{Batch, Checkpoint, Sink, SinkError, Table};
use tokio::runtime::Runtime;

use self::documents::{BATCHES, CHECKPOINTS, CheckpointDocument, collection, identity, number};
use crate::UrlError;
use crate::attempt::AttemptError;
use crate::runtime::{runtime, within};

const ENGINE: &str = "mongodb";
/// How long a server is looked for.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a batch may take.
const BATCH_TIMEOUT: Duration = Duration::from_secs(120);

/// Delivers into MongoDB, or into a server that speaks its protocol.
pub(crate) struct MongoSink {
    url: String,
    place: String,
    database: String,
    connection: Option<(Runtime, Database)>,
    claimed: Option<Claim>,
}

/// The right to commit for a node's source: no other process has claimed it since.
#[derive(Debug, Clone)]
struct Claim {
    node: String,
    source: String,
    epoch: i64,
}

impl MongoSink {
    /// A sink for `mongodb://USER:PASSWORD@HOST:PORT/DATABASE?…`; parameters are MongoDB's.
    ///
    /// # Errors
    /// When the address lacks something, or makes no sense to the driver.
    pub(crate) fn new(url: &str) -> Result<Self, UrlError> {
        let login_end = url.rfind('@').map_or("mongodb://".len(), |at| at + 1);
        let place = url.get(login_end..).unwrap_or_default().to_owned();
        let place = place.split('?').next().unwrap_or_default().to_owned();
        let shown = format!("{ENGINE}://{place}");
        let parsed = ConnectionString::parse(url).map_err(|_| UrlError::Wrong {
            url: shown.clone(),
            reason: "it is no address of MongoDB".to_owned(),
        })?;
        let database = parsed.default_database;
        let database = database.ok_or(UrlError::Incomplete { url: shown, what: "database" })?;
        Ok(Self { url: url.to_owned(), place, database, connection: None, claimed: None })
    }

    /// Does a piece of work on the connection, which is made anew after it failed.
    fn work<T>(
        &mut self,
        work: impl AsyncFnOnce(&Database, Option<Claim>) -> Result<T, AttemptError>,
    ) -> Result<T, SinkError> {
        let claimed = self.claimed.clone();
        let done = self.connected().and_then(|(runtime, database)| {
            runtime.block_on(within(BATCH_TIMEOUT, work(&database, claimed)))
        });
        let place = self.place.clone();
        done.map_err(|error| match error {
            AttemptError::Final(error) => error,
            AttemptError::Refused(reason) => SinkError::Refused { engine: ENGINE, place, reason },
            AttemptError::Unreachable(reason) | AttemptError::Retry(reason) => {
                self.connection = None;
                self.claimed = None;
                SinkError::Unreachable { engine: ENGINE, place, reason }
            }
        })
    }

    fn connected(&mut self) -> Result<(&Runtime, Database), AttemptError> {
        if self.connection.is_none() {
            let runtime = runtime()?;
            let database = runtime.block_on(connect(&self.url, &self.database))?;
            self.connection = Some((runtime, database));
        }
        let (runtime, database) = self.connection.as_ref().expect("it was just made");
        Ok((runtime, database.clone()))
    }
}

async fn connect(url: &str, database: &str) -> Result<Database, AttemptError> {
    let mut options = ClientOptions::parse(url).await?;
    options.server_selection_timeout = Some(SELECTION_TIMEOUT);
    options.app_name = Some("tidegate".to_owned());
    // What is acknowledged outlives the server that acknowledged it.
    options.write_concern = Some(WriteConcern::majority());
    options.read_concern = Some(ReadConcern::majority());
    options.selection_criteria =
        Some(SelectionCriteria::ReadPreference(mongodb::options::ReadPreference::Primary));
    // Everything here may be done again, but by us, who look first.
    options.retry_writes = Some(false);
    Ok(Client::with_options(options)?.database(database))
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        match *error.kind {
            ErrorKind::Authentication { .. }
            | ErrorKind::Command(_)
            | ErrorKind::InvalidArgument { .. } => Self::Refused(error.to_string()),
            _ => Self::Unreachable(error.to_string()),
        }
    }
}

/// Takes the right to commit, and finishes what the one before left.
async fn claim(database: &Database, node: &str, source: &str) -> Result<Claim, AttemptError> {
    let checkpoints = collection(database, CHECKPOINTS);
    let id = identity(node, source);
    let found = checkpoints
        .find_one_and_update(
            doc! { "_id": &id },
            doc! { "$inc": { "epoch": 1_i64 }, "$set": { "node": node, "source": source } },
        )
        .upsert(true)
        .return_document(ReturnDocument::After)
        .await?;
    let found =
        found.ok_or_else(|| AttemptError::Unreachable("the claim came back empty".into()))?;
    let stored = CheckpointDocument::of(&found);
    if stored.applying != 0 {
        apply::all(database, &stored).await?;
    }
    // Nobody can commit the others any more.
    let batches = collection(database, BATCHES);
    batches.delete_many(doc! { "node": node, "source": source }).await?;
    Ok(Claim { node: node.to_owned(), source: source.to_owned(), epoch: number(&found, "epoch") })
}

async fn commit(database: &Database, batch: &Batch, claim: &Claim) -> Result<(), AttemptError> {
    let new = &batch.checkpoint;
    let sequence = i64::try_from(new.sequence).expect("batches are counted one by one");
    check(database, new, claim).await?;
    let attempt = encode::attempt();
    let parts = encode::parts(batch, attempt);
    let count = i64::try_from(parts.len()).expect("a batch is bounded");
    if !parts.is_empty() {
        collection(database, BATCHES).insert_many(parts).await?;
    }
    let id = identity(&new.node, &new.source);
    let before = doc! {
        "_id": &id, "epoch": claim.epoch,
        "sequence": if sequence == 1 { Bson::Null } else { Bson::Int64(sequence - 1) },
    };
    let after = doc! { "$set": {
        "sequence": sequence, "position": &new.position, "applying": attempt, "parts": count,
    }};
    let moved = collection(database, CHECKPOINTS).update_one(before, after).await?;
    if moved.matched_count != 1 {
        check(database, new, claim).await?;
        return Err(AttemptError::Unreachable(
            "the checkpoint was moved by another process".into(),
        ));
    }
    let epoch = claim.epoch;
    apply::all(
        database,
        &CheckpointDocument { checkpoint: new.clone(), epoch, applying: attempt, parts: count },
    )
    .await
}

/// Makes sure that the checkpoint before `new` is the one stored, under this claim.
async fn check(database: &Database, new: &Checkpoint, claim: &Claim) -> Result<(), AttemptError> {
    let id = identity(&new.node, &new.source);
    let found = collection(database, CHECKPOINTS).find_one(doc! { "_id": id }).await?;
    let stored = CheckpointDocument::of(&found.unwrap_or_default());
    let (stored_sequence, expected) = (stored.checkpoint.sequence, new.sequence - 1);
    if stored_sequence != expected {
        let source_name = new.source.clone();
        let stored = stored_sequence;
        return Err(AttemptError::Final(SinkError::Fenced { source_name, stored, expected }));
    }
    match stored.epoch == claim.epoch {
        true => Ok(()),
        // The caller claims again, and then sees what was committed meanwhile.
        false => Err(AttemptError::Unreachable(
            "another process has taken over the delivery of this source".to_owned(),
        )),
    }
}

impl Sink for MongoSink {
    /// Collections are made by what is put into them.
    fn prepare(&mut self, _tables: &[Arc<Table>]) -> Result<(), SinkError> {
        self.work(async |database, _| {
            database.run_command(doc! { "ping": 1 }).await?;
            Ok(())
        })
    }

    fn claim(&mut self, node: &str, source: &str) -> Result<(), SinkError> {
        let claimed = self.work(async |database, _| claim(database, node, source).await)?;
        self.claimed = Some(claimed);
        Ok(())
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.work(async |database, _| {
            let mut found =
                collection(database, CHECKPOINTS).find(doc! { "source": source }).await?;
            let mut stored = Vec::new();
            while found.advance().await? {
                stored.push(CheckpointDocument::of(&found.deserialize_current()?).checkpoint);
            }
            // A claim makes the document before there is a checkpoint.
            stored.retain(|stored| stored.sequence > 0);
            Ok(stored)
        })
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        let new = &batch.checkpoint;
        let is_claimed = self
            .claimed
            .as_ref()
            .is_some_and(|claim| claim.node == new.node && claim.source == new.source);
        if !is_claimed {
            self.claim(&new.node, &new.source)?;
        }
        self.work(async |database, claim| {
            commit(database, batch, &claim.expect("it was just made")).await
        })
    }
}

#[cfg(test)]
mod tests;
