//! Holds what one line says: the texts of its fields, and the values that they are read as.
//!
//! Also here: parting a request line and a target. How escapes are undone is in `escapes.rs`.
//! Invariant: a field that the line leaves out is absent. Lines of our own journal have defaults
//! instead: 0 for status, bytes and total time, `none` for the cache, `generic` for the decision.
//! `-` and the empty text mean absent in all other lines, but for bytes, where `-` is 0. A query
//! behind a `?` is taken as it stands.
//! Written a second time here, so that a mistake shows: the fields of
//! `pipeline/src/decode/event.rs`, and the names of nginx's cache results (`cache`). A changed
//! default, number or name changes in both. `plain/tests.rs` compares them.
//! Elsewhere: which name is which field (`variable.rs`), finding the texts in a line (`formats.rs`,
//! `cut.rs`).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use exchange::{FieldName, FieldValue, Fields, Phase};
use pipeline::{ListChoices, NamedKeys, TimeFormat};

use crate::cut::Cut;
use crate::escapes::{Unescape, json};
use crate::moment::time;
use crate::object::{JsonMember, member};
use crate::scalar::{parsed, whole};
use crate::several::taken;
use crate::variable::{Meaning, Unit, is_bytes, may_be, variable};

const ZERO: Option<FieldValue<'static>> = Some(FieldValue::Integer(0));

/// What a line says.
#[derive(Default)]
pub(crate) struct LineTexts {
    pub time_us: Option<u64>,
    pub fields: HashMap<FieldName, Vec<u8>>,
    /// By the names that the line gives them.
    pub others: HashMap<String, Vec<u8>>,
    /// Objects, as they are written.
    pub phases: Option<Vec<u8>>,
    pub impression: Option<Vec<u8>>,
    pub total_us: Option<u64>,
    /// Parts of the total.
    pub parts: Vec<Option<u64>>,
    /// How times are written, if in none of the usual ways.
    pub format: Option<Arc<TimeFormat>>,
    /// What is taken of lists.
    pub lists: ListChoices,
    pub named: HashSet<FieldName>,
    /// How headers are written, where in a way of their own.
    pub header: Option<Unescape>,
    /// The line is of our own journal: what it leaves out has a default, and `-` is text.
    pub is_ours: bool,
}

impl Fields for LineTexts {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        let text = |name| self.fields.get(name).map(|text| FieldValue::from(text.as_slice()));
        let other =
            |name: &str| self.others.get(name).map(|text| FieldValue::from(text.as_slice()));
        let shown = |name| self.impression.as_ref().map(|shown| member(shown, name));
        let or = |value: Option<FieldValue<'static>>| value.filter(|_| self.is_ours);
        match name {
            FieldName::Time => self.time_us.map(FieldValue::Integer),
            FieldName::Status | FieldName::BytesIn | FieldName::BytesOut => {
                let digits = self.fields.get(name);
                digits.map(|digits| FieldValue::Integer(whole(digits).unwrap_or(0))).or(or(ZERO))
            }
            FieldName::Total => self.total().map(FieldValue::Integer).or(or(ZERO)),
            FieldName::QueryValue(_) if self.named.contains(name) => {
                let raw = self.fields.get(name)?;
                Some(FieldValue::Text(exchange::decode_query(raw)))
            }
            FieldName::QueryValue(parameter) => {
                let names = ["arg_", "query."].map(|head| format!("{head}{parameter}"));
                if let Some(raw) = names.iter().find_map(|name| self.others.get(name)) {
                    return Some(FieldValue::Text(exchange::decode_query(raw)));
                }
                let query = self.fields.get(&FieldName::Query)?;
                exchange::query_value(query, parameter).map(FieldValue::Text)
            }
            FieldName::Header(header) => text(name)
                .or_else(|| other(&format!("http_{}", header.replace('-', "_"))))
                .or_else(|| other(&format!("header.{header}"))),
            FieldName::Variable(variable) => {
                let value = text(name).or_else(|| other(variable))?;
                self.taken(variable, value)
            }
            FieldName::Upstream if !self.is_ours => self.taken("upstream_addr", text(name)?),
            FieldName::Phase(phase) => self.phase(*phase),
            FieldName::Model => Some(shown_text(shown("model")?)),
            FieldName::ModelVersion => Some(shown_text(shown("version")?)),
            FieldName::Propensity => match shown("propensity")? {
                None => Some(FieldValue::Real(f64::NAN)),
                Some(found) => {
                    parsed(found.value).filter(|real: &f64| real.is_finite()).map(FieldValue::Real)
                }
            },
            FieldName::Cache if self.is_ours => text(name).or(Some(FieldValue::from("none"))),
            FieldName::Cache => self.fields.get(name).map(|text| FieldValue::from(cache(text))),
            FieldName::Decision => text(name).or_else(|| or(Some(FieldValue::from("generic")))),
            name => text(name),
        }
    }
}

