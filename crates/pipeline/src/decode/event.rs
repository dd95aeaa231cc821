//! Holds one log line as an event: where its fields lie in the line, and what they mean.
//!
//! It takes request lines and targets apart, and gives fields by name ([`Fields`]).
//! Invariant: text is copied only when it is asked for, and then only to undo escapes of the line
//! or of a query. A field that the line does not have is absent, with these exceptions. Lines of
//! the journal have defaults: 0 for numbers, `generic` for the decision, `none` for the cache. For
//! bytes `-` is 0, as web servers write it (Apache, `%b`). A total in seconds, a phase or a
//! propensity that is no number is absent, and so is a phase of 0. An impression without
//! a model or version has empty text there; without a propensity it has NaN.
//! Else `-` and empty text mean absent in every format but the journal's, also as a request line, a
//! method or a path. Only a query behind a `?` is taken as it stands. Results of nginx's cache get
//! our names, unknown ones `none`.
//! A new result of ours also goes into `cache_result`, and into `cache` in `recount/src/texts.rs`.
//! A new slot stands before `Impression`, because `SLOTS` counts up to it. It also goes into
//! `meaning`, `inspect` (`FIELDS`), `rollup` (`kind_of`) and `recount/src/texts.rs`.
//! Never here: cutting a line into fields (`combined`, `json`, `ltsv`, `template`), and fields that
//! a configuration defines (`define`).

use std::borrow::Cow;
use std::sync::Arc;

use exchange::{DefinedField, FieldName, FieldValue, Fields, Phase, decode_query, query_value};

use super::escape::Escape;
use super::lists::{ListChoices, chosen};
use super::number::{duration_us, real, seconds_us, whole};
use super::span::{ABSENT, LineSpan};
use super::walk;

/// The fields that every format knows, but for the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FieldSlot {
    Id,
    Method,
    Scheme,
    Host,
    Path,
    Query,
    Version,
    Status,
    BytesIn,
    BytesOut,
    ClientIp,
    User,
    UserAgent,
    Referer,
    Route,
    Decision,
    DecisionDetail,
    Cache,
    Upstream,
    RankedBy,
    FetchedBy,
    Total,
    Phases,
    Impression,
}

const SLOTS: usize = FieldSlot::Impression as usize + 1;

/// How the total time of a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TotalUnit {
    /// Whole microseconds.
    Microseconds,
    /// Seconds with a fraction.
    Seconds,
    /// Milliseconds with a fraction.
    Milliseconds,
    /// Whole nanoseconds.
    Nanoseconds,
    /// Several numbers of seconds, to be added up.
    Parts,
}

/// Reads a total as microseconds; `None` inside for -1, which says that there was none.
pub(super) fn total_us(text: &[u8], unit: TotalUnit) -> Option<Option<u64>> {
    if text == b"-1" {
        return Some(None);
    }
    let is_counted = matches!(unit, TotalUnit::Microseconds | TotalUnit::Nanoseconds);
    if !is_counted && text.last().is_some_and(|last| matches!(last, b's' | b'm' | b'h')) {
        return duration_us(text).map(Some);
    }
    let us = match unit {
        TotalUnit::Microseconds => whole(text)?,
        TotalUnit::Nanoseconds => whole(text)? / 1000,
        // HAProxy marks a time with a plus that was taken before the end.
        TotalUnit::Milliseconds => seconds_us(text.strip_prefix(b"+").unwrap_or(text))? / 1000,
        TotalUnit::Seconds | TotalUnit::Parts => match seconds_us(text) {
            Some(us) => us,
            None => (real(text).filter(|seconds| (0.0..1e12).contains(seconds))? * 1e6) as u64,
        },
    };
    Some(Some(us))
}

/// What is the same for all lines of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// How text is escaped.
    pub escape: Escape,
    /// The line is our own: what a record leaves out has its default.
    pub is_journal: bool,
    /// Fields beyond the slots, by the order of their spans.
    pub extra: Vec<FieldName>,
    /// What is taken of lists.
    pub lists: ListChoices,
}

