//! Reads from a SQLite sink: a rollup, single events, or the answer to any SQL text.
//!
//! The rows of a rollup are merged over nodes and keys. Each column is merged by its role: sum,
//! least, largest, last, mean, or sketch (`sqlite/functions.rs`). Sketches are matched with the
//! rollup's by position. The whole answer is kept in memory. [`copy`] makes a file of the whole
//! database.
//! Invariant: no text changes anything, because `sqlite/read_only.rs` opens the database. A name in
//! double quotes is a column, never a text, or a column that is missing would be read as its name.
//! `events query` prints the names of columns, `p50_X` among them, and scripts read them.
//! `BUCKETS`, `since` and `until` cut and compare times as text, in the forms of
//! `sqlite/dialect.rs`. A new bucket in `pipeline/src/rollup.rs` goes into `BUCKETS`, or counts as
//! shorter than all. The names `quantiles_X` come from `pipeline/src/plan.rs`.
//! Never here: other engines, whose rows are copied into a SQLite file and read from there.

use std::path::Path;

use pipeline::{Column, ColumnRole, Kind, Rollup, SketchOf, Table};
use rusqlite::Error as Refusal;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::dialect::DIALECT;
use super::read_only;
use crate::readable::QUANTILES;

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
    /// Columns of the answer to sort by, and whether the largest comes first; then the key.
    pub order: Vec<(String, bool)>,
    /// The only columns to show, in this order; none: all.
    pub columns: Vec<String>,
    /// Rows to show at most.
    pub limit: Option<u64>,
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
    /// Single events are not grouped.
    #[error("`{rollup}` has a row for each line, which nothing groups by `{column}`")]
    Ungrouped {
        /// What was asked for.
        column: String,
        /// The rollup.
        rollup: String,
    },
    /// The rollup is not grouped by this.
    #[error("the key of `{rollup}` has no column `{column}`; {}", meant(.column, .known))]
    Column {
        /// What was asked for.
        column: String,
        /// The rollup.
        rollup: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The answer has no such column to show, or to sort by.
    #[error("the answer has no column `{column}`; {}", meant(.column, .known))]
    Shown {
        /// What was asked for.
        column: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The database lacks a table of the rollup.
    #[error("`{place}` has no table `{table}`: nothing was delivered to it yet")]
    Undelivered {
        /// The database.
        place: String,
        /// The table that it lacks.
        table: String,
    },
    /// The table lacks a column of the rollup.
    #[error("`{place}` has no column `{column}`: the rollup has changed since its last delivery")]
    Changed {
        /// The database.
        place: String,
        /// The column that it lacks.
        column: String,
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
    if let Some(filter) = &query.filter {
        check_condition(path, rollup, filter)?;
    }
    let (text, keys) = if rollup.raw.is_empty() {
        let select = RollupSelect::new(rollup, query)?;
        (select.select(), select.by.len())
    } else {
        (select_events(rollup, query)?, 0)
    };
    let failed = |reason| match rollup.raw.is_empty() {
        // The condition was checked.
        true => undelivered(refused(path, reason)),
        false => condition_error(refused(path, reason), rollup, query),
    };
    let connection = open_strict(path).map_err(failed)?;
    let statement = connection.prepare(&text).map_err(failed)?;
    let names: Vec<&str> = statement.column_names().collect();
    let text = arranged(&text, &names, keys, query)?;
    read_rows(&connection, &text, &times(query)).map_err(failed)
}

/// Opens a database where what stands in double quotes is a name.
fn open_strict(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let connection = read_only::open(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    Ok(connection)
}

/// Chooses columns and rows of an answer with these columns, the first of which are its key.
fn arranged(text: &str, names: &[&str], keys: usize, query: &Query) -> Result<String, QueryError> {
    let quoted = |name: &String| match names.contains(&name.as_str()) {
        true => Ok(DIALECT.quoted(name)),
        false => Err(QueryError::Shown {
            column: name.clone(),
            known: names.iter().map(|name| (*name).to_owned()).collect(),
        }),
    };
    let shown = query.columns.iter().map(quoted).collect::<Result<Vec<_>, _>>()?;
    let shown = if shown.is_empty() { "*".to_owned() } else { shown.join(", ") };
    let wanted = query.order.iter().map(|(name, is_descending)| {
        let direction = if *is_descending { " DESC" } else { "" };
        Ok(format!("{}{direction} NULLS LAST", quoted(name)?))
    });
    let mut order = wanted.collect::<Result<Vec<_>, QueryError>>()?;
    order.extend(names[..keys].iter().map(|name| DIALECT.quoted(name)));
    let order = match order.as_slice() {
        [] => String::new(),
        order => format!(" ORDER BY {}", order.join(", ")),
    };
    let limit = query.limit.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
    Ok(format!("SELECT {shown} FROM ({text}){order}{limit}"))
}

/// What was meant by a name, or all that there is.
fn meant(name: &str, known: &[String]) -> String {
    let all: Vec<&str> = known.iter().map(String::as_str).collect();
    match exchange::nearest_name(name, &all) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has `{}`", all.join("`, `")),
    }
}

/// Says what was not delivered yet, where SQLite misses a table or a column of our own text.
fn undelivered(error: QueryError) -> QueryError {
    let (place, text) = match &error {
        QueryError::Engine { place, reason: Refusal::SqlInputError { msg, .. } }
        | QueryError::Engine { place, reason: Refusal::SqliteFailure(_, Some(msg)) } => {
            (place.clone(), msg)
        }
        _ => return error,
    };
    // SQLite may ask whether a column was meant as text.
    let name = |text: &str| text.split(" - ").next().unwrap_or(text).trim_matches('"').to_owned();
    if let Some(table) = text.strip_prefix("no such table: ") {
        return QueryError::Undelivered { place, table: name(table) };
    }
    match text.strip_prefix("no such column: ") {
        Some(column) => QueryError::Changed { place, column: name(column) },
        None => error,
    }
}

/// Refuses a condition on anything but the key. It is applied before rows are merged, and to
/// sketches too. There a measure is another number than the one that is shown, or is absent.
///
/// It is tried on an empty table of the key alone, so no other table can be read. It must be whole
/// with and without parentheses, or it would end those that stand around it.
fn check_condition(path: &Path, rollup: &Rollup, filter: &str) -> Result<(), QueryError> {
    let table = &rollup.table;
    let of_key = if rollup.raw.is_empty() { table.keys() } else { table.columns.len() };
    let keys = table.columns[..of_key].iter().map(|column| DIALECT.quoted(&column.name));
    let keys: Vec<String> = keys.collect();
    let (keys, name) = (keys.join(", "), DIALECT.quoted(&table.name));
    let query = Query { filter: Some(filter.to_owned()), ..Query::default() };
    let found = empty_strict().and_then(|connection| {
        connection.execute_batch(&format!("CREATE TABLE {name} ({keys})"))?;
        for text in [format!("({filter})"), filter.to_owned()] {
            read_rows(&connection, &format!("SELECT 1 FROM {name} WHERE {text}"), &[])?;
        }
        Ok(())
    });
    let failed = |reason: Refusal| match without_sql(&reason).strip_prefix("no such table: ") {
        Some(other) => QueryError::Condition {
            reason: format!("`{other}` is another table"),
            rollup: table.name.clone(),
            known: table.columns[..of_key].iter().map(|column| column.name.clone()).collect(),
        },
        None => condition_error(refused(path, reason), rollup, &query),
    };
    found.map_err(failed)
}

/// A database of nobody's, in which unknown names are no texts.
fn empty_strict() -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open_in_memory()?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    Ok(connection)
}

/// Blames the condition for what SQLite cannot read, if there is one.
fn condition_error(error: QueryError, rollup: &Rollup, query: &Query) -> QueryError {
    match error {
        QueryError::Engine { reason: Refusal::SqlInputError { msg, .. }, .. }
            if query.filter.is_some() =>
        {
            let keys = if rollup.raw.is_empty() { rollup.table.keys() } else { usize::MAX };
            let columns = rollup.table.columns.iter().take(keys);
            let known: Vec<String> = columns.map(|column| column.name.clone()).collect();
            let reason = without_advice(&msg, &known, &rollup.table);
            QueryError::Condition { reason, rollup: rollup.table.name.clone(), known }
        }
        other => undelivered(other),
    }
}

/// Whether a name is one of what is counted, here or in the table of sketches.
fn is_measure(table: &Table, name: &str) -> bool {
    let of_sketches = ["unique_", "quantiles_", "p50_", "p90_", "p99_"];
    table.columns.iter().any(|column| column.name == name)
        || of_sketches.iter().any(|begin| name.starts_with(begin))
}

/// What SQLite says of a condition, in our own words where it is an unknown name.
fn without_advice(message: &str, known: &[String], table: &Table) -> String {
    let Some(rest) = message.strip_prefix("no such column: ") else { return message.to_owned() };
    let (name, advice) = rest.split_once(" - ").unwrap_or((rest, ""));
    let name = name.trim_matches('"');
    if !advice.is_empty() {
        return format!("no column `{name}`; write text in single quotes, as '{name}'");
    }
    let all: Vec<&str> = known.iter().map(String::as_str).collect();
    match exchange::nearest_name(name, &all) {
        Some(near) => format!("no column `{name}`, did you mean `{near}`?"),
        None if is_measure(table, name) => format!("no column `{name}`"),
        None => format!("no column `{name}`; text stands in single quotes: '{name}'"),
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
    let found = read_only::open(path).and_then(|connection| read_rows(&connection, text, &[]));
    found.map_err(|reason| refused(path, reason))
}

/// Copies the database `path`, as it is at one moment, into a file that is not there yet.
///
/// # Errors
/// When the database cannot be read, or the file is there or cannot be written.
pub fn copy(path: &Path, into: &Path) -> Result<(), QueryError> {
    let into = into.to_string_lossy();
    let database = read_only::connect(path);
    let copied = database.and_then(|database| database.execute("VACUUM INTO ?1", [into]));
    copied.map(drop).map_err(|reason| refused(path, reason))
}

fn refused(path: &Path, reason: Refusal) -> QueryError {
    QueryError::Engine { place: path.display().to_string(), reason }
}

fn read_rows(
    connection: &rusqlite::Connection,
    text: &str,
    parameters: &[&str],
) -> rusqlite::Result<QueryAnswer> {
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
        return Err(QueryError::Ungrouped { column, rollup });
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
            [] => QUANTILES.map(|(_, q)| q).to_vec(),
            quantiles => quantiles.to_vec(),
        };
        let quantiles = quantiles.into_iter().map(|q| (quantile_name(q), q)).collect();
        Ok(Self { rollup, by, condition, quantiles })
    }

    fn select(&self) -> String {
        let rows = self.grouped(&self.rollup.table.name, self.measures());
        let Some(sketch_table) = &self.rollup.sketch_table else { return rows };
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
             LEFT JOIN ({sketched}) AS sketched ON {same}"
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
