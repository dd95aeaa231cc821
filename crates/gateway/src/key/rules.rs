//! Applies the key rules of a route: which query fields, cookies and headers its keys cover.
//!
//! `append_target` and `append_parts` write the key; `key` says what another form needs.
//! `append_target` and `rewrite` make what the upstream gets if the response may be stored.
//! Invariant: a query field that the key leaves out is not sent. A cookie or header in the key is
//! sent as the key has it. So a new rule changes both sides, and docs/operating/cache-keys.md. A
//! list `cookies` also stops every other cookie. Without rules for cookies, all pass and none is in
//! the key (`has_unkeyed_cookies` tells). Which headers pass that no rule names, says
//! `KeyPlan::passes_on`. Names are compared as sent, undecoded, but for that of the user's query
//! field. A value outside a segment counts as its default; a cookie with a segment is replaced by
//! the value in the key. Never here: which responses are stored (`freshness`), checks of rules
//! (`plan::check::key`), the user's own cookie (`fetch::origin_request`).

use std::borrow::Cow;

use http::header::HeaderName;
use smallvec::SmallVec;

use cache::key::KeyBytes;
use http1::FieldLines;

/// The key rules of a route.
#[derive(Debug, Default)]
pub struct Rules {
    /// Whether query fields are sorted by name; fields of one name keep their order.
    pub sort: bool,
    /// The query fields that the key covers.
    pub fields: QueryFields,
    /// The query fields that name a user; the key of a user's own response has them apart.
    pub user_fields: Vec<Box<str>>,
    /// The cookies that are forwarded.
    pub cookies: Cookies,
    /// Headers that the key covers, in lower case.
    pub headers: Vec<HeaderName>,
    /// Cookies and headers of which the key distinguishes only some values.
    pub segments: Vec<KeySegment>,
}

/// The query fields that the key covers.
#[derive(Debug, Default)]
pub enum QueryFields {
    /// All fields.
    #[default]
    All,
    /// All fields but these.
    Drop(Vec<NamePattern>),
    /// Only these fields.
    Keep(Vec<NamePattern>),
}

/// The cookies that are forwarded.
#[derive(Debug, Default)]
pub enum Cookies {
    /// All cookies; the key covers none.
    #[default]
    All,
    /// All cookies but these; the key covers none.
    Strip(Vec<NamePattern>),
    /// Only these cookies; the key covers them.
    Named(Vec<Box<str>>),
}

/// A name, or a prefix of names.
#[derive(Debug, PartialEq, Eq)]
pub struct NamePattern {
    start: Box<str>,
    is_whole: bool,
}

/// A cookie or header of which the key distinguishes only some values.
#[derive(Debug)]
pub struct KeySegment {
    /// The cookie or header.
    pub source: SegmentSource,
    /// The values that the key distinguishes.
    pub values: Vec<Box<str>>,
    /// The value that stands for any other, and for none.
    pub default: Box<str>,
}

/// The source of a segment's value.
#[derive(Debug, PartialEq, Eq)]
pub enum SegmentSource {
    /// A cookie.
    Cookie(Box<str>),
    /// A header, in lower case.
    Header(HeaderName),
}

/// The field lines of a request, in any form.
pub trait FieldSource {
    /// Returns the lines of one field, by its name in lower case.
    fn lines<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]>;
}

impl FieldSource for http1::Head<'_> {
    fn lines<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]> {
        // The key has scheme and host as they are believed, whoever writes these.
        let counts = !matches!(name, "x-forwarded-host" | "x-forwarded-proto");
        self.all(name).filter(move |_| counts)
    }
}

impl FieldSource for FieldLines {
    fn lines<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]> {
        self.all(name)
    }
}

impl NamePattern {
    /// Reads a name, or a prefix followed by `*`; `None` if it is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (start, is_whole) = match text.strip_suffix('*') {
            Some(start) => (start, false),
            None => (text, true),
        };
        let is_plain = !start.bytes().any(|b| b"*&;= \t".contains(&b) || b.is_ascii_control());
        (is_plain && !text.is_empty()).then(|| Self { start: start.into(), is_whole })
    }

    pub(super) fn matches(&self, name: &[u8]) -> bool {
        let start = self.start.as_bytes();
        if self.is_whole { name == start } else { name.starts_with(start) }
    }
}