/// One line, decoded. It borrows the line.
#[derive(Debug)]
pub struct Event<'l> {
    line: &'l [u8],
    time_us: u64,
    /// Whether a backslash stands in the line.
    escaped: bool,
    /// How the total is written.
    total_unit: TotalUnit,
    /// The sum of the parts of the total, where it is written in parts.
    total_parts: Option<u64>,
    slots: [LineSpan; SLOTS],
    extra: Vec<LineSpan>,
    /// Names and values that no field is known for.
    others: Vec<(LineSpan, LineSpan)>,
    is_journal: bool,
    layout: Arc<Layout>,
    pub(super) defined: Vec<DefinedValue<'l>>,
}

/// The value of a defined field in one event.
#[derive(Debug)]
pub(super) struct DefinedValue<'l> {
    /// Which field.
    pub field: Arc<DefinedField>,
    pub value: Option<FieldValue<'l>>,
}

impl DefinedValue<'_> {
    /// The value, if the event has it.
    fn value(&self) -> Option<FieldValue<'_>> {
        Some(match self.value.as_ref()? {
            FieldValue::Text(text) => FieldValue::Text(Cow::Borrowed(text)),
            FieldValue::Integer(number) => FieldValue::Integer(*number),
            FieldValue::Real(number) => FieldValue::Real(*number),
        })
    }
}

impl<'l> Event<'l> {
    pub(super) fn new(layout: Arc<Layout>) -> Self {
        Self {
            line: b"",
            time_us: 0,
            escaped: false,
            total_unit: TotalUnit::Microseconds,
            total_parts: None,
            slots: [ABSENT; SLOTS],
            extra: vec![ABSENT; layout.extra.len()],
            others: Vec::new(),
            is_journal: layout.is_journal,
            layout,
            defined: Vec::new(),
        }
    }

    /// The time of the event in microseconds since the Unix epoch.
    pub fn time_us(&self) -> u64 {
        self.time_us
    }

