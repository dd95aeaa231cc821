//! Answers look-ups from one profile file that passed its quick checks, and runs its full check.
//!
//! Invariants: the path is checked to lead to one identity before the first connection is opened
//! and after the last. An answer read from SQLite counts only if the file still has this identity
//! afterwards. So an overwrite in place gives `Broken`, as far as `generation::FileVersion` notices
//! it.
//! A file of our builder may have changes in the state beside it (`changes.rs`). They are answered
//! from first, and only ever replaced by newer changes to the same file.
//! A key is compared byte for byte, and a row counts only with its flag set. Once the full check
//! has passed, the keys are in memory. Presence then needs neither SQLite nor this look; data still
//! does.
//! `data` returns None both without a profile and when the file fails. Data that is no JSON object
//! counts as an empty profile. Both failures are counted in `FileStatus`, as `broken` and
//! `bad_data`. No command and no page shows these two. `inspect.rs` prints the other fields, and
//! `admin.rs` of the binary shows `rows` and `resident_bytes`.
//! Never here: the checks themselves (`checks.rs`, `header.rs`, `samples.rs`), and which file is in
//! use (`handle.rs`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use generation::{FileVersion, Stop};
use parking_lot::Mutex;
use rusqlite::Connection;

use crate::Lookup;
use crate::changes::ProfileChanges;
use crate::checks::{self, RowData};
use crate::connections::{self, ReadOnlyConnections};
use crate::error::ProfilesError;
use crate::filter::KeyFilter;
use crate::header;
use crate::key_text::{TextKey, stored_text};
use crate::meta::Meta;
use crate::options::FileOptions;
use crate::profile::Profile;
use crate::samples::{self, StoredKey};
use crate::schema::{Layout, is_set};
use crate::state::{self, Manifest};

/// What an operator asks about a file in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// Rows, exact once the full check has passed. None while the file of another builder is too
    /// large to be counted at once.
    pub rows: Option<u64>,
    /// Rows that say that there is a profile; none until the full check has passed.
    pub profiles: Option<u64>,
    /// Size of the keys in memory; none while SQLite serves alone.
    pub resident_bytes: Option<usize>,
    /// When our builder finished it, in milliseconds since the Unix epoch; none for other files.
    pub built_unix_ms: Option<u64>,
    /// How users are keyed in it, as [`crate::UserKey::mark`] says. None for files of other
    /// builders.
    pub users: Option<String>,
    /// Why the newest changes to it could not be read; none when they could.
    pub changes_error: Option<String>,
    /// Look-ups that failed since it was loaded.
    pub broken: u64,
    /// Profiles whose data was no JSON object; they count as present without data.
    pub bad_data: u64,
}

#[derive(Debug, Clone, Copy)]
struct RowCounts {
    rows: Option<u64>,
    profiles: Option<u64>,
}

/// What builds changed since the file was written. Look-ups see all of a manifest, or none of it.
#[derive(Default)]
struct NewestChanges {
    changes: ArcSwapOption<ProfileChanges>,
    /// The manifest of the last changes that were looked at.
    manifest: Mutex<Option<FileVersion>>,
    /// Why they could not be read; none when they could.
    error: Mutex<Option<String>>,
}

/// A profile file that passed the quick checks.
pub struct ProfileFile {
    path: PathBuf,
    file: File,
    source: FileVersion,
    options: FileOptions,
    layout: Layout,
    meta: Option<Meta>,
    /// Rows of the file in use when this one was opened.
    last_rows: Option<u64>,
    counts: Mutex<RowCounts>,
    connections: ReadOnlyConnections,
    checker: Mutex<Option<Connection>>,
    filter: OnceLock<KeyFilter>,
    newest: NewestChanges,
    broken: AtomicU64,
    bad_data: AtomicU64,
    complained: AtomicBool,
}

impl ProfileFile {
    /// Opens the file at `path` after its quick checks; `last` is the file in use.
    ///
    /// # Errors
    /// When it is missing, incomplete, corrupt where looked at, of another schema, or has lost
    /// too many rows. The message says what to do.
    pub fn open(
        path: &Path,
        options: &FileOptions,
        last: Option<&Self>,
    ) -> Result<Self, ProfilesError> {
        let opened = Self::open_of_any_keying(path, options, last)?;
        if let Some(meta) = &opened.meta {
            checks::check_keying(meta, options, path)?;
        }
        Ok(opened)
    }

