//! Reads from a SQLite sink: a rollup, single events, or the answer to any SQL text.
//!
//! The rows of a rollup are merged over nodes and keys. Each column is merged by its role: sum,
//! least, largest, last, mean, or sketch (`sqlite/functions.rs`). Sketches are matched with the
//! rollup's by position. The whole answer is kept in memory. [`copy`] makes a file of the whole
//! database.
//! Invariant: no text changes anything, because `sqlite/read_only.rs` opens the database.
//! `events query` prints the names of columns, `p50_X` among them, and scripts read them.
//! `BUCKETS`, `since` and `until` cut and compare times as text, in the forms of
//! `sqlite/dialect.rs`. A new bucket in `pipeline/src/rollup.rs` goes into `BUCKETS`, or counts as
//! shorter than all. The names `quantiles_X` come from `pipeline/src/plan.rs`.
//! Never here: other engines, whose rows are copied into a SQLite file and read from there.

use std::path::Path;

use pipeline::{Column, ColumnRole, Kind, Rollup, SketchOf};
use rusqlite::Error as Refusal;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::dialect::DIALECT;
use super::read_only;

/// Quantiles that are shown unless others are asked for.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// Buckets of time, how many characters of a time tell them apart, and what follows those.
const BUCKETS: [(&str, usize, &str); 4] = [
    ("second", 19, "Z"),
    ("minute", 16, ":00Z"),
    ("hour", 13, ":00:00Z"),
    ("day", 10, "T00:00:00Z"),
];

/// What is wanted of a rollup.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Columns of the key to group by, or a longer bucket than the key has; none: the whole key.
    pub by: Option<Vec<String>>,
    /// An SQL condition on columns of the key.
    pub filter: Option<String>,
    /// The earliest time, as its text or the start of that.
    pub since: Option<String>,
    /// The time after the latest, likewise.
    pub until: Option<String>,
    /// Quantiles to show, 0 to 1; where there is none: 0.5, 0.9 and 0.99.
    pub quantiles: Vec<f64>,
}

/// Rows as they were asked for. Blobs are shown in hexadecimal.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryAnswer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, one a column.
    pub rows: Vec<Vec<Value>>,
}

/// There is no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// SQLite refuses.
    #[error("query `{place}`: {}", without_sql(.reason))]
    Engine {
        /// The database.
        place: String,
        /// What SQLite says.
        reason: Refusal,
    },
    /// SQLite refuses the condition.
    #[error("{reason}; a condition on `{rollup}` names `{}`", .known.join("`, `"))]
    Condition {
        /// What SQLite says.
        reason: String,
        /// The rollup.
        rollup: String,
        /// Columns that a condition may name.
        known: Vec<String>,
    },
    /// The rollup is not grouped by this.
    #[error("no column `{column}` in the key of `{rollup}`; it has `{}`", .known.join("`, `"))]
    Column {
        /// What was asked for.
        column: String,
        /// The rollup.
        rollup: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Times can only be told apart where the key has one.
    #[error("`{rollup}` has no time in its key: `since` and `until` say nothing about it")]
    Timeless {
        /// The rollup.
        rollup: String,
    },
}

/// Reads `rollup` from the database `path`.
///
/// # Errors
/// When a column is not one of the key, the condition is wrong, or the database cannot be read.
pub fn ask(path: &Path, rollup: &Rollup, query: &Query) -> Result<QueryAnswer, QueryError> {
    if let (Some(filter), true) = (&query.filter, rollup.raw.is_empty()) {
        check_condition(path, rollup, filter)?;
    }
    let text = if rollup.raw.is_empty() {
        RollupSelect::new(rollup, query)?.select()
    } else {
        select_events(rollup, query)?
    };
    read(path, &text, &times(query)).map_err(|error| condition_error(error, rollup, query))
}

/// Refuses a condition on anything but the key. It is applied before rows are merged, and to
/// sketches too. There a measure is another number than the one that is shown, or is absent.
fn check_condition(path: &Path, rollup: &Rollup, filter: &str) -> Result<(), QueryError> {
    let table = &rollup.table;
    let keys = table.columns[..table.keys()].iter().map(|column| DIALECT.quoted(&column.name));
    let keys: Vec<String> = keys.collect();
    let (keys, name) = (keys.join(", "), DIALECT.quoted(&table.name));
    let text = format!("SELECT 1 FROM (SELECT {keys} FROM {name} LIMIT 0) WHERE ({filter})");
    let query = Query { filter: Some(filter.to_owned()), ..Query::default() };
    read(path, &text, &[]).map_err(|error| condition_error(error, rollup, &query))?;
    Ok(())
}

