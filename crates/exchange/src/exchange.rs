//! Defines the exchange record twice, and looks up its fields by name.
//!
//! [`ExchangeRef`] borrows, as the gateway fills it. [`Exchange`] is what a line decodes to. Host,
//! path, query, user, user agent and referer are bytes, because HTTP does not promise UTF-8. All
//! other texts are UTF-8; `combined.rs` and `ltsv.rs` make method and version so with U+FFFD.
//! As fields, these are absent: `None`, an empty method, scheme or version, id 0, and a phase of 0
//! µs. Time, path, status, bytes, decision, cache and total are always present, also where a log
//! format lacks them. So is the propensity of an impression, which may be NaN.
//! Plain data: nothing is checked here. `line/decode.rs`, `combined.rs` and `ltsv.rs` check what
//! they fill in.
//! Never here: other request headers, `var.NAME` and defined fields. They are always absent here;
//! other implementors of `Fields` resolve them.
//! A new member also goes into `line/encode.rs`, `line/decode.rs` and `gateway/src/record.rs`. What
//! gives it a name is listed in `field.rs`.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::field::{FieldName, FieldValue, Fields};
use crate::model::Impression;
use crate::outcome::{CacheResult, Decision};
use crate::phase::Phase;
use crate::query::query_value;

/// One exchange as the gateway knows it when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExchangeRef<'a> {
    /// When the request arrived, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The request id, compatible with a W3C trace id.
    pub id: u128,
    /// The request method.
    pub method: &'a str,
    /// `http` or `https`; empty when unknown.
    pub scheme: &'a str,
    /// The requested host with its port if one was given.
    pub host: Option<&'a [u8]>,
    /// The raw path, undecoded.
    pub path: &'a [u8],
    /// The raw query without its `?`.
    pub query: Option<&'a [u8]>,
    /// The HTTP version, such as `1.1`; empty when unknown.
    pub version: &'a str,
    /// The response status; 0 when the client left before there was one.
    pub status: u16,
    /// Bytes of the request body.
    pub bytes_in: u64,
    /// Bytes of the response body.
    pub bytes_out: u64,
    /// The client's address, already shortened if the configuration says so.
    pub client_ip: Option<IpAddr>,
    /// The user id, already hashed if the configuration says so.
    pub user: Option<&'a [u8]>,
    /// The header `User-Agent`.
    pub user_agent: Option<&'a [u8]>,
    /// The header `Referer`.
    pub referer: Option<&'a [u8]>,
    /// The route that matched.
    pub route: Option<&'a str>,
    /// Why the client got this answer.
    pub decision: Decision,
    /// What caused the decision, where it has several causes.
    pub decision_detail: Option<&'a str>,
    /// What the cache did.
    pub cache: CacheResult,
    /// The name of the upstream that was asked.
    pub upstream: Option<&'a str>,
    /// The request id of the ranking that a cached answer came from.
    pub ranked_by: Option<u128>,
    /// The request id of the exchange whose fetch this one waited for, and was answered by.
    pub fetched_by: Option<u128>,
    /// Microseconds spent in each phase, by `Phase::index`; 0 means not entered or under 1 µs.
    pub phases: [u32; Phase::COUNT],
    /// Microseconds from the arrival of the head to the last byte handed to the kernel.
    pub total_us: u64,
    /// What was shown, when this exchange ran the ranking.
    pub impression: Option<&'a Impression<'a>>,
}

/// One exchange as read from a line; borrows from the line whatever was written unescaped.
///
/// The fields mean what they mean in [`ExchangeRef`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange<'a> {
    /// Microseconds since the Unix epoch.
    pub time_us: u64,
    /// The request id; 0 when the line format has none.
    pub id: u128,
    /// The request method.
    pub method: Cow<'a, str>,
    /// `http` or `https`; empty when unknown.
    pub scheme: Cow<'a, str>,
    /// The requested host.
    pub host: Option<Cow<'a, [u8]>>,
    /// The raw path.
    pub path: Cow<'a, [u8]>,
    /// The raw query.
    pub query: Option<Cow<'a, [u8]>>,
    /// The HTTP version; empty when unknown.
    pub version: Cow<'a, str>,
    /// The response status.
    pub status: u16,
    /// Bytes of the request body.
    pub bytes_in: u64,
    /// Bytes of the response body.
    pub bytes_out: u64,
    /// The client's address.
    pub client_ip: Option<IpAddr>,
    /// The user id.
    pub user: Option<Cow<'a, [u8]>>,
    /// The header `User-Agent`.
    pub user_agent: Option<Cow<'a, [u8]>>,
    /// The header `Referer`.
    pub referer: Option<Cow<'a, [u8]>>,
    /// The route that matched.
    pub route: Option<Cow<'a, str>>,
    /// Why the client got this answer.
    pub decision: Decision,
    /// What caused the decision, where it has several causes.
    pub decision_detail: Option<Cow<'a, str>>,
    /// What the cache did.
    pub cache: CacheResult,
    /// The name of the upstream that was asked.
    pub upstream: Option<Cow<'a, str>>,
    /// The request id of the ranking that a cached answer came from.
    pub ranked_by: Option<u128>,
    /// The exchange whose fetch it waited for.
    pub fetched_by: Option<u128>,
    /// Microseconds spent in each phase.
    pub phases: [u32; Phase::COUNT],
    /// Microseconds in all.
    pub total_us: u64,
    /// What was shown.
    pub impression: Option<Impression<'a>>,
}

