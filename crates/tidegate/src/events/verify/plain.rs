//! Lines read plainly, by what the documentation says of their formats: slow, with copies, and
//! without any code of the delivery's readers, so that a mistake in one of them shows.
//!
//! Shared with them are only the meanings of single texts in `exchange`: a time, an escape, a
//! percent-encoded parameter, a filter.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use exchange::{DefinedField, DefinedKind, FieldName, Fields, Phase, Value};
use pipeline::{FieldRule, Format};

use super::object::{Member, member, members};
use super::variable::{What, own, variable, variable_only};

/// The length of `21/Nov/2026:03:54:12 +0000`.
const LOG_TIME: usize = 26;
const ZERO: Option<Value<'static>> = Some(Value::Integer(0));
/// `combined` and `common` up to the bytes, and what `combined` has behind them.
const COMMON: [(&str, &str); 7] = [
    ("", "remote_addr"),
    (" ", "identity"),
    (" ", "remote_user"),
    (" [", "time_local"),
    ("] \"", "request"),
    ("\" ", "status"),
    (" ", "body_bytes_sent"),
];
const QUOTED: [(&str, &str); 2] = [(" \"", "http_referer"), ("\" \"", "http_user_agent")];

/// Reads lines of one format.
pub(super) struct Plain {
    format: Format,
    rules: Arc<[FieldRule]>,
    /// Fields that the format itself names.
    named: HashSet<FieldName>,
}

/// One line that counts.
pub(super) struct Line {
    /// Microseconds since the Unix epoch.
    pub time_us: u64,
    texts: Texts,
    defined: Vec<(Arc<DefinedField>, Option<Value<'static>>)>,
}

/// What a line says.
#[derive(Default)]
struct Texts {
    time_us: Option<u64>,
    fields: HashMap<FieldName, Vec<u8>>,
    /// By the names that the line gives them.
    others: HashMap<String, Vec<u8>>,
    /// Objects, as they are written.
    phases: Option<Vec<u8>>,
    impression: Option<Vec<u8>>,
    total_us: Option<u64>,
    named: HashSet<FieldName>,
    /// The line is our own: what it leaves out has a default, and `-` is text.
    is_ours: bool,
}

impl Plain {
    /// Lines of `format`, with `rules` over their fields.
    pub(super) fn new(format: &Format, rules: Arc<[FieldRule]>) -> Self {
        let mut named = HashSet::new();
        if let Format::Template(template) = format {
            let fields = template.parts().filter_map(|(_, name)| variable(name?).field());
            named.extend(fields);
        }
        Self { format: format.clone(), rules, named }
    }

    /// Reads a line without its line feed; none when it is refused.
    pub(super) fn read(&self, line: &[u8]) -> Option<Line> {
        let texts = match &self.format {
            Format::Tidegate => journal(line)?,
            Format::Combined => combined(line, false)?,
            Format::Common => combined(line, true)?,
            Format::Ltsv => labelled(line)?,
            Format::Json(keys) => object(line, keys)?,
            Format::Template(template) => {
                let parts: Vec<_> = template.parts().collect();
                let (is_json, is_escaped) = template.escapes();
                let unescape: Unescape = match (is_json, is_escaped) {
                    (true, _) => unescape_json,
                    (_, true) => unescape_log,
                    _ => |raw| raw.to_vec(),
                };
                let (cut, rest) = cut(line, &parts, is_escaped)?;
                let mut texts = Texts { named: self.named.clone(), ..Texts::default() };
                texts.put_all(&cut, unescape)?;
                rest.is_empty().then_some(texts)?
            }
        };
        self.defined(Line { time_us: texts.time_us?, texts, defined: Vec::new() })
    }

    /// Adds what rules say; none when the line lacks what one requires.
    fn defined(&self, mut line: Line) -> Option<Line> {
        for rule in self.rules.iter() {
            if rule.filter.as_ref().is_some_and(|filter| !filter.matches(&line)) {
                continue;
            }
            let value = extracted(rule, &line);
            if value.is_none() && rule.required {
                return None;
            }
            line.defined.push((Arc::clone(&rule.field), value));
        }
        Some(line)
    }
}

fn extracted(rule: &FieldRule, line: &Line) -> Option<Value<'static>> {
    let text = bytes_of(line.field(&rule.from)?);
    let text = match &rule.pattern {
        None => text,
        Some(pattern) => {
            let found = pattern.captures(&text)?;
            found.get(usize::from(pattern.captures_len() > 1))?.as_bytes().to_vec()
        }
    };
    Some(match rule.field.kind {
        DefinedKind::Text => Value::Text(Cow::Owned(text)),
        DefinedKind::Integer => match parsed::<i64>(&text)? {
            number @ 0.. => Value::Integer(number.unsigned_abs()),
            _ => Value::Text(Cow::Owned(text)),
        },
        DefinedKind::Real => Value::Real(parsed(&text).filter(|real: &f64| real.is_finite())?),
    })
}