/// Blames the condition for what SQLite cannot read, if there is one.
fn condition_error(error: QueryError, rollup: &Rollup, query: &Query) -> QueryError {
    match error {
        QueryError::Engine { reason: Refusal::SqlInputError { msg, .. }, .. }
            if query.filter.is_some() =>
        {
            let keys = if rollup.raw.is_empty() { rollup.table.keys() } else { usize::MAX };
            let columns = rollup.table.columns.iter().take(keys);
            let known = columns.map(|column| column.name.clone()).collect();
            QueryError::Condition { reason: msg, rollup: rollup.table.name.clone(), known }
        }
        other => other,
    }
}

/// What SQLite says, without the whole text that it was given.
fn without_sql(reason: &Refusal) -> String {
    match reason {
        Refusal::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// Answers an SQL text; `tidegate_unique(blob)` and `tidegate_quantile(blob, q)` merge sketches.
///
/// # Errors
/// When the database or the text cannot be read, or the text wants to change something.
pub fn ask_sql(path: &Path, text: &str) -> Result<QueryAnswer, QueryError> {
    read(path, text, &[])
}

/// Copies the database `path`, as it is at one moment, into a file that is not there yet.
///
/// # Errors
/// When the database cannot be read, or the file is there or cannot be written.
pub fn copy(path: &Path, into: &Path) -> Result<(), QueryError> {
    let into = into.to_string_lossy();
    let database = read_only::connect(path);
    let copied = database.and_then(|database| database.execute("VACUUM INTO ?1", [into]));
    copied
        .map(drop)
        .map_err(|reason| QueryError::Engine { place: path.display().to_string(), reason })
}

fn read(path: &Path, text: &str, parameters: &[&str]) -> Result<QueryAnswer, QueryError> {
    read_rows(path, text, parameters)
        .map_err(|reason| QueryError::Engine { place: path.display().to_string(), reason })
}

fn read_rows(path: &Path, text: &str, parameters: &[&str]) -> rusqlite::Result<QueryAnswer> {
    let connection = read_only::open(path)?;
    let mut statement = connection.prepare(text)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = Vec::new();
    let mut found = statement.query(rusqlite::params_from_iter(parameters))?;
    while let Some(row) = found.next()? {
        let cells = (0..columns.len()).map(|at| Ok(shown(row.get_ref(at)?)));
        rows.push(cells.collect::<rusqlite::Result<_>>()?);
    }
    Ok(QueryAnswer { columns, rows })
}

fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
    }
}

/// The parameters of [`condition`].
fn times(query: &Query) -> Vec<&str> {
    // Without its `Z` a time sorts before all that start with it.
    query.since.iter().chain(&query.until).map(|time| time.trim_end_matches('Z')).collect()
}

fn condition(query: &Query, time: Option<&str>, rollup: &Rollup) -> Result<String, QueryError> {
    let mut all: Vec<String> = query.filter.iter().map(|filter| format!("({filter})")).collect();
    let mut bound = |wanted: &Option<String>, sign: &str, at: usize| {
        if wanted.is_none() {
            return Ok(());
        }
        let rollup = || rollup.table.name.clone();
        let time = time.ok_or_else(|| QueryError::Timeless { rollup: rollup() })?;
        all.push(format!("{} {sign} ?{at}", DIALECT.quoted(time)));
        Ok(())
    };
    bound(&query.since, ">=", 1)?;
    bound(&query.until, "<", 1 + usize::from(query.since.is_some()))?;
    if all.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(" WHERE {}", all.join(" AND ")))
}

fn select_events(rollup: &Rollup, query: &Query) -> Result<String, QueryError> {
    let table = &rollup.table;
    if let Some(column) = query.by.iter().flatten().next() {
        let (column, rollup) = (column.clone(), table.name.clone());
        return Err(QueryError::Column { column, rollup, known: Vec::new() });
    }
    let time = table.columns.iter().find(|column| column.kind == Kind::Time);
    let condition = condition(query, time.map(|column| column.name.as_str()), rollup)?;
    Ok(format!("SELECT * FROM {}{condition}", DIALECT.quoted(&table.name)))
}

/// The parts of the text that reads a rollup.
struct RollupSelect<'r> {
    rollup: &'r Rollup,
    /// Names of what is grouped by, and how each is computed.
    by: Vec<(String, String)>,
    condition: String,
    /// Names of quantiles, and what each is.
    quantiles: Vec<(String, f64)>,
}

impl<'r> RollupSelect<'r> {
    fn new(rollup: &'r Rollup, query: &Query) -> Result<Self, QueryError> {
        let keys = &rollup.table.columns[..rollup.table.keys()];
        let time = keys.iter().find(|column| column.kind == Kind::Time);
        let all = || keys.iter().map(|column| column.name.clone()).collect();
        let by = query.by.clone().unwrap_or_else(all);
        let by = by.into_iter().map(|name| match group(keys, time, &name) {
            Some(expression) => Ok((DIALECT.quoted(&name), expression)),
            None => {
                let rollup = rollup.table.name.clone();
                Err(QueryError::Column { column: name, rollup, known: all() })
            }
        });
        let by = by.collect::<Result<_, _>>()?;
        let condition = condition(query, time.map(|column| column.name.as_str()), rollup)?;
        let quantiles = match query.quantiles.as_slice() {
            [] => &QUANTILES,
            quantiles => quantiles,
        };
        let quantiles = quantiles.iter().map(|q| (quantile_name(*q), *q)).collect();
        Ok(Self { rollup, by, condition, quantiles })
    }

