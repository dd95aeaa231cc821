//! Writes flushes in OpenTelemetry's protocol, as JSON, and posts them (OTLP 1.x, "OTLP/HTTP").
//!
//! | metric | goes out as |
//! |---|---|
//! | counter | a sum of the interval (delta), monotonic unless it is below 0 |
//! | gauge | a gauge |
//! | set | a gauge of its size |
//! | timer | a summary with smallest, median, largest and the configured percentiles |
//! | event, check | a log record; a new field of [`Notice`] also goes into `record` |
//!
//! Bounds: a part is one request of 2,000 points, or of some 1 MiB of log records. Its first byte
//! says to which path; parts on disk have it, so its two values must stay.
//! A part is sent again, by the spool, when nobody answered, or after 429, 502, 503 or 504
//! ("OTLP/HTTP Response"; docs/STATSD.md repeats them). It is lost when the collector took it in
//! part, or after another status.
//! Names of attributes, such as `service.name` and `event.title`, are in users' queries. Never
//! here: HTTP itself (`web.rs`), quantiles (`distribution.rs`).

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::delivery::{PartSink, Render, Transport};
use super::tags;
use super::web::Post;
use crate::distribution::{Distribution, shares};
use crate::flush::Flush;
use crate::line::Notice;
use crate::names::SharedName;
use crate::plan::Web;
use crate::status::BackendStatus;

/// Data points of one request.
const POINTS_AT_ONCE: usize = 2_000;
/// Bytes of log records after which a request ends.
const LOG_BYTES: usize = 1 << 20;
const METRICS: u8 = b'm';
const LOGS: u8 = b'l';

/// Makes requests of flushes.
#[derive(Debug)]
pub(super) struct Documents;

impl Render for Documents {
    fn parts(&self, flush: &Flush, _: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        let end_ns = format!("{}000000000", flush.unix_s);
        let start_ns = (u128::from(flush.unix_s) * 1_000_000_000)
            .saturating_sub(flush.interval.as_nanos())
            .to_string();
        let mut part = OtlpPart { metrics: Vec::new(), each, times: (start_ns, end_ns) };
        for (name, sum) in &flush.counters {
            let delta = json!({ "aggregationTemporality": 1, "isMonotonic": *sum >= 0.0 });
            part.add(name, "sum", json!({ "asDouble": double(*sum) }), delta)?;
        }
        let shares = shares(&flush.percentiles);
        for timer in &flush.timers {
            if let Some(values) = Distribution::of(&timer.samples) {
                part.add(&timer.name, "summary", summary(&values, &shares), json!({}))?;
            }
        }
        for (name, value) in &flush.gauges {
            part.add(name, "gauge", json!({ "asDouble": double(*value) }), json!({}))?;
        }
        for (name, members) in &flush.sets {
            let size = json!({ "asInt": members.len().to_string() });
            part.add(name, "gauge", size, json!({}))?;
        }
        part.end()?;
        let (_, now) = part.times;
        logs(&flush.notices, &now, each)
    }
}

fn summary(values: &Distribution<'_>, shares: &[f64]) -> Value {
    let quantiles = shares.iter();
    let quantiles =
        quantiles.map(|at| json!({ "quantile": at, "value": double(values.quantile(*at)) }));
    json!({
        "count": (values.count().round() as u64).to_string(),
        "sum": double(values.sum()),
        "quantileValues": quantiles.collect::<Vec<_>>(),
    })
}

/// A number as protobuf's JSON has it, which knows what JSON does not.
fn double(number: f64) -> Value {
    match number {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ if number.is_nan() => "NaN".into(),
        _ => number.into(),
    }
}

struct OtlpPart<'e> {
    metrics: Vec<Value>,
    each: PartSink<'e>,
    times: (String, String),
}

impl OtlpPart<'_> {
    fn add(
        &mut self,
        name: &SharedName,
        kind: &str,
        mut point: Value,
        mut data: Value,
    ) -> io::Result<()> {
        let (name, attributes) = attributes(name);
        point["attributes"] = attributes;
        point["startTimeUnixNano"] = json!(self.times.0);
        point["timeUnixNano"] = json!(self.times.1);
        data["dataPoints"] = json!([point]);
        self.metrics.push(json!({ "name": name, kind: data }));
        if self.metrics.len() == POINTS_AT_ONCE { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.metrics.is_empty() {
            return Ok(());
        }
        let metrics = std::mem::take(&mut self.metrics);
        let scope = json!({ "scope": scope(), "metrics": metrics });
        let resource = json!({ "resource": resource(), "scopeMetrics": [scope] });
        (self.each)(&request(METRICS, &json!({ "resourceMetrics": [resource] }))?)
    }
}

