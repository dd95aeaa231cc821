//! Builds the profile file from the journal, and decides whether a build may replace the file.
//!
//! Every build starts from nothing and reads the whole journal again. It needs no state that could
//! be lost or disagree with the journal, and forgets what fell out of the window by itself. Lines
//! that are no exchanges are counted, logged and passed over; gaps are passed over. By a bookmark
//! the journal knows how far a scheduled build has read; what is deleted beyond is an alarm.
//! Here is also a reader of the items file, for its `id` and one category. It is apart from that of
//! `crates/models/src/items.rs`, which is stricter. `query.rs` calls it, and `finish`.
//!
//! Invariant: a build does not replace the file if it has fewer rows than `rows_min`. Nor if it
//! lost more than `shrink_max` of the rows of a file with at least 100 (`checks.rs`). A poor file
//! would outlive a restart; the last good one, which is only open, would not.
//! A file that was made by hand cannot be built again. So it is protected by `shrink_max` even with
//! fewer rows. A file that cannot be opened protects nothing. docs/operating/profiles.md has these
//! rules as a table.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use exchange::{FieldValue, Fields};
use generation::Stop;
use journal::{Bookmark, Reader};
use stdx::{Chain, RealDisk};

use crate::builder::{BuildSummary, Builder, UserRead};
use crate::checks;
use crate::config::Plan;
use crate::error::ProfilesError;
use crate::file::ProfileFile;
use crate::key::UserKey;

/// Category by item.
pub(crate) type Categories = HashMap<String, String>;

/// Builds the file of `plan` from the journal in `dir`, which records users keyed by `user_key`.
///
/// Reads every line that the journal holds at the start; memory is as [`Builder`] says. With a
/// schedule the journal is told how far it was read, by a bookmark.
///
/// # Errors
/// When the journal or the items file cannot be read, or the file cannot be written. When it would
/// have too few rows. It is then as it was.
pub fn rebuild_from_journal(
    dir: &Path,
    plan: &Plan,
    user_key: &UserKey,
) -> Result<BuildSummary, ProfilesError> {
    let categories = categories(plan)?;
    let now_unix_ms = stdx::unix_micros() / 1_000;
    let mut builder = Builder::new(plan.build_options(user_key.clone()), now_unix_ms);
    let (malformed, end) = add_journal(&mut builder, dir, plan, &categories)
        .map_err(|source| ProfilesError::Journal { dir: dir.to_owned(), source })?;
    if malformed > 0 {
        tracing::warn!(malformed, "lines of the journal are no exchanges");
    }
    let built = finish(builder, plan, user_key)?;
    if plan.every.is_some() {
        let set = bookmark(dir).and_then(|bookmark| bookmark.set(end));
        if let Err(error) = set {
            let error = Chain(&error);
            tracing::warn!(%error, "how far profiles are built is not noted in the journal");
        }
    }
    Ok(built)
}

/// Has the journal in `dir` forget how far profiles were built. It is for a configuration without a
/// schedule: lines that no build reads are then no alarm.
pub fn forget_journal(dir: &Path) {
    if let Ok(bookmark) = bookmark(dir) {
        bookmark.remove();
    }
}

/// Where the journal is told how far it was read.
fn bookmark(dir: &Path) -> Result<Bookmark, journal::JournalError> {
    Bookmark::new(dir, "profiles", Arc::new(RealDisk))
}

/// Writes the file, unless it would have too few rows.
pub(crate) fn finish(
    mut builder: Builder,
    plan: &Plan,
    user_key: &UserKey,
) -> Result<BuildSummary, ProfilesError> {
    let options = plan.file_options(user_key.clone());
    let rows = builder.rows();
    let existing = ProfileFile::open_of_any_keying(&plan.file, &options, None).ok();
    checks::check_floor(rows, existing.as_ref().and_then(rows_of), &options, &plan.file)?;
    let by_hand = existing.filter(|file| !file.is_ours()).as_ref().and_then(rows_of);
    if let Some(last) = by_hand {
        checks::check_shrink(rows, last, &options, &plan.file)?;
    }
    builder.finish(&plan.file)
}

/// The rows of a file, counted however long that takes; none when it is broken.
fn rows_of(file: &ProfileFile) -> Option<u64> {
    if file.rows().is_none() {
        file.verify(&Stop::default()).ok()?;
    }
    file.rows()
}

/// Counts the reads in the journal as it is at present. Returns how many lines are no exchanges,
/// and where it ended.
fn add_journal(
    builder: &mut Builder,
    dir: &Path,
    plan: &Plan,
    categories: &Categories,
) -> Result<(u64, u64), journal::JournalError> {
    let mut reader = Reader::open(dir, Arc::new(RealDisk))?;
    let end = reader.end()?;
    let mut malformed = 0;
    while reader.offset() < end {
        match reader.read()? {
            journal::JournalRead::Lines(lines) => {
                for (line, _) in lines {
                    malformed += u64::from(!add_line(builder, line, plan, categories));
                }
            }
            journal::JournalRead::Gap { .. } | journal::JournalRead::Lost { .. } => {}
            journal::JournalRead::CaughtUp => break,
        }
    }
    Ok((malformed, reader.offset()))
}

/// Counts the read that `line` records, if it records one. Returns whether it is an exchange.
fn add_line(builder: &mut Builder, line: &[u8], plan: &Plan, categories: &Categories) -> bool {
    let Ok(exchange) = exchange::decode(line) else { return false };
    if !plan.event.matches(&exchange) {
        return true;
    }
    let (Some(user), Some(item)) = (&exchange.user, exchange.field(&plan.item)) else {
        return true;
    };
    let item = match item {
        FieldValue::Text(text) => match std::str::from_utf8(&text) {
            Ok(text) => text.to_owned(),
            Err(_) => return true,
        },
        number => number.to_string(),
    };
    let category = categories.get(&item).map_or("", String::as_str);
    builder.add(UserRead { user, item: &item, category, unix_ms: exchange.time_us / 1_000 });
    true
}

/// The categories that the plan names.
pub(crate) fn categories(plan: &Plan) -> Result<Categories, ProfilesError> {
    match &plan.items {
        Some(items) => read_categories(items, &plan.category),
        None => Ok(Categories::new()),
    }
}

/// Reads the categories of an items file.
fn read_categories(path: &Path, field: &str) -> Result<Categories, ProfilesError> {
    let file = File::open(path).map_err(ProfilesError::io(path))?;
    let mut categories = Categories::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(ProfilesError::io(path))?;
        if line.trim().is_empty() {
            continue;
        }
        let at =
            |reason: String| ProfilesError::unfit(path, format!("line {}: {reason}", index + 1));
        let item: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| at(error.to_string()))?;
        let text = |name: &str| item.get(name).and_then(serde_json::Value::as_str);
        let id = text("id").ok_or_else(|| at("there is no text `id`".to_owned()))?;
        if let Some(category) = text(field) {
            categories.insert(id.to_owned(), category.to_owned());
        }
    }
    Ok(categories)
}

#[cfg(test)]
mod tests;
