//! Says what lines mean, what a flush would be and what a deletion would do, without a socket.
//!
//! Three questions, each answered by one JSON document: lines, tables to flush, names to delete.
//! Scripts ask with [`EvalRequest`], people with lines of text.
//! Invariant: it uses the readers, statistics and deletion of a running server. Lines are counted
//! in one table; sums and values that are given go straight to the flush. What a server counts of
//! itself is left out, so one input has one answer. Bad lines are part of the answer; only
//! `interval_s` and `histograms` are checked, and may be an error.
//! Scripts rely on the members of requests and answers, such as those that run statsd's own tests
//! (`crates/tidegate/tests/it/statsd_suite/shims`). A new member also goes into `--help`
//! (`crates/tidegate/src/cli.rs`) and docs/STATSD.md. Those of `flush` are made by
//! `backend/console.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::backend::{console, graphite};
use crate::config::HistogramConfig;
use crate::figures;
use crate::flavour::Flavour;
use crate::flush::{self, Flush, FlushedTimer};
use crate::line::{BadReason, GaugeChange, LineReader, Notice, SampleSink};
use crate::manage;
use crate::plan::{BackendPlan, Graphite, Plan};
use crate::samples::Samples;
use crate::statistics::TimerStatistics;
use crate::table::{Bounds, Gauges, Table, TableWriter};

/// A question; each is answered by one JSON document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvalRequest {
    /// What lines mean: see [`lines`].
    Lines(String),
    /// What tables become when they are flushed: `flush`, `graphite`.
    Flush(Tables),
    /// What `delcounters` and the like do to a table: `deleted` and `left` names, `answer`.
    Delete(Deletion),
}

/// What an interval has brought, with settings that go before those of the plan.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tables {
    /// Counters with their sums.
    pub counters: BTreeMap<String, f64>,
    /// Timers.
    pub timers: BTreeMap<String, TimerValues>,
    /// Seconds between flushes, above 0.
    pub interval_s: Option<f64>,
    /// Percentiles of timers; negative ones from above.
    pub percentiles: Option<Vec<f64>>,
    /// Statistics of timers that are wanted; all when empty.
    pub statistics: Option<Vec<String>>,
    /// Bins of timers.
    pub histograms: Option<Vec<HistogramConfig>>,
}

/// The values of a timer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimerValues {
    /// In any order.
    pub values: Vec<f64>,
    /// How many they stand for, by their sample rates; as many as they are when not said.
    pub count: Option<f64>,
}

/// Names of a table, and which of them are to go.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deletion {
    /// The table's names.
    pub names: Vec<String>,
    /// Names, or `folder.*`.
    pub patterns: Vec<String>,
}

/// Answers a question.
///
/// # Errors
/// In words, what of the question is out of range.
pub fn answer(plan: &Plan, request: EvalRequest) -> Result<Value, String> {
    match request {
        EvalRequest::Lines(text) => Ok(lines(plan, text.as_bytes())),
        EvalRequest::Flush(tables) => tables.flushed(plan),
        EvalRequest::Delete(deletion) => Ok(deletion.done(plan)),
    }
}

/// Returns what lines mean.
///
/// - `lines`: each line with its `samples` and the reasons why it is `bad`;
/// - `flush`: the flush of all of them;
/// - `graphite`: its names and numbers as they go to Graphite.
pub fn lines(plan: &Plan, text: &[u8]) -> Value {
    let bounds = Arc::new(Bounds::of(plan, None));
    let table = Mutex::new(Table::new(Arc::clone(&bounds)));
    let gauges = Mutex::new(Gauges::new(bounds));
    let mut reader = LineReader::new(plan.flavour);
    if !plan.cleans_keys {
        reader = reader.leaving_keys();
    }
    let mut reports = Vec::new();
    let mut locked = table.lock();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let mut report = LineReport::new(TableWriter::new(&mut locked, &gauges));
        if reader.read(line, &mut report).lines > 0 {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            reports.push(report.to_json(&String::from_utf8_lossy(line)));
        }
    }
    drop(locked);
    let tables = [Arc::new(table)];
    let keep = (&plan.keep, plan.timer_values_max);
    let flush = flush::collect(&tables, &gauges, keep, &TimerStatistics::by(plan, plan.interval));
    let mut all = shown(plan, flush);
    all.insert("flavour".to_owned(), plan.flavour.name().into());
    all.insert("lines".to_owned(), reports.into());
    all.into()
}