/// The text of a value.
pub(super) fn bytes_of(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Text(text) => text.into_owned(),
        number => number.to_string().into_bytes(),
    }
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn whole(text: &[u8]) -> Option<u64> {
    text.iter().all(u8::is_ascii_digit).then(|| parsed(text)).flatten()
}

impl Fields for Line {
    fn field(&self, name: &FieldName) -> Option<Value<'_>> {
        if let FieldName::Defined(field) = name {
            let (_, value) = self.defined.iter().find(|(known, _)| **known == *field)?;
            return value.clone();
        }
        self.texts.field(name)
    }
}

impl Fields for Texts {
    fn field(&self, name: &FieldName) -> Option<Value<'_>> {
        let text = |name| self.fields.get(name).map(|text| Value::from(text.as_slice()));
        let other = |name: &str| self.others.get(name).map(|text| Value::from(text.as_slice()));
        let shown = |name| self.impression.as_ref().map(|shown| member(shown, name));
        let or = |value: Option<Value<'static>>| value.filter(|_| self.is_ours);
        match name {
            FieldName::Time => self.time_us.map(Value::Integer),
            FieldName::Status | FieldName::BytesIn | FieldName::BytesOut => {
                let digits = self.fields.get(name);
                digits.map(|digits| Value::Integer(whole(digits).unwrap_or(0))).or(or(ZERO))
            }
            FieldName::Total => self.total_us.map(Value::Integer).or(or(ZERO)),
            FieldName::QueryValue(_) if self.named.contains(name) => {
                let raw = self.fields.get(name)?;
                Some(Value::Text(exchange::decode_query(raw)))
            }
            FieldName::QueryValue(parameter) => {
                let query = self.fields.get(&FieldName::Query)?;
                exchange::query_value(query, parameter).map(Value::Text)
            }
            FieldName::Header(header) => {
                text(name).or_else(|| other(&format!("http_{}", header.replace('-', "_"))))
            }
            FieldName::Variable(variable) => text(name).or_else(|| other(variable)),
            FieldName::Phase(phase) => self.phase(*phase),
            FieldName::Model => Some(shown_text(shown("model")?)),
            FieldName::ModelVersion => Some(shown_text(shown("version")?)),
            FieldName::Propensity => match shown("propensity")? {
                None => Some(Value::Real(f64::NAN)),
                Some(found) => {
                    parsed(found.value).filter(|real: &f64| real.is_finite()).map(Value::Real)
                }
            },
            FieldName::Cache if self.is_ours => text(name).or(Some(Value::from("none"))),
            FieldName::Cache => self.fields.get(name).map(|text| Value::from(cache(text))),
            FieldName::Decision => text(name).or_else(|| or(Some(Value::from("generic")))),
            name => text(name),
        }
    }
}

fn shown_text(member: Option<Member<'_>>) -> Value<'static> {
    let text = member.filter(|member| member.is_text).map(|member| unescape_json(member.value));
    Value::Text(Cow::Owned(text.unwrap_or_default()))
}

fn unescape_json(raw: &[u8]) -> Vec<u8> {
    exchange::unescape_json(raw).map_or_else(|_| raw.to_vec(), Cow::into_owned)
}

fn unescape_log(raw: &[u8]) -> Vec<u8> {
    exchange::unescape_log(raw).into_owned()
}

/// What our cache would call what nginx's did.
fn cache(text: &[u8]) -> &'static str {
    match text.to_ascii_lowercase().as_slice() {
        b"hit" => "hit",
        b"miss" | b"expired" | b"revalidated" => "miss",
        b"stale" | b"updating" => "stale",
        b"bypass" | b"pass" => "pass",
        b"collapsed" => "collapsed",
        _ => "none",
    }
}

