//! Decodes the bytes of lines to events: one scanner per format, all with the same outcome.
//!
//! It refuses records of the journal without method, path or status.
//! Lines are taken in regions of about 32 KiB that fit the nearest cache. For `combined` and JSON
//! the structural bytes of a whole region are found first, then its lines are cut at them.
//! Invariant: every line that ends with a line feed is seen once, in order, as an event or as
//! refused. Directives of a file and pieces of lines are passed over (`context`), and so are bytes
//! behind the last line feed. No input may make a scanner panic; `fuzz` looks for one.
//! A decoder keeps what such lines say. Where lines depend on each other, a caller must `enter` a
//! chunk before `each` of it. Else its lines are taken to go on behind those read last.
//! Crate `recount` reads each format a second time, by other code. Both must take and refuse the
//! same lines, or `events verify` finds differences. CONTRIBUTING.md lists what a new format needs.
//! One carriage return before the line feed belongs to neither. A line with a NUL is refused.
//! Refuses: to repair a line.

mod columns;
mod combined;
mod context;
mod define;
mod escape;
mod event;
mod format;
mod json;
mod lists;
mod logfmt;
mod ltsv;
mod marks;
mod meaning;
mod number;
mod presets;
mod span;
mod syslog;
mod template;
mod time_format;
mod times;
mod walk;
mod wrapper;

use std::sync::Arc;

use exchange::{DecodeError, DecodeReason, FieldName};

pub use columns::{Directed, LogColumns};
pub use define::FieldRule;
pub use escape::Escape;
pub use event::Event;
pub use format::{Format, LineFormat, NamedKeys};
pub use lists::{ListChoice, ListChoices};
pub use presets::NAMES as FORMAT_NAMES;
#[cfg(test)]
pub(crate) use presets::tests::DOCUMENTED;
pub use template::LogTemplate;
pub use time_format::TimeFormat;
pub use wrapper::Wrapper;

use crate::chunk::LogChunk;
use crate::error::LineError;
use combined::CombinedReader;
use context::{ContextKind, FileContexts};
use define::define;
use event::{FieldSlot, Layout};
use json::{JsonKeys, ObjectReader};
use logfmt::KeyMeanings;
use marks::MarkedRegion;
use meaning::Meaning;
use span::without_return;
use times::TimeCache;

