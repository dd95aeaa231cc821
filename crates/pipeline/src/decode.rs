//! Decodes the bytes of lines to events: one scanner per format, all with the same outcome.
//!
//! It also reads the keys `format`, `escape` and `keys` of a source ([`Format::parse`]), and
//! refuses records of the journal without method, path or status. A variable of nginx that is to be
//! a key of JSON lines must stand in `VARIABLES` too. `known_key` in `recount/src/variable.rs`
//! lists the variables that are no keys; change both.
//! Lines are taken in regions of about 32 KiB that fit the nearest cache. For `combined` and JSON
//! the structural bytes of a whole region are found first, then its lines are cut at them.
//! Invariant: every line that ends with a line feed is seen once, in order, as an event or as
//! refused. Bytes behind the last line feed are passed over. No input may make a scanner panic;
//! `fuzz` looks for one.
//! Crate `recount` reads each format a second time, by other code. Both must take and refuse the
//! same lines, or `events verify` finds differences. CONTRIBUTING.md lists what a new format needs.
//! Refuses: to repair a line.

mod combined;
mod define;
mod event;
mod json;
mod ltsv;
mod marks;
mod meaning;
mod number;
mod span;
mod template;
mod times;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use exchange::{DecodeError, DecodeReason, FieldName};

pub use define::FieldRule;
pub use event::Event;
pub use template::LogTemplate;

use crate::error::LineError;
use combined::CombinedReader;
use define::define;
use event::{Escape, FieldSlot, Layout};
use json::{JsonKeys, ObjectReader};
use marks::MarkedRegion;
use meaning::Meaning;
use times::TimeCache;

/// Bytes whose structure is looked up at once.
const REGION: usize = 32 << 10;
/// Keys of the journal that stand for the whole request target in other JSON lines.
const TARGETS: [(&str, Meaning); 2] = [("path", Meaning::Target), ("version", Meaning::Protocol)];
/// Variables of nginx that lines of JSON are likely to have as keys.
const VARIABLES: [&str; 20] = [
    "time_local",
    "time_iso8601",
    "msec",
    "remote_addr",
    "remote_user",
    "request",
    "request_method",
    "request_uri",
    "uri",
    "args",
    "query_string",
    "server_protocol",
    "body_bytes_sent",
    "bytes_sent",
    "request_length",
    "request_time",
    "http_user_agent",
    "http_referer",
    "server_name",
    "upstream_cache_status",
];

/// How lines are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// nginx's, Apache's and varnishncsa's `combined`.
    Combined,
    /// `common`: `combined` without referer and user agent, which may follow.
    Common,
    /// Labelled tab-separated values.
    Ltsv,
    /// The journal's own JSON lines.
    Tidegate,
    /// JSON lines of others: fields of ours by the keys that hold them, besides the usual ones.
    Json(BTreeMap<String, String>),
    /// A `log_format` of nginx.
    Template(Arc<LogTemplate>),
}

impl Format {
    /// Reads the keys `format`, `escape` and `keys` of a source.
    ///
    /// # Errors
    /// The key and what is wrong with it.
    pub fn parse(
        name: &str,
        escape: Option<&str>,
        keys: &BTreeMap<String, String>,
    ) -> Result<Self, (&'static str, String)> {
        let is_template = name.contains('$');
        let escape = match escape {
            None | Some("default") => Escape::Log,
            Some("json") => Escape::Json,
            Some("none") => Escape::None,
            Some(other) => {
                return Err(("escape", format!("`{other}` is none of default, json, none")));
            }
        };
        if escape != Escape::Log && !is_template {
            return Err(("escape", "goes with a `log_format` of nginx".to_owned()));
        }
        if !keys.is_empty() && name != "json" {
            return Err(("keys", "go with `format = \"json\"`".to_owned()));
        }
        for field in keys.keys() {
            field.parse::<FieldName>().map_err(|error| ("keys", error.to_string()))?;
        }
        match name {
            "combined" => Ok(Self::Combined),
            "common" => Ok(Self::Common),
            "ltsv" => Ok(Self::Ltsv),
            "tidegate" => Ok(Self::Tidegate),
            "json" => Ok(Self::Json(keys.clone())),
            template if is_template => LogTemplate::compile(template, escape)
                .map(|template| Self::Template(Arc::new(template)))
                .map_err(|reason| ("format", reason)),
            other => Err((
                "format",
                format!(
                    "`{other}` is none of combined, common, ltsv, json, tidegate, nor a \
                     `log_format` of nginx with its $variables"
                ),
            )),
        }
    }
}