/// A variable with its text.
type Cut<'t, 'l> = (&'t str, &'l [u8]);

type Unescape = fn(&[u8]) -> Vec<u8>;

impl Texts {
    fn phase(&self, phase: Phase) -> Option<Value<'_>> {
        let us = whole(member(self.phases.as_ref()?, phase.name())?.value)?;
        (us > 0).then_some(Value::Integer(us))
    }

    fn put_all(&mut self, cut: &[Cut<'_, '_>], unescape: Unescape) -> Option<()> {
        for (name, raw) in cut {
            self.put(variable(name), raw, unescape)?;
        }
        Some(())
    }

    /// Notes what a text means; none when it cannot be that.
    fn put(&mut self, what: What, raw: &[u8], unescape: Unescape) -> Option<()> {
        if what == What::Time {
            self.time_us = Some(time(raw)?);
            return Some(());
        }
        if !self.is_ours && (raw.is_empty() || raw == b"-") {
            return Some(());
        }
        match what {
            What::Time => {}
            What::Request => self.request(raw, unescape),
            What::Target => self.target(raw, unescape),
            What::Path => {
                self.fields.entry(FieldName::Path).or_insert_with(|| unescape(raw));
            }
            What::Protocol => {
                let version = raw.strip_prefix(b"HTTP/").unwrap_or(raw);
                self.fields.insert(FieldName::Version, unescape(version));
            }
            What::Seconds => self.total_us = seconds(raw),
            What::Field(FieldName::Total) => self.total_us = Some(whole(raw).unwrap_or(0)),
            What::Field(name) => drop(self.fields.insert(name, unescape(raw))),
            What::Weak(name) => {
                self.fields.entry(name).or_insert_with(|| unescape(raw));
            }
        }
        Some(())
    }

    /// `METHOD TARGET HTTP/VERSION`; what is none is a target.
    fn request(&mut self, raw: &[u8], unescape: Unescape) {
        let Some(space) = raw.iter().position(|byte| *byte == b' ') else {
            return self.target(raw, unescape);
        };
        if space > 0 {
            self.fields.insert(FieldName::Method, unescape(&raw[..space]));
        }
        let rest = &raw[space + 1..];
        let end = (0..rest.len()).rev().find(|at| rest[*at..].starts_with(b" HTTP/"));
        if let Some(end) = end {
            self.fields.insert(FieldName::Version, unescape(&rest[end + 6..]));
        }
        self.target(&rest[..end.unwrap_or(rest.len())], unescape);
    }

    /// Path and query, with scheme and host before them if need be.
    fn target(&mut self, raw: &[u8], unescape: Unescape) {
        let mut raw = raw;
        for scheme in ["http", "https"] {
            let after = raw.strip_prefix(scheme.as_bytes()).and_then(|r| r.strip_prefix(b"://"));
            let slash = after.and_then(|after| after.iter().position(|byte| *byte == b'/'));
            if let (Some(after), Some(slash)) = (after, slash) {
                self.fields.insert(FieldName::Scheme, scheme.into());
                if slash > 0 && after[..slash] != *b"-" {
                    self.fields.insert(FieldName::Host, unescape(&after[..slash]));
                }
                raw = &after[slash..];
                break;
            }
        }
        let mut parts = raw.splitn(2, |byte| *byte == b'?');
        self.fields.insert(FieldName::Path, unescape(parts.next().unwrap_or_default()));
        if let Some(query) = parts.next() {
            self.fields.insert(FieldName::Query, unescape(query));
        }
    }
}

/// A time in any way that logs write it, as microseconds since the Unix epoch.
fn time(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    let milliseconds = || whole(text).filter(|_| text.len() == 13)?.checked_mul(1000);
    exchange::parse_log_time(text)
        .or_else(milliseconds)
        .or_else(|| exchange::parse_rfc3339(text))
        .or_else(|| seconds(text))
}

/// Seconds with or without a fraction, as microseconds.
fn seconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let micros = is_number.then(|| format!("{fraction:0<6}")[..6].parse::<u64>().ok())??;
    whole(whole_part.as_bytes())
        .filter(|_| !whole_part.is_empty())?
        .checked_mul(1_000_000)?
        .checked_add(micros)
}

