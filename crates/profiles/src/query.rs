//! Builds the profile file from rows that an engine gives: finds the columns, reads times, counts.
//!
//! A row stands for one read, or for all reads that a rollup counted under one key; both count
//! once. Rows without user or item, or whose item is not UTF-8, are passed over. A time that cannot
//! be read ends the build with an error. So does a first row without a column `user` or `item`.
//! Without `time`, or where it is NULL, a read is of now. Without a column `category` it has the
//! category of the items file; NULL there means none.
//! `unix_ms` must read every form in which `sinks::rows` hands a time over. Users write their
//! queries by these rules: they stand in docs/operating/profiles.md and, in short, at `query` in
//! `config.rs`.
//! Invariant: the file stays as it was if `run` fails or a row is wrong. Rows are counted one after
//! the other as they come; memory is as `Builder` says.
//! Refuses: to know an engine; the caller runs the query. Whether the build replaces the file is
//! decided in `rebuild.rs`.

use std::error::Error;
use std::ops::ControlFlow;

use crate::builder::{BuildSummary, Builder, UserRead};
use crate::config::Plan;
use crate::error::ProfilesError;
use crate::key::UserKey;
use crate::rebuild::{self, Categories, Items};

const NO_ROW: &str =
    "there is none; the file stays, and `tidegate profiles build --force` empties it";

/// Takes the names of the columns and the texts of a row; `None` is NULL.
pub type TakeRow<'t> = dyn FnMut(&[String], &[Option<&[u8]>]) -> ControlFlow<()> + 't;

/// Builds the file of `plan` from the rows that `run` hands over. Users of a sink come keyed by
/// `user_key`, as the journal has them; those of `database` come plain.
///
/// The columns are `user`, `item`, `time` and `category`. A time is UTC as RFC 3339, as `2026-11-21
/// 09:48:00`, as a date, or in seconds since the Unix epoch. A read without a time is of now. Where
/// there is no column `category`, a read has that of the items file. Rows without user or item, or
/// with empty ones, are passed over.
///
/// # Errors
/// When `run` fails, rows are no reads, or the items file cannot be read. When the file cannot be
/// written, or would have too few rows. It is then as it was.
pub fn rebuild_from_query<E: Error + Send + Sync + 'static>(
    plan: &Plan,
    user_key: &UserKey,
    run: impl FnOnce(&mut TakeRow<'_>) -> Result<(), E>,
) -> Result<BuildSummary, ProfilesError> {
    let categories = Items::read(plan)?.categories;
    let now_unix_ms = stdx::unix_micros() / 1_000;
    let options = plan.build_options(user_key.clone());
    let builder = Builder::new(&plan.file, options, now_unix_ms)?;
    let key = plan.database.as_ref().map_or(UserKey::Plain, |_| user_key.clone());
    let mut rows = QueryRows { builder, key, categories, now_unix_ms, columns: None };
    let mut wrong = None;
    let ran = run(&mut |names, cells| match rows.add(names, cells) {
        Ok(()) => ControlFlow::Continue(()),
        Err(reason) => {
            wrong = Some(reason);
            ControlFlow::Break(())
        }
    });
    if let Some(reason) = wrong {
        return Err(ProfilesError::Row { reason });
    }
    ran.map_err(|error| ProfilesError::Query { source: Box::new(error) })?;
    // Without a row nobody knows whether the columns are the right ones.
    if rows.columns.is_none() && plan.shrink_max < 1.0 && plan.file.exists() {
        return Err(ProfilesError::Row { reason: NO_ROW.to_owned() });
    }
    rebuild::finish(rows.builder, plan, user_key)
}

struct QueryRows {
    builder: Builder,
    /// How users become keys.
    key: UserKey,
    categories: Categories,
    now_unix_ms: u64,
    /// Known from the first row on.
    columns: Option<QueryColumns>,
}

/// Where in a row things are.
#[derive(Clone, Copy)]
struct QueryColumns {
    user: usize,
    item: usize,
    time: Option<usize>,
    category: Option<usize>,
}

impl QueryRows {
    fn add(&mut self, names: &[String], cells: &[Option<&[u8]>]) -> Result<(), String> {
        let columns = match self.columns {
            Some(columns) => columns,
            None => *self.columns.insert(QueryColumns::of(names)?),
        };
        let text = |at: usize| cells[at].and_then(|text| std::str::from_utf8(text).ok());
        let (Some(user), Some(item)) = (cells[columns.user], text(columns.item)) else {
            return Ok(());
        };
        // In a rollup's table what is absent is empty.
        if user.is_empty() || item.is_empty() {
            return Ok(());
        }
        let unix_ms = match columns.time.and_then(|at| cells[at]) {
            Some(time) => unix_ms(time).ok_or_else(|| no_time(time))?,
            None => self.now_unix_ms,
        };
        let category = match columns.category {
            Some(at) => text(at).unwrap_or(""),
            None => self.categories.get(item).map_or("", String::as_str),
        };
        let user = self.key.of(user);
        self.builder.add(UserRead { user: &user, item, category, unix_ms });
        Ok(())
    }
}

impl QueryColumns {
    fn of(names: &[String]) -> Result<Self, String> {
        let find = |name: &str| names.iter().position(|other| other.eq_ignore_ascii_case(name));
        let need = |name: &str| {
            let known = names.join("`, `");
            let lacks = || {
                format!(
                    "no column is called `{name}`, there are `{known}`; write `SELECT … AS {name}`"
                )
            };
            find(name).ok_or_else(lacks)
        };
        let (user, item) = (need("user")?, need("item")?);
        Ok(Self { user, item, time: find("time"), category: find("category") })
    }
}

fn no_time(text: &[u8]) -> String {
    format!(
        "`{}` in column `time` is no time; hint: RFC 3339, or seconds since the Unix epoch",
        text.escape_ascii()
    )
}

/// Reads a time as any of the engines writes it.
fn unix_ms(text: &[u8]) -> Option<u64> {
    if text.iter().all(u8::is_ascii_digit) {
        let seconds: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        return seconds.checked_mul(1_000);
    }
    // `extract(epoch from …)` has a fraction; a time has a dash.
    if text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
        let seconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        return Some((seconds * 1e3) as u64);
    }
    let mut time = text.to_vec();
    for zone in [&b"Z"[..], b"+00", b"+00:00"] {
        // A date ends in a dash and two digits, and never in a plus.
        if let Some(rest) = time.strip_suffix(zone) {
            time.truncate(rest.len());
        }
    }
    match time.get_mut(10) {
        None => time.extend_from_slice(b"T00:00:00"),
        Some(between) => *between = b'T',
    }
    time.push(b'Z');
    exchange::parse_rfc3339(&time).map(|us| us / 1_000)
}

#[cfg(test)]
mod tests;
