//! Answers each command of the management port, as the flavour does.
//!
//! Dumps are JSON in every flavour, with a space behind `:` and `,`. `last` and `top` are ours in
//! every flavour, `delsets` only natively. `sets` is there natively and in Perl, `health` and
//! `config` not in Perl. `help` names all that the flavour answers, first those that the help of a
//! reference has, as it has them. Except in Perl, deletions also take `folder.*`. Timers and sets
//! that became sketches show sums or a number instead of values or members.
//! Invariant: an unknown command answers `ERROR`, and none but `quit` ends the connection. A dump
//! holds the lock of one table at a time. Each command first takes what the metrics of the process
//! have gained.
//! Scripts of operators read these answers; the benchmark reads `stats`
//! (`bench/src/peers/statsd.rs`), and README.md shows `last`. A new command also goes into `help`
//! and docs/STATSD.md. Native lines of `stats` come from `ServerState::status`.
//! Also here: `deleted` and `matching`, which `eval.rs` uses. Never here: connections
//! (`manage.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::figures;
use crate::flavour::Flavour;
use crate::members::Members;
use crate::names::{NameMap, name_bytes};
use crate::state::ServerState;
use crate::table::{CellCost, Table};

/// Names that `top` shows without a number.
const TOP: usize = 10;

/// The answer to a command; none ends the connection.
pub(super) fn answer(state: &ServerState, line: &str) -> Option<String> {
    let flavour = state.plan().flavour;
    let mut words = line.split_ascii_whitespace();
    let command = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    state.take_self_metrics();
    let is_perl = flavour == Flavour::Perl;
    Some(match command {
        "help" => help(flavour),
        "stats" => stats(state),
        "counters" => dump(counters(state)),
        "timers" => dump(timers(state)),
        "gauges" => dump(gauges(state)),
        "sets" if flavour != Flavour::Statsd => dump(sets(state)),
        "delcounters" => delete(state, &words, |table| &mut table.counters),
        "deltimers" => delete(state, &words, |table| &mut table.timers),
        "delsets" if flavour == Flavour::Native => delete(state, &words, |table| &mut table.sets),
        "delgauges" => delete_gauges(state, &words),
        "health" if !is_perl => health(state, words.first().copied()),
        "config" if !is_perl => config(state),
        "last" => last(state, words.first().copied()),
        "top" => top(state, words.first().and_then(|count| count.parse().ok()).unwrap_or(TOP)),
        "quit" => return None,
        _ => "ERROR\n".to_owned(),
    })
}

fn help(flavour: Flavour) -> String {
    let names = "Commands: stats, counters, timers, gauges, delcounters, deltimers, delgauges";
    let ours = "last [PART], top [N]";
    match flavour {
        Flavour::Statsd => format!("{names}, health, config, quit, {ours}\n\n"),
        Flavour::Perl => format!("{names}, quit, sets, {ours}\r\n\r\n"),
        Flavour::Native => format!("{names}, delsets, sets, {ours}, health, config, quit\n\n"),
    }
}

fn stats(state: &ServerState) -> String {
    let totals = state.tally.totals();
    let mut text = format!(
        "uptime: {}\nmessages.last_msg_seen: {}\nmessages.bad_lines_seen: {}\n",
        state.uptime().as_secs(),
        state.inputs.last_received.age().as_secs(),
        totals.bad.iter().sum::<u64>(),
    );
    for (name, status) in state.backends.statuses() {
        let exception = status.shown_exception(state.plan().flavour);
        let pairs = [
            ("last_flush", status.last_flush.age_s()),
            ("last_exception", exception.map_or_else(seconds_since_1970, |at| at.age_s())),
            ("flush_time", status.flush_time_ms),
            ("flush_length", status.flush_length),
        ];
        let count = if state.plan().flavour == Flavour::Perl { 2 } else { 4 };
        for (stat, number) in &pairs[..count] {
            let _ = writeln!(text, "{name}.{stat}: {number}");
        }
    }
    if state.plan().flavour == Flavour::Native {
        // What the references do not know of themselves.
        flatten("statsd", &state.status(), &mut text);
    }
    text + "END\n\n"
}

/// How long ago a backend failed that never did, in Perl: when Unix time began.
fn seconds_since_1970() -> u64 {
    stdx::unix_micros() / 1_000_000
}