/// A flush as the console shows it, and as it goes to Graphite.
fn shown(plan: &Plan, flush: Flush) -> Map<String, Value> {
    let flush = Flush { interval: plan.interval, percentiles: plan.percentiles.clone(), ..flush };
    let settings = plan.backends.iter().find_map(|backend| match backend {
        BackendPlan::Graphite(settings) => Some(settings.clone()),
        _ => None,
    });
    let is_legacy = plan.flavour != Flavour::Native;
    let settings = settings.unwrap_or_else(|| Graphite { is_legacy, ..Graphite::default() });
    let names = graphite::GraphiteNames::new(&settings, plan);
    let series = names.series(&flush).into_iter();
    let series: Map<String, Value> =
        series.map(|(name, number)| (name, figures::json(number))).collect();
    let pairs = [("flush", console::shown(&flush)), ("graphite", series.into())];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Tables {
    fn flushed(self, plan: &Plan) -> Result<Value, String> {
        let mut plan = plan.clone();
        if let Some(interval_s) = self.interval_s {
            plan.interval = Duration::try_from_secs_f64(interval_s)
                .ok()
                .filter(|interval| !interval.is_zero())
                .ok_or("`interval_s`: write seconds above 0")?;
        }
        plan.percentiles = self.percentiles.unwrap_or(plan.percentiles);
        plan.statistics = self.statistics.unwrap_or(plan.statistics);
        if let Some(histograms) = self.histograms {
            let read: Option<Vec<_>> = histograms.iter().map(HistogramConfig::read).collect();
            plan.histograms = read.ok_or(format!("`histograms`: {}", HistogramConfig::HINT))?;
        }
        let statistics = TimerStatistics::by(&plan, plan.interval);
        let timers = self.timers.into_iter().map(|(name, values)| {
            let mut samples = values.samples();
            let shown = statistics.of(&name, &mut samples);
            FlushedTimer { name: name.into(), samples, statistics: shown }
        });
        let counters = self.counters.into_iter().map(|(name, sum)| (name.into(), sum));
        let flush =
            Flush { timers: timers.collect(), counters: counters.collect(), ..Flush::default() };
        Ok(shown(&plan, flush).into())
    }
}

impl TimerValues {
    /// Each stands for as many.
    fn samples(&self) -> Samples {
        let kept = self.values.len();
        let weight = self.count.map_or(1.0, |count| count / kept as f64);
        let mut samples = Samples::default();
        for value in &self.values {
            samples.add(*value, weight, kept);
        }
        samples
    }
}

impl Deletion {
    fn done(self, plan: &Plan) -> Value {
        let left = std::cell::RefCell::new(self.names);
        let deleted = std::cell::RefCell::new(Vec::new());
        let find = |pattern: &str| {
            let left = left.borrow();
            manage::matching(left.iter().map(String::as_str), pattern)
        };
        let remove = |name: &str| {
            left.borrow_mut().retain(|other| other != name);
            deleted.borrow_mut().push(name.to_owned());
        };
        let patterns: Vec<&str> = self.patterns.iter().map(String::as_str).collect();
        let answer = manage::deleted(plan.flavour, &patterns, find, remove);
        json!({ "answer": answer, "deleted": deleted.into_inner(), "left": left.into_inner() })
    }
}

/// Writes down what a line says on its way into a table.
struct LineReport<'t> {
    writer: TableWriter<'t>,
    samples: Vec<Value>,
    bad: Vec<&'static str>,
}

impl<'t> LineReport<'t> {
    fn new(writer: TableWriter<'t>) -> Self {
        Self { writer, samples: Vec::new(), bad: Vec::new() }
    }

    fn to_json(&self, line: &str) -> Value {
        let mut report = json!({ "line": line, "samples": self.samples });
        if !self.bad.is_empty() {
            report["bad"] = json!(self.bad);
        }
        report
    }

    fn push(&mut self, kind: &str, key: &[u8], more: Value) {
        let mut sample = json!({ "type": kind, "key": String::from_utf8_lossy(key) });
        if let (Value::Object(sample), Value::Object(more)) = (&mut sample, more) {
            sample.extend(more);
        }
        self.samples.push(sample);
    }
}

impl SampleSink for LineReport<'_> {
    fn counter(&mut self, key: &[u8], amount: f64) {
        self.push("counter", key, json!({ "value": figures::json(amount) }));
        self.writer.counter(key, amount);
    }

    fn timer(&mut self, key: &[u8], value: f64, weight: f64) {
        let (shown, stands_for) = (figures::json(value), figures::json(weight));
        self.push("timer", key, json!({ "value": shown, "stands_for": stands_for }));
        self.writer.timer(key, value, weight);
    }

    fn gauge(&mut self, key: &[u8], change: GaugeChange) {
        let (how, value) = match change {
            GaugeChange::Set(value) => ("set", value),
            GaugeChange::Add(value) => ("add", value),
            GaugeChange::AddUnlessZero(value) => ("add_unless_zero", value),
        };
        self.push("gauge", key, json!({ "change": how, "value": figures::json(value) }));
        self.writer.gauge(key, change);
    }

    fn set(&mut self, key: &[u8], member: &[u8]) {
        self.push("set", key, json!({ "member": String::from_utf8_lossy(member) }));
        self.writer.set(key, member);
    }

    fn notice(&mut self, notice: Notice<'_>) {
        self.samples.push(console::notice(&notice));
        self.writer.notice(notice);
    }

    fn key(&mut self, _: &[u8]) {}

    fn bad(&mut self, _: &[u8], reason: BadReason) {
        self.bad.push(reason.name());
    }
}

#[cfg(test)]
mod tests;
