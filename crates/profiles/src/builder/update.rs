//! Writes what a build changes as new tables, and leaves the profile file as it is.
//!
//! A profile changes when its user reads something, or a read leaves the window, and at no other
//! time (`builder/data.rs`). So only these users are looked at. Their profiles are made of all that
//! they read, as `fold.rs` makes them.
//! Invariant: the file with the changes has the rows that a fold would write. What the tables of
//! the manifest hold stays true if nothing is committed.
//! Small tables are merged into greater ones. So an entry is written a few times before a fold
//! takes it, by the logarithm of their number. Cost: by users looked at, and now and then by what
//! came since the last fold.

use std::io;
use std::path::Path;

use super::data::write_data;
use super::expiry::{self, KeySorter};
use super::reads::{self, ItemRead};
use super::{BuildContext, Collected};
use crate::error::ProfilesError;
use crate::state::{self, Manifest, TableFile};
use crate::table::{Cursor, Merge, Table, TableWriter};

/// A fold comes when what was added since the last is more than this part of what was there.
const FOLD_SHARE: u64 = 4;

/// Whether so much was added to the tables of `manifest` that they had better be folded. Up to
/// `small_bytes` they always are.
pub(crate) fn is_fold_due(manifest: &Manifest, collected: &Collected, small_bytes: u64) -> bool {
    let bytes = |tables: &[TableFile]| tables.iter().map(|table| table.bytes).sum::<u64>();
    let first = manifest.reads.first().map_or(0, |table| table.bytes);
    let added = bytes(&manifest.reads) - first + bytes(&collected.tables);
    first <= small_bytes || added > first / FOLD_SHARE || collected.tables.len() > 1
}

/// Whether any profile may differ from what it was at the last build.
///
/// # Errors
/// `State` when a table of the manifest fails.
pub(crate) fn changes_anything(
    context: &BuildContext<'_>,
    manifest: &Manifest,
    collected: &Collected,
) -> Result<bool, ProfilesError> {
    if !collected.tables.is_empty() {
        return Ok(true);
    }
    let users = users_to_look_at(context, manifest, &[]);
    let users = users.map_err(ProfilesError::state(context.dir))?;
    Ok(users.is_none_or(|users| !users.is_empty()))
}

/// Adds to `manifest` what `collected` and the time since its last build change.
///
/// Returns false, and leaves it as it was, if a fold had better do that.
///
/// # Errors
/// `State` when a table of the manifest fails; otherwise when nothing can be written.
pub(crate) fn update(
    context: &BuildContext<'_>,
    manifest: &mut Manifest,
    collected: &Collected,
) -> Result<bool, ProfilesError> {
    let dir = context.dir;
    let lost = || ProfilesError::state(dir);
    let new = state::open_all(dir, &collected.tables).map_err(lost())?;
    let Some(users) = users_to_look_at(context, manifest, &new).map_err(lost())? else {
        return Ok(false);
    };
    if users.is_empty() {
        return Ok(true);
    }
    let old = state::open_all(dir, &manifest.reads).map_err(lost())?;
    let mut changed = Changed::create(dir, manifest).map_err(ProfilesError::io(dir))?;
    let mut old: Vec<Cursor<'_>> = old.iter().map(Table::cursor).collect();
    let mut new: Vec<Cursor<'_>> = new.iter().map(Table::cursor).collect();
    for user in &users {
        let mut found = Vec::new();
        find(&mut old, user, &mut found).map_err(lost())?;
        reads::settle(&mut found, context.begin_of(manifest.built_unix_ms));
        let before = found.len();
        find(&mut new, user, &mut found).map_err(lost())?;
        reads::settle(&mut found, context.begin_unix_ms());
        changed.add(context, user, before, &found).map_err(ProfilesError::io(dir))?;
    }
    changed.finish(context, manifest, collected).map_err(ProfilesError::io(dir))?;
    merge_small_tables(context, manifest)?;
    Ok(true)
}

/// Returns the users who read something, or have a read that leaves the window, by their keys.
/// None when they are too many.
fn users_to_look_at(
    context: &BuildContext<'_>,
    manifest: &Manifest,
    new: &[Table],
) -> io::Result<Option<Vec<Box<[u8]>>>> {
    let mut users = Vec::new();
    let end = context.begin_unix_ms().to_be_bytes();
    for table in state::open_all(context.dir, &manifest.expiry)? {
        let mut cursor = table.cursor();
        let mut more = cursor.seek(&context.begin_of(manifest.built_unix_ms).to_be_bytes())?;
        while more && cursor.key() < &end[..] {
            users.push(expiry::user(cursor.key()).into());
            if users.len() > context.expired_max {
                return Ok(None);
            }
            more = cursor.next()?;
        }
    }
    for table in new {
        let mut cursor = table.cursor();
        while cursor.next()? {
            users.push(cursor.key().into());
        }
    }
    users.sort_unstable();
    users.dedup();
    Ok(Some(users))
}

/// Adds what the tables say of a user.
fn find<'c>(
    cursors: &'c mut [Cursor<'_>],
    user: &[u8],
    found: &mut Vec<ItemRead<'c>>,
) -> io::Result<()> {
    for cursor in cursors {
        if cursor.seek(user)? && cursor.key() == user {
            reads::decode(cursor.value(), found)?;
        }
    }
    Ok(())
}

