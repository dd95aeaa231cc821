//! Reads spans in OTLP's JSON, as the collector's file exporter writes them.
//!
//! The root of a trace is a call. What its descendants add to the critical path are its steps, by
//! their names. From the end of a span backwards, the span waited for the child that ended last.
//! Time without a child is spent by the span itself. (Zhang and others, "CRISP: Critical Path
//! Analysis of Large-Scale Microservice Architectures", ATC 2022.) Attributes are those of the
//! root's resource, then its own, then its `name`; of two alike the first counts.
//! Invariant: a call's steps add up to at most its time. What the root spends itself is left over.
//! A span that comes twice, as exporters do on a retry, counts once, and a note says so.
//! Bound: spans deeper than 100 count for their ancestor there, and names beyond 64 for the step
//! `other`.
//! Failure: each span whose parent is not in the file counts as a failed call. A span that ends
//! before it begins is a bad row; so its children lack their parent. Spans that are each other's
//! ancestors have no root: a note says how many they are.
//!
//! Refuses: protobuf. The status of a span is not looked at.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde_json::Value;

use crate::error::LabError;

use super::rows::{CallRow, SeriesBuilder};

/// Spans below the root that are followed; deeper ones count for their ancestor at this depth.
const DEPTH_MAX: usize = 100;
/// Different steps; spans of further names are the step `other`.
const STEPS_MAX: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceExport {
    #[serde(default, alias = "resource_spans")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans {
    #[serde(default)]
    resource: Resource,
    #[serde(default, alias = "scope_spans", alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize, Default)]
struct Resource {
    #[serde(default)]
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<OtlpSpan>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OtlpSpan {
    #[serde(default)]
    trace_id: String,
    #[serde(default)]
    span_id: String,
    #[serde(default)]
    parent_span_id: String,
    #[serde(default)]
    name: String,
    start_time_unix_nano: Value,
    end_time_unix_nano: Value,
    #[serde(default)]
    attributes: Vec<KeyValue>,
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    #[serde(default)]
    value: Value,
}

/// A span with its place in time, in nanoseconds.
struct TimedSpan {
    span: OtlpSpan,
    start: u64,
    end: u64,
    resource: usize,
    line: u64,
    children: Vec<usize>,
}

/// Reads exports: one document, or one a line.
pub(super) fn read(bytes: &[u8], rows: &mut SeriesBuilder<'_>) -> Result<(), LabError> {
    let mut spans: Vec<TimedSpan> = Vec::new();
    let mut resources: Vec<Vec<KeyValue>> = Vec::new();
    match serde_json::from_slice::<TraceExport>(bytes) {
        Ok(export) => take(export, 1, &mut spans, &mut resources, rows)?,
        Err(_) => {
            for (line, number) in bytes.split(|byte| *byte == b'\n').zip(1..) {
                if line.trim_ascii().is_empty() {
                    continue;
                }
                match serde_json::from_slice::<TraceExport>(line) {
                    Ok(export) => take(export, number, &mut spans, &mut resources, rows)?,
                    Err(error) => {
                        rows.bad(number, "", "no export of spans", &format!("the line ({error})"))?;
                    }
                }
            }
        }
    }
    let repeated = once_each(&mut spans);
    if repeated > 0 {
        rows.note(format!("{repeated} spans came twice, as after a retry; each counts once"));
    }
    let roots = link(&mut spans, rows);
    let mut names: Vec<String> = Vec::new();
    for root in roots {
        push(&spans, root, &resources, &mut names, rows)?;
    }
    Ok(())
}

/// Leaves each span once; returns how many were repeated.
fn once_each(spans: &mut Vec<TimedSpan>) -> usize {
    let before = spans.len();
    let mut seen = HashSet::new();
    spans.retain(|placed| {
        let span = &placed.span;
        span.span_id.is_empty() || seen.insert((span.trace_id.clone(), span.span_id.clone()))
    });
    before - spans.len()
}

fn take(
    export: TraceExport,
    line: u64,
    spans: &mut Vec<TimedSpan>,
    resources: &mut Vec<Vec<KeyValue>>,
    rows: &mut SeriesBuilder<'_>,
) -> Result<(), LabError> {
    for resource_spans in export.resource_spans {
        resources.push(resource_spans.resource.attributes);
        let resource = resources.len() - 1;
        for span in resource_spans.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            let times = (nanos(&span.start_time_unix_nano), nanos(&span.end_time_unix_nano));
            match times {
                (Some(start), Some(end)) if start <= end => {
                    spans.push(TimedSpan {
                        span,
                        start,
                        end,
                        resource,
                        line,
                        children: Vec::new(),
                    });
                }
                (Some(_), Some(_)) => {
                    rows.bad(line, &span.name, "negative", "the duration of the span")?;
                }
                _ => rows.bad(line, &span.name, "not a number", "a time of the span")?,
            }
        }
    }
    Ok(())
}

/// Fills in children; returns the roots in the order of their beginnings.
fn link(spans: &mut [TimedSpan], rows: &mut SeriesBuilder<'_>) -> Vec<usize> {
    let key = |placed: &TimedSpan, id: &str| (placed.span.trace_id.clone(), id.to_owned());
    let known: HashMap<(String, String), usize> =
        spans.iter().enumerate().map(|(at, timed)| (key(timed, &timed.span.span_id), at)).collect();
    let (mut roots, mut orphans) = (Vec::new(), Vec::new());
    for at in 0..spans.len() {
        let parent = spans[at].span.parent_span_id.as_str();
        if parent.chars().all(|digit| digit == '0') {
            roots.push(at);
            continue;
        }
        match known.get(&key(&spans[at], parent)) {
            Some(parent) if *parent != at => spans[*parent].children.push(at),
            _ => {
                rows.failed("trace without its root");
                orphans.push(at);
            }
        }
    }
    let circular = spans.len() - with_descendants(spans, roots.iter().chain(&orphans).copied());
    if circular > 0 {
        let are = "are each other's ancestors, or below such: they belong to no call";
        rows.note(format!("{circular} spans {are}"));
    }
    roots.sort_by_key(|at| spans[*at].start);
    roots
}

/// How many spans these and their descendants are.
fn with_descendants(spans: &[TimedSpan], tops: impl Iterator<Item = usize>) -> usize {
    let mut open: Vec<usize> = tops.collect();
    let mut count = 0;
    while let Some(at) = open.pop() {
        count += 1;
        open.extend(&spans[at].children);
    }
    count
}

fn push(
    spans: &[TimedSpan],
    root: usize,
    resources: &[Vec<KeyValue>],
    names: &mut Vec<String>,
    rows: &mut SeriesBuilder<'_>,
) -> Result<(), LabError> {
    let placed = &spans[root];
    let mut path = CriticalPath { spans, spent: HashMap::new() };
    path.walk(root, (placed.start, placed.end), 0);
    let mut steps: Vec<(usize, f64)> = Vec::new();
    let mut spent: Vec<(usize, u64)> =
        path.spent.into_iter().filter(|(at, _)| *at != root).collect();
    spent.sort_unstable();
    for (at, nanos) in spent {
        steps.push((step(&spans[at].span.name, names), nanos as f64 / 1e6));
    }
    let attributes = resources[placed.resource].iter().chain(&placed.span.attributes);
    let mut texts: Vec<(&str, String)> = attributes
        .filter_map(|attribute| Some((attribute.key.as_str(), text(&attribute.value)?)))
        .collect();
    texts.push(("name", placed.span.name.clone()));
    let row = CallRow {
        total_ms: (placed.end - placed.start) as f64 / 1e6,
        began_ms: Some(placed.start as f64 / 1e6),
        phases: steps.iter().map(|(step, ms)| (names[*step].as_str(), *ms)).collect(),
        attributes: texts.iter().map(|(name, text)| (*name, text.as_str())).collect(),
    };
    rows.push(&row, placed.line)
}

/// What each span spends itself on the critical path of a trace, in nanoseconds.
struct CriticalPath<'s> {
    spans: &'s [TimedSpan],
    spent: HashMap<usize, u64>,
}