fn shown_text(member: Option<JsonMember<'_>>) -> FieldValue<'static> {
    let text = member.filter(|member| member.is_text).map(|member| json(member.value));
    FieldValue::Text(Cow::Owned(text.unwrap_or_default()))
}

/// What our cache would call what nginx's did.
fn cache(text: &[u8]) -> &'static str {
    match text.to_ascii_lowercase().as_slice() {
        b"hit" => "hit",
        b"miss" | b"expired" | b"revalidated" | b"refreshhit" => "miss",
        b"stale" | b"updating" => "stale",
        b"bypass" | b"pass" => "pass",
        b"collapsed" => "collapsed",
        _ => "none",
    }
}

impl LineTexts {
    /// What is taken of a value, where it is a list.
    fn taken<'t>(&self, name: &str, value: FieldValue<'t>) -> Option<FieldValue<'t>> {
        match (self.lists.of(name), value) {
            (Some(choice), FieldValue::Text(text)) => {
                taken(&text, choice).map(|text| FieldValue::Text(Cow::Owned(text)))
            }
            (_, value) => Some(value),
        }
    }

    fn total(&self) -> Option<u64> {
        match self.parts.is_empty() {
            true => self.total_us,
            false => self.parts.iter().copied().try_fold(0_u64, |sum, us| sum.checked_add(us?)),
        }
    }

    fn phase(&self, phase: Phase) -> Option<FieldValue<'_>> {
        let us = whole(member(self.phases.as_ref()?, phase.name())?.value)?;
        (us > 0).then_some(FieldValue::Integer(us))
    }

    /// Notes which parameters have a key of their own.
    pub(crate) fn name(&mut self, keys: &NamedKeys) {
        self.named.extend(keys.keys.keys().filter_map(|field| field.parse().ok()));
    }

    /// Notes the value of a key that is no field; the first one counts.
    pub(crate) fn other(&mut self, key: String, raw: &[u8]) {
        self.other_escaped(key, raw, json);
    }

    pub(crate) fn other_escaped(&mut self, key: String, raw: &[u8], unescape: Unescape) {
        if !raw.is_empty() && raw != b"-" {
            self.others.entry(key).or_insert_with(|| unescape(raw));
        }
    }

    pub(crate) fn put_all(&mut self, cut: &[Cut<'_, '_>], unescape: Unescape) -> Option<()> {
        for (name, raw) in cut {
            self.put(variable(name), raw, unescape)?;
        }
        Some(())
    }

    /// Notes what a text means; none when it cannot be that.
    pub(crate) fn put(&mut self, what: Meaning, raw: &[u8], unescape: Unescape) -> Option<()> {
        if what == Meaning::Time {
            self.time_us = Some(time(raw, self.format.as_deref())?);
            return Some(());
        }
        let is_none = raw.is_empty() || (raw == b"-" && !is_bytes(&what));
        if !self.is_ours && is_none {
            if what == Meaning::Took(Unit::Part) {
                self.parts.push(None);
            }
            return Some(());
        }
        match what {
            Meaning::Time => {}
            Meaning::Request => self.request(raw, unescape),
            Meaning::Target => self.target(raw, unescape),
            Meaning::Path => {
                self.fields.entry(FieldName::Path).or_insert_with(|| unescape(raw));
            }
            Meaning::Protocol => {
                let version = raw.strip_prefix(b"HTTP/").unwrap_or(raw);
                self.fields.insert(FieldName::Version, unescape(version));
            }
            Meaning::Took(Unit::Part) => self.parts.push(Unit::Part.micros(raw)?),
            Meaning::Took(unit) => {
                self.parts.clear();
                self.total_us = unit.micros(raw)?;
            }
            Meaning::Endpoint => {
                let end = raw.iter().rposition(|byte| *byte == b':').unwrap_or(raw.len());
                let address = &raw[..end];
                let bare = address.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
                let address = bare.unwrap_or(address);
                if !address.is_empty() && address != b"-" {
                    self.fields.insert(FieldName::ClientIp, unescape(address));
                }
            }
            Meaning::Field(FieldName::Status) if raw == b"-1" => {}
            Meaning::Field(FieldName::Total) => self.total_us = Some(whole(raw).unwrap_or(0)),
            Meaning::Field(FieldName::Scheme) if !self.is_ours => {
                self.fields.insert(FieldName::Scheme, unescape(raw).to_ascii_lowercase());
            }
            Meaning::Field(name) => {
                use FieldName::{Header, Referer, UserAgent};
                let is_header = matches!(name, Header(_) | Referer | UserAgent);
                let unescape = self.header.filter(|_| is_header).unwrap_or(unescape);
                self.fields.insert(name, unescape(raw));
            }
            Meaning::Weak(name) => {
                self.fields.entry(name).or_insert_with(|| unescape(raw));
            }
        }
        Some(())
    }

    /// Notes a value of JSON; none when it should be a whole number and is none.
    pub(crate) fn put_json(&mut self, what: Meaning, raw: &[u8]) -> Option<()> {
        may_be(&what, raw).then_some(())?;
        self.put(what, raw, json)
    }

    /// `METHOD TARGET HTTP/VERSION`; what is none is a target.
    fn request(&mut self, raw: &[u8], unescape: Unescape) {
        let Some(space) = raw.iter().position(|byte| *byte == b' ') else {
            return self.target(raw, unescape);
        };
        if space > 0 && raw[..space] != *b"-" {
            self.fields.insert(FieldName::Method, unescape(&raw[..space]));
        }
        let rest = &raw[space + 1..];
        let end = (0..rest.len()).rev().find(|at| rest[*at..].starts_with(b" HTTP/"));
        if let Some(end) = end {
            self.fields.insert(FieldName::Version, unescape(&rest[end + 6..]));
        }
        let target = match end {
            Some(end) => &rest[..end],
            // As lighttpd and load balancers of AWS write it where no request was read.
            None if *rest == *b" " => &[],
            None => rest.strip_suffix(b" -").unwrap_or(rest),
        };
        self.target(target, unescape);
    }

    /// Path and query, with scheme and host before them if need be.
    fn target(&mut self, raw: &[u8], unescape: Unescape) {
        let mut raw = raw;
        for scheme in ["http", "https"] {
            let (head, after) = raw.split_at((scheme.len() + 3).min(raw.len()));
            if head.to_ascii_lowercase() != format!("{scheme}://").as_bytes() {
                continue;
            }
            self.fields.insert(FieldName::Scheme, scheme.into());
            let end = after.iter().position(|byte| matches!(byte, b'/' | b'?'));
            let (authority, rest) = after.split_at(end.unwrap_or(after.len()));
            let host = authority.rsplit(|byte| *byte == b'@').next().unwrap_or_default();
            // AWS writes the path that it did not see behind the port.
            let is_cut = end.is_none() && authority.len() > 1;
            let host = host.strip_suffix(b"-").filter(|_| is_cut).unwrap_or(host);
            if !host.is_empty() && host != b"-" {
                self.fields.insert(FieldName::Host, unescape(host));
            }
            raw = rest;
            break;
        }
        let mut parts = raw.splitn(2, |byte| *byte == b'?');
        let path = parts.next().unwrap_or_default();
        if !matches!(path, b"" | b"-") {
            self.fields.insert(FieldName::Path, unescape(path));
        }
        if let Some(query) = parts.next() {
            self.fields.insert(FieldName::Query, unescape(query));
        }
    }
}
