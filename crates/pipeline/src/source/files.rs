//! Log files that another program writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stdx::{Disk, DiskFile};

use super::{Piece, Source, Step};
use crate::error::SourceError;

const CHUNK_BYTES: usize = 1 << 20;

/// Reads files that match patterns.
pub struct FileSource {
    path: PathBuf,
    name: String,
    disk: Arc<dyn Disk>,
    file: Option<Arc<dyn DiskFile>>,
    /// Just after the last complete line handed out.
    offset: u64,
    buffer: Vec<u8>,
}

impl FileSource {
    /// A source for one file, which need not exist yet.
    pub fn new(path: &Path, disk: Arc<dyn Disk>) -> Self {
        let name = path.display().to_string();
        Self { path: path.to_owned(), name, disk, file: None, offset: 0, buffer: Vec::new() }
    }
}

impl Source for FileSource {
    fn resume(&mut self, position: Option<&str>) -> Result<(), SourceError> {
        self.offset = match position {
            None => 0,
            Some(text) => text.parse().map_err(|_| SourceError::Position {
                source_name: self.name.clone(),
                cause: format!("`{text}` is no offset"),
            })?,
        };
        self.file = None;
        Ok(())
    }

    fn read(&mut self) -> Result<Step<'_>, SourceError> {
        if self.file.is_none() {
            self.file = match self.disk.open_read(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Ok(Step::CaughtUp);
                }
                Err(error) => return Err(SourceError::disk("open", &self.path)(error)),
            };
        }
        let Some(file) = &self.file else { return Ok(Step::CaughtUp) };
        self.buffer.resize(CHUNK_BYTES, 0);
        let read = file.read_at(&mut self.buffer, self.offset);
        let read = read.map_err(SourceError::disk("read", &self.path))?;
        let Some(last) = memchr::memrchr(b'\n', &self.buffer[..read]) else {
            return Ok(Step::CaughtUp);
        };
        let start = self.offset;
        self.offset += last as u64 + 1;
        Ok(Step::Lines(Piece { file: &self.name, bytes: &self.buffer[..=last], start }))
    }

    fn position(&self) -> String {
        self.offset.to_string()
    }

    fn committed(&mut self, _: &str) -> Result<(), SourceError> {
        Ok(())
    }

    fn bytes_behind(&mut self) -> u64 {
        let length = self.file.as_ref().and_then(|file| file.len().ok());
        length.unwrap_or(0).saturating_sub(self.offset)
    }
}