    fn select(&self) -> String {
        let rows = self.grouped(&self.rollup.table.name, self.measures());
        let order: Vec<String> = (1..=self.by.len()).map(|at| at.to_string()).collect();
        let order = match order.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", order.join(", ")),
        };
        let Some(sketch_table) = &self.rollup.sketch_table else {
            return format!("{rows}{order}");
        };
        let sketches = self.sketches(&sketch_table.columns[sketch_table.keys()..]);
        let names = sketches.iter().map(|(name, value)| match value.contains("_unique(") {
            // A group without any value has no row of sketches.
            true => format!(", COALESCE(sketched.{name}, 0) AS {name}"),
            false => format!(", sketched.{name}"),
        });
        let names: String = names.collect();
        let sketched = self.grouped(&sketch_table.name, sketches.clone());
        let same = self.by.iter().map(|(name, _)| format!("counted.{name} IS sketched.{name}"));
        let same: Vec<String> = std::iter::once("TRUE".to_owned()).chain(same).collect();
        let same = same.join(" AND ");
        format!(
            "SELECT counted.*{names} FROM ({rows}) AS counted \
             LEFT JOIN ({sketched}) AS sketched ON {same}{order}"
        )
    }

    fn grouped(&self, table: &str, values: Vec<(String, String)>) -> String {
        let columns = self.by.iter().chain(&values);
        let columns: Vec<String> = columns.map(|(name, is)| format!("{is} AS {name}")).collect();
        let by: Vec<&str> = self.by.iter().map(|(_, expression)| expression.as_str()).collect();
        let by = match by.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", by.join(", ")),
        };
        let (table, condition) = (DIALECT.quoted(table), &self.condition);
        format!("SELECT {} FROM {table}{condition}{by}", columns.join(", "))
    }

    fn measures(&self) -> Vec<(String, String)> {
        let columns = &self.rollup.table.columns;
        let quoted = |at: usize| DIALECT.quoted(&columns[at].name);
        let measure = |column: &Column| {
            let name = DIALECT.quoted(&column.name);
            let value = match column.role {
                ColumnRole::Sum => format!("SUM({name})"),
                ColumnRole::Min => format!("MIN({name})"),
                ColumnRole::Max => format!("MAX({name})"),
                ColumnRole::Last { time } => format!("tidegate_last({name}, {})", quoted(time)),
                ColumnRole::Mean { sum, count } => {
                    format!("SUM({}) * 1.0 / NULLIF(SUM({}), 0)", quoted(sum), quoted(count))
                }
                ColumnRole::Key | ColumnRole::Sketch | ColumnRole::Plain => return None,
            };
            Some((name, value))
        };
        columns.iter().filter_map(measure).collect()
    }

    fn sketches(&self, columns: &[Column]) -> Vec<(String, String)> {
        let mut sketches = Vec::new();
        for (column, sketch) in columns.iter().zip(&self.rollup.sketches) {
            let name = DIALECT.quoted(&column.name);
            match sketch {
                SketchOf::Unique(_) => {
                    sketches.push((name.clone(), format!("tidegate_unique({name})")));
                }
                SketchOf::Quantiles(_) => {
                    let field = column.name.trim_start_matches("quantiles_");
                    sketches.extend(self.quantiles.iter().map(|(prefix, q)| {
                        let shown = DIALECT.quoted(&format!("{prefix}_{field}"));
                        (shown, format!("tidegate_quantile({name}, {q})"))
                    }));
                }
            }
        }
        sketches
    }
}

/// The name of a quantile: `p95` for 0.95, `p99.9` for 0.999.
fn quantile_name(q: f64) -> String {
    // 0.999 * 100 is no whole tenth in binary.
    let percent = format!("{:.6}", q * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// How a column of the key, or a longer bucket of its time, is computed.
fn group(keys: &[Column], time: Option<&Column>, name: &str) -> Option<String> {
    if keys.iter().any(|column| column.name == name) {
        return Some(DIALECT.quoted(name));
    }
    let place = |name: &str| BUCKETS.iter().position(|(bucket, ..)| *bucket == name);
    let time = time?;
    let wanted = place(name)?;
    let (_, length, rest) = BUCKETS[wanted];
    let is_longer = place(&time.name).is_none_or(|known| known < wanted);
    let column = DIALECT.quoted(&time.name);
    is_longer.then(|| format!("substr({column}, 1, {length}) || '{rest}'"))
}

#[cfg(test)]
mod tests;