impl Rules {
    /// Appends the path, and the query fields that the key covers.
    pub fn append_target(&self, target: &str, out: &mut KeyBytes) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        out.extend_from_slice(path.as_bytes());
        let mut pairs: SmallVec<[&str; 16]> =
            query.split('&').filter(|pair| !pair.is_empty() && self.counts(pair)).collect();
        if self.sort {
            pairs.sort_by_key(|pair| name_of(pair.as_bytes()));
        }
        for (place, pair) in pairs.iter().enumerate() {
            out.push(if place == 0 { b'?' } else { b'&' });
            out.extend_from_slice(pair.as_bytes());
        }
    }

    /// Returns the query fields that name a user, as sent.
    pub fn user_pairs<'t>(&self, target: &'t str) -> impl Iterator<Item = &'t str> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').filter(|pair| self.is_user(pair))
    }

    /// Appends the parts of a key besides the target. Each begins with a byte that cannot begin a
    /// field name.
    pub fn append_parts(&self, from: &impl FieldSource, out: &mut KeyBytes) {
        if let Cookies::Named(names) = &self.cookies
            && !names.is_empty()
        {
            out.extend_from_slice(b"\n;");
            named_cookies(names, from, out);
        }
        for name in &self.headers {
            let start = out.len();
            out.extend_from_slice(b"\n:");
            out.extend_from_slice(name.as_str().as_bytes());
            out.push(b'=');
            if !append_list(from.lines(name.as_str()), out) {
                out.truncate(start);
            }
        }
        for segment in &self.segments {
            out.extend_from_slice(b"\n,");
            out.extend_from_slice(segment.value(from).as_bytes());
        }
    }

    /// Removes from the client's fields what the key does not cover. With `hides_cookies`, no
    /// cookie is kept that no rule names.
    pub fn rewrite(&self, client: &mut FieldLines, hides_cookies: bool) {
        if self.edits_cookies() || hides_cookies || self.names_cookies() {
            let mut text = KeyBytes::new();
            self.append_cookies(client, hides_cookies, &mut text);
            set(client, "cookie", &text);
        }
        for name in &self.headers {
            let mut text = KeyBytes::new();
            append_list(client.lines(name.as_str()), &mut text);
            set(client, name.as_str(), &text);
        }
        for segment in &self.segments {
            if let SegmentSource::Header(name) = &segment.source {
                let value = segment.value(client).into_owned();
                set(client, name.as_str(), value.as_bytes());
            }
        }
    }

    /// Whether the key covers all that the upstream sees of a request field.
    pub fn determines(&self, name: &str) -> bool {
        let is_it = |source: &SegmentSource| match source {
            SegmentSource::Header(header) => header == name,
            SegmentSource::Cookie(_) => false,
        };
        (name == "cookie" && self.names_cookies())
            || self.headers.iter().any(|header| header == name)
            || self.segments.iter().any(|segment| is_it(&segment.source))
    }

    /// Whether the key covers a cookie, by name or as a segment.
    pub fn names_cookie(&self, cookie: &str) -> bool {
        let named = match &self.cookies {
            Cookies::Named(names) => names.iter().any(|name| **name == *cookie),
            Cookies::All | Cookies::Strip(_) => false,
        };
        named || self.segment_of_cookie(cookie.as_bytes()).is_some()
    }

    /// Whether the key covers every cookie that is forwarded.
    pub fn names_cookies(&self) -> bool {
        matches!(self.cookies, Cookies::Named(_))
    }

    /// Whether cookies are changed on every request, personalised ones included.
    pub fn edits_cookies(&self) -> bool {
        let is_cookie = |segment: &KeySegment| matches!(segment.source, SegmentSource::Cookie(_));
        matches!(self.cookies, Cookies::Strip(_)) || self.segments.iter().any(is_cookie)
    }

    /// Whether cookies are forwarded that the key does not cover. `client` must be rewritten.
    pub fn has_unkeyed_cookies(&self, client: &FieldLines) -> bool {
        let in_segment = |name: &[u8]| self.segment_of_cookie(name).is_some();
        !self.names_cookies() && pairs(client).any(|pair| !in_segment(name_of(pair)))
    }

    /// Appends the forwarded cookies, as one line.
    pub fn append_cookies(&self, from: &impl FieldSource, hides_cookies: bool, out: &mut KeyBytes) {
        match &self.cookies {
            Cookies::Named(names) => named_cookies(names, from, out),
            _ if hides_cookies => {}
            _ => {
                let goes_on = |pair: &&[u8]| self.goes_on(name_of(pair));
                pairs(from).filter(goes_on).for_each(|pair| append_cookie(pair, out));
            }
        }
        for segment in &self.segments {
            if let SegmentSource::Cookie(name) = &segment.source {
                let pair = format!("{name}={}", segment.value(from));
                append_cookie(pair.as_bytes(), out);
            }
        }
    }

    fn goes_on(&self, cookie: &[u8]) -> bool {
        let stripped = match &self.cookies {
            Cookies::Strip(patterns) => patterns.iter().any(|pattern| pattern.matches(cookie)),
            Cookies::All | Cookies::Named(_) => false,
        };
        !stripped && self.segment_of_cookie(cookie).is_none()
    }

    fn segment_of_cookie(&self, cookie: &[u8]) -> Option<&KeySegment> {
        let is_it = |source: &SegmentSource| match source {
            SegmentSource::Cookie(name) => name.as_bytes() == cookie,
            SegmentSource::Header(_) => false,
        };
        self.segments.iter().find(|segment| is_it(&segment.source))
    }

    fn counts(&self, pair: &str) -> bool {
        let any = |patterns: &[NamePattern]| {
            patterns.iter().any(|pattern| pattern.matches(name_of(pair.as_bytes())))
        };
        let counts = match &self.fields {
            QueryFields::All => true,
            QueryFields::Drop(patterns) => !any(patterns),
            QueryFields::Keep(patterns) => any(patterns),
        };
        counts && !self.is_user(pair)
    }

    fn is_user(&self, pair: &str) -> bool {
        self.user_fields.iter().any(|name| exchange::query_value(pair.as_bytes(), name).is_some())
    }
}

