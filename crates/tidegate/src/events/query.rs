//! Runs `tidegate events query`: reads what a rollup says, or any SQL, from its sink, and prints
//! it.
//!
//! A rollup in SQLite is read in place. From PostgreSQL, MariaDB or MySQL it is copied into a
//! SQLite file for the time of the query (`copy.rs`), since only SQLite merges sketches here.
//! `--sql` goes to the sink's engine as it is.
//! The formats table, JSON and CSV are written here. Scripts read JSON and CSV, so these stay; the
//! table may change.
//! Invariant: each engine is asked to refuse changes to the sink. But SQL for SQLite may still make
//! another file, by `VACUUM INTO`. The whole answer is in memory.
//! Never here: the SQL of a rollup, which `sinks` makes. Times are compared as text there, so
//! `time` here differs from that of `events/time.rs`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use pipeline::{Rollup, SinkPlan};
use serde_json::Value;
use sinks::{Query, QueryAnswer};
use stdx::Span;

use super::copy::{SinkCopy, delivered, sink_file};
use super::time::micros;
use crate::cli::{AnswerFormat, QueryArgs};
use crate::commands;
use crate::config::Plan;

/// Reads what is asked for and prints it.
pub(super) fn query(args: QueryArgs) -> Result<()> {
    let plan = commands::load(&args.config.config)?;
    let answer = match (&args.sql, &args.rollup) {
        (Some(sql), _) => ask_sql(&plan, args.sink.as_deref(), sql)?,
        (None, Some(name)) => ask(&plan, name, &args)?,
        (None, None) => bail!("name a rollup, or write `--sql`"),
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = match args.format {
        AnswerFormat::Table => table(&answer, &mut out),
        AnswerFormat::Json => json(&answer, &mut out),
        AnswerFormat::Csv => csv(&answer, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever reads has enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("print the answer"),
    }
}

fn ask(plan: &Plan, name: &str, args: &QueryArgs) -> Result<QueryAnswer> {
    let rollup = plan.events.rollups.iter().find(|rollup| rollup.rollup.table.name == name);
    let rollup = rollup.ok_or_else(|| {
        let known = plan.events.rollups.iter().map(|rollup| rollup.rollup.table.name.as_str());
        let known: Vec<&str> = known.collect();
        anyhow!("there is no rollup `{name}`; there is `{}`", known.join("`, `"))
    })?;
    let sink = plan.events.sinks.iter().find(|sink| sink.name == rollup.sink);
    let sink = sink.expect("the configuration was checked");
    let by = args.by.as_ref().map(|by| {
        let names = by.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    });
    let query = Query {
        by,
        filter: args.filter.clone(),
        since: args.since.as_deref().map(time).transpose()?,
        until: args.until.as_deref().map(time).transpose()?,
        quantiles: args.quantiles.clone(),
    };
    if let Some(file) = sink_file(plan, sink) {
        return answer(&delivered(file)?, &rollup.rollup, &query);
    }
    let tables: Vec<_> = rollup.rollup.tables().cloned().collect();
    let moment = |text: &Option<String>| text.as_deref().and_then(|text| micros(text).ok());
    let copy = SinkCopy::of(plan, sink, &tables, (moment(&query.since), moment(&query.until)))?;
    answer(&copy.file, &rollup.rollup, &query)
}

fn answer(file: &Path, rollup: &Rollup, query: &Query) -> Result<QueryAnswer> {
    let answer = sinks::ask(file, rollup, query);
    match &query.filter {
        Some(filter) => answer.with_context(|| format!("with `--where {filter}`")),
        None => Ok(answer?),
    }
}

/// Any query, in the SQL of the sink's engine.
fn ask_sql(plan: &Plan, sink: Option<&str>, sql: &str) -> Result<QueryAnswer> {
    let sink = readable(plan, sink)?;
    if let Some(file) = sink_file(plan, sink) {
        return Ok(sinks::ask_sql(&delivered(file)?, sql)?);
    }
    let mut answer = QueryAnswer { columns: Vec::new(), rows: Vec::new() };
    let cell = |cell: &Option<&[u8]>| match cell {
        Some(text) => Value::from(String::from_utf8_lossy(text)),
        None => Value::Null,
    };
    sinks::rows(&sink.url, &plan.root, sql, &mut |columns, cells| {
        if answer.columns.is_empty() {
            answer.columns = columns.to_vec();
        }
        answer.rows.push(cells.iter().map(cell).collect());
        ControlFlow::Continue(())
    })?;
    Ok(answer)
}

/// The sink of a name; the one there is that answers queries without a name.
fn readable<'p>(plan: &'p Plan, name: Option<&str>) -> Result<&'p SinkPlan> {
    let sinks: Vec<&SinkPlan> =
        plan.events.sinks.iter().filter(|sink| sinks::runs_queries(&sink.url)).collect();
    let names = || sinks.iter().map(|sink| sink.name.as_str()).collect::<Vec<_>>().join("`, `");
    match (name, sinks.as_slice()) {
        (_, []) => bail!("the configuration has no sink that answers queries"),
        (Some(name), _) => {
            sinks.iter().find(|sink| sink.name == name).copied().with_context(|| {
                format!("no sink `{name}` answers queries; there is `{}`", names())
            })
        }
        (None, [only]) => Ok(only),
        (None, _) => bail!("say which sink with `--sink`: `{}`", names()),
    }
}

