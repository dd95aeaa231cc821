//! Delivers into ClickHouse, which has no transactions, but forgets an insert that it has seen.
//!
//! Where the server knows them, every insert carries an `insert_deduplication_token`: node, source,
//! sequence, and which insert of the batch it is. A batch is first written whole into
//! `tidegate_batches`, by one insert. What that table then holds under the sequence is the batch,
//! whichever process wrote it. It is applied: rows go into `<name>_deltas`, last a row into
//! `tidegate_checkpoints`. The next claim applies an interrupted batch again, with the same tokens.
//! The view `<name>` merges the deltas.
//!
//! Invariant: rows that are applied come from `tidegate_batches`, so two attempts cannot differ. An
//! insert counts once as long as the server remembers its token: the last 10,000 inserts of a
//! table. A new version may finish the batch of an old one. So the text of tokens and the members
//! of `BatchPart` stay as they are, or rows count twice.
//! Refuses: servers without tokens, unless the address has `guarantee=at-least-once`; rows may then
//! count twice.
//! Elsewhere: tables of these members, and views (`clickhouse/schema.rs`), rows as JSON
//! (`json.rs`).

mod http;
mod schema;

use std::path::Path;
use std::sync::Arc;

use pipeline::{Batch, Checkpoint, Sink, SinkError, Table, TableRows};
use serde::{Deserialize, Serialize};

use crate::UrlError;
use crate::address::ServerAddress;
use crate::attempt::AttemptError;
use crate::json;
use http::{HttpConnection, Insert};
use schema::{Abilities, BATCHES, CHECKPOINTS};

const ENGINE: &str = "clickhouse";
const PORT: u16 = 8123;
/// Rows in one insert: a server takes that many as one block, all or nothing.
const ROWS_MAX: usize = 50_000;
/// Applied batches are deleted each time that many were delivered.
const KEEP: u64 = 256;
/// What an address says where duplicates are no harm.
const LOOSE: &str = "guarantee=at-least-once";

/// Delivers into ClickHouse.
#[derive(Debug)]
pub struct ClickHouseSink {
    address: ServerAddress,
    connection: HttpConnection,
    /// Whether a server without tokens will do.
    is_loose: bool,
    abilities: Option<Abilities>,
    /// Of this process: which batch under a sequence is ours.
    attempt: u64,
}

/// A row of `tidegate_batches`.
#[derive(Debug, Serialize, Deserialize)]
struct BatchPart {
    node: String,
    source: String,
    sequence: u64,
    attempt: u64,
    part: u32,
    position: String,
    /// Where the rows go; empty for a batch without rows.
    target: String,
    rows: String,
}

/// A row of `tidegate_checkpoints`.
#[derive(Debug, Serialize, Deserialize)]
struct CheckpointRow {
    node: String,
    source: String,
    sequence: u64,
    position: String,
}

impl ClickHouseSink {
    /// A sink for what follows `clickhouse:`, `//USER:PASSWORD@HOST:PORT/DATABASE`; files in
    /// parameters are relative to `root`.
    ///
    /// # Errors
    /// When the address lacks something or has something unknown.
    pub fn new(rest: &str, root: &Path) -> Result<Self, UrlError> {
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let parameters: Vec<&str> = parameters.split('&').collect();
        let others: Vec<&str> = parameters.iter().copied().filter(|one| *one != LOOSE).collect();
        let is_loose = others.len() < parameters.len();
        let rest = format!("{place}?{}", others.join("&"));
        let address = ServerAddress::parse(ENGINE, &rest, PORT, root)?;
        let connection = HttpConnection::new(&address)
            .map_err(|reason| UrlError::Wrong { url: format!("{ENGINE}://{address}"), reason })?;
        let attempt = attempt_id();
        Ok(Self { address, connection, is_loose, abilities: None, attempt })
    }

    fn failed(&self, error: AttemptError) -> SinkError {
        error.into_sink_error(ENGINE, &self.address)
    }

    fn abilities(&mut self) -> Result<Abilities, AttemptError> {
        if let Some(abilities) = self.abilities {
            return Ok(abilities);
        }
        let abilities = Abilities::ask(&self.connection)?;
        if !abilities.has_tokens && !self.is_loose {
            return Err(AttemptError::Refused(format!(
                "this server knows no insert_deduplication_token, so a retried insert may count \
                 twice; hint: use 22.3 or newer, or add `?{LOOSE}` to the address"
            )));
        }
        self.abilities = Some(abilities);
        Ok(abilities)
    }

    fn create(&mut self, tables: &[Arc<Table>]) -> Result<(), AttemptError> {
        let abilities = self.abilities()?;
        for statement in abilities.service_tables() {
            self.connection.execute(&statement)?;
        }
        for table in tables {
            for statement in abilities.create(table) {
                self.connection.execute(&statement)?;
            }
        }
        Ok(())
    }

    fn stored(&self, source: &str) -> Result<Vec<Checkpoint>, AttemptError> {
        let rows: Vec<CheckpointRow> = self.connection.select(&format!(
            "SELECT node, source, top AS sequence, place AS position FROM \
             (SELECT node, source, max(sequence) AS top, argMax(position, sequence) AS place \
             FROM {CHECKPOINTS} WHERE source = {} GROUP BY node, source)",
            schema::literal(source)
        ))?;
        let stored = rows.into_iter().map(|CheckpointRow { node, source, sequence, position }| {
            Checkpoint { node, source, sequence, position }
        });
        Ok(stored.collect())
    }