/// A document as lines, its members' names between points; a list's items are called by the name,
/// address or prefix that comes first in them. Of one address there may be several sockets: then
/// their places in the list stand behind it.
fn flatten(path: &str, value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                flatten(&format!("{path}.{name}"), value, text);
            }
        }
        Value::Array(items) => {
            let names: Vec<Option<&str>> = items.iter().map(called).collect();
            for (at, item) in items.iter().enumerate() {
                let shown = match names[at] {
                    Some(name)
                        if names.iter().filter(|other| **other == Some(name)).count() > 1 =>
                    {
                        format!("{name}.{at}")
                    }
                    Some(name) => name.to_owned(),
                    None => at.to_string(),
                };
                flatten(&format!("{path}.{shown}"), item, text);
            }
        }
        value => drop(writeln!(text, "{path}: {}", plain(value))),
    }
}

fn called(item: &Value) -> Option<&str> {
    let mut keys = ["name", "address", "prefix"].into_iter();
    keys.find_map(|key| item[key].as_str().filter(|name| !name.is_empty()))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn dump(value: BTreeMap<String, Value>) -> String {
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut text, Spaced);
    serde::Serialize::serialize(&value, &mut writer).expect("names and numbers are JSON");
    String::from_utf8_lossy(&text).into_owned() + "\nEND\n\n"
}

/// A space behind `:` and `,`.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: std::io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> std::io::Result<()> {
        if is_first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: std::io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> std::io::Result<()> {
        if is_first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: std::io::Write + ?Sized>(
        &mut self,
        out: &mut W,
    ) -> std::io::Result<()> {
        out.write_all(b": ")
    }
}

fn counters(state: &ServerState) -> BTreeMap<String, Value> {
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for table in &state.tally.tables {
        table.lock().counters.iter().for_each(|(name, sum)| {
            *sums.entry(name.to_string()).or_default() += sum;
        });
    }
    sums.into_iter().map(|(name, sum)| (name, figures::json(sum))).collect()
}

fn timers(state: &ServerState) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for table in &state.tally.tables {
        table.lock().timers.iter().for_each(|(name, samples)| {
            let values = samples.values().iter().map(|value| figures::json(*value));
            let entry = all.entry(name.to_string()).or_default();
            entry.extend(values);
            entry.extend(samples.summary().map(|summary| {
                json!({
                    "count": figures::json(summary.weight),
                    "sum": figures::json(summary.sum),
                    "lower": figures::json(summary.lower),
                    "upper": figures::json(summary.upper),
                })
            }));
        });
    }
    all.into_iter().map(|(name, values)| (name, Value::Array(values))).collect()
}

fn gauges(state: &ServerState) -> BTreeMap<String, Value> {
    let gauges = state.tally.gauges.lock();
    gauges.names.iter().map(|(name, value)| (name.to_string(), figures::json(*value))).collect()
}

/// The members of each set; their number, where they have become a sketch.
fn sets(state: &ServerState) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Members> = BTreeMap::new();
    for table in &state.tally.tables {
        table.lock().sets.iter().for_each(|(name, members)| {
            all.entry(name.to_string()).or_default().merge(members.clone());
        });
    }
    let shown = |members: Members| {
        let exact = members.iter().map(|member| String::from_utf8_lossy(member).into_owned());
        let exact: BTreeSet<String> = exact.collect();
        if members.sketch().is_some() { json!(members.len()) } else { json!(exact) }
    };
    all.into_iter().map(|(name, members)| (name, shown(members))).collect()
}

fn delete<C: CellCost>(
    state: &ServerState,
    words: &[&str],
    of: fn(&mut Table) -> &mut NameMap<C>,
) -> String {
    let find = |pattern: &str| {
        let mut found: Vec<String> = Vec::new();
        for table in &state.tally.tables {
            found.extend(matching(names_of(of(&mut table.lock())), pattern));
        }
        found.sort();
        found.dedup();
        found
    };
    let remove = |name: &str| {
        for table in &state.tally.tables {
            table.lock().remove(of, name);
        }
    };
    deleted(state.plan().flavour, words, find, remove)
}

fn delete_gauges(state: &ServerState, words: &[&str]) -> String {
    let find = |pattern: &str| matching(names_of(&state.tally.gauges.lock().names), pattern);
    let remove = |name: &str| {
        state.tally.gauges.lock().remove(name);
    };
    deleted(state.plan().flavour, words, find, remove)
}

/// Deletes what each word names; `find` says which names it means.
pub(crate) fn deleted(
    flavour: Flavour,
    words: &[&str],
    find: impl Fn(&str) -> Vec<String>,
    remove: impl Fn(&str),
) -> String {
    let mut text = String::new();
    for word in words {
        if flavour == Flavour::Perl {
            remove(word);
            let _ = writeln!(text, "deleted: {word}");
            continue;
        }
        let found = find(word);
        if found.is_empty() {
            let _ = writeln!(text, "metric {word} not found");
        }
        for name in found {
            remove(&name);
            let _ = writeln!(text, "deleted: {name}");
        }
    }
    text + if flavour == Flavour::Perl { "\nEND\n\n" } else { "END\n\n" }
}