impl<'a> ExchangeRef<'a> {
    fn value(&self, name: &FieldName) -> Option<FieldValue<'a>> {
        let some_text = |text: &'a str| (!text.is_empty()).then(|| FieldValue::from(text));
        match name {
            FieldName::Time => Some(FieldValue::Integer(self.time_us)),
            FieldName::Id => (self.id != 0).then(|| id_text(self.id)),
            FieldName::Method => some_text(self.method),
            FieldName::Scheme => some_text(self.scheme),
            FieldName::Host => self.host.map(FieldValue::from),
            FieldName::Path => Some(FieldValue::from(self.path)),
            FieldName::Query => self.query.map(FieldValue::from),
            FieldName::QueryValue(name) => query_value(self.query?, name).map(FieldValue::Text),
            FieldName::Version => some_text(self.version),
            FieldName::Status => Some(FieldValue::Integer(self.status.into())),
            FieldName::BytesIn => Some(FieldValue::Integer(self.bytes_in)),
            FieldName::BytesOut => Some(FieldValue::Integer(self.bytes_out)),
            FieldName::ClientIp => self.client_ip.map(|ip| FieldValue::from(ip.to_string())),
            FieldName::User => self.user.map(FieldValue::from),
            FieldName::UserAgent => self.user_agent.map(FieldValue::from),
            FieldName::Referer => self.referer.map(FieldValue::from),
            // Only the headers named above are ever recorded.
            FieldName::Header(_) | FieldName::Variable(_) | FieldName::Defined(_) => None,
            FieldName::Route => self.route.map(FieldValue::from),
            FieldName::Decision => Some(FieldValue::from(self.decision.name())),
            FieldName::DecisionDetail => self.decision_detail.map(FieldValue::from),
            FieldName::Cache => Some(FieldValue::from(self.cache.name())),
            FieldName::Upstream => self.upstream.map(FieldValue::from),
            FieldName::RankedBy => self.ranked_by.map(id_text),
            FieldName::FetchedBy => self.fetched_by.map(id_text),
            FieldName::Phase(phase) => Some(u64::from(self.phases[phase.index()]))
                .filter(|us| *us > 0)
                .map(FieldValue::Integer),
            FieldName::Total => Some(FieldValue::Integer(self.total_us)),
            FieldName::Model => self.impression.map(|shown| FieldValue::from(&*shown.model)),
            FieldName::ModelVersion => {
                self.impression.map(|shown| FieldValue::from(&*shown.version))
            }
            FieldName::Propensity => {
                self.impression.map(|shown| FieldValue::Real(shown.propensity))
            }
        }
    }
}

impl Fields for ExchangeRef<'_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        self.value(name)
    }
}

impl Exchange<'_> {
    /// The same exchange for field access.
    fn view(&self) -> ExchangeRef<'_> {
        ExchangeRef {
            time_us: self.time_us,
            id: self.id,
            method: &self.method,
            scheme: &self.scheme,
            host: self.host.as_deref(),
            path: &self.path,
            query: self.query.as_deref(),
            version: &self.version,
            status: self.status,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            client_ip: self.client_ip,
            user: self.user.as_deref(),
            user_agent: self.user_agent.as_deref(),
            referer: self.referer.as_deref(),
            route: self.route.as_deref(),
            decision: self.decision,
            decision_detail: self.decision_detail.as_deref(),
            cache: self.cache,
            upstream: self.upstream.as_deref(),
            ranked_by: self.ranked_by,
            fetched_by: self.fetched_by,
            phases: self.phases,
            total_us: self.total_us,
            impression: self.impression.as_ref(),
        }
    }
}

impl Fields for Exchange<'_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        self.view().value(name)
    }
}

fn id_text<'a>(id: u128) -> FieldValue<'a> {
    FieldValue::from(format!("{id:032x}"))
}