/// Takes each line in order: where it begins, its bytes, and the event or why it is refused.
type SeenLine<'s> = &'s mut dyn FnMut(usize, &[u8], Result<&Event<'_>, LineError>);

/// Bytes whose structure is looked up at once.
const REGION: usize = 32 << 10;
/// Reads lines of one format, with the fields defined over them.
#[derive(Debug)]
pub struct Decoder {
    scanner: Scanner,
    layout: Arc<Layout>,
    rules: Arc<[FieldRule]>,
    times: TimeCache,
    marks: Vec<u32>,
    contexts: FileContexts,
    wrapper: Option<Wrapper>,
    /// Lines without what wrapped them.
    inside: Vec<u8>,
}

#[derive(Debug)]
enum Scanner {
    Combined { is_common: bool },
    Ltsv,
    Json(JsonKeys),
    Logfmt(KeyMeanings),
    Template(Arc<LogTemplate>),
    Columns(Arc<LogColumns>),
    Directed,
    Syslog,
}

impl Decoder {
    /// A decoder for `format`, with `rules` over its fields.
    pub fn new(format: &Format, rules: Arc<[FieldRule]>) -> Self {
        let mut layout = Layout {
            escape: Escape::Log,
            is_journal: false,
            extra: Vec::new(),
            lists: format.lists.clone(),
        };
        let scanner = scanner(&format.lines, &mut layout);
        let kind = ContextKind::of(format);
        Self {
            scanner,
            contexts: FileContexts::new(kind, layout.clone()),
            layout: Arc::new(layout),
            rules,
            times: TimeCache::new(format.time.clone()),
            marks: Vec::new(),
            wrapper: format.wrapper,
            inside: Vec::new(),
        }
    }

    /// Says where the lines stand that are read next. What lines before them say is looked up in
    /// the file, where the format has such lines.
    pub fn enter(&mut self, chunk: &LogChunk<'_>) {
        self.contexts.enter(chunk);
    }

    /// Reads every line of `bytes` that ends with a line feed. `seen` gets where it starts, the
    /// line, and what became of it.
    ///
    /// Where lines depend on each other (`#Fields`, pieces of Docker and CRI), a caller must first
    /// [`Self::enter`]. Else the lines are taken to go on behind those of the last call.
    pub fn each(
        &mut self,
        bytes: &[u8],
        mut seen: impl FnMut(usize, &[u8], Result<&Event<'_>, LineError>),
    ) {
        match (self.wrapper, &self.scanner) {
            (Some(wrapper), _) => self.each_wrapped(wrapper, bytes, &mut seen),
            (None, Scanner::Directed) => self.each_directed(bytes, &mut seen),
            (None, _) => self.each_plain(bytes, seen),
        }
        self.contexts.pass(bytes.len());
    }

    /// Reads lines that are not wrapped.
    fn each_plain<'l>(
        &mut self,
        bytes: &'l [u8],
        mut seen: impl FnMut(usize, &[u8], Result<&Event<'_>, LineError>),
    ) {
        let mut event: Event<'l> = Event::new(Arc::clone(&self.layout));
        let mut start = 0;
        while let Some(length) = region(&bytes[start..]) {
            let end = start + length;
            self.region(&bytes[start..end], &mut event, |at, event, outcome| {
                seen(start + at, event.line(), outcome.map(|()| &*event));
            });
            start = end;
        }
    }

    /// Reads lines whose columns the file itself names.
    fn each_directed(&mut self, bytes: &[u8], seen: SeenLine<'_>) {
        let mut event = Event::new(self.contexts.layout());
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            let (at, line) = (start, without_return(&bytes[start..end]));
            start = end + 1;
            if self.contexts.observe(line) {
                event = Event::new(self.contexts.layout());
                continue;
            }
            event.begin(line, false);
            let outcome = match self.contexts.columns() {
                Some(columns) => columns.read(line, &mut self.times, &mut event),
                None => {
                    let reason = DecodeReason::Missing("#Fields");
                    Err(DecodeError { offset: 0, reason })
                }
            };
            let outcome = outcome.and_then(|()| without_nul(line)).map_err(LineError::Decode);
            let outcome = outcome.and_then(|()| define(&self.rules, &mut event));
            seen(at, line, outcome.map(|()| &event));
        }
    }

    /// Reads lines that are wrapped, each of which is seen with its wrapper.
    fn each_wrapped(&mut self, wrapper: Wrapper, bytes: &[u8], seen: SeenLine<'_>) {
        let mut inside = std::mem::take(&mut self.inside);
        inside.clear();
        let (mut start, mut places) = (0, Vec::new());
        for end in memchr::memchr_iter(b'\n', bytes) {
            let line = without_return(&bytes[start..end]);
            match self.contexts.pieces().unwrap(wrapper, line, &mut inside) {
                Ok(true) => {
                    inside.push(b'\n');
                    places.push((start, line, None));
                }
                Ok(false) => {}
                Err(error) => places.push((start, line, Some(LineError::Decode(error)))),
            }
            start = end + 1;
        }
        let mut places = places.into_iter();
        self.each_plain(&inside, |_, _, outcome| {
            for (start, line, error) in places.by_ref() {
                match error {
                    Some(error) => seen(start, line, Err(error)),
                    None => return seen(start, line, outcome),
                }
            }
        });
        for (start, line, error) in places {
            if let Some(error) = error {
                seen(start, line, Err(error));
            }
        }
        self.inside = inside;
    }

    #[inline]
    fn region<'l>(
        &mut self,
        region: &'l [u8],
        event: &mut Event<'l>,
        mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), LineError>),
    ) {
        let Self { scanner, rules, times, marks, layout, .. } = self;
        let is_journal = layout.is_journal;
        // One look at all lines costs less than one at each.
        let has_nul = memchr::memchr(0, region).is_some();
        let seen = |at, event: &mut Event<'l>, outcome: Result<(), DecodeError>| {
            let outcome = match outcome {
                Ok(()) if has_nul => without_nul(event.line()).map_err(LineError::Decode),
                outcome => outcome.map_err(LineError::Decode),
            };
            let outcome = match outcome {
                Ok(()) if is_journal => whole_record(event).map_err(LineError::Decode),
                outcome => outcome,
            };
            let outcome = match outcome {
                Ok(()) if !rules.is_empty() => define(rules, event),
                outcome => outcome,
            };
            seen(at, event, outcome);
        };
        marks.clear();
        match scanner {
            Scanner::Combined { is_common } => {
                marks::find(region, combined::SET, marks);
                let mut reader = CombinedReader { times, is_common: *is_common };
                combined::each(MarkedRegion { bytes: region, marks }, &mut reader, event, seen);
            }
            Scanner::Json(keys) => {
                marks::find(region, walk::SET, marks);
                let mut reader = ObjectReader::new(times, keys);
                json::each(MarkedRegion { bytes: region, marks }, &mut reader, event, seen);
            }
            Scanner::Ltsv => {
                lines(region, event, |line, event| ltsv::read(line, times, event), seen);
            }
            Scanner::Logfmt(keys) => {
                lines(region, event, |line, event| logfmt::read(line, keys, times, event), seen);
            }
            Scanner::Template(template) => {
                lines(region, event, |line, event| template.read(line, times, event), seen);
            }
            Scanner::Columns(columns) => {
                lines(region, event, |line, event| columns.read(line, times, event), seen);
            }
            Scanner::Syslog => {
                lines(region, event, |line, event| syslog::read(line, times, event), seen);
            }
            Scanner::Directed => unreachable!("lines of directives are read one by one"),
        }
    }
}

