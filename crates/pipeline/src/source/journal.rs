//! Reads the journal of the edge process as a source.
//!
//! Its position is the text of a `journal::Place`, which begins with the offset. Sinks store it,
//! and `recount` reads it, so it must stay. A journal is one, whatever the node is called that
//! reads it. So the furthest place of this journal counts, whichever node has committed it. A
//! consumer file holds segments back that were not committed yet; an onlooker writes none.
//! Invariant: what `journal::Reader` gives comes through unchanged, and a gap comes as lost bytes.
//! A position that the journal does not have comes as `Displaced`, before the next lines. One that
//! is no text of a place is an error. A journal that ends before what was durable counts as a file
//! that cannot be read. Every line is of the file `journal`, as rows of single events and the
//! quarantine show it. Never here: retention and durability of the journal (the crate `journal`).

use std::path::PathBuf;
use std::sync::Arc;

use journal::{Consumer, Displaced, JournalRead, Place, Reader};
use stdx::Disk;

use super::{FileNotices, LineSource, NodePosition, ReadOutcome};
use crate::chunk::LogChunk;
use crate::error::SourceError;

const FILE: &str = "journal";

/// Reads a journal.
pub struct JournalSource {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    /// The name under which segments are held back, if they are.
    consumer_name: Option<String>,
    consumer: Option<Consumer>,
    reader: Option<Reader>,
    offset: u64,
    /// What is to be said before the first lines.
    displaced: Option<Displaced>,
    is_caught_up: bool,
    /// The places of other nodes, each with its node.
    others: Vec<(Place, String)>,
}

impl JournalSource {
    /// A source for the journal in `dir`, which need not exist yet; `consumer` names who reads.
    pub fn new(dir: PathBuf, consumer: &str, disk: Arc<dyn Disk>) -> Self {
        Self { consumer_name: Some(consumer.to_owned()), ..Self::onlooker(dir, disk) }
    }

    /// The same for a reader that only looks: nothing is written, and no segment held back.
    pub fn onlooker(dir: PathBuf, disk: Arc<dyn Disk>) -> Self {
        let (consumer_name, consumer, reader) = (None, None, None);
        Self {
            dir,
            disk,
            consumer_name,
            consumer,
            reader,
            offset: 0,
            displaced: None,
            is_caught_up: false,
            others: Vec::new(),
        }
    }
}

impl LineSource for JournalSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        let place = position.map(|text| {
            text.parse::<Place>().map_err(|error| SourceError::Position {
                source_name: FILE.to_owned(),
                reason: format!("`{text}`: {error}"),
            })
        });
        let place = place.transpose()?;
        let others: Vec<_> = self.others.iter().map(|(place, _)| *place).collect();
        let reader = Reader::open(&self.dir, Arc::clone(&self.disk))?;
        let (reader, displaced) = reader.resume_furthest(place, &others)?;
        let goes_on = Some(reader.place()).filter(|it| Some(*it) != place);
        if let Some((_, node)) = self.others.iter().find(|(other, _)| Some(*other) == goes_on) {
            tracing::info!(node, "the journal goes on behind another node, which had read it");
        }
        self.displaced = displaced;
        self.offset = reader.offset();
        self.reader = Some(reader);
        if let Some(name) = &self.consumer_name {
            let disk = Arc::clone(&self.disk);
            self.consumer = Some(Consumer::register(&self.dir, name, self.offset, disk)?);
        }
        Ok(())
    }

    fn others(&mut self, positions: &[NodePosition]) {
        let place = |other: &NodePosition| Some((other.position.parse().ok()?, other.node.clone()));
        self.others = positions.iter().filter_map(place).collect();
    }

    fn read<'s>(&'s mut self, _: &'s mut Vec<u8>) -> Result<ReadOutcome<'s>, SourceError> {
        if let Some(displaced) = self.displaced.take() {
            return Ok(ReadOutcome::Displaced { file: FILE, displaced });
        }
        let Some(reader) = &mut self.reader else { return Ok(ReadOutcome::CaughtUp) };
        self.is_caught_up = false;
        Ok(match reader.read()? {
            JournalRead::Lines(lines) => {
                let (start, bytes) = (self.offset, lines.bytes());
                self.offset += bytes.len() as u64;
                ReadOutcome::Lines(LogChunk { file: FILE, bytes, start })
            }
            JournalRead::Gap { from, to } => {
                self.offset = to;
                ReadOutcome::Lost { file: FILE, from, to }
            }
            JournalRead::Lost { from, to } => ReadOutcome::Lost { file: FILE, from, to },
            JournalRead::Displaced(displaced) => {
                self.offset = displaced.goes_on;
                ReadOutcome::Displaced { file: FILE, displaced }
            }
            JournalRead::CaughtUp => {
                self.is_caught_up = true;
                ReadOutcome::CaughtUp
            }
        })
    }

    fn position(&self) -> String {
        self.reader.as_ref().map_or_else(|| self.offset.to_string(), |it| it.place().to_string())
    }

    fn committed(&mut self, position: &str) -> Result<(), SourceError> {
        match (&self.consumer, position.parse::<Place>()) {
            (Some(consumer), Ok(place)) => Ok(consumer.commit(place.offset)?),
            _ => Ok(()),
        }
    }

    fn bytes_behind(&mut self) -> u64 {
        let end = self.reader.as_mut().and_then(|reader| reader.end().ok());
        end.unwrap_or(0).saturating_sub(self.offset)
    }

    fn notices(&self) -> FileNotices {
        let reader = self.reader.as_ref().filter(|_| self.is_caught_up);
        let missing = reader.and_then(Reader::missing_to).map(|to| {
            let at = self.offset;
            (FILE.to_owned(), format!("it ends at {at}, and lines up to {to} had been durable"))
        });
        FileNotices { unreadable: missing.into_iter().collect(), ..FileNotices::default() }
    }
}

#[cfg(test)]
mod tests;