    fn parts(
        &self,
        (node, source): (&str, &str),
        sequence: u64,
    ) -> Result<Vec<BatchPart>, AttemptError> {
        self.connection.select(&format!(
            "SELECT node, source, sequence, attempt, part, position, target, rows FROM {BATCHES} \
             WHERE node = {} AND source = {} AND sequence = {sequence} ORDER BY part",
            schema::literal(node),
            schema::literal(source)
        ))
    }

    /// Applies what is written under the sequence after `stored`, if something is.
    fn redo(&mut self, node: &str, source: &str) -> Result<(), AttemptError> {
        self.abilities()?;
        let stored = self.stored(source)?.into_iter().find(|stored| stored.node == node);
        let next = stored.map_or(0, |stored| stored.sequence) + 1;
        let parts = self.parts((node, source), next)?;
        self.apply(&parts)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), AttemptError> {
        let new = &batch.checkpoint;
        let abilities = self.abilities()?;
        let stored = self.stored(&new.source)?.into_iter().find(|stored| stored.node == new.node);
        let (stored, expected) = (stored.map_or(0, |stored| stored.sequence), new.sequence - 1);
        let fenced =
            |stored| SinkError::Fenced { source_name: new.source.clone(), stored, expected };
        if stored != expected {
            return Err(AttemptError::Final(fenced(stored)));
        }
        let parts = self.split(batch, abilities);
        self.insert(BATCHES, &lines(&parts), &format!("{}:batch", token(&parts[0])))?;
        let written = self.parts((&new.node, &new.source), new.sequence)?;
        self.apply(&written)?;
        if written.iter().any(|part| part.attempt != self.attempt) {
            return Err(AttemptError::Final(fenced(new.sequence)));
        }
        if new.sequence.is_multiple_of(KEEP) {
            self.forget(new)?;
        }
        Ok(())
    }

    /// Inserts rows and checkpoint; again and again without harm.
    fn apply(&self, parts: &[BatchPart]) -> Result<(), AttemptError> {
        let Some(last) = parts.last() else { return Ok(()) };
        for part in parts.iter().filter(|part| !part.target.is_empty()) {
            let token = format!("{}:{}:{}", token(part), part.target, part.part);
            self.insert(&part.target, part.rows.as_bytes(), &token)?;
        }
        let stored = CheckpointRow {
            node: last.node.clone(),
            source: last.source.clone(),
            sequence: last.sequence,
            position: last.position.clone(),
        };
        self.insert(CHECKPOINTS, &lines(&[stored]), &format!("{}:checkpoint", token(last)))
    }

    fn insert(&self, table: &str, rows: &[u8], token: &str) -> Result<(), AttemptError> {
        let has_tokens = self.abilities.is_some_and(|abilities| abilities.has_tokens);
        let token = has_tokens.then_some(token);
        self.connection.insert(&Insert { table, rows, token })
    }

    fn split(&self, batch: &Batch, abilities: Abilities) -> Vec<BatchPart> {
        let mut targets = Vec::new();
        for rows in &batch.rows {
            let target = schema::target(&rows.table);
            for first in (0..rows.len()).step_by(ROWS_MAX) {
                let end = rows.len().min(first + ROWS_MAX);
                targets.push((target.clone(), written(rows, first..end, abilities)));
            }
        }
        if targets.is_empty() {
            targets.push((String::new(), String::new()));
        }
        let new = &batch.checkpoint;
        let parts = targets.into_iter().zip(0..).map(|((target, rows), part)| BatchPart {
            node: new.node.clone(),
            source: new.source.clone(),
            sequence: new.sequence,
            attempt: self.attempt,
            part,
            position: new.position.clone(),
            target,
            rows,
        });
        parts.collect()
    }

    /// Deletes batches that nobody will ask for any more.
    fn forget(&self, new: &Checkpoint) -> Result<(), AttemptError> {
        self.connection.execute(&format!(
            "ALTER TABLE {BATCHES} DELETE WHERE node = {} AND source = {} AND sequence < {}",
            schema::literal(&new.node),
            schema::literal(&new.source),
            new.sequence
        ))
    }
}

fn written(rows: &TableRows, which: std::ops::Range<usize>, abilities: Abilities) -> String {
    let mut out = Vec::new();
    for index in which {
        json::object(rows, index, abilities.time(), &mut out);
        out.push(b'\n');
    }
    String::from_utf8(out).expect("JSON is text")
}

fn lines(rows: &[impl Serialize]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut out, row).expect("texts and numbers are JSON");
        out.push(b'\n');
    }
    out
}

fn token(part: &BatchPart) -> String {
    format!("{}:{}:{}", part.node, part.source, part.sequence)
}

/// Another number in each process.
fn attempt_id() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

impl Sink for ClickHouseSink {
    fn prepare(&mut self, tables: &[Arc<Table>]) -> Result<(), SinkError> {
        self.create(tables).map_err(|error| self.failed(error))
    }

    fn claim(&mut self, node: &str, source: &str) -> Result<(), SinkError> {
        self.redo(node, source).map_err(|error| self.failed(error))
    }

    fn checkpoints(&mut self, source: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.stored(source).map_err(|error| self.failed(error))
    }

    fn deliver(&mut self, batch: &Batch) -> Result<(), SinkError> {
        self.commit(batch).map_err(|error| self.failed(error))
    }
}

#[cfg(test)]
mod tests;