/// How lines of a format are cut; fills the layout of their events.
fn scanner(lines: &LineFormat, layout: &mut Layout) -> Scanner {
    match lines {
        LineFormat::Combined => Scanner::Combined { is_common: false },
        LineFormat::Common => Scanner::Combined { is_common: true },
        LineFormat::Ltsv => Scanner::Ltsv,
        LineFormat::Tidegate => {
            layout.escape = Escape::Json;
            layout.is_journal = true;
            Scanner::Json(JsonKeys::new(Vec::new(), meaning::JOURNAL.iter().map(key).collect()))
        }
        LineFormat::Json(keys) => {
            layout.escape = Escape::Json;
            let (configured, known) = key_meanings(keys, &mut layout.extra);
            Scanner::Json(JsonKeys::new(configured, known).keeping_others(keys.is_of_docker))
        }
        LineFormat::Logfmt(keys) => {
            layout.escape = Escape::Logfmt;
            let (mut meanings, known) = key_meanings(keys, &mut layout.extra);
            meanings.extend(known);
            meanings.push((b"ts".as_slice().into(), Meaning::Time));
            Scanner::Logfmt(meanings)
        }
        LineFormat::Template(template) => {
            layout.escape = template.escape;
            layout.extra = template.extra.clone();
            Scanner::Template(Arc::clone(template))
        }
        LineFormat::Columns(columns) => {
            layout.escape = Escape::None;
            layout.extra = columns.extra.clone();
            Scanner::Columns(Arc::clone(columns))
        }
        LineFormat::Directed(kind) => {
            layout.escape = kind.escape();
            Scanner::Directed
        }
        LineFormat::Syslog => {
            layout.escape = Escape::None;
            layout.extra = syslog::extra();
            Scanner::Syslog
        }
    }
}

/// Reads the lines of a region one by one.
fn lines<'l>(
    region: &'l [u8],
    event: &mut Event<'l>,
    mut read: impl FnMut(&'l [u8], &mut Event<'l>) -> Result<(), DecodeError>,
    mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), DecodeError>),
) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', region) {
        let line = without_return(&region[start..end]);
        event.begin_escaped(line);
        let outcome = read(line, event);
        seen(start, event, outcome);
        start = end + 1;
    }
}

/// The length of the next region: whole lines, one at least.
fn region(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(REGION)];
    let last = memchr::memrchr(b'\n', near).or_else(|| {
        let far = &bytes[near.len()..];
        memchr::memchr(b'\n', far).map(|end| near.len() + end)
    });
    last.map(|last| last + 1)
}

/// Refuses a line with a NUL: a file that was extended before a power cut, but not written, has
/// such bytes before its next line.
fn without_nul(line: &[u8]) -> Result<(), DecodeError> {
    match memchr::memchr(0, line) {
        None => Ok(()),
        Some(offset) => {
            Err(DecodeError { offset, reason: DecodeReason::Expected("text, not a NUL byte") })
        }
    }
}

fn whole_record(event: &Event<'_>) -> Result<(), DecodeError> {
    let required =
        [(FieldSlot::Method, "method"), (FieldSlot::Path, "path"), (FieldSlot::Status, "status")];
    match required.into_iter().find(|(slot, _)| !event.has(*slot)) {
        None => Ok(()),
        Some((_, name)) => {
            let offset = event.line().len();
            Err(DecodeError { offset, reason: DecodeReason::Missing(name) })
        }
    }
}

/// What the keys mean that are configured, and those that are known.
fn key_meanings(keys: &NamedKeys, extra: &mut Vec<FieldName>) -> (KeyMeanings, KeyMeanings) {
    let configured = keys
        .keys
        .iter()
        .filter_map(|(field, name)| Some((name.as_bytes().into(), meaning::of_key(field, extra)?)));
    let configured = configured.collect();
    let known = if keys.is_exact { Vec::new() } else { meaning::key_names().map(key).collect() };
    (configured, known)
}

fn key((name, meaning): &(&str, Meaning)) -> (Box<[u8]>, Meaning) {
    (name.as_bytes().into(), *meaning)
}

#[cfg(test)]
mod tests;
