//! Runs `tidegate events query`: reads what a rollup says, or any SQL, from its sink, and prints
//! it.
//!
//! A rollup in SQLite is read in place. From PostgreSQL, MariaDB or MySQL it is copied into a
//! SQLite file for the time of the query (`copy.rs`), since only SQLite merges sketches here.
//! `--sql` goes to the sink's engine as it is.
//! JSON and CSV are written here, the table by `sheet`. Scripts read JSON and CSV, so these stay;
//! the table may change.
//! Invariant: each engine is asked to refuse changes to the sink. But SQL for SQLite may still make
//! another file, by `VACUUM INTO`. The whole answer is in memory.
//! Never here: the SQL of a rollup, which `sinks` makes. Times are compared as text there, so
//! `time` here differs from that of `events/time.rs`.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use pipeline::{Kind, Rollup, RollupPlan, SinkError, SinkPlan, SketchOf};
use serde_json::Value;
use sinks::{Query, QueryAnswer, ReadBackError, RowsError};
use stdx::Span;

use super::copy::{SinkCopy, delivered, sink_file};
use super::time::micros;
use crate::cli::{AnswerFormat, QueryArgs};
use crate::commands;
use crate::config::Plan;
use crate::hint::Hint;
use crate::output;

mod sheet;

/// What to do where the engine of a sink does not answer.
const NOT_THERE: Hint = Hint(
    "the engine must run, and `url` of its [[sink]] must have its address, user and password; \
     `tidegate events status` says what the record process makes of it",
);
/// What to do where nothing is there to count different values of.
const NO_USER: &str = "Tidegate's own journal has a user on routes with \
    `personalise = { user = \"cookie:NAME\" }`, a web server's log where readers log in";

/// Reads what is asked for and prints it.
pub(super) fn query(args: QueryArgs) -> Result<()> {
    let plan = commands::load(&args.config.config)?;
    let rollup = args.rollup.as_deref().map(|name| named(&plan, name)).transpose()?;
    let answer = match (&args.sql, rollup) {
        (Some(sql), _) => ask_sql(&plan, args.sink.as_deref(), sql)?,
        (None, Some(rollup)) => ask(&plan, rollup, &args)?,
        (None, None) => bail!("name a rollup, or write `--sql`"),
    };
    let rollup = rollup.map(|rollup| &*rollup.rollup);
    let mut text = Vec::new();
    match args.format {
        AnswerFormat::Table => text = sheet::drawn(&answer, rollup, &output::whole_style()).into(),
        AnswerFormat::Json => json(&answer, &mut text)?,
        AnswerFormat::Csv => csv(&answer, &mut text)?,
    }
    output::print(&String::from_utf8_lossy(&text))?;
    for note in rollup.map(|rollup| notes(&answer, rollup)).unwrap_or_default() {
        crate::output::tell!("note: {}", output::cleaned(&note));
    }
    Ok(())
}

/// The rollup of a name.
fn named<'p>(plan: &'p Plan, name: &str) -> Result<&'p RollupPlan> {
    let rollups = &plan.events.rollups;
    if let Some(found) = rollups.iter().find(|rollup| rollup.rollup.table.name == name) {
        return Ok(found);
    }
    let known: Vec<&str> = rollups.iter().map(|rollup| rollup.rollup.table.name.as_str()).collect();
    let known = match (exchange::nearest_name(name, &known), known.as_slice()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => "the configuration has no [[rollup]]".to_owned(),
        (None, known) => format!("there is `{}`", known.join("`, `")),
    };
    bail!("there is no rollup `{name}`; {known}")
}

/// What an answer does not say by itself: a count of different values that had nothing to count.
fn notes(answer: &QueryAnswer, rollup: &Rollup) -> Vec<String> {
    let uniques = rollup.sketches.iter().filter_map(|sketch| match sketch {
        SketchOf::Unique(field) => Some(field.to_string()),
        SketchOf::Quantiles(_) => None,
    });
    let has_nothing = |field: &String| {
        let name = format!("unique_{}", field.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let at = answer.columns.iter().position(|column| *column == name);
        at.is_some_and(|at| !answer.rows.is_empty() && answer.rows.iter().all(|row| row[at] == 0))
    };
    let note = |field: String| {
        let reason = if field == "user" { format!("; {NO_USER}") } else { String::new() };
        format!("none of the lines counted here has a `{field}`{reason}")
    };
    uniques.filter(has_nothing).map(note).collect()
}

fn ask(plan: &Plan, rollup: &RollupPlan, args: &QueryArgs) -> Result<QueryAnswer> {
    let sink = plan.events.sinks.iter().find(|sink| sink.name == rollup.sink);
    let sink = sink.expect("the configuration was checked");
    let query = Query {
        by: args.by.as_ref().map(|by| listed(by)),
        filter: args.filter.clone(),
        since: args.since.as_deref().map(time).transpose()?.map(|time| begun(time, rollup)),
        until: args.until.as_deref().map(time).transpose()?,
        quantiles: args.quantiles.clone(),
        order: args.order.clone(),
        columns: args.columns.as_deref().map(listed).unwrap_or_default(),
        limit: args.limit,
    };
    if let Some(file) = sink_file(plan, sink) {
        return answer(&delivered(file)?, &rollup.rollup, &query);
    }
    let tables: Vec<_> = rollup.rollup.tables().cloned().collect();
    let moment = |text: &Option<String>| text.as_deref().and_then(|text| micros(text).ok());
    let copy = SinkCopy::of(plan, sink, &tables, (moment(&query.since), moment(&query.until)));
    answer(&copy.map_err(hinted)?.file, &rollup.rollup, &query)
}

/// The beginning of the row that a time falls into, such as its minute, so that the row counts.
fn begun(mut time: String, rollup: &RollupPlan) -> String {
    let table = &rollup.rollup.table;
    let key = table.columns[..table.keys()].iter().find(|column| column.kind == Kind::Time);
    time.truncate(match key.map(|column| column.name.as_str()) {
        Some("day") => "2026-11-21".len(),
        Some("hour") => "2026-11-21T09".len(),
        Some("minute") => "2026-11-21T09:48".len(),
        _ => time.len(),
    });
    time
}

/// Names between commas.
fn listed(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Says what to do where an engine does not answer.
fn hinted(error: anyhow::Error) -> anyhow::Error {
    let rows = match error.downcast_ref::<ReadBackError>() {
        Some(ReadBackError::Rows(rows)) => Some(rows),
        _ => error.downcast_ref::<RowsError>(),
    };
    match rows {
        Some(RowsError::Sink(SinkError::Unreachable { .. })) => error.context(NOT_THERE),
        _ => error,
    }
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
    })
    .with_context(|| format!("ask sink `{}`", sink.name))
    .map_err(hinted)?;
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
        let cells: Vec<String> = row.iter().map(|value| quoted(shown(value))).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    Ok(())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
