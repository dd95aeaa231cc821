//! Reads k6's measurements, as JSON (`--out json`) or CSV (`--out csv`).
//!
//! Each number of a request has a line, and those of one request follow each other. A row begins
//! with `http_req_duration`; the parts that follow are its steps, under k6's names.
//! The duration of k6 leaves out `http_req_blocked`, the time of the connection, of which
//! `connecting` and `tls_handshaking` are parts. Here the time of a call is duration and blocked
//! together, because its user waits for both. A note says so, and docs/lab/report-inputs.md, too.
//! Invariant: k6's own `expected_response` decides what failed; without it, a status from 1 to 399
//! is a success. Metrics of other names are passed over. A time in whole seconds places a call
//! nowhere, so it has none.
//! Failure: a line that does not parse is bad. k6's summary is refused by `summary.rs`.

use serde::Deserialize;
use std::collections::BTreeMap;

use super::super::rows::{CallRow, SeriesBuilder};
use super::super::value::{Moment, moment};
use super::lines::lines;
use crate::error::LabError;

const NOTE: &str = "the time of a call is k6's http_req_blocked and http_req_duration together";
/// The number that begins a request.
const DURATION: &str = "http_req_duration";

#[derive(Debug, Deserialize)]
struct K6Line {
    #[serde(rename = "type")]
    kind: String,
    metric: String,
    data: serde_json::Value,
}

#[derive(Debug, Deserialize)]
struct K6Point {
    time: String,
    value: f64,
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
}

/// The numbers of a request so far.
#[derive(Debug, Default)]
struct K6Request {
    line: u64,
    time: String,
    duration_ms: f64,
    parts: BTreeMap<String, f64>,
    tags: BTreeMap<String, String>,
}

/// Puts numbers together into requests.
#[derive(Debug, Default)]
struct K6Requests {
    open: Option<K6Request>,
}

/// Reads JSON.
pub(super) fn read_json(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    rows.note(NOTE.to_owned());
    let mut requests = K6Requests::default();
    for (number, line) in lines(bytes) {
        let bad = |rows: &mut SeriesBuilder<'_>, error: serde_json::Error| {
            rows.bad(number, "", "no line of k6", &error.to_string())
        };
        let line: K6Line = match serde_json::from_slice(line) {
            Ok(line) => line,
            Err(error) => {
                bad(rows, error)?;
                continue;
            }
        };
        if line.kind != "Point" || !line.metric.starts_with("http_req_") {
            continue;
        }
        match serde_json::from_value::<K6Point>(line.data) {
            Ok(point) => requests.take(number, &line.metric, point, rows)?,
            Err(error) => bad(rows, error)?,
        }
    }
    requests.close(rows)
}

/// Reads CSV.
pub(super) fn read_csv(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    rows.note(NOTE.to_owned());
    let mut reader = ::csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header: Vec<String> = match reader.headers() {
        Ok(header) => header.iter().map(str::to_owned).collect(),
        Err(error) => return Err(rows.no_file(error.to_string())),
    };
    let mut requests = K6Requests::default();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, ::csv::Position::line);
                rows.bad(line, "", "no line of k6", &error.to_string())?;
                continue;
            }
        };
        let line = record.position().map_or(0, ::csv::Position::line);
        let fields = header.iter().map(String::as_str).zip(record.iter());
        let mut fields: BTreeMap<&str, &str> = fields.collect();
        let metric = fields.remove("metric_name").unwrap_or("");
        if !metric.starts_with("http_req_") {
            continue;
        }
        let (time, value) = (fields.remove("timestamp"), fields.remove("metric_value"));
        let value = value.unwrap_or("");
        let Ok(number) = value.parse::<f64>() else {
            rows.bad(line, "metric_value", "not a number", &format!("`{value}`"))?;
            continue;
        };
        let tags = fields.into_iter().filter(|(_, text)| !text.is_empty());
        let tags = tags.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let time = time.unwrap_or("").to_owned();
        requests.take(line, metric, K6Point { time, value: number, tags: Some(tags) }, rows)?;
    }
    requests.close(rows)
}

impl K6Requests {
    fn take(
        &mut self,
        line: u64,
        metric: &str,
        point: K6Point,
        rows: &mut SeriesBuilder<'_>,
    ) -> Result<(), LabError> {
        if metric == DURATION {
            self.close(rows)?;
            self.open = Some(K6Request {
                line,
                time: point.time,
                duration_ms: point.value,
                parts: BTreeMap::new(),
                tags: point.tags.unwrap_or_default(),
            });
            return Ok(());
        }
        let part = metric.strip_prefix("http_req_").filter(|part| *part != "failed");
        if let (Some(part), Some(open)) = (part, &mut self.open) {
            open.parts.insert(part.to_owned(), point.value);
        }
        Ok(())
    }

    fn close(&mut self, rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
        match self.open.take() {
            Some(request) => request.push(rows),
            None => Ok(()),
        }
    }
}

impl K6Request {
    fn push(self, rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
        let tag =
            |name: &str| self.tags.get(name).map(String::as_str).filter(|tag| !tag.is_empty());
        let status = tag("status").unwrap_or("0");
        let code = status.parse::<u16>().unwrap_or(0);
        let is_expected = tag("expected_response").map(|tag| tag == "true");
        if !is_expected.unwrap_or((1..400).contains(&code)) {
            let status = format!("status {status}");
            let reason = if code > 0 { &status } else { tag("error").unwrap_or("no reply") };
            rows.failed(reason);
            return Ok(());
        }
        let part = |name: &str| self.parts.get(name).copied().unwrap_or(0.0);
        let blocked = part("blocked").max(part("connecting") + part("tls_handshaking"));
        let rest = blocked - part("connecting") - part("tls_handshaking");
        let phases = vec![
            ("blocked", rest),
            ("connecting", part("connecting")),
            ("tls_handshaking", part("tls_handshaking")),
            ("sending", part("sending")),
            ("waiting", part("waiting")),
            ("receiving", part("receiving")),
        ];
        let total_ms = self.duration_ms + blocked;
        // A request's numbers carry the time of its end; whole seconds place it nowhere.
        let is_fine = self.time.contains('.') || self.time.parse::<f64>().is_ok_and(|n| n > 1e11);
        let began_ms = match moment(&self.time, None).filter(|_| is_fine) {
            Some(Moment::Absolute(ended)) => Some(ended - total_ms),
            _ => None,
        };
        let names = ["status", "method", "url", "name", "scenario", "group", "proto"];
        let attributes = names.into_iter().filter_map(|name| Some((name, tag(name)?)));
        let attributes = attributes.collect();
        rows.push(&CallRow { total_ms, began_ms, phases, attributes }, self.line)
    }
}