    /// The whole line without its line feed.
    pub fn line(&self) -> &'l [u8] {
        self.line
    }

    /// The fields that this line has beyond those of every line: what its format, or the line
    /// itself, names.
    pub fn further(&self) -> Vec<FieldName> {
        let others = self.others.iter().filter_map(|(name, _)| name.of(self.line));
        let others = others.map(|name| FieldName::Variable(String::from_utf8_lossy(name).into()));
        self.layout.extra.iter().cloned().chain(others).collect()
    }

    /// Begins with the next line.
    #[inline]
    pub(super) fn begin(&mut self, line: &'l [u8], escaped: bool) {
        self.line = line;
        self.escaped = escaped;
        self.total_unit = TotalUnit::Microseconds;
        self.slots = [ABSENT; SLOTS];
        self.extra.fill(ABSENT);
        self.others.clear();
    }

    /// Begins with the next line, and looks for escapes in it.
    #[inline]
    pub(super) fn begin_escaped(&mut self, line: &'l [u8]) {
        let mark = self.layout.escape.mark();
        self.begin(line, memchr::memchr(mark, line).is_some());
    }

    /// Says what was not known at the beginning: where the line ends, and whether it is escaped.
    #[inline]
    pub(super) fn end(&mut self, line: &'l [u8], escaped: bool) {
        self.line = line;
        self.escaped = escaped;
    }

    pub(super) fn set_time(&mut self, time_us: u64) {
        self.time_us = time_us;
    }

    pub(super) fn set_total(&mut self, span: LineSpan, unit: TotalUnit) {
        if unit == TotalUnit::Parts {
            let part = total_us(span.of(self.line).unwrap_or_default(), unit).flatten();
            self.total_parts = match self.total_unit {
                // A part that is absent leaves no sum.
                TotalUnit::Parts => self.total_parts.zip(part).and_then(|(a, b)| a.checked_add(b)),
                _ => part,
            };
        }
        if unit == TotalUnit::Parts || self.is_present(span) {
            self.total_unit = unit;
            self.set(FieldSlot::Total, span);
        }
    }

    /// Sets the client's address without its port.
    pub(super) fn set_endpoint(&mut self, span: LineSpan) {
        let (from, to) = address(span.of(self.line).unwrap_or_default());
        let start = span.start();
        self.set_present(FieldSlot::ClientIp, LineSpan::new(start + from, start + to));
    }

    #[inline]
    pub(super) fn set(&mut self, slot: FieldSlot, span: LineSpan) {
        self.slots[slot as usize] = span;
    }

    /// Sets a field unless its text means that it is absent.
    #[inline]
    pub(super) fn set_present(&mut self, slot: FieldSlot, span: LineSpan) {
        if self.is_present(span) {
            self.set(slot, span);
        }
    }

    /// Sets a number of bytes, for which `-` means none.
    pub(super) fn set_bytes(&mut self, slot: FieldSlot, span: LineSpan) {
        if span.length() > 0 {
            self.set(slot, span);
        }
    }

    pub(super) fn set_extra(&mut self, at: usize, span: LineSpan) {
        if self.is_present(span) {
            self.extra[at] = span;
        }
    }

    pub(super) fn push_other(&mut self, name: LineSpan, value: LineSpan) {
        if self.is_present(value) {
            self.others.push((name, value));
        }
    }

    pub(super) fn has(&self, slot: FieldSlot) -> bool {
        self.slots[slot as usize] != ABSENT
    }

    /// Sets method, path, query and version from a request line; one that is none is the path.
    #[inline]
    pub(super) fn set_request(&mut self, span: LineSpan) {
        let (start, end) = (span.start(), span.end());
        let text = &self.line[start..end];
        let method = match text.first_chunk() {
            Some(b"GET ") => Some(3),
            _ => memchr::memchr(b' ', text),
        };
        let Some(method) = method else {
            return self.set_target(span);
        };
        self.set_present(FieldSlot::Method, LineSpan::new(start, start + method));
        let rest = &text[method + 1..];
        let version = match rest.last_chunk::<9>() {
            Some([b' ', b'H', b'T', b'T', b'P', b'/', ..]) => Some(rest.len() - 9),
            _ => memchr::memmem::rfind(rest, b" HTTP/"),
        };
        let target = start + method + 1;
        let Some(version) = version else {
            // Without a request AWS writes `- http://HOST:80- -`, and lighttpd two spaces.
            let spare = if rest == b" " { 1 } else { 2 * usize::from(rest.ends_with(b" -")) };
            return self.set_target(LineSpan::new(target, end - spare));
        };
        self.set(FieldSlot::Version, LineSpan::new(target + version + 6, end));
        self.set_target(LineSpan::new(target, target + version));
    }

    /// Sets the version from `HTTP/1.1` or `1.1`.
    pub(super) fn set_protocol(&mut self, span: LineSpan) {
        let is_prefixed = span.of(self.line).is_some_and(|text| text.starts_with(b"HTTP/"));
        let start = span.start() + if is_prefixed { 5 } else { 0 };
        self.set_present(FieldSlot::Version, LineSpan::new(start, span.end()));
    }

    /// Sets path and query, and scheme and host where the target has them (RFC 9112, 3.2.2).
    #[inline]
    pub(super) fn set_target(&mut self, span: LineSpan) {
        let (mut start, end) = (span.start(), span.end());
        if self.line.get(start) != Some(&b'/') {
            start = self.set_authority(start, end);
        }
        match memchr::memchr(b'?', &self.line[start..end]) {
            None => self.set_present(FieldSlot::Path, LineSpan::new(start, end)),
            Some(mark) => {
                self.set_present(FieldSlot::Path, LineSpan::new(start, start + mark));
                self.set(FieldSlot::Query, LineSpan::new(start + mark + 1, end));
            }
        }
    }

    /// Returns where the path starts.
    fn set_authority(&mut self, start: usize, end: usize) -> usize {
        let text = &self.line[start..end];
        let is_scheme = |scheme: &str| {
            let head = text.get(..scheme.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes()))
        };
        let Some(scheme) = ["http://", "https://"].into_iter().find(|scheme| is_scheme(scheme))
        else {
            return start;
        };
        let from = start + scheme.len();
        let text = &self.line[from..end];
        let length = memchr::memchr2(b'/', b'?', text).unwrap_or(text.len());
        let authority = &text[..length];
        let user = memchr::memrchr(b'@', authority).map_or(0, |at| at + 1);
        // No name ends so: it is the path that AWS did not see.
        let host =
            authority.strip_suffix(b"-").filter(|host| length == text.len() && !host.is_empty());
        let host = LineSpan::new(from + user, from + host.map_or(length, <[u8]>::len).max(user));
        self.set(FieldSlot::Scheme, LineSpan::new(start, from - 3));
        self.set_present(FieldSlot::Host, host);
        from + length
    }

    #[inline]
    fn is_present(&self, span: LineSpan) -> bool {
        let length = span.length();
        self.is_journal || length > 1 || (length == 1 && self.line.get(span.start()) != Some(&b'-'))
    }

    #[inline]
    fn raw(&self, slot: FieldSlot) -> Option<&'l [u8]> {
        self.slots[slot as usize].of(self.line)
    }

    #[inline]
    fn text(&self, slot: FieldSlot) -> Option<Cow<'l, [u8]>> {
        Some(self.unescaped(self.raw(slot)?))
    }

    #[inline]
    fn unescaped(&self, raw: &'l [u8]) -> Cow<'l, [u8]> {
        if self.escaped { self.layout.escape.undone(raw) } else { Cow::Borrowed(raw) }
    }

    /// A text of our own journal that has a default when it is left out.
    fn named(&self, slot: FieldSlot, default: &'static str) -> Option<FieldValue<'l>> {
        match self.text(slot) {
            Some(text) if self.is_journal => Some(FieldValue::Text(text)),
            Some(text) if slot == FieldSlot::Cache => Some(FieldValue::from(cache_result(&text))),
            Some(text) => Some(FieldValue::Text(text)),
            None if self.is_journal => Some(FieldValue::from(default)),
            None => None,
        }
    }

    fn number(&self, slot: FieldSlot) -> Option<FieldValue<'l>> {
        match self.raw(slot) {
            Some(digits) => Some(FieldValue::Integer(whole(digits).unwrap_or(0))),
            None => self.is_journal.then_some(FieldValue::Integer(0)),
        }
    }

    fn total(&self) -> Option<FieldValue<'l>> {
        match self.raw(FieldSlot::Total) {
            Some(_) if self.total_unit == TotalUnit::Parts => self.total_parts,
            Some(text) if !self.is_journal => total_us(text, self.total_unit)?,
            _ => return self.number(FieldSlot::Total),
        }
        .map(FieldValue::Integer)
    }

    fn query_value(&self, name: &str) -> Option<FieldValue<'l>> {
        if let Some(at) = self
            .extra_place(|field| matches!(field, FieldName::QueryValue(known) if **known == *name))
        {
            return self.extra[at].of(self.line).map(|raw| match self.unescaped(raw) {
                Cow::Borrowed(raw) => FieldValue::Text(decode_query(raw)),
                Cow::Owned(raw) => FieldValue::Text(Cow::Owned(decode_query(&raw).into_owned())),
            });
        }
        if let Some(value) = self.other("arg_", name).or_else(|| self.other("query.", name)) {
            return Some(match value {
                Cow::Borrowed(raw) => FieldValue::Text(decode_query(raw)),
                Cow::Owned(raw) => FieldValue::Text(Cow::Owned(decode_query(&raw).into_owned())),
            });
        }
        match self.text(FieldSlot::Query)? {
            Cow::Borrowed(query) => query_value(query, name).map(FieldValue::Text),
            Cow::Owned(query) => query_value(&query, name)
                .map(|value| FieldValue::Text(Cow::Owned(value.into_owned()))),
        }
    }

    fn extra_place(&self, is_it: impl Fn(&FieldName) -> bool) -> Option<usize> {
        self.layout.extra.iter().position(is_it)
    }

    /// The value that the line gives a name of this head.
    fn other(&self, head: &str, name: &str) -> Option<Cow<'l, [u8]>> {
        let is_name = |known: &[u8]| known.strip_suffix(name.as_bytes()) == Some(head.as_bytes());
        let is_it = |(known, _): &&(LineSpan, LineSpan)| known.of(self.line).is_some_and(is_name);
        let (_, value) = self.others.iter().find(is_it)?;
        value.of(self.line).map(|raw| self.unescaped(raw))
    }

    fn extra(&self, name: &FieldName) -> Option<FieldValue<'l>> {
        match (self.extra_place(|field| field == name), name) {
            (Some(at), FieldName::Header(_)) => {
                self.extra[at].of(self.line).map(|raw| FieldValue::Text(self.header(raw)))
            }
            (Some(at), _) => {
                self.extra[at].of(self.line).map(|raw| FieldValue::Text(self.unescaped(raw)))
            }
            (None, FieldName::Header(header)) if !self.others.is_empty() => {
                let value = self.other("http_", &header.replace('-', "_"));
                value.or_else(|| self.other("header.", header)).map(FieldValue::Text)
            }
            _ => None,
        }
    }

    /// The text of a header, which some programs write in another way than other columns.
    fn header(&self, raw: &'l [u8]) -> Cow<'l, [u8]> {
        match self.layout.escape {
            escape @ (Escape::Plus | Escape::Percent) => escape.undone_in_header(raw),
            _ => self.unescaped(raw),
        }
    }

    /// A value that the line names, or what is chosen of it where it is a list.
    fn variable(&self, field: &FieldName, name: &str) -> Option<FieldValue<'l>> {
        let value = self.extra(field).or_else(|| self.other("", name).map(FieldValue::Text))?;
        match (self.layout.lists.of(name), value) {
            (Some(choice), FieldValue::Text(text)) => chosen(text, choice).map(FieldValue::Text),
            (_, value) => Some(value),
        }
    }

    fn upstream(&self) -> Option<FieldValue<'l>> {
        let text = self.text(FieldSlot::Upstream)?;
        match self.layout.lists.of("upstream_addr").filter(|_| !self.is_journal) {
            Some(choice) => chosen(text, choice).map(FieldValue::Text),
            None => Some(FieldValue::Text(text)),
        }
    }

    /// The scheme in lower case, as all compare it (RFC 3986, 3.1).
    fn scheme(&self) -> Option<FieldValue<'l>> {
        let text = self.text(FieldSlot::Scheme)?;
        let is_lower = self.is_journal || !text.iter().any(u8::is_ascii_uppercase);
        Some(FieldValue::Text(if is_lower { text } else { text.to_ascii_lowercase().into() }))
    }

    fn slot_header(&self, slot: FieldSlot) -> Option<FieldValue<'l>> {
        Some(FieldValue::Text(self.header(self.raw(slot)?)))
    }

    fn phase(&self, phase: Phase) -> Option<FieldValue<'l>> {
        let found = walk::member(self.raw(FieldSlot::Phases)?, phase.name().as_bytes())?;
        whole(found).filter(|us| *us > 0).map(FieldValue::Integer)
    }

    fn shown(&self, name: &str) -> Option<FieldValue<'l>> {
        let impression = self.raw(FieldSlot::Impression)?;
        match (walk::member(impression, name.as_bytes()), name) {
            (Some(number), "propensity") => real(number).map(FieldValue::Real),
            (None, "propensity") => Some(FieldValue::Real(f64::NAN)),
            (text, _) => Some(FieldValue::Text(
                Escape::Json.undone(text.and_then(walk::inside).unwrap_or_default()),
            )),
        }
    }
}