/// Records are few, and each may be long: collectors take some MB at once.
fn logs(notices: &[Notice<'_>], now: &str, each: PartSink<'_>) -> io::Result<()> {
    let mut records = Vec::new();
    let mut bytes = 0;
    for (at, notice) in notices.iter().enumerate() {
        let record = record(notice, now);
        bytes += record.to_string().len();
        records.push(record);
        if bytes >= LOG_BYTES || at + 1 == notices.len() {
            let records = std::mem::take(&mut records);
            let scope = json!({ "scope": scope(), "logRecords": records });
            let resource = json!({ "resource": resource(), "scopeLogs": [scope] });
            each(&request(LOGS, &json!({ "resourceLogs": [resource] }))?)?;
            bytes = 0;
        }
    }
    Ok(())
}

fn record(notice: &Notice<'_>, now: &str) -> Value {
    // What 64 bits of nanoseconds do not hold is no time.
    let ns = |seconds: u64| seconds.checked_mul(1_000_000_000);
    let time = |time: Option<u64>| {
        time.and_then(ns).map_or_else(|| now.to_owned(), |time| time.to_string())
    };
    let mut pairs: Vec<(&str, Cow<'_, str>)> = Vec::new();
    let (time, severity, body, tags) = match notice {
        Notice::Event(event) => {
            pairs.extend([
                ("event.title", Cow::Borrowed(&*event.title)),
                ("host.name", Cow::Borrowed(&*event.host)),
                ("event.aggregation_key", Cow::Borrowed(&*event.aggregation_key)),
                ("event.priority", Cow::Borrowed(&*event.priority)),
                ("event.source", Cow::Borrowed(&*event.source)),
            ]);
            let alert = if event.alert.is_empty() { "info" } else { &event.alert };
            (time(event.time), alert.to_uppercase(), &event.text, &event.tags)
        }
        Notice::Check(check) => {
            pairs.extend([
                ("check.name", Cow::Borrowed(&*check.name)),
                ("host.name", Cow::Borrowed(&*check.host)),
            ]);
            let status = ["OK", "WARNING", "CRITICAL", "UNKNOWN"][usize::from(check.status & 3)];
            (time(check.time), status.to_owned(), &check.message, &check.tags)
        }
    };
    pairs.retain(|(_, value)| !value.is_empty());
    let tags = tags.split(',').filter(|tag| !tag.is_empty());
    let tags = tags.map(|tag| tag.split_once(':').unwrap_or((tag, "true")));
    tags.for_each(|(tag, value)| tags::add(&mut pairs, tag, value));
    json!({
        "timeUnixNano": time,
        "severityText": severity,
        "body": { "stringValue": body },
        "attributes": pairs.into_iter().map(attribute).collect::<Vec<_>>(),
    })
}

fn request(to: u8, document: &Value) -> io::Result<Vec<u8>> {
    let mut bytes = vec![to];
    serde_json::to_writer(&mut bytes, document)?;
    Ok(bytes)
}

fn scope() -> Value {
    json!({ "name": "tidegate", "version": env!("CARGO_PKG_VERSION") })
}

/// Without a name of its own a service is `unknown_service` to everybody.
fn resource() -> Value {
    json!({ "attributes": [attribute(("service.name", "tidegate".into()))] })
}

/// A name without its tags, and those.
fn attributes(name: &str) -> (&str, Value) {
    let (name, tags) = tags::merged(name, |tag| tag);
    (name, tags.into_iter().map(attribute).collect())
}

fn attribute((key, value): (&str, Cow<'_, str>)) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Posts requests to where they belong.
#[derive(Debug)]
pub(super) struct Export(Post);

impl Export {
    /// To the address without `/v1/metrics`.
    pub(super) fn new(web: &Web, timeout: Duration) -> Self {
        let url = web.url.trim_end_matches('/');
        let base = url.strip_suffix("/v1/metrics").unwrap_or(url).to_owned();
        let web = Web { url: base, headers: web.headers.clone() };
        Self(Post::new(&web, "application/json", timeout, may_try_again))
    }
}

impl Transport for Export {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        let answer = match part.split_first() {
            Some((&LOGS, body)) => self.0.post("/v1/logs", body)?,
            Some((_, body)) => self.0.post("/v1/metrics", body)?,
            None => return Ok(()),
        };
        refused(&answer)
            .map_or(Ok(()), |reason| Err(io::Error::new(io::ErrorKind::InvalidData, reason)))
    }

    fn confirms(&self) -> bool {
        true
    }
}

fn may_try_again(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// What a collector says that took only a part of it.
fn refused(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let partial = &answer["partialSuccess"];
    let counts = ["rejectedDataPoints", "rejectedLogRecords"].into_iter().filter_map(|key| {
        // Numbers of 64 bits are texts in protobuf's JSON.
        partial[key].as_u64().or_else(|| partial[key].as_str()?.parse().ok())
    });
    let count: u64 = counts.sum();
    let message = partial["errorMessage"].as_str().unwrap_or_default();
    (count > 0).then(|| format!("the collector refused {count} of what was sent: {message}"))
}

#[cfg(test)]
mod tests;
