//! Checks a profile file: quick checks before it is used, a full one behind, and one of its data.
//!
//! Quick are format, keying and the number of rows against `rows_min` and the last good file. They
//! read no whole table, except to count the rows of another builder's file. That count stops after
//! 400 ms and is then left to the full check.
//! The full check reads every page and row, compares our builder's checksum, and returns the keys
//! as a filter. It ends early when a stop is asked. `bad_data` parses the data of every profile,
//! for `tidegate profiles check` (by `inspect.rs`).
//! Invariant: nothing here writes or decides what happens to a refused file. `file.rs` and
//! `rebuild.rs` call the checks; only `ProfileFile::open` checks the keying.
//! `SHRINK_ROWS_MIN` stands as 100 in the doc comments of `config.rs` and `options.rs`, and in
//! docs/operating/profiles.md.
//! Never here: whether the file is whole (`header.rs`), the layout (`schema.rs`), look-ups of
//! sample keys (`samples.rs`).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use generation::Stop;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use stdx::Chain;

use crate::error::ProfilesError;
use crate::filter::{KeyFilter, KeyHashes};
use crate::key_text::stored_text;
use crate::meta::{Checksum, FORMAT, Meta};
use crate::options::FileOptions;
use crate::profile::Profile;
use crate::schema::{Layout, Schema, is_set, quoted};

/// Longest time that counting the rows of a foreign file may take before it is put off.
pub(crate) const COUNT_TIME_MAX: Duration = Duration::from_millis(400);

/// Virtual machine steps of SQLite between two looks at the clock or the stop.
const STEPS_PER_LOOK: i32 = 10_000;

/// Rows that a check names.
const NAMED_MAX: usize = 10;

/// Below this many rows, losing most of them says nothing.
const SHRINK_ROWS_MIN: u64 = 100;

/// Refuses files of another format.
pub(crate) fn check_format(meta: &Meta, path: &Path) -> Result<(), ProfilesError> {
    if meta.format == FORMAT {
        return Ok(());
    }
    let reason = format!("format `{}`; this program reads `{FORMAT}`", meta.format);
    Err(ProfilesError::unfit(path, reason))
}

/// Refuses files whose users are keyed otherwise: nobody would be found in them.
pub(crate) fn check_keying(
    meta: &Meta,
    options: &FileOptions,
    path: &Path,
) -> Result<(), ProfilesError> {
    let users = options.user_key.mark();
    if meta.users == users {
        return Ok(());
    }
    let reason = format!(
        "its users are keyed `{}`, the configuration says `{users}`; build it again",
        meta.users
    );
    Err(ProfilesError::unfit(path, reason))
}