/// Returns the names that a pattern means: itself, or with `.*` at its end all that begin with it.
pub(crate) fn matching<'n>(names: impl Iterator<Item = &'n str>, pattern: &str) -> Vec<String> {
    let stem = pattern.strip_suffix('*').filter(|stem| stem.ends_with('.'));
    let fits = |name: &str| name == pattern || stem.is_some_and(|stem| name.starts_with(stem));
    names.filter(|name| fits(name)).map(str::to_owned).collect()
}

fn names_of<C>(names: &NameMap<C>) -> impl Iterator<Item = &str> {
    names.iter().map(|(name, _)| &**name)
}

fn health(state: &ServerState, wanted: Option<&str>) -> String {
    match wanted.map(str::to_ascii_lowercase).as_deref() {
        Some("up") => state.set_healthy(true),
        Some("down") => state.set_healthy(false),
        _ => {}
    }
    let is_up = state.is_healthy();
    format!("health: {}\n", if is_up { "up" } else { "down" })
}

/// Settings as they were written, one level deep.
fn config(state: &ServerState) -> String {
    let plan = state.plan();
    let mut text = String::from("\n");
    for (key, value) in &plan.settings {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                let _ = writeln!(text, "{key} > {name}: {}", plain(value));
            }),
            Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| {
                let _ = writeln!(text, "{key} > {at}: {}", plain(value));
            }),
            value => drop(writeln!(text, "{key}: {}", plain(value))),
        }
    }
    text
}

/// The last flush, or the names of it that have this part: a line each, with its figures.
fn last(state: &ServerState, part: Option<&str>) -> String {
    let Some(flush) = state.last_flush() else {
        return "none: nothing was flushed, or too many names to be kept\nEND\n\n".to_owned();
    };
    let mut lines = Vec::new();
    let mut note =
        |name: &str, kind, figures: &str| lines.push(format!("{name}  {kind} {figures}"));
    for (name, sum) in &flush.counters {
        note(name, "counter", &format!("sum={} rate={}", shown(*sum), shown(flush.rate(*sum))));
    }
    for timer in &flush.timers {
        let figures =
            timer.statistics.iter().map(|(what, number)| format!("{what}={}", shown(*number)));
        note(&timer.name, "timer", &figures.collect::<Vec<_>>().join(" "));
    }
    flush.gauges.iter().for_each(|(name, value)| note(name, "gauge", &shown(*value)));
    for (name, members) in &flush.sets {
        note(name, "set", &format!("count={}", members.len()));
    }
    lines.retain(|line| part.is_none_or(|part| line.contains(part)));
    lines.sort();
    lines.iter().fold(String::new(), |text, line| text + line + "\n") + "END\n\n"
}

/// A number that is read by people.
fn shown(number: f64) -> String {
    let mut text = Vec::new();
    figures::javascript((number * 1e6).round() / 1e6, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A name with its kind, its samples and its bytes.
type Row<'k> = ((String, &'k str), (u64, usize));

/// The names that came most often since the last flush, and those that take most memory.
fn top(state: &ServerState, count: usize) -> String {
    let mut all: BTreeMap<(String, &str), (u64, usize)> = BTreeMap::new();
    let mut note = |kind, name: &str, touched: u32, bytes: usize| {
        let entry = all.entry((name.to_owned(), kind)).or_default();
        *entry = (entry.0 + u64::from(touched), entry.1 + bytes + name_bytes(name));
    };
    for table in &state.tally.tables {
        let table = table.lock();
        table.counters.touched().for_each(|(n, times, _)| note("counter", n, times, 8));
        table.timers.touched().for_each(|(n, times, samples)| {
            note("timer", n, times, size_of_val(samples) + samples.values_kept() * 8);
        });
        table.sets.touched().for_each(|(n, times, members)| {
            note("set", n, times, size_of_val(members) + members.heap_bytes());
        });
    }
    state.tally.gauges.lock().names.touched().for_each(|(n, times, _)| note("gauge", n, times, 8));
    let mut rows: Vec<Row<'_>> = all.into_iter().collect();
    let mut text = String::new();
    let mut show = |what: &str, rows: &[Row<'_>]| {
        let _ = writeln!(text, "by {what}:");
        for ((name, kind), (samples, bytes)) in rows.iter().take(count) {
            let _ = writeln!(text, "{samples:>10} samples {bytes:>10} bytes  {kind:<7} {name}");
        }
    };
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.0));
    show("samples since the last flush", &rows);
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.1));
    show("bytes", &rows);
    text + "END\n\n"
}

#[cfg(test)]
mod tests;