    /// As [`ProfileFile::open`], but takes files built for other keys than those of `options`.
    pub(crate) fn open_of_any_keying(
        path: &Path,
        options: &FileOptions,
        last: Option<&Self>,
    ) -> Result<Self, ProfilesError> {
        let (file, source) = open_regular(path)?;
        header::check(&file, path)?;
        let mut checker = connections::open(path).map_err(ProfilesError::sqlite(path))?;
        let layout = Layout::detect(&checker, &options.schema, path)?;
        let meta = Meta::read(&checker).map_err(ProfilesError::sqlite(path))?;
        if let Some(meta) = &meta {
            checks::check_format(meta, path)?;
        }
        let rows = checks::count_rows(&mut checker, &layout, meta.as_ref(), checks::COUNT_TIME_MAX)
            .map_err(ProfilesError::sqlite(path))?;
        let last_rows = last.and_then(Self::rows);
        if let Some(rows) = rows {
            checks::check_floor(rows, last_rows, options, path)?;
        }
        let connections = ReadOnlyConnections::open(path, options.connections)
            .map_err(ProfilesError::sqlite(path))?;
        if FileVersion::at(path).ok() != Some(source) {
            return Err(ProfilesError::unfit(path, "it changed while it was being opened"));
        }
        let opened = Self {
            path: path.to_owned(),
            file,
            source,
            options: options.clone(),
            layout,
            meta,
            last_rows,
            counts: Mutex::new(RowCounts { rows, profiles: None }),
            connections,
            checker: Mutex::new(Some(checker)),
            filter: OnceLock::new(),
            newest: NewestChanges::default(),
            broken: AtomicU64::new(0),
            bad_data: AtomicU64::new(0),
            complained: AtomicBool::new(false),
        };
        opened.check_samples()?;
        opened.refresh();
        Ok(opened)
    }

    /// Looks for newer changes to the file, and returns whether there were any. What fails is
    /// logged, and those in use stay.
    pub(crate) fn refresh(&self) -> bool {
        let Some(meta) = &self.meta else { return false };
        let dir = state::dir_of(&self.path);
        let mut looked_at = self.newest.manifest.lock();
        let source = FileVersion::at(&state::manifest_path(&dir)).ok();
        if source.is_none() || *looked_at == source {
            return false;
        }
        *looked_at = source;
        let last = self.newest.changes.load_full();
        let read = Manifest::read(&dir).and_then(|manifest| match manifest {
            Some(manifest) if manifest.file == meta.identity() => {
                ProfileChanges::read(&dir, &manifest, last.as_deref()).map(Some)
            }
            _ => Ok(None),
        });
        *self.newest.error.lock() = read.as_ref().err().map(ToString::to_string);
        match read {
            Ok(Some(changes)) if !changes.is_empty() => {
                let newer = last.is_none_or(|last| !last.equals(&changes));
                self.newest.changes.store(Some(Arc::new(changes)));
                newer
            }
            Ok(_) => false,
            Err(error) => {
                // The next build may have removed a table between two looks.
                if error.kind() == std::io::ErrorKind::NotFound {
                    *looked_at = None;
                }
                tracing::warn!(dir = %dir.display(), %error, "changes to profiles not read");
                false
            }
        }
    }

    /// Returns whether `user` has a profile. Never `NoGeneration`.
    pub fn lookup(&self, user: &[u8]) -> Lookup {
        let Some(key) = self.key(user) else { return Lookup::Absent };
        if let Some(changes) = &*self.newest.changes.load()
            && let Some(changed) = changes.lookup(&key)
        {
            return changed;
        }
        match self.filter.get() {
            Some(filter) if filter.holds(&key) => Lookup::Present,
            Some(_) => Lookup::Absent,
            None => self.lookup_key(&key),
        }
    }

    /// Returns the profile of `user`, empty if the file says no more than that there is one. None
    /// if there is no profile, or the file fails to answer.
    pub fn data(&self, user: &[u8]) -> Option<Profile> {
        let some = |data: &&[u8]| !data.is_empty();
        let parsed = self.fetch(user, |data| data.filter(some).map(Profile::parse))?;
        Some(parsed.unwrap_or_else(|| Ok(Profile::default())).unwrap_or_else(|_| {
            self.bad_data.fetch_add(1, Ordering::Relaxed);
            Profile::default()
        }))
    }

