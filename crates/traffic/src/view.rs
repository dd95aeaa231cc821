//! Defines one exchange as it is shown and filtered, whatever its source is.
//!
//! A [`View`] borrows from a transaction of Varnish's log, or from a line. What the source does not
//! say is `None` or empty. As [`Fields`] it answers to the names of `exchange`, and to these:
//!
//! | name | value |
//! |---|---|
//! | `var.url` `var.protocol` `var.reason` | target as sent, `HTTP/1.1`, reason phrase |
//! | `var.status_line` | `200 OK` |
//! | `var.handling` | `hit`, `miss`, `pass`, `pipe` or `synth`; of Tidegate what `cache` says |
//! | `var.hit` `var.miss` | present if that is so |
//! | `var.client` | the client as named by `rlnclientipaddr` or `X-Real-IP`, else its address |
//! | `var.vxid` | the transaction of Varnish |
//! | `var.ready_us` `var.total_s` | until the answer was ready, in µs; in all, in seconds |
//! | `var.request_headers` `var.response_headers` | all of them, as they are shown |
//!
//! Never here: what is redacted and escaped, which `output` does. Filters see what was sent.

use std::borrow::Cow;

use exchange::{Exchange, FieldName, FieldValue, Fields, query_value};

use crate::tag::Tag;
use crate::transaction::Transaction;

/// Headers in which proxies name the client, as vlogdump knows them.
const NAMING: [&[u8]; 2] = [b"rlnclientipaddr", b"x-real-ip"];

/// One exchange.
#[derive(Clone, Default)]
pub(crate) struct View<'a> {
    pub(crate) ids: ViewIds,
    pub(crate) times: ViewTimes,
    pub(crate) method: Cow<'a, [u8]>,
    pub(crate) host: Option<Cow<'a, [u8]>>,
    pub(crate) url: Cow<'a, [u8]>,
    pub(crate) protocol: Cow<'a, [u8]>,
    pub(crate) status: Option<u16>,
    pub(crate) reason: Cow<'a, [u8]>,
    pub(crate) client: Cow<'a, [u8]>,
    /// What the cache did.
    pub(crate) handling: Option<&'static str>,
    /// Whether the cache answered; not known of most access logs.
    pub(crate) is_hit: Option<bool>,
    pub(crate) decision: Option<&'static str>,
    pub(crate) bytes: ViewBytes,
    pub(crate) headers: Headers<'a>,
    /// What else a line says.
    pub(crate) line: Option<&'a Exchange<'a>>,
}

/// Which transaction of Varnish an exchange is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewIds {
    pub(crate) vxid: Option<u64>,
    /// The transaction that asked for it: of a session, or of a request with `esi:include`.
    pub(crate) parent: Option<u64>,
    pub(crate) is_esi: bool,
}

/// When an exchange was and how long it took, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewTimes {
    /// When it began, since the Unix epoch.
    pub(crate) time_us: Option<u64>,
    pub(crate) total_us: Option<u64>,
    /// Until the answer was ready.
    pub(crate) ready_us: Option<u64>,
}

/// The bytes of the bodies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ViewBytes {
    pub(crate) bytes_in: Option<u64>,
    pub(crate) bytes_out: Option<u64>,
}

/// Where the headers are.
#[derive(Clone, Copy, Default)]
pub(crate) enum Headers<'a> {
    #[default]
    None,
    /// In records of Varnish's log.
    Records(&'a Transaction),
    /// In a list, those of the request first.
    Listed { request: &'a [ShownHeader<'a>], response: &'a [ShownHeader<'a>] },
}

/// Name and value.
pub(crate) type ShownHeader<'a> = (Cow<'a, [u8]>, Cow<'a, [u8]>);

/// Whose headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Request,
    Response,
}

impl<'a> View<'a> {
    /// Calls `found` with the name and the value of each header.
    pub(crate) fn each_header(&self, side: Side, mut found: impl FnMut(&'a [u8], &'a [u8])) {
        match self.headers {
            Headers::None => {}
            Headers::Listed { request, response } => {
                let list = if side == Side::Request { request } else { response };
                list.iter().for_each(|(name, value)| found(name, value));
            }
            Headers::Records(transaction) => {
                let (tag, unset) = match side {
                    Side::Request => (Tag::REQ_HEADER, Tag::REQ_UNSET),
                    Side::Response => (Tag::RESP_HEADER, Tag::RESP_UNSET),
                };
                let unsets =
                    transaction.records().enumerate().filter(|(_, (tag, _))| *tag == unset);
                let last_unset = unsets.map(|(at, _)| at).last().unwrap_or(0);
                for (at, (found_tag, data)) in transaction.records().enumerate() {
                    let is_there = || {
                        let mut later = transaction.records().skip(at + 1);
                        at > last_unset
                            || !later.any(|(later, gone)| later == unset && gone == data)
                    };
                    if found_tag == tag && is_there() {
                        let (name, value) = split_header(data);
                        found(name, value);
                    }
                }
            }
        }
    }

