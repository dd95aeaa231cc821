//! Watches traffic: lines in, exchanges out, from the first line to the last.
//!
//! Read [`watch`] top to bottom: guess the format, cut lines, read them into exchanges, ask the
//! filters, write what is left. What is written is flushed whenever the source has nothing more at
//! once, so that a slow stream is seen as it comes. [`watch_exchanges`] hands the same exchanges
//! over instead, for what draws or counts them.
//! A source is anything that reads: a file, a pipe, a file that is followed. A running server's
//! stream of journal lines is one as well: it needs no more than a `Read` of its lines.
//! Bounds: those of `lines`, `assembly` and `limits`. Nothing here fails on what a source says.
//! Refuses: a source whose first lines are of no known format.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use exchange::{Filter, decode, decode_combined, decode_ltsv};
use memchr::memchr_iter;

use crate::absent::AbsentFields;
use crate::access::{self, JsonLine};
use crate::assembly::{Assembler, Grouping};
use crate::guess::{InputFormat, guess};
use crate::limits::{Gauge, WatchCounts, WatchLimits};
use crate::lines::Lines;
use crate::output::{OutputOptions, Show, ViewWriter};
use crate::owned::OwnedExchange;
use crate::query::{Query, QueryError};
use crate::records::Records;
use crate::summary::{self, Era};
use crate::varnish::{self, Modern};
use crate::view::View;

/// Bytes of lines of no known format before that is an error.
const UNKNOWN_BYTES_MAX: usize = 256 << 10;

/// What is watched, and what is shown of it.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// How lines are written; guessed if it is not said.
    pub input_format: Option<InputFormat>,
    /// What belongs together; as the query needs it, if it is not said.
    pub grouping: Option<Grouping>,
    /// In Varnish's query language.
    pub query: Option<Query>,
    /// In the filter language of `exchange`.
    pub filter: Option<Filter>,
    /// What is held and shown at most.
    pub limits: WatchLimits,
    /// How it is shown.
    pub output: OutputOptions,
}

/// Why traffic cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The source cannot be read.
    #[error("read the source")]
    Read(#[source] io::Error),
    /// What is shown cannot be written.
    #[error("write what is shown")]
    Write(#[source] io::Error),
    /// The first lines are of no known format.
    #[error(
        "no line of {lines} is of a known format; `--input-format` takes {formats}",
        formats = InputFormat::ALL.map(InputFormat::name).join(", ")
    )]
    UnknownFormat {
        /// How many lines were looked at.
        lines: u64,
    },
    /// The query asks for what the source does not have.
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// What was watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// How the lines were written; nothing if there were none.
    pub format: Option<InputFormat>,
    /// What was seen, and what of it was not used.
    pub counts: WatchCounts,
    /// Whether records were of transactions whose beginning or end the source leaves out.
    pub lacks_ends: bool,
    /// Fields that the filter asks for, and that no exchange had, if none was shown.
    pub absent: Vec<String>,
}

/// Reads a source to its end, and shows the exchanges that satisfy the options. `seen` is called
/// after each piece of the source; it may end the watch, which then ends as at the end.
///
/// # Errors
/// [`WatchError`]; what came before was shown. A reader that has left is `Write`.
pub fn watch(
    source: impl Read,
    out: impl Write,
    options: WatchOptions,
    seen: impl FnMut(&WatchCounts) -> ControlFlow<()>,
) -> Result<Watched, WatchError> {
    let output = ViewWriter::new(out, options.output);
    run(source, output, options, seen)
}

/// Reads a source to its end, and hands over the exchanges that satisfy the options, as [`watch`]
/// does; `found` may end the watch as well. Records alone (`-g raw`) are no exchanges.
///
/// # Errors
/// Those of [`watch`], but for `Write`.
pub fn watch_exchanges(
    source: impl Read,
    options: WatchOptions,
    found: impl FnMut(OwnedExchange) -> ControlFlow<()>,
    seen: impl FnMut(&WatchCounts) -> ControlFlow<()>,
) -> Result<Watched, WatchError> {
    let handing = Handing { found, shows_secrets: options.output.shows_secrets, is_over: false };
    run(source, handing, options, seen)
}