/// Cuts a line into the variables of a format; returns them, and what follows the last text.
fn cut<'t, 'l>(
    line: &'l [u8],
    parts: &[(&[u8], Option<&'t str>)],
    is_escaped: bool,
) -> Option<(Vec<Cut<'t, 'l>>, &'l [u8])> {
    let (mut found, mut rest) = (Vec::new(), line);
    for (at, (before, name)) in parts.iter().enumerate() {
        rest = rest.strip_prefix(*before)?;
        let Some(name) = name else { break };
        let next = parts.get(at + 1).map_or(&b""[..], |(next, _)| *next);
        let is_quoted = is_escaped && next.first() == Some(&b'"');
        let end = match next {
            _ if *name == "time_local" && rest.len() >= LOG_TIME => LOG_TIME,
            b"" => rest.len(),
            _ if is_quoted => end_of_quoted(rest)?,
            next => rest.windows(next.len()).position(|window| window == next)?,
        };
        let (value, after) = rest.split_at(end);
        sound(name, value, after.first() == Some(&b'"'))?;
        found.push((*name, value));
        rest = after;
    }
    Some((found, rest))
}

/// The first quote that no backslash stands before.
fn end_of_quoted(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// None for what a value of this name cannot be, and for the start of another line in it.
fn sound(name: &str, value: &[u8], is_quoted: bool) -> Option<()> {
    let is_sound = match variable(name) {
        What::Time => true,
        What::Field(FieldName::Status) => whole(value).is_some() && !value.is_empty(),
        What::Field(FieldName::BytesIn | FieldName::BytesOut) => {
            value == b"-" || (whole(value).is_some() && !value.is_empty())
        }
        What::Field(FieldName::ClientIp) => !value.contains(&b' '),
        What::Field(FieldName::User) => {
            !value.ends_with(b" -") && !value.windows(3).any(|window| window == b" - ")
        }
        _ => is_quoted || !has_time(value),
    };
    is_sound.then_some(())
}

/// Whether a time in brackets stands in a text.
fn has_time(text: &[u8]) -> bool {
    let is_time =
        |window: &[u8]| window[0] == b'[' && exchange::parse_log_time(&window[1..]).is_some();
    text.windows(LOG_TIME + 1).any(is_time)
}

fn combined(line: &[u8], is_common: bool) -> Option<Texts> {
    let part = |(before, name): &(&'static str, &'static str)| (before.as_bytes(), Some(*name));
    let mut parts: Vec<_> = COMMON.iter().map(part).collect();
    // What the bytes end before.
    parts.push((b" ", None));
    let spaced = [line, b" "].concat();
    let (mut found, rest) = cut(&spaced, &parts, true)?;
    let mut texts = Texts::default();
    let of = |name: &str| found.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let address = of("remote_addr")?;
    let is_numeric = address.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let is_sound = !address.is_empty() && (!is_numeric || address.len() <= 15);
    // The first bracket behind a space is that of the time.
    let has_bracket = of("identity")?.starts_with(b"[") || of("remote_user")?.starts_with(b"[");
    let is_sound = is_sound && !has_bracket && !of("identity")?.is_empty();
    let is_whole = of("status")?.len() == 3 && is_sound;
    is_whole.then_some(())?;
    found.retain(|(name, _)| *name != "identity");
    texts.put_all(&found, unescape_log)?;
    // No bytes are written as `-` there.
    texts.fields.entry(FieldName::BytesOut).or_insert_with(|| b"0".to_vec());
    // Behind the bytes, from the space on, as the line has it.
    let mut rest = &line[(line.len() - rest.len()).min(line.len())..];
    if !is_common || rest.starts_with(b" \"") {
        let mut parts: Vec<_> = QUOTED.iter().map(part).collect();
        parts.push((b"\"", None));
        let (found, after) = cut(rest, &parts, true)?;
        texts.put_all(&found, unescape_log)?;
        rest = after;
    }
    let is_end = rest.is_empty() || (rest[0] == b' ' && !has_time(rest));
    is_end.then_some(texts)
}

fn labelled(line: &[u8]) -> Option<Texts> {
    let mut texts = Texts::default();
    for part in line.split(|byte| *byte == b'\t').filter(|part| !part.is_empty()) {
        let colon = part.iter().position(|byte| *byte == b':')?;
        let (label, raw) = (String::from_utf8_lossy(&part[..colon]), &part[colon + 1..]);
        if raw.is_empty() || raw == b"-" {
            continue;
        }
        let what = label_of(&label);
        if (is_number(&what) && whole(raw).is_none())
            || (what == What::Time && texts.time_us.is_some())
        {
            return None;
        }
        match what {
            What::Field(FieldName::Variable(name)) => {
                let text = exchange::unescape_log(raw).into_owned();
                texts.others.entry(name.into()).or_insert(text);
            }
            What::Field(FieldName::Header(_)) => {
                let text = exchange::unescape_log(raw).into_owned();
                texts.others.entry(label.into_owned()).or_insert(text);
            }
            what => texts.put(what, raw, unescape_log)?,
        }
    }
    let has = |name| texts.fields.contains_key(&name);
    (has(FieldName::Status) && has(FieldName::Path)).then_some(texts)
}

/// The labels that ltsv.org recommends; any other is a variable.
fn label_of(label: &str) -> What {
    let name = match label {
        "time" => return What::Time,
        "host" => "remote_addr",
        "user" => "remote_user",
        "req" => "request",
        "method" => "request_method",
        "uri" => "request_uri",
        "protocol" => "server_protocol",
        "vhost" => "host",
        "size" => "body_bytes_sent",
        "reqsize" => "request_length",
        "referer" => "http_referer",
        "ua" => "http_user_agent",
        "reqtime" => "request_time",
        "reqtime_microsec" => return What::Field(FieldName::Total),
        "id" => "request_id",
        other => other,
    };
    variable(name)
}

fn object(line: &[u8], keys: &BTreeMap<String, String>) -> Option<Texts> {
    let mut texts = Texts::default();
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        let key = String::from_utf8_lossy(found.key).into_owned();
        let configured = keys.iter().find(|(_, name)| **name == key);
        let configured = configured.and_then(|(field, _)| field.parse().ok());
        let configured = configured.map(|field| match field {
            FieldName::Time => What::Time,
            FieldName::Path => What::Target,
            FieldName::Version => What::Protocol,
            field => What::Field(field),
        });
        if let Some(What::Field(field @ (FieldName::QueryValue(_) | FieldName::Header(_)))) =
            &configured
        {
            texts.named.insert(field.clone());
        }
        match configured.or_else(|| own(&key)) {
            Some(what) => texts.put_json(what, found.value)?,
            None if key == "phases" => texts.phases = Some(found.value.to_vec()),
            None if key == "impression" => texts.impression = Some(found.value.to_vec()),
            None if found.value.is_empty() || found.value == b"-" => {}
            None => {
                texts.others.entry(key).or_insert_with(|| unescape_json(found.value));
            }
        }
    }
    Some(texts)
}

/// A line of our own journal: texts are what they are, and nothing else is known.
fn journal(line: &[u8]) -> Option<Texts> {
    let mut texts = Texts { is_ours: true, ..Texts::default() };
    for found in members(line)?.into_iter().filter(|found| found.is_text || found.value != b"null")
    {
        match String::from_utf8_lossy(found.key).as_ref() {
            "phases" => texts.phases = Some(found.value.to_vec()),
            "impression" => texts.impression = Some(found.value.to_vec()),
            "path" => texts.put(What::Field(FieldName::Path), found.value, unescape_json)?,
            "version" => texts.put(What::Field(FieldName::Version), found.value, unescape_json)?,
            "timestamp" | "@timestamp" => {}
            key => {
                if let Some(what) = own(key).filter(|_| !variable_only(key)) {
                    texts.put_json(what, found.value)?;
                }
            }
        }
    }
    let has = |name| texts.fields.contains_key(&name);
    let is_whole = has(FieldName::Method) && has(FieldName::Path) && has(FieldName::Status);
    is_whole.then_some(texts)
}

impl Texts {
    /// Notes a value of JSON; none when it should be a whole number and is none.
    fn put_json(&mut self, what: What, raw: &[u8]) -> Option<()> {
        let is_sound = !is_number(&what) || raw.is_empty() || raw == b"-" || whole(raw).is_some();
        is_sound.then_some(())?;
        self.put(what, raw, unescape_json)
    }
}

fn is_number(what: &What) -> bool {
    use FieldName::{BytesIn, BytesOut, Status, Total};
    matches!(what, What::Field(Status | BytesIn | BytesOut | Total))
}

#[cfg(test)]
mod tests;