impl Fields for Event<'_> {
    #[inline]
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        match name {
            FieldName::Path => self.text(FieldSlot::Path).map(FieldValue::Text),
            FieldName::Defined(field) => {
                self.defined.iter().find(|defined| *defined.field == *field)?.value()
            }
            other => self.value(other),
        }
    }
}

impl<'l> Event<'l> {
    /// The value of a field that is none of the defined ones.
    pub(super) fn value(&self, field: &FieldName) -> Option<FieldValue<'l>> {
        let slot = match field {
            FieldName::Time => return Some(FieldValue::Integer(self.time_us)),
            FieldName::Status => return self.number(FieldSlot::Status),
            FieldName::BytesOut => return self.number(FieldSlot::BytesOut),
            FieldName::BytesIn => return self.number(FieldSlot::BytesIn),
            FieldName::Total => return self.total(),
            FieldName::QueryValue(name) => return self.query_value(name),
            FieldName::Decision => return self.named(FieldSlot::Decision, "generic"),
            FieldName::DecisionDetail => FieldSlot::DecisionDetail,
            FieldName::Cache => return self.named(FieldSlot::Cache, "none"),
            FieldName::Variable(name) => return self.variable(field, name),
            FieldName::Phase(phase) => return self.phase(*phase),
            FieldName::Model => return self.shown("model"),
            FieldName::ModelVersion => return self.shown("version"),
            FieldName::Propensity => return self.shown("propensity"),
            FieldName::Id => FieldSlot::Id,
            FieldName::Method => FieldSlot::Method,
            FieldName::Scheme => return self.scheme(),
            FieldName::Host => FieldSlot::Host,
            FieldName::Path => FieldSlot::Path,
            FieldName::Query => FieldSlot::Query,
            FieldName::Version => FieldSlot::Version,
            FieldName::ClientIp => FieldSlot::ClientIp,
            FieldName::User => FieldSlot::User,
            FieldName::UserAgent => return self.slot_header(FieldSlot::UserAgent),
            FieldName::Referer => return self.slot_header(FieldSlot::Referer),
            FieldName::Route => FieldSlot::Route,
            FieldName::Upstream => return self.upstream(),
            FieldName::RankedBy => FieldSlot::RankedBy,
            FieldName::FetchedBy => FieldSlot::FetchedBy,
            FieldName::Header(_) | FieldName::Defined(_) => return self.extra(field),
        };
        self.text(slot).map(FieldValue::Text)
    }
}

/// The place of the address in an address with its port.
fn address(text: &[u8]) -> (usize, usize) {
    let end = memchr::memrchr(b':', text).unwrap_or(text.len());
    let is_bracketed = text.first() == Some(&b'[') && text[..end].ends_with(b"]");
    if is_bracketed { (1, end - 1) } else { (0, end) }
}

/// What our cache would call what another's did (nginx.org, `$upstream_cache_status`; AWS,
/// `x-edge-result-type` of CloudFront).
fn cache_result(text: &[u8]) -> &'static str {
    match text {
        b"HIT" | b"hit" | b"Hit" => "hit",
        b"MISS" | b"EXPIRED" | b"REVALIDATED" | b"miss" | b"Miss" | b"RefreshHit" => "miss",
        b"STALE" | b"UPDATING" | b"stale" => "stale",
        b"BYPASS" | b"pass" => "pass",
        b"collapsed" => "collapsed",
        _ => "none",
    }
}

#[cfg(test)]
mod tests;