/// Reads lines of one format, with the fields defined over them.
#[derive(Debug)]
pub struct Decoder {
    scanner: Scanner,
    layout: Arc<Layout>,
    rules: Arc<[FieldRule]>,
    times: TimeCache,
    marks: Vec<u32>,
}

#[derive(Debug)]
enum Scanner {
    Combined { is_common: bool },
    Ltsv,
    Json(JsonKeys),
    Template(Arc<LogTemplate>),
}

impl Decoder {
    /// A decoder for `format`, with `rules` over its fields.
    pub fn new(format: &Format, rules: Arc<[FieldRule]>) -> Self {
        let mut layout = Layout { escape: Escape::Log, is_journal: false, extra: Vec::new() };
        let scanner = match format {
            Format::Combined => Scanner::Combined { is_common: false },
            Format::Common => Scanner::Combined { is_common: true },
            Format::Ltsv => Scanner::Ltsv,
            Format::Tidegate => {
                layout.escape = Escape::Json;
                layout.is_journal = true;
                let names = meaning::JOURNAL.iter().filter(|(name, _)| !name.ends_with("stamp"));
                Scanner::Json(JsonKeys::new(names.map(key).collect(), false))
            }
            Format::Json(keys) => {
                layout.escape = Escape::Json;
                Scanner::Json(json_keys(keys, &mut layout.extra))
            }
            Format::Template(template) => {
                layout.escape = template.escape;
                layout.extra = template.extra.clone();
                Scanner::Template(Arc::clone(template))
            }
        };
        let layout = Arc::new(layout);
        Self { scanner, layout, rules, times: TimeCache::default(), marks: Vec::new() }
    }

    /// Reads every line of `bytes` that ends with a line feed. `seen` gets where it starts, the
    /// line, and what became of it.
    pub fn each<'l>(
        &mut self,
        bytes: &'l [u8],
        mut seen: impl FnMut(usize, &'l [u8], Result<&Event<'l>, LineError>),
    ) {
        let mut event = Event::new(Arc::clone(&self.layout));
        let mut start = 0;
        while let Some(length) = region(&bytes[start..]) {
            let end = start + length;
            self.region(&bytes[start..end], &mut event, |at, event, outcome| {
                seen(start + at, event.line(), outcome.map(|()| &*event));
            });
            start = end;
        }
    }

    #[inline]
    fn region<'l>(
        &mut self,
        region: &'l [u8],
        event: &mut Event<'l>,
        mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), LineError>),
    ) {
        let Self { scanner, rules, times, marks, layout } = self;
        let is_journal = layout.is_journal;
        let seen = |at, event: &mut Event<'l>, outcome: Result<(), DecodeError>| {
            let outcome = match outcome {
                Ok(()) if is_journal => whole_record(event).map_err(LineError::Decode),
                outcome => outcome.map_err(LineError::Decode),
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
            Scanner::Template(template) => {
                lines(region, event, |line, event| template.read(line, times, event), seen);
            }
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
        let line = &region[start..end];
        event.begin(line, memchr::memchr(b'\\', line).is_some());
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

fn json_keys(keys: &BTreeMap<String, String>, extra: &mut Vec<FieldName>) -> JsonKeys {
    let configured = keys.iter().filter_map(|(field, name)| {
        let field: FieldName = field.parse().ok()?;
        Some((name.as_bytes().into(), meaning::of_field(&field, extra)))
    });
    let mut all: Vec<_> = configured.collect();
    all.extend(TARGETS.iter().chain(&meaning::JOURNAL).map(key));
    all.extend(
        VARIABLES
            .iter()
            .filter_map(|name| Some((name.as_bytes().into(), meaning::known_variable(name)?))),
    );
    JsonKeys::new(all, true)
}

fn key((name, meaning): &(&str, Meaning)) -> (Box<[u8]>, Meaning) {
    (name.as_bytes().into(), *meaning)
}

#[cfg(test)]
mod tests;
