//! Writes exchanges as text, as lines of JSON, or as an HTTP Archive.
//!
//! Invariants: no form shows the value of a header that is a secret, unless it is asked for.
//! Text holds no control character: each byte of one is `\xNN`, so no URL can steer a terminal.
//! Each form is complete when [`ViewWriter::finish`] has been called.
//! Never here: who reads it, and that nobody reads on; the error of the writer tells the caller.

mod escape;
mod har;
mod ndjson;
mod options;
mod text;

use std::io::{self, Write};

use exchange::is_secret_header;

pub(crate) use escape::escape;
pub(crate) use options::REDACTED;
pub use options::{OutputFormat, OutputOptions};

use crate::varnish::VarnishRecord;
use crate::view::{View, split_header};

/// Where exchanges go.
pub(crate) trait Show {
    /// Takes an exchange.
    fn write(&mut self, view: &View<'_>) -> io::Result<()>;

    /// Takes a record of Varnish's log, which is no exchange.
    fn write_record(&mut self, _record: &VarnishRecord<'_>) -> io::Result<()> {
        Ok(())
    }

    /// Shows what was taken, for nothing more comes at once.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends, after so many requests.
    fn finish(&mut self, _requests: u64) -> io::Result<()> {
        Ok(())
    }

    /// Whether no more is wanted.
    fn is_over(&self) -> bool {
        false
    }
}

/// Writes exchanges to `out`.
pub(crate) struct ViewWriter<W> {
    out: W,
    options: OutputOptions,
    /// The text of one exchange.
    buffer: Vec<u8>,
    has_begun: bool,
}

impl<W: Write> ViewWriter<W> {
    pub(crate) fn new(out: W, options: OutputOptions) -> Self {
        Self { out, options, buffer: Vec::new(), has_begun: false }
    }
}

impl<W: Write> Show for ViewWriter<W> {
    fn write(&mut self, view: &View<'_>) -> io::Result<()> {
        self.buffer.clear();
        match self.options.format {
            OutputFormat::Text => text::write(view, &self.options, &mut self.buffer),
            OutputFormat::Ndjson => ndjson::write(view, &mut self.buffer),
            OutputFormat::Har => {
                let begin: &[u8] = if self.has_begun { b",\n" } else { har::HEAD };
                self.buffer.extend_from_slice(begin);
                har::write(view, &self.options, &mut self.buffer);
            }
        }
        self.has_begun = true;
        self.out.write_all(&self.buffer)
    }

    /// Writes a record as `varnishlog -g raw` does, or as JSON.
    fn write_record(&mut self, record: &VarnishRecord<'_>) -> io::Result<()> {
        self.buffer.clear();
        let is_header =
            record.tag.name().ends_with("Header") || record.tag.name().ends_with("Unset");
        let (name, _) = split_header(record.data);
        let redacted;
        let data = if is_header && is_secret_header(name) && !self.options.shows_secrets {
            redacted = [name, b": ", REDACTED].concat();
            &redacted
        } else {
            record.data
        };
        match self.options.format {
            OutputFormat::Ndjson => ndjson::write_record(record, data, &mut self.buffer),
            _ => text::write_record(record, data, &mut self.buffer),
        }
        self.out.write_all(&self.buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the form: text with the total of requests.
    fn finish(&mut self, requests: u64) -> io::Result<()> {
        match self.options.format {
            OutputFormat::Text => {
                write!(self.out, "\n\nTotal number of requests: {requests}\n\n")?;
            }
            OutputFormat::Ndjson => {}
            OutputFormat::Har => {
                let begin: &[u8] = if self.has_begun { b"" } else { har::HEAD };
                self.out.write_all(begin)?;
                self.out.write_all(har::TAIL)?;
            }
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests;