/// The tables of an update, and how it changes the counts.
struct Changed {
    changes: TableWriter,
    expiry: KeySorter,
    changes_name: String,
    expiry_name: String,
    rows: i64,
    users: i64,
    key: Vec<u8>,
    data: String,
}

impl Changed {
    fn create(dir: &Path, manifest: &mut Manifest) -> io::Result<Self> {
        let (changes_name, expiry_name) = (manifest.name("changes"), manifest.name("expiry"));
        let changes = TableWriter::create(&dir.join(&changes_name))?;
        let expiry = KeySorter::new(dir.join(&expiry_name));
        let (key, data) = (Vec::new(), String::new());
        Ok(Self { changes, expiry, changes_name, expiry_name, rows: 0, users: 0, key, data })
    }

    /// Adds a user, who had `before` items and now has those of `found`.
    fn add(
        &mut self,
        context: &BuildContext<'_>,
        user: &[u8],
        before: usize,
        found: &[ItemRead<'_>],
    ) -> io::Result<()> {
        let items_min = context.options.items_min;
        let (had, has) = (before >= items_min, found.len() >= items_min);
        self.rows += i64::from(has) - i64::from(had);
        self.users += i64::from(!found.is_empty()) - i64::from(before > 0);
        self.data.clear();
        if has {
            write_data(&context.data_options(), found, &mut self.data);
        }
        if had || has {
            self.changes.add(user, self.data.as_bytes())?;
        }
        if found.is_empty() {
            return Ok(());
        }
        let time = expiry::time_of(found, context.begin_unix_ms(), context.now_unix_ms);
        expiry::key(time, user, &mut self.key);
        self.expiry.add(&self.key)
    }

    fn finish(
        self,
        context: &BuildContext<'_>,
        manifest: &mut Manifest,
        collected: &Collected,
    ) -> io::Result<()> {
        self.changes.finish()?;
        self.expiry.finish()?;
        manifest.changes.push(TableFile::of(context.dir, self.changes_name)?);
        manifest.expiry.push(TableFile::of(context.dir, self.expiry_name)?);
        manifest.reads.extend_from_slice(&collected.tables);
        manifest.rows = manifest.rows.saturating_add_signed(self.rows);
        manifest.users = manifest.users.saturating_add_signed(self.users);
        Ok(())
    }
}

/// Merges the newest tables of each kind while the one before them is not twice as long. The first
/// tables of reads and of expiry are left to a fold.
fn merge_small_tables(
    context: &BuildContext<'_>,
    manifest: &mut Manifest,
) -> Result<(), ProfilesError> {
    let begin_unix_ms = context.begin_unix_ms();
    let mut merge_kind = |kind: &str, first: usize, merge: &MergeTables<'_>| {
        let tables = match kind {
            "reads" => &manifest.reads,
            "expiry" => &manifest.expiry,
            _ => &manifest.changes,
        };
        let from = first_to_merge(tables, first);
        if tables.len() - from < 2 {
            return Ok(());
        }
        let dir = context.dir;
        let opened = state::open_all(dir, &tables[from..]).map_err(ProfilesError::state(dir))?;
        let name = manifest.name(kind);
        merge(&opened, &dir.join(&name)).map_err(ProfilesError::state(dir))?;
        let merged = TableFile::of(dir, name).map_err(ProfilesError::io(dir))?;
        let tables = match kind {
            "reads" => &mut manifest.reads,
            "expiry" => &mut manifest.expiry,
            _ => &mut manifest.changes,
        };
        tables.truncate(from);
        tables.push(merged);
        Ok(())
    };
    merge_kind("reads", 1, &|tables, path| merge_reads(tables, begin_unix_ms, path))?;
    merge_kind("expiry", 1, &|tables, path| expiry::merge(tables, begin_unix_ms, path))?;
    merge_kind("changes", 0, &merge_changes)
}

type MergeTables<'m> = dyn Fn(&[Table], &Path) -> io::Result<()> + 'm;

fn first_to_merge(tables: &[TableFile], first: usize) -> usize {
    let mut from = tables.len().saturating_sub(1);
    let mut bytes = tables.last().map_or(0, |table| table.bytes);
    while from > first && tables[from - 1].bytes <= 2 * bytes {
        from -= 1;
        bytes += tables[from].bytes;
    }
    from
}

fn merge_reads(tables: &[Table], begin_unix_ms: u64, path: &Path) -> io::Result<()> {
    let (mut merged, mut table) = (Merge::new(tables)?, TableWriter::create(path)?);
    let mut value = Vec::new();
    while merged.next()? {
        let mut found = Vec::new();
        reads::decode(merged.values(), &mut found)?;
        reads::settle(&mut found, begin_unix_ms);
        value.clear();
        found.iter().for_each(|read| reads::encode(*read, &mut value));
        if !value.is_empty() {
            table.add(merged.key(), &value)?;
        }
    }
    table.finish().map(drop)
}

fn merge_changes(tables: &[Table], path: &Path) -> io::Result<()> {
    let (mut merged, mut table) = (Merge::new(tables)?, TableWriter::create(path)?);
    while merged.next()? {
        table.add(merged.key(), merged.newest())?;
    }
    table.finish().map(drop)
}

#[cfg(test)]
mod tests;