impl CriticalPath<'_> {
    /// Adds the time of a span and its descendants between two moments.
    fn walk(&mut self, at: usize, (start, end): (u64, u64), depth: usize) {
        let spans = self.spans;
        let mut reached = end;
        let mut last_first: Vec<usize> = spans[at].children.clone();
        last_first.sort_by_key(|child| std::cmp::Reverse((spans[*child].end, spans[*child].start)));
        for child in last_first.into_iter().take_while(|_| depth < DEPTH_MAX) {
            let from = spans[child].start.max(start);
            let to = spans[child].end.min(reached);
            if from >= to {
                continue;
            }
            *self.spent.entry(at).or_default() += reached - to;
            self.walk(child, (from, to), depth + 1);
            reached = from;
        }
        *self.spent.entry(at).or_default() += reached - start;
    }
}

fn step(name: &str, names: &mut Vec<String>) -> usize {
    let name = if name.is_empty() { "unnamed" } else { name };
    if let Some(place) = names.iter().position(|known| known == name) {
        return place;
    }
    let name = if names.len() < STEPS_MAX { name } else { "other" };
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// 64-bit numbers are texts in OTLP's JSON, but not every writer knows.
fn nanos(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64(),
        _ => None,
    }
}

fn text(value: &Value) -> Option<String> {
    let (_, inner) = value.as_object()?.iter().next()?;
    match inner {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