    /// Returns what `read` makes of the data of `user`. None if there is no profile, or the file
    /// fails to answer.
    pub(crate) fn fetch<R>(&self, user: &[u8], read: impl Fn(Option<&[u8]>) -> R) -> Option<R> {
        let key = self.key(user)?;
        if let Some(changes) = &*self.newest.changes.load()
            && changes.lookup(&key).is_some()
        {
            let data = changes.data(&key).map_err(|error| self.complain(&error.to_string()));
            return data.ok()?.map(|data| read(Some(&data)));
        }
        if self.filter.get().is_some_and(|filter| !filter.holds(&key)) {
            return None;
        }
        let found = self.connections.with(|connection| {
            find(connection, &self.layout.fetch, &key, |row| {
                Ok(read(row.get_ref(2)?.as_bytes_or_null()?))
            })
        });
        self.settled(found)?
    }

    /// Checks the file in full and takes its keys into memory. From then on, whether a user has a
    /// profile is answered from there.
    ///
    /// # Errors
    /// When the file is corrupt, has other rows than its builder wrote, or was changed in place.
    pub fn verify(&self, stop: &Stop) -> Result<(), ProfilesError> {
        let mut checker = self.checker.lock();
        let Some(connection) = checker.as_mut() else { return Ok(()) };
        let full =
            checks::check_full(connection, &self.layout, self.meta.as_ref(), stop, &self.path)?;
        if !self.is_untouched() {
            return Err(ProfilesError::unfit(&self.path, "it was written to where it stands"));
        }
        checks::check_floor(full.rows, self.last_rows, &self.options, &self.path)?;
        *self.counts.lock() = RowCounts { rows: Some(full.rows), profiles: Some(full.profiles) };
        self.filter.get_or_init(|| full.filter);
        *checker = None;
        Ok(())
    }

    /// Checks that ids stand as they were written, and that models can read what each row holds.
    /// The files of our builder need no look: their checksum says that they hold what it wrote.
    /// Returns how many rows have data, if none of them has a number below `affinity`.
    ///
    /// # Errors
    /// When ids may have become numbers, or a profile is neither empty nor a JSON object. Rows are
    /// named.
    pub(crate) fn check_data(&self) -> Result<Option<u64>, ProfilesError> {
        if self.meta.is_some() {
            return Ok(None);
        }
        let (layout, schema) = (&self.layout, &self.options.schema);
        let found = self.connections.with(|connection| {
            match checks::changed_keys(connection, layout, schema)? {
                None => checks::row_data(connection, layout),
                problem => Ok(RowData { problem, ..RowData::default() }),
            }
        });
        let found = found.map_err(ProfilesError::sqlite(&self.path))?;
        match found.problem {
            Some(reason) => Err(ProfilesError::unfit(&self.path, reason)),
            None => Ok(Some(found.rows).filter(|rows| *rows > 0 && found.rows_with_affinity == 0)),
        }
    }

    /// Returns the names of numbers and texts that models can read in the first rows with data.
    ///
    /// # Errors
    /// When the file fails to answer.
    pub fn names(&self, rows_max: u64) -> Result<BTreeSet<String>, ProfilesError> {
        let names = self.connections.with(|it| checks::names(it, &self.layout, rows_max));
        names.map_err(ProfilesError::sqlite(&self.path))
    }

    /// Which build of ours wrote it; none when another program did.
    pub(crate) fn identity(&self) -> Option<String> {
        self.meta.as_ref().map(Meta::identity)
    }

    /// Returns the number of rows as far as it is known, changes included.
    pub fn rows(&self) -> Option<u64> {
        match &*self.newest.changes.load() {
            Some(changes) => Some(changes.rows()),
            None => self.counts.lock().rows,
        }
    }

    /// Returns where the file stands.
    pub fn status(&self) -> FileStatus {
        let profiles = self.counts.lock().profiles;
        let changes = self.newest.changes.load();
        let changes = changes.as_ref();
        let built_unix_ms = self.meta.as_ref().map(|meta| meta.built_unix_ms);
        let changes_bytes = changes.map_or(0, |changes| changes.resident_bytes());
        FileStatus {
            rows: self.rows(),
            profiles: profiles.map(|profiles| changes.map_or(profiles, |changes| changes.rows())),
            resident_bytes: self.filter.get().map(|filter| filter.bytes() + changes_bytes),
            built_unix_ms: changes.map(|changes| changes.built_unix_ms()).or(built_unix_ms),
            users: self.meta.as_ref().map(|meta| meta.users.clone()),
            changes_error: self.newest.error.lock().clone(),
            broken: self.broken.load(Ordering::Relaxed),
            bad_data: self.bad_data.load(Ordering::Relaxed),
        }
    }