/// A time, or how long ago it was, as the text that it has in the database.
fn time(text: &str) -> Result<String> {
    if let Ok(ago) = text.parse::<Span>() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut time = Vec::new();
        exchange::write_rfc3339(now.saturating_sub(ago.0).as_micros() as u64, &mut time);
        time.truncate("2026-11-21T09:48:00".len());
        return String::from_utf8(time).context("write a time");
    }
    let pattern = b"0000-00-00T00:00:00";
    let fits = text.len() >= 4
        && text.bytes().zip(pattern).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        });
    if !fits {
        bail!("`{text}` is no time; write one such as 2026-11-21T09:48, or 6h for that long ago");
    }
    Ok(text.to_owned())
}

fn table(answer: &QueryAnswer, out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> =
        answer.rows.iter().map(|row| row.iter().map(rounded).collect()).collect();
    let width = |at: usize, name: &str| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([name.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> =
        answer.columns.iter().enumerate().map(|(at, name)| width(at, name)).collect();
    let is_number =
        |at: usize| answer.rows.iter().all(|row| row[at].is_number() || row[at].is_null());
    let right: Vec<bool> = (0..widths.len()).map(is_number).collect();
    for row in std::iter::once(&answer.columns).chain(&rows) {
        let mut line = String::new();
        for (cell, (width, right)) in row.iter().zip(widths.iter().zip(&right)) {
            let space = " ".repeat(width - cell.chars().count());
            let cell = if *right { format!("{space}{cell}  ") } else { format!("{cell}{space}  ") };
            line += &cell;
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// An array with an object a row, one a line.
fn json(answer: &QueryAnswer, out: &mut impl Write) -> io::Result<()> {
    write!(out, "[")?;
    for (at, row) in answer.rows.iter().enumerate() {
        let pairs = answer.columns.iter().zip(row);
        let pairs: Vec<String> =
            pairs.map(|(name, value)| format!("{}: {value}", Value::from(name.as_str()))).collect();
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}\n  {{{}}}", pairs.join(", "))?;
    }
    writeln!(out, "\n]")
}

/// RFC 4180, but lines end with a line feed only.
fn csv(answer: &QueryAnswer, out: &mut impl Write) -> io::Result<()> {
    let quoted = |text: String| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    };
    let names = answer.columns.iter().cloned().map(quoted).collect::<Vec<_>>();
    writeln!(out, "{}", names.join(","))?;
    for row in &answer.rows {
        let cells: Vec<String> = row.iter().map(|value| quoted(shown(value, ""))).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

/// For people, real numbers have three decimals at most; programs get them whole.
fn rounded(value: &Value) -> String {
    match value.as_f64() {
        Some(real) if value.is_f64() && real.abs() < 1e15 => {
            let text = format!("{real:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => shown(value, "-"),
    }
}

fn shown(value: &Value, absent: &str) -> String {
    match value {
        Value::Null => absent.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
