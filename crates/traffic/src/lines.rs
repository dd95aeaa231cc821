//! Cuts what a source gives into lines, in one buffer.
//!
//! A chunk is all complete lines that have come, so nothing waits for the buffer to fill.
//! Bounds: a line over [`LINE_BYTES_MAX`] is passed over and counted, with as much memory as that.
//! The last line of a source may lack its line feed.
//! Never here: what a line says.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memrchr};

/// The longest line that is read.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 256 << 10;

/// The lines of a source.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// Up to where the caller had the lines.
    used: usize,
    filled: usize,
    /// Whether the rest of a line is to be passed over.
    skips: bool,
    is_over: bool,
    /// Lines that were too long.
    pub(crate) too_long: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        let buffer = vec![0; READ_BYTES];
        Self { source, buffer, used: 0, filled: 0, skips: false, is_over: false, too_long: 0 }
    }

    /// The next complete lines; nothing at the end of the source.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        let mut searched = 0;
        loop {
            if self.skips {
                self.skip();
                searched = 0;
            }
            if let Some(end) = memrchr(b'\n', &self.buffer[searched..self.filled]) {
                self.used = searched + end + 1;
                return Ok(Some(&self.buffer[..self.used]));
            }
            searched = self.filled;
            if self.is_over {
                self.used = self.filled;
                return Ok((self.filled > 0).then(|| &self.buffer[..self.filled]));
            }
            if self.filled >= LINE_BYTES_MAX {
                self.too_long += 1;
                self.skips = true;
                (self.filled, searched) = (0, 0);
            }
            if self.filled == self.buffer.len() {
                self.buffer.resize(LINE_BYTES_MAX, 0);
            }
            self.fill()?;
        }
    }

    /// Passes over the rest of a line.
    fn skip(&mut self) {
        let rest = memchr(b'\n', &self.buffer[..self.filled]).map(|end| end + 1);
        self.skips = rest.is_none();
        let start = rest.unwrap_or(self.filled);
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
    }

    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.filled += read;
                    self.is_over = read == 0;
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
