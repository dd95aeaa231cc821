//! Reads the journal of the edge process as a source.
//!
//! Its position is the offset in decimal digits. Sinks store it, and `recount` reads it, so it must
//! stay. A consumer file holds segments back that were not committed yet; an onlooker writes none.
//! Invariant: what `journal::Reader` gives comes through unchanged, and a gap comes as lost bytes.
//! A position that is no number, lies beyond the end or inside a line is an error.
//! Every line is of the file `journal`, as rows of single events and the quarantine show it.
//! Never here: retention and durability of the journal (the crate `journal`).

use std::path::PathBuf;
use std::sync::Arc;

use journal::{Consumer, JournalRead, Reader};
use stdx::Disk;

use super::{LineSource, LogChunk, ReadOutcome};
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
}

impl JournalSource {
    /// A source for the journal in `dir`, which need not exist yet; `consumer` names who reads.
    pub fn new(dir: PathBuf, consumer: &str, disk: Arc<dyn Disk>) -> Self {
        let consumer_name = Some(consumer.to_owned());
        Self { dir, disk, consumer_name, consumer: None, reader: None, offset: 0 }
    }

    /// The same for a reader that only looks: nothing is written, and no segment held back.
    pub fn onlooker(dir: PathBuf, disk: Arc<dyn Disk>) -> Self {
        Self { dir, disk, consumer_name: None, consumer: None, reader: None, offset: 0 }
    }
}

impl LineSource for JournalSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        let reader = Reader::open(&self.dir, Arc::clone(&self.disk))?;
        let reader = match position {
            None => reader,
            Some(text) => {
                let offset = text.parse().map_err(|_| SourceError::Position {
                    source_name: FILE.to_owned(),
                    reason: format!("`{text}` is no offset"),
                })?;
                reader.from(offset)?
            }
        };
        self.offset = reader.offset();
        self.reader = Some(reader);
        if let Some(name) = &self.consumer_name {
            let disk = Arc::clone(&self.disk);
            self.consumer = Some(Consumer::register(&self.dir, name, self.offset, disk)?);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<ReadOutcome<'_>, SourceError> {
        let Some(reader) = &mut self.reader else { return Ok(ReadOutcome::CaughtUp) };
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
            JournalRead::CaughtUp => ReadOutcome::CaughtUp,
        })
    }

    fn position(&self) -> String {
        self.offset.to_string()
    }

    fn committed(&mut self, position: &str) -> Result<(), SourceError> {
        match (&self.consumer, position.parse()) {
            (Some(consumer), Ok(offset)) => Ok(consumer.commit(offset)?),
            _ => Ok(()),
        }
    }

    fn bytes_behind(&mut self) -> u64 {
        let end = self.reader.as_mut().and_then(|reader| reader.end().ok());
        end.unwrap_or(0).saturating_sub(self.offset)
    }
}