    /// Returns the key under which to look `user` up; none for what is no user's id.
    fn key<'u>(&self, user: &'u [u8]) -> Option<Cow<'u, [u8]>> {
        let fits = !user.is_empty() && user.len() <= self.options.id_bytes_max;
        fits.then(|| self.options.user_key.of(user))
    }

    /// Returns up to `count` keys that have a profile, spread over the file.
    pub(crate) fn some_keys(&self, count: usize) -> Result<Vec<String>, ProfilesError> {
        let samples = self.samples()?.into_iter().filter(|(_, has_profile)| *has_profile);
        let keys: BTreeSet<Vec<u8>> = samples.filter_map(|(stored, _)| stored.text()).collect();
        let step = keys.len().div_ceil(count).max(1);
        let spread = keys.iter().step_by(step);
        Ok(spread.map(|key| String::from_utf8_lossy(key).into_owned()).collect())
    }

    fn lookup_key(&self, key: &[u8]) -> Lookup {
        let found = self
            .connections
            .with(|connection| find(connection, &self.layout.look_up, key, |_| Ok(())));
        match self.settled(found) {
            None => Lookup::Broken,
            Some(None) => Lookup::Absent,
            Some(Some(())) => Lookup::Present,
        }
    }

    /// Returns what was found, or none if the file failed or is not what it was.
    fn settled<R>(&self, found: rusqlite::Result<R>) -> Option<R> {
        let reason = match found {
            Ok(found) if self.is_untouched() => return Some(found),
            Ok(_) => "it was written to where it stands".to_owned(),
            Err(error) => error.to_string(),
        };
        self.complain(&reason);
        None
    }

    fn complain(&self, reason: &str) {
        self.broken.fetch_add(1, Ordering::Relaxed);
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::error!(path = %self.path.display(), error = reason, "profile look-ups fail");
        }
    }

    fn is_untouched(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| FileVersion::of(&metadata) == self.source)
    }

    fn samples(&self) -> Result<Vec<(StoredKey, bool)>, ProfilesError> {
        self.connections
            .with(|connection| samples::pick(connection, &self.layout))
            .map_err(ProfilesError::sqlite(&self.path))
    }

    fn check_samples(&self) -> Result<(), ProfilesError> {
        let unfit = |reason: String| Err(ProfilesError::unfit(&self.path, reason));
        for (stored, has_profile) in self.samples()? {
            let Some(key) = stored.text() else {
                return unfit("a key is NULL, a fraction or a blob; write keys as text".to_owned());
            };
            let expected = if has_profile { Lookup::Present } else { Lookup::Absent };
            let found = self.lookup_key(&key);
            if found != expected {
                let key = String::from_utf8_lossy(&key);
                return unfit(format!("key `{key}` stands in it, but its look-up says {found:?}"));
            }
        }
        Ok(())
    }
}

/// Runs `read` on the row whose key equals `key` byte for byte and whose flag is set.
///
/// SQLite alone is not exact enough. A column of numbers takes `007` for 7, and a column that
/// ignores case takes `Ann` for `ann`. A broken index leads to another user's row.
fn find<R>(
    connection: &Connection,
    sql: &str,
    key: &[u8],
    read: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<R>,
) -> rusqlite::Result<Option<R>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([TextKey(key)])?;
    while let Some(row) = rows.next()? {
        let mut digits = [0; 20];
        if stored_text(row.get_ref(0)?, &mut digits) == Some(key) {
            return if is_set(row.get_ref(1)?) { read(row).map(Some) } else { Ok(None) };
        }
    }
    Ok(None)
}

/// Opening anything but a regular file could wait for ever.
fn open_regular(path: &Path) -> Result<(File, FileVersion), ProfilesError> {
    let file = stdx::plain_file::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => ProfilesError::unfit(path, "it is no regular file"),
        _ => ProfilesError::io(path)(error),
    })?;
    let source = FileVersion::of(&file.metadata().map_err(ProfilesError::io(path))?);
    Ok((file, source))
}

#[cfg(test)]
mod tests;