/// Returns the number of rows, as our builder wrote it or exact; none when counting takes longer
/// than `time_max`.
pub(crate) fn count_rows(
    connection: &mut Connection,
    layout: &Layout,
    meta: Option<&Meta>,
    time_max: Duration,
) -> rusqlite::Result<Option<u64>> {
    if let Some(meta) = meta {
        return Ok(Some(meta.rows));
    }
    let deadline = Instant::now() + time_max;
    connection.progress_handler(STEPS_PER_LOOK, Some(move || Instant::now() > deadline))?;
    // Not `count(*)`: SQLite answers that in one step, and looks at no clock before its end.
    let sql = format!("SELECT count(1) FROM {}", layout.table);
    let counted = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
    connection.progress_handler(0, None::<fn() -> bool>)?;
    match counted {
        Ok(rows) => Ok(Some(rows.cast_unsigned())),
        Err(error) if was_interrupted(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Refuses a file with too few rows, alone or compared with the last good one.
pub(crate) fn check_floor(
    rows: u64,
    last_rows: Option<u64>,
    options: &FileOptions,
    path: &Path,
) -> Result<(), ProfilesError> {
    if rows < options.rows_min {
        let reason = format!("{rows} rows, fewer than `rows_min` = {}", options.rows_min);
        return Err(ProfilesError::unfit(path, reason));
    }
    let Some(last) = last_rows.filter(|last| *last >= SHRINK_ROWS_MIN) else { return Ok(()) };
    check_shrink(rows, last, options, path)
}

/// Refuses a file that lost too many of the `last` rows.
pub(crate) fn check_shrink(
    rows: u64,
    last: u64,
    options: &FileOptions,
    path: &Path,
) -> Result<(), ProfilesError> {
    let shrink_max = options.shrink_max;
    if rows as f64 >= last as f64 * (1.0 - shrink_max) {
        return Ok(());
    }
    Err(ProfilesError::Shrunk { path: path.to_owned(), rows, last, shrink_max })
}

/// What the full check found.
pub(crate) struct Full {
    pub rows: u64,
    pub profiles: u64,
    pub filter: KeyFilter,
}

/// Reads every page and every row.
///
/// # Errors
/// When anything does not hold, or a stop was requested.
pub(crate) fn check_full(
    connection: &mut Connection,
    layout: &Layout,
    meta: Option<&Meta>,
    stop: &Stop,
    path: &Path,
) -> Result<Full, ProfilesError> {
    let asked = stop.clone();
    connection
        .progress_handler(STEPS_PER_LOOK, Some(move || asked.asked()))
        .map_err(ProfilesError::sqlite(path))?;
    // Not `quick_check`: it does not compare an index with its table, and look-ups go by the index.
    let verdict: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(ProfilesError::sqlite(path))?;
    if verdict != "ok" {
        return Err(ProfilesError::unfit(path, verdict));
    }
    let capacity = meta.map_or(0, |meta| meta.rows as usize);
    let (rows, keys, checksum) =
        scan(connection, layout, meta.is_some(), capacity).map_err(ProfilesError::sqlite(path))?;
    if let Some(meta) = meta.filter(|meta| meta.rows != rows || meta.checksum != checksum) {
        let reason = format!(
            "{rows} rows with checksum {checksum}; its builder wrote {} with {}",
            meta.rows, meta.checksum
        );
        return Err(ProfilesError::unfit(path, reason));
    }
    let profiles = keys.len() as u64;
    let filter = keys
        .into_filter()
        .ok_or_else(|| ProfilesError::unfit(path, "it has more than 2^32 rows"))?;
    Ok(Full { rows, profiles, filter })
}

/// What the data of rows is that say that there is a profile.
#[derive(Debug, Default)]
pub(crate) struct RowData {
    /// What is wrong with it. None if it is empty or a JSON object in each row.
    pub problem: Option<String>,
    /// The rows that have some.
    pub rows: u64,
    /// The rows of these with a number below `affinity`.
    pub rows_with_affinity: u64,
}

/// Reads the data of every row.
pub(crate) fn row_data(connection: &Connection, layout: &Layout) -> rusqlite::Result<RowData> {
    let Layout { table, key, flag, data, .. } = layout;
    let mut statement =
        connection.prepare(&format!("SELECT {key}, {flag}, {data} FROM {table}"))?;
    let mut found = statement.query([])?;
    let (mut bad, mut first) = (0_u64, None);
    let mut all = RowData::default();
    while let Some(row) = found.next()? {
        let profile = profile_in(row.get_ref(2)?).filter(|_| is_set(row.get_ref_unwrap(1)));
        let Some(profile) = profile else { continue };
        all.rows += 1;
        let reason = match profile {
            Ok(profile) => {
                all.rows_with_affinity += u64::from(profile.affinity().next().is_some());
                continue;
            }
            Err(reason) => reason,
        };
        bad += 1;
        if first.is_none() {
            let mut digits = [0; 20];
            let key = stored_text(row.get_ref(0)?, &mut digits).unwrap_or_default();
            first = Some((String::from_utf8_lossy(key).into_owned(), reason));
        }
    }
    all.problem = first.map(|(key, reason)| {
        let more = if bad > 1 { format!(" and {} more", bad - 1) } else { String::new() };
        format!("row `{key}`{more}: a model cannot read `data`: {reason}")
    });
    Ok(all)
}

/// Returns the names of numbers and texts that the first rows with data have.
pub(crate) fn names(
    connection: &Connection,
    layout: &Layout,
    rows_max: u64,
) -> rusqlite::Result<BTreeSet<String>> {
    let Layout { table, data, .. } = layout;
    let sql = format!("SELECT {data} FROM {table} WHERE length({data}) > 2 LIMIT {rows_max}");
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query([])?;
    let mut names = BTreeSet::new();
    while let Some(row) = found.next()? {
        let Some(Ok(profile)) = profile_in(row.get_ref(0)?) else { continue };
        names.extend(profile.features().map(|(name, _)| name.to_owned()));
        names.extend(profile.texts().map(|(name, _)| name.to_owned()));
    }
    Ok(names)
}

/// Returns what is wrong with keys that SQLite may have changed when they were written. None if the
/// column keeps texts as they are, or is declared for whole numbers, or holds no number.
///
/// A type such as `string` has numeric affinity (<https://sqlite.org/datatype3.html>, 3.1). It
/// keeps 007 as 7, 1e3 as 1000, and what is longer than 18 digits as a fraction.
pub(crate) fn changed_keys(
    connection: &Connection,
    layout: &Layout,
    schema: &Schema,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT name, type FROM pragma_table_info(?1)";
    let mut columns = connection.prepare(sql)?;
    let columns = columns.query_map([&schema.table], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let columns: Vec<(String, String)> = columns.collect::<rusqlite::Result<_>>()?;
    let is_key = |name: &str| quoted(name).eq_ignore_ascii_case(&layout.key);
    let declared = columns.into_iter().find(|(name, _)| is_key(name));
    let Some((name, declared)) = declared.filter(|(_, declared)| is_numeric(declared)) else {
        return Ok(None);
    };
    let (key, table) = (&layout.key, &layout.table);
    let numbers = format!("FROM {table} WHERE typeof({key}) IN ('integer', 'real')");
    let count: u64 = connection.query_row(&format!("SELECT count(*) {numbers}"), [], |row| {
        row.get::<_, i64>(0).map(i64::cast_unsigned)
    })?;
    if count == 0 {
        return Ok(None);
    }
    let sql = format!("SELECT CAST({key} AS text) {numbers} LIMIT {NAMED_MAX}");
    let mut named = connection.prepare(&sql)?;
    let named = named.query_map([], |row| row.get::<_, String>(0))?;
    let named = named.collect::<rusqlite::Result<Vec<_>>>()?.join("`, `");
    Ok(Some(format!(
        "column `{name}` is declared `{declared}`, which SQLite takes for numbers: ids such as 007 \
         or 1e3 were changed when they were written; rows with numbers: {count}, such as \
         `{named}`; declare it `text` and write them again"
    )))
}

/// Whether a declared type has numeric affinity.
fn is_numeric(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    let others = ["INT", "CHAR", "CLOB", "TEXT", "BLOB", "REAL", "FLOA", "DOUB"];
    !declared.is_empty() && !others.iter().any(|other| declared.contains(other))
}

/// The profile in a data column, or what keeps it from being one. None if it is empty.
fn profile_in(data: ValueRef<'_>) -> Option<Result<Profile, String>> {
    match data {
        ValueRef::Null | ValueRef::Text(b"") | ValueRef::Blob(b"") => None,
        ValueRef::Text(data) | ValueRef::Blob(data) => {
            Some(Profile::parse(data).map_err(|error| Chain(&error).to_string()))
        }
        ValueRef::Integer(_) | ValueRef::Real(_) => Some(Err("it is a number".to_owned())),
    }
}

/// Returns the number of rows, the keys that have a profile, and the checksum. Only files of our
/// builder have a checksum, over their rows in the order of the row numbers.
fn scan(
    connection: &Connection,
    layout: &Layout,
    ours: bool,
    capacity: usize,
) -> rusqlite::Result<(u64, KeyHashes, String)> {
    let (table, key, flag, data) = (&layout.table, &layout.key, &layout.flag, &layout.data);
    let sql = if ours {
        format!("SELECT {key}, {flag}, {data} FROM {table} ORDER BY rowid")
    } else {
        format!("SELECT {key}, {flag}, NULL FROM {table}")
    };
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query([])?;
    let mut keys = KeyHashes::with_capacity(capacity.min(1 << 27));
    let mut checksum = Checksum::new();
    let mut rows = 0;
    while let Some(row) = found.next()? {
        rows += 1;
        let mut digits = [0; 20];
        let Some(key) = stored_text(row.get_ref(0)?, &mut digits) else { continue };
        if ours {
            checksum.add(key, row.get_ref(2)?.as_bytes_or_null()?.unwrap_or_default());
        }
        if is_set(row.get_ref(1)?) {
            keys.push(key);
        }
    }
    Ok((rows, keys, checksum.hex()))
}

fn was_interrupted(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted)
}

#[cfg(test)]
mod tests;