impl KeySegment {
    /// Returns the value in the key: the first value sent, if the key distinguishes it.
    fn value(&self, from: &impl FieldSource) -> Cow<'_, str> {
        let known = |sent: &[u8]| self.values.iter().find(|value| value.as_bytes() == sent);
        let found = match &self.source {
            SegmentSource::Cookie(name) => {
                let mut named = pairs(from).filter(|pair| name_of(pair) == name.as_bytes());
                named.next().and_then(|pair| known(value_of(pair)))
            }
            SegmentSource::Header(name) => {
                from.lines(name.as_str()).next().and_then(|line| known(line.trim_ascii()))
            }
        };
        Cow::Borrowed(found.unwrap_or(&self.default))
    }
}

/// Appends every cookie of these names, in the order of the names.
pub(super) fn named_cookies(names: &[Box<str>], from: &impl FieldSource, out: &mut KeyBytes) {
    let mut text = KeyBytes::new();
    for name in names {
        let named = pairs(from).filter(|pair| name_of(pair) == name.as_bytes());
        named.for_each(|pair| append_cookie(pair, &mut text));
    }
    out.extend_from_slice(&text);
}

fn append_cookie(pair: &[u8], line: &mut KeyBytes) {
    if !line.is_empty() {
        line.extend_from_slice(b"; ");
    }
    line.extend_from_slice(pair);
}

/// Returns every cookie of a request, as `name=value`.
fn pairs(from: &impl FieldSource) -> impl Iterator<Item = &[u8]> {
    let pairs = from.lines("cookie").flat_map(|line| line.split(|b| *b == b';'));
    pairs.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
}

/// Appends the lines of a field as one list (RFC 9110 §5.3); returns false if there are none.
pub(super) fn append_list<'v>(lines: impl Iterator<Item = &'v [u8]>, out: &mut KeyBytes) -> bool {
    let mut is_there = false;
    for line in lines {
        if is_there {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(line.trim_ascii());
        is_there = true;
    }
    is_there
}

/// Returns the part before the `=`.
fn name_of(pair: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'=', pair).unwrap_or(pair.len());
    pair[..end].trim_ascii()
}

fn value_of(pair: &[u8]) -> &[u8] {
    memchr::memchr(b'=', pair).map_or(&[], |end| pair[end + 1..].trim_ascii())
}

/// Sets a field to this value, or removes the field if the value is empty.
pub(super) fn set(fields: &mut FieldLines, name: &str, value: &[u8]) {
    match value.is_empty() {
        true => fields.remove(name),
        false => fields.insert(name, value),
    }
}

#[cfg(test)]
mod tests;