fn run(
    source: impl Read,
    output: impl Show,
    options: WatchOptions,
    mut seen: impl FnMut(&WatchCounts) -> ControlFlow<()>,
) -> Result<Watched, WatchError> {
    let mut lines = Lines::new(source);
    let mut viewer = Viewer::new(output, options);
    while let Some(chunk) = lines.chunk().map_err(WatchError::Read)? {
        viewer.chunk(chunk)?;
        viewer.output.flush().map_err(WatchError::Write)?;
        viewer.counts.too_long = lines.too_long;
        if seen(&viewer.counts).is_break() || viewer.output.is_over() {
            break;
        }
    }
    viewer.counts.too_long = lines.too_long;
    viewer.finish()
}

/// Hands exchanges over as they are, to be kept.
struct Handing<F> {
    found: F,
    shows_secrets: bool,
    is_over: bool,
}

impl<F: FnMut(OwnedExchange) -> ControlFlow<()>> Show for Handing<F> {
    fn write(&mut self, view: &View<'_>) -> io::Result<()> {
        if !self.is_over {
            self.is_over = (self.found)(OwnedExchange::new(view, self.shows_secrets)).is_break();
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Reads lines of one format.
enum Reader {
    /// The format is not known yet.
    Unknown {
        looked_at: usize,
    },
    Modern(Modern, Box<Assembler>),
    Legacy(Box<Assembler>),
    Records(InputFormat, Box<Records>),
    Line(InputFormat),
}

struct Viewer<S> {
    options: WatchOptions,
    reader: Reader,
    /// The query, for sources without records.
    query_filter: Option<Filter>,
    gauge: Option<Gauge>,
    output: S,
    counts: WatchCounts,
    ended: u64,
    absent: AbsentFields,
}

impl<S: Show> Viewer<S> {
    fn new(output: S, options: WatchOptions) -> Self {
        let gauge = options.limits.rate.map(Gauge::new);
        let reader = Reader::Unknown { looked_at: 0 };
        let counts = WatchCounts::default();
        let absent = AbsentFields::default();
        Self { options, reader, query_filter: None, gauge, output, counts, ended: 0, absent }
    }

    fn chunk(&mut self, chunk: &[u8]) -> Result<(), WatchError> {
        if let Reader::Unknown { looked_at } = self.reader {
            let Some(format) = self.options.input_format.or_else(|| guess(chunk)) else {
                let looked_at = looked_at + chunk.len();
                self.counts.lines += memchr_iter(b'\n', chunk).count() as u64;
                self.counts.unread = self.counts.lines;
                self.reader = Reader::Unknown { looked_at };
                if looked_at > UNKNOWN_BYTES_MAX {
                    return Err(WatchError::UnknownFormat { lines: self.counts.lines });
                }
                return Ok(());
            };
            self.begin(format)?;
        }
        let mut start = 0;
        for end in memchr_iter(b'\n', chunk) {
            self.line(&chunk[start..end])?;
            start = end + 1;
        }
        if start < chunk.len() {
            self.line(&chunk[start..])?;
        }
        Ok(())
    }

    fn begin(&mut self, format: InputFormat) -> Result<(), WatchError> {
        let query = self.options.query.as_ref();
        let needed = query.map_or(Grouping::Vxid, Query::grouping);
        let grouping = self.options.grouping.unwrap_or(needed);
        let tags = query.map(Query::tags).unwrap_or_default().union(summary::tags());
        let assembler = |grouping| Box::new(Assembler::new(grouping, self.options.limits, tags));
        let records = |era| Reader::Records(format, Box::new(Records::new(era)));
        self.reader = match format {
            InputFormat::Varnish if grouping == Grouping::Raw => records(Era::Modern),
            InputFormat::Varnish3 if grouping == Grouping::Raw => records(Era::Legacy),
            InputFormat::Varnish => Reader::Modern(Modern::default(), assembler(grouping)),
            InputFormat::Varnish3 => Reader::Legacy(assembler(Grouping::Vxid)),
            other => {
                self.query_filter = query.map(Query::filter).transpose()?;
                Reader::Line(other)
            }
        };
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), WatchError> {
        self.counts.lines += 1;
        match &mut self.reader {
            Reader::Modern(reader, assembler) => {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                reader.line(line, assembler, &mut self.counts);
                if assembler.is_ready() { self.groups() } else { Ok(()) }
            }
            Reader::Legacy(assembler) => {
                varnish::legacy(line, assembler, &mut self.counts);
                if assembler.is_ready() { self.groups() } else { Ok(()) }
            }
            Reader::Records(_, records) => {
                let shown = (&mut self.gauge, &mut self.counts, &mut self.output);
                records.line(line, self.options.query.as_ref(), shown).map_err(WatchError::Write)
            }
            Reader::Line(format) => {
                let format = *format;
                self.exchange(line, format)
            }
            Reader::Unknown { .. } => Ok(()),
        }
    }

    /// Shows the groups that are ready.
    fn groups(&mut self) -> Result<(), WatchError> {
        let (assembler, era) = match &mut self.reader {
            Reader::Modern(_, assembler) => (assembler, Era::Modern),
            Reader::Legacy(assembler) => (assembler, Era::Legacy),
            _ => return Ok(()),
        };
        while let Some(group) = assembler.group() {
            let is_asked = self.options.query.as_ref().is_none_or(|query| query.matches(group));
            for transaction in group.iter() {
                self.ended += 1;
                let Some(view) = summary::view(transaction, era) else { continue };
                self.counts.requests += 1;
                self.absent.look([self.options.filter.as_ref(), None], &view);
                let is_asked = is_asked
                    && self.options.filter.as_ref().is_none_or(|filter| filter.matches(&view));
                if is_asked {
                    let time = view.times.time_us.unwrap_or_else(|| assembler.now_us());
                    show(&view, time, (&mut self.gauge, &mut self.counts, &mut self.output))?;
                }
            }
            assembler.drop_group();
        }
        Ok(())
    }

    /// Shows what is one exchange a line.
    fn exchange(&mut self, line: &[u8], format: InputFormat) -> Result<(), WatchError> {
        if line.is_empty() {
            return Ok(());
        }
        if format == InputFormat::VarnishJson {
            let Some(read) = JsonLine::read(line) else {
                self.counts.unread += 1;
                return Ok(());
            };
            return read.view().map_or(Ok(()), |view| self.view(&view));
        }
        let decoded = match format {
            InputFormat::Tidegate => decode(line),
            InputFormat::Ltsv => decode_ltsv(line),
            _ => decode_combined(line),
        };
        let Ok(exchange) = decoded else {
            self.counts.unread += 1;
            return Ok(());
        };
        let headers = access::listed(&exchange, line);
        self.view(&access::view(&exchange, &headers, format))
    }

    fn view(&mut self, view: &View<'_>) -> Result<(), WatchError> {
        self.counts.requests += 1;
        let filters = [self.options.filter.as_ref(), self.query_filter.as_ref()];
        self.absent.look(filters, view);
        if filters.into_iter().flatten().all(|filter| filter.matches(view)) {
            let time = view.times.time_us.unwrap_or(0);
            show(view, time, (&mut self.gauge, &mut self.counts, &mut self.output))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Watched, WatchError> {
        let (format, open) = match &mut self.reader {
            Reader::Unknown { looked_at: 0 } => (None, None),
            Reader::Unknown { .. } => {
                return Err(WatchError::UnknownFormat { lines: self.counts.lines });
            }
            Reader::Modern(_, assembler) => (Some(InputFormat::Varnish), Some(assembler)),
            Reader::Legacy(assembler) => (Some(InputFormat::Varnish3), Some(assembler)),
            Reader::Records(format, _) => {
                self.output.flush().map_err(WatchError::Write)?;
                let format = Some(*format);
                let (counts, absent) = (self.counts, Vec::new());
                return Ok(Watched { format, counts, lacks_ends: false, absent });
            }
            Reader::Line(format) => (Some(*format), None),
        };
        if let Some(assembler) = open {
            assembler.finish(&mut self.counts);
        }
        self.groups()?;
        self.output.finish(self.counts.requests).map_err(WatchError::Write)?;
        let has_records = format.is_some_and(InputFormat::has_records);
        let unused = self.counts.strays + self.counts.cut + self.counts.over_limit;
        let lacks_ends = has_records && self.ended == 0 && unused > 0;
        let absent = if self.counts.shown == 0 { self.absent.names() } else { Vec::new() };
        Ok(Watched { format, counts: self.counts, lacks_ends, absent })
    }
}

/// Writes an exchange, if the rate allows it.
fn show<S: Show>(
    view: &View<'_>,
    time_us: u64,
    (gauge, counts, output): (&mut Option<Gauge>, &mut WatchCounts, &mut S),
) -> Result<(), WatchError> {
    if gauge.as_mut().is_some_and(|gauge| !gauge.admits(time_us)) {
        counts.over_rate += 1;
        return Ok(());
    }
    counts.shown += 1;
    output.write(view).map_err(WatchError::Write)
}

#[cfg(test)]
pub(crate) mod tests;