    /// The value of a header of the request.
    pub(crate) fn request_header(&self, wanted: &[u8]) -> Option<&'a [u8]> {
        let mut value = None;
        self.each_header(Side::Request, |name, found| {
            if value.is_none() && name.eq_ignore_ascii_case(wanted) {
                value = Some(found);
            }
        });
        value
    }

    /// The path without the query.
    pub(crate) fn path(&self) -> &[u8] {
        self.url.split(|byte| *byte == b'?').next().unwrap_or_default()
    }

    /// The query without its `?`.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        self.url.splitn(2, |byte| *byte == b'?').nth(1)
    }

    /// The requested host: the header, where the source has headers.
    pub(crate) fn host(&self) -> Option<&[u8]> {
        self.host.as_deref().or_else(|| self.request_header(b"host"))
    }

    /// `200 OK`
    pub(crate) fn status_line(&self) -> Vec<u8> {
        let Some(status) = self.status else { return Vec::new() };
        let mut line = status.to_string().into_bytes();
        if !self.reason.is_empty() {
            line.push(b' ');
            line.extend_from_slice(&self.reason);
        }
        line
    }

    /// The client as a proxy before has named it, else its address.
    fn named_client(&self) -> &[u8] {
        let named = NAMING.iter().find_map(|name| self.request_header(name));
        named.unwrap_or(&self.client)
    }

    /// The block of headers that vlogdump shows, and searches.
    fn header_block(&self, side: Side) -> Vec<u8> {
        let mut block = Vec::new();
        self.each_header(side, |name, value| {
            block.extend_from_slice(side.prefix());
            block.extend_from_slice(name);
            block.extend_from_slice(b" = ");
            block.extend_from_slice(value);
            block.push(b'\n');
        });
        block
    }

    fn variable(&self, name: &str) -> Option<FieldValue<'_>> {
        let present = |is_so: Option<bool>| is_so?.then(|| FieldValue::from("yes"));
        match name {
            "url" => Some(FieldValue::from(&*self.url)),
            "protocol" => some_text(&self.protocol),
            "reason" => some_text(&self.reason),
            "status_line" => Some(FieldValue::Text(Cow::Owned(self.status_line()))),
            "handling" => self.handling.map(FieldValue::from),
            "hit" => present(self.is_hit),
            "miss" => present(self.is_hit.map(|is_hit| !is_hit)),
            "client" => some_text(self.named_client()),
            "vxid" => self.ids.vxid.map(FieldValue::Integer),
            "ready_us" => self.times.ready_us.map(FieldValue::Integer),
            "total_s" => self.times.total_us.map(|total| FieldValue::Real(total as f64 / 1e6)),
            "request_headers" => {
                Some(FieldValue::Text(Cow::Owned(self.header_block(Side::Request))))
            }
            "response_headers" => {
                Some(FieldValue::Text(Cow::Owned(self.header_block(Side::Response))))
            }
            _ => None,
        }
    }
}

impl Side {
    /// How vlogdump begins the line of a header.
    pub(crate) fn prefix(self) -> &'static [u8] {
        match self {
            Self::Request => b"        req.http.",
            Self::Response => b"        beresp.http.",
        }
    }
}

impl Fields for View<'_> {
    fn field(&self, name: &FieldName) -> Option<FieldValue<'_>> {
        let number = |number: Option<u64>| number.map(FieldValue::Integer);
        match name {
            FieldName::Time => number(self.times.time_us),
            FieldName::Method => some_text(&self.method),
            FieldName::Host => self.host().map(FieldValue::from),
            FieldName::Path => Some(FieldValue::from(self.path())),
            FieldName::Query => self.query().map(FieldValue::from),
            FieldName::QueryValue(name) => query_value(self.query()?, name).map(FieldValue::Text),
            FieldName::Version => {
                some_text(self.protocol.strip_prefix(b"HTTP/").unwrap_or(&self.protocol))
            }
            FieldName::Status => number(self.status.map(u64::from)),
            FieldName::BytesIn => number(self.bytes.bytes_in),
            FieldName::BytesOut => number(self.bytes.bytes_out),
            FieldName::ClientIp => some_text(&self.client),
            FieldName::UserAgent => self.request_header(b"user-agent").map(FieldValue::from),
            FieldName::Referer => self.request_header(b"referer").map(FieldValue::from),
            FieldName::Header(name) => self.request_header(name.as_bytes()).map(FieldValue::from),
            FieldName::Decision => self.decision.map(FieldValue::from),
            FieldName::Cache => self.handling.map(FieldValue::from),
            FieldName::Total => number(self.times.total_us),
            FieldName::Variable(name) => self.variable(name),
            other => self.line?.field(other),
        }
    }
}

/// Name and value of `Host: localhost`.
pub(crate) fn split_header(data: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b':', data) {
        Some(colon) => (&data[..colon], data[colon + 1..].trim_ascii_start()),
        None => (data, &[]),
    }
}

fn some_text(text: &[u8]) -> Option<FieldValue<'_>> {
    (!text.is_empty()).then(|| FieldValue::from(text))
}
