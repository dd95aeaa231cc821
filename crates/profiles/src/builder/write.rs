//! Writes the collected reads as a profile file.
//!
//! The file is SQLite with nothing newer than 3.13, since the Varnish module that reads it too may
//! be linked with that: two plain tables, keys as text.
//!
//! ```sql
//! CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
//! CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text);
//! ```
//!
//! The table keeps its row numbers: rows of hundreds of bytes in a table without them would make
//! its tree deep, whereas asking whether a key exists reads the index alone. Keys are inserted in
//! their order, which fills both trees from left to right.
//!
//! It is written beside its place under a name of its own, held by a lock so that two builds
//! cannot mix, then synchronised and renamed. A build that dies leaves that file; the next build
//! takes it over.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::builder::{Builder, History, RECENT_MAX};
use crate::error::ProfilesError;
use crate::file::Key;
use crate::meta::{Checksum, FORMAT};

const SETTINGS: &str = "
    PRAGMA page_size = 4096;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -65536;
    CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
    CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text);";

/// Writes the file of `builder` at `path`; returns its rows and size.
pub(super) fn file(builder: Builder, path: &Path) -> Result<(u64, u64), ProfilesError> {
    let unfinished = Unfinished::create(path)?;
    let rows = fill(builder, &unfinished.path).map_err(ProfilesError::sqlite(path))?;
    let bytes = unfinished.publish(path).map_err(ProfilesError::io(path))?;
    Ok((rows, bytes))
}

fn fill(mut builder: Builder, path: &Path) -> rusqlite::Result<u64> {
    let rows = sorted_rows(&mut builder);
    let mut connection = Connection::open(path)?;
    connection.execute_batch(SETTINGS)?;
    let transaction = connection.transaction()?;
    let mut checksum = Checksum::new();
    let mut data = String::new();
    let mut insert = transaction.prepare("INSERT INTO user_profiles VALUES (?1, ?2)")?;
    for (key, history) in &rows {
        data.clear();
        write_data(&builder, history, &mut data);
        checksum.add(key, data.as_bytes());
        insert.execute((Key(key), &data))?;
    }
    drop(insert);
    let meta = [
        ("format", FORMAT.to_owned()),
        ("rows", rows.len().to_string()),
        ("users", builder.options.user_key.mark()),
        ("checksum", checksum.hex()),
        ("built_unix_ms", builder.now_unix_ms.to_string()),
    ];
    for row in meta {
        transaction.execute("INSERT INTO meta VALUES (?1, ?2)", row)?;
    }
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(rows.len() as u64)
}

/// Returns the users that have read enough, by key.
fn sorted_rows(builder: &mut Builder) -> Vec<(Box<[u8]>, History)> {
    let options = &builder.options;
    let mut rows = Vec::new();
    for (user, mut history) in std::mem::take(&mut builder.users) {
        history.compact();
        if history.reads.len() < options.items_min {
            continue;
        }
        let key = if options.keyed { user } else { options.user_key.of(&user).into() };
        rows.push((key, history));
    }
    rows.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    rows
}

/// Appends the JSON of a profile; `history` is compact, which is newest first.
fn write_data(builder: &Builder, history: &History, data: &mut String) {
    data.push_str("{\"affinity\":{");
    for (at, (category, share)) in affinity(builder, history).into_iter().enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(builder.categories.get(category), data);
        write!(data, ":{}", (share * 1e4).round() / 1e4).expect("writing to a string succeeds");
    }
    write!(data, "}},\"reads\":{},\"recent\":[", history.reads.len())
        .expect("writing to a string succeeds");
    for (at, read) in history.reads.iter().take(RECENT_MAX).enumerate() {
        data.push_str(if at == 0 { "" } else { "," });
        write_text(builder.items.get(read.item), data);
    }
    data.push_str("]}");
}

/// Returns each category's share of the decayed reads, largest first. The decay is counted from
/// the user's newest read: shares come out the same, and cannot all vanish.
fn affinity(builder: &Builder, history: &History) -> Vec<(u32, f64)> {
    let half_life_ms = (builder.options.half_life.as_secs_f64() * 1e3).max(1.0);
    let newest = history.reads.first().map_or(0, |read| read.unix_ms);
    let mut weights: Vec<(u32, f64)> = Vec::new();
    for read in &history.reads {
        let category = builder.category_of[read.item as usize];
        if builder.categories.get(category).is_empty() {
            continue;
        }
        let weight = (-((newest - read.unix_ms) as f64) / half_life_ms).exp2();
        match weights.iter_mut().find(|(other, _)| *other == category) {
            Some((_, sum)) => *sum += weight,
            None => weights.push((category, weight)),
        }
    }
    let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
    if total > 0.0 {
        weights.iter_mut().for_each(|(_, weight)| *weight /= total);
    }
    weights.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    weights
}

fn write_text(text: &str, data: &mut String) {
    data.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}

/// A file in the making, removed when dropped unpublished.
struct Unfinished {
    path: PathBuf,
    file: File,
    published: bool,
}

impl Unfinished {
    fn create(target: &Path) -> Result<Self, ProfilesError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.building"));
        let io = |error| ProfilesError::io(&path)(error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io)?;
        let busy = || ProfilesError::Busy { path: target.to_owned() };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Between opening and locking, the build that held the lock may have published the file:
        // it would be wrong to empty it.
        let opened = file.metadata().map_err(io)?;
        let named = std::fs::metadata(&path);
        if !named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Err(busy());
        }
        file.set_len(0).map_err(io)?;
        Ok(Self { path, file, published: false })
    }

    fn publish(mut self, target: &Path) -> std::io::Result<u64> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, target)?;
        self.published = true;
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
        Ok(self.file.metadata()?.len())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.published {
            std::fs::remove_file(&self.path).ok();
        }
    }
}
