//! Decides what the columns of a CSV are, by their names.
//!
//! - The whole call: one of `TOTALS`; one with a unit before one without, then in the order of the
//!   list.
//! - Its beginning: one of `BEGINNINGS`. Its end, where there is no beginning: one of `ENDS`.
//! - Unused: a further name of these two lists.
//! - A step: any other name with a unit of time at its end, but for rates (`…_per_s`).
//! - An attribute: every other name.
//!
//! A unit is `_ns`, `_us`, `_ms`, `_s`, `_m` or `_min`, written out, in brackets or as
//! `durationMs`. A whole call without one is in milliseconds; `request_time` (nginx) and
//! `time_total` (curl) are in seconds. A file of one column is the whole call whatever its name.
//! Invariant: every column is exactly one of these, and at most one is the whole call. Without one,
//! and without steps, there is an error that lists the names. No two columns have one name.
//! A new name takes a column from steps or attributes. The page docs/lab/report-inputs.md lists the
//! names. Names of logs are in `nginx.rs`.

use super::value::Unit;

/// Names of the whole call, the best first.
const TOTALS: [&str; 13] = [
    "total",
    "total_time",
    "elapsed",
    "latency",
    "duration",
    "response_time",
    "request_time",
    "time_total",
    "time_taken",
    "took",
    "rtt",
    "ms",
    "time_ms",
];
/// Those that tools write in seconds.
const IN_SECONDS: [&str; 2] = ["request_time", "time_total"];
const BEGINNINGS: [&str; 19] = [
    "began",
    "begin",
    "begun",
    "start",
    "started",
    "started_at",
    "start_at",
    "start_time",
    "starttime",
    "time",
    "timestamp",
    "time_stamp",
    "@timestamp",
    "ts",
    "date",
    "datetime",
    "at",
    "offset",
    "began_unix",
];
const ENDS: [&str; 7] = ["ended", "end", "end_time", "endtime", "finished", "stop", "completed"];

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// The whole call.
    Total(Unit),
    /// When it began; the unit where the name says one.
    Began(Option<Unit>),
    /// When it ended.
    Ended(Option<Unit>),
    /// A step, by its name.
    Phase(String, Unit),
    /// An attribute, by its name.
    Attribute(String),
    /// Nothing that is used: a moment beside a better one.
    Unused,
}

/// Returns what each column is, or why the names say too little.
pub(super) fn columns(header: &[String]) -> Result<Vec<Column>, String> {
    let names: Vec<(String, Option<Unit>)> = header.iter().map(|name| split(name)).collect();
    if let [(name, unit)] = &names[..] {
        return Ok(vec![Column::Total(unit.unwrap_or(usual(name)))]);
    }
    if let Some(name) = repeated(header) {
        return Err(format!("two columns are called `{name}`: rename the one that does not count"));
    }
    let total = best(&names, &TOTALS);
    let began = best(&names, &BEGINNINGS).filter(|at| Some(*at) != total);
    let ended = best(&names, &ENDS).filter(|_| began.is_none());
    let mut found = Vec::new();
    for (at, (name, unit)) in names.iter().enumerate() {
        found.push(match *unit {
            _ if Some(at) == total => Column::Total(unit.unwrap_or(usual(name))),
            unit if Some(at) == began => Column::Began(unit),
            unit if Some(at) == ended => Column::Ended(unit),
            _ if BEGINNINGS.contains(&name.as_str()) || ENDS.contains(&name.as_str()) => {
                Column::Unused
            }
            Some(unit) if !name.ends_with("per") => Column::Phase(name.clone(), unit),
            _ => Column::Attribute(header[at].trim().to_owned()),
        });
    }
    let is_time = |column: &Column| matches!(column, Column::Total(_) | Column::Phase(..));
    if found.iter().any(is_time) {
        return Ok(found);
    }
    let names: Vec<String> = header.iter().map(|name| format!("`{}`", name.trim())).collect();
    Err(format!(
        "no column holds a latency; they are {}; name it `latency_ms`, or the steps `NAME_ms`",
        names.join(", ")
    ))
}

/// A name that two columns have.
fn repeated(header: &[String]) -> Option<&str> {
    let mut names: Vec<&str> = header.iter().map(|name| name.trim()).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// The unit of a whole call whose name has none.
fn usual(name: &str) -> Unit {
    if IN_SECONDS.contains(&name) { Unit::SECONDS } else { Unit::MILLIS }
}

/// The column of the best name; among equals, one with a unit, then the first.
fn best(names: &[(String, Option<Unit>)], wanted: &[&str]) -> Option<usize> {
    let rank = |(at, (name, unit)): (usize, &(String, Option<Unit>))| {
        let place = wanted.iter().position(|wanted| wanted == name)?;
        Some((unit.is_none(), place, at))
    };
    names.iter().enumerate().filter_map(rank).min().map(|(.., at)| at)
}

/// A name without its unit, in lower case with underscores.
fn split(name: &str) -> (String, Option<Unit>) {
    let mut plain = String::new();
    let mut was_lower = false;
    for character in name.trim().trim_matches('"').chars() {
        if character.is_uppercase() && was_lower {
            plain.push('_');
        }
        was_lower = character.is_lowercase();
        match character {
            ' ' | '-' | '(' | '[' | '.' | '/' => plain.push('_'),
            ')' | ']' => {}
            _ => plain.extend(character.to_lowercase()),
        }
    }
    while plain.contains("__") {
        plain = plain.replace("__", "_");
    }
    if TOTALS.contains(&plain.as_str()) && !plain.ends_with("_ms") {
        return (plain, None);
    }
    match plain.rsplit_once('_') {
        Some((base, unit)) if !base.is_empty() && Unit::named(unit).is_some() => {
            (base.to_owned(), Unit::named(unit))
        }
        _ => (plain, None),
    }
}

#[cfg(test)]
mod tests;
