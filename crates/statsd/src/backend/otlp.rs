//! OpenTelemetry's protocol over HTTP, as JSON (OTLP 1.x, "OTLP/HTTP", "JSON Protobuf Encoding").
//!
//! Counters are monotonic sums of the interval (delta), gauges gauges, sets gauges of their size,
//! timers summaries with the configured percentiles; events and checks are log records. Each part
//! is one request: its first byte says to which path.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::web::Post;
use super::{Carry, Each, Render, Status};
use crate::flush::{Flush, Timer};
use crate::line::Notice;
use crate::names::Name;
use crate::plan::{Plan, Web};

/// Data points of one request.
const POINTS_AT_ONCE: usize = 2_000;
const METRICS: u8 = b'm';
const LOGS: u8 = b'l';

/// Makes requests of flushes.
#[derive(Debug)]
pub struct Documents {
    percentiles: Vec<f64>,
}

impl Documents {
    /// With the plan's percentiles.
    pub fn new(plan: &Plan) -> Self {
        let percentiles = plan.percentiles.iter().copied();
        Self { percentiles: percentiles.filter(|percent| (0.0..100.0).contains(percent)).collect() }
    }

    fn summary(&self, timer: &Timer) -> Value {
        let of = |wanted: &str| {
            let found = timer.statistics.iter().find(|(name, _)| name == wanted);
            found.map_or(0.0, |(_, number)| *number)
        };
        let mut quantiles = vec![(0.0, of("lower")), (0.5, of("median")), (1.0, of("upper"))];
        for percent in &self.percentiles {
            let text = ryu_js::Buffer::new().format(*percent).replacen('.', "_", 1);
            quantiles.push((percent / 100.0, of(&format!("upper_{text}"))));
        }
        quantiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        let quantiles = quantiles.into_iter();
        let quantiles = quantiles.map(|(at, value)| json!({ "quantile": at, "value": value }));
        json!({
            "count": (of("count").round() as u64).to_string(),
            "sum": of("sum"),
            "quantileValues": quantiles.collect::<Vec<_>>(),
        })
    }
}

impl Render for Documents {
    fn parts(&self, flush: &Flush, _: &Status, each: Each<'_>) -> io::Result<()> {
        let end_ns = format!("{}000000000", flush.unix_s);
        let start_ns = (u128::from(flush.unix_s) * 1_000_000_000)
            .saturating_sub(flush.interval.as_nanos())
            .to_string();
        let mut part = Part { metrics: Vec::new(), each, times: (start_ns, end_ns) };
        for (name, sum) in &flush.counters {
            let delta = json!({ "aggregationTemporality": 1, "isMonotonic": true });
            part.add(name, "sum", json!({ "asDouble": sum }), delta)?;
        }
        for timer in flush.timers.iter().filter(|timer| !timer.samples.is_empty()) {
            part.add(&timer.name, "summary", self.summary(timer), json!({}))?;
        }
        for (name, value) in &flush.gauges {
            part.add(name, "gauge", json!({ "asDouble": value }), json!({}))?;
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

struct Part<'e> {
    metrics: Vec<Value>,
    each: Each<'e>,
    times: (String, String),
}

impl Part<'_> {
    fn add(
        &mut self,
        name: &Name,
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
        let scope = json!({ "scope": scope(), "metrics": std::mem::take(&mut self.metrics) });
        let document = json!({ "resourceMetrics": [{ "scopeMetrics": [scope] }] });
        (self.each)(&request(METRICS, &document)?)
    }
}

fn logs(notices: &[Notice<'_>], now: &str, each: Each<'_>) -> io::Result<()> {
    if notices.is_empty() {
        return Ok(());
    }
    let records: Vec<Value> = notices.iter().map(|notice| record(notice, now)).collect();
    let scope = json!({ "scope": scope(), "logRecords": records });
    each(&request(LOGS, &json!({ "resourceLogs": [{ "scopeLogs": [scope] }] }))?)
}

fn record(notice: &Notice<'_>, now: &str) -> Value {
    let time = |time: Option<u64>| {
        time.map_or_else(|| now.to_owned(), |seconds| format!("{seconds}000000000"))
    };
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    let (time, severity, body, tags) = match notice {
        Notice::Event(event) => {
            pairs.extend([
                ("event.title", &*event.title),
                ("host.name", &*event.host),
                ("event.aggregation_key", &*event.aggregation_key),
                ("event.priority", &*event.priority),
                ("event.source", &*event.source),
            ]);
            let alert = if event.alert.is_empty() { "info" } else { &event.alert };
            (time(event.time), alert.to_uppercase(), &event.text, &event.tags)
        }
        Notice::Check(check) => {
            pairs.extend([("check.name", &*check.name), ("host.name", &*check.host)]);
            let status = ["OK", "WARNING", "CRITICAL", "UNKNOWN"][usize::from(check.status & 3)];
            (time(check.time), status.to_owned(), &check.message, &check.tags)
        }
    };
    let tags = tags.split(',').filter(|tag| !tag.is_empty());
    pairs.extend(tags.map(|tag| tag.split_once(':').unwrap_or((tag, "true"))));
    pairs.retain(|(_, value)| !value.is_empty());
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

/// A name without its tags, and those.
fn attributes(name: &str) -> (&str, Value) {
    let mut parts = name.split(';');
    let name = parts.next().unwrap_or_default();
    let tags = parts.map(|tag| attribute(tag.split_once('=').unwrap_or((tag, "true"))));
    (name, tags.collect())
}

fn attribute((key, value): (&str, &str)) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Posts requests to where they belong.
#[derive(Debug)]
pub struct Export(Post);

impl Export {
    /// To the address without `/v1/metrics`.
    pub fn new(web: &Web, patience: Duration) -> Self {
        let url = web.url.trim_end_matches('/');
        let base = url.strip_suffix("/v1/metrics").unwrap_or(url).to_owned();
        Self(Post::new(
            &Web { url: base, headers: web.headers.clone() },
            "application/json",
            patience,
        ))
    }
}

impl Carry for Export {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        match part.split_first() {
            Some((&LOGS, body)) => self.0.post("/v1/logs", body),
            Some((_, body)) => self.0.post("/v1/metrics", body),
            None => Ok(()),
        }
    }
}
