//! Answers an operator by hand: is a profile file fit, and what does it say about a user?
//!
//! `check` runs the quick and the full checks, and parses the data of files of other builders.
//! `inspect` runs the quick checks only. It looks one key up, or shows up to ten that stand in the
//! file. The types here print themselves for the command line, and so does `FileStatus`.
//! Both take a file of any keying, without the options of a configuration.
//! The user is given as the key that stands in the file.
//! Invariant: nothing is written. Never here: the checks, which are in `checks.rs` and `file.rs`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use generation::Stop;

use crate::Lookup;
use crate::config::ID_BYTES_LIMIT;
use crate::error::ProfilesError;
use crate::file::{FileStatus, ProfileFile};
use crate::options::FileOptions;
use crate::profile::Profile;

/// Keys shown of a file when no user is named.
const KEYS_SHOWN: usize = 10;

/// A file that passed every check.
#[derive(Debug)]
pub struct CheckReport {
    /// The file.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// Rows, profiles, filter, time of the build.
    pub file: FileStatus,
    /// Time the checks took that a file must pass before it is used.
    pub quick: Duration,
    /// Time the full check took, the filter included.
    pub full: Duration,
    /// How many rows have data, if none of them has a number below `affinity`. Then a model knows
    /// no category that a user likes, which is rarely meant.
    pub rows_without_affinity: Option<u64>,
}

/// What a file says about a user, or about itself.
#[derive(Debug)]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// Rows and time of the build.
    pub file: FileStatus,
    /// The user asked for; none when nobody was.
    pub user: Option<UserInspection>,
    /// Some keys that stand in the file, spread over it; empty when a user was asked for.
    pub keys: Vec<String>,
}

/// What a file says about one user.
#[derive(Debug)]
pub struct UserInspection {
    /// The key that was looked up.
    pub key: String,
    /// Whether there is a profile.
    pub lookup: Lookup,
    /// The data column as it stands there.
    pub data: Option<String>,
    /// What keeps the data from being a profile.
    pub reason: Option<String>,
}

/// Runs the quick and the full checks on the file at `path`. Looks at the data of every row that
/// another builder wrote.
///
/// # Errors
/// The first check that fails; the message says what to do.
pub fn check(path: &Path) -> Result<CheckReport, ProfilesError> {
    let start = Instant::now();
    let file = ProfileFile::open_of_any_keying(path, &FileOptions::default(), None)?;
    let quick = start.elapsed();
    file.verify(&Stop::default())?;
    let full = start.elapsed() - quick;
    let rows_without_affinity = file.check_data()?;
    let bytes = std::fs::metadata(path).map_err(ProfilesError::io(path))?.len();
    let (path, file) = (path.to_owned(), file.status());
    Ok(CheckReport { path, bytes, file, quick, full, rows_without_affinity })
}

/// Looks `user` up in the file at `path`, after the quick checks only. Without a user, shows some
/// of the keys in it.
///
/// # Errors
/// When the file fails the quick checks.
pub fn inspect(path: &Path, user: Option<&[u8]>) -> Result<Inspection, ProfilesError> {
    // A configuration may have let in ids of any length that is allowed.
    let options = FileOptions { id_bytes_max: ID_BYTES_LIMIT, ..FileOptions::default() };
    let file = ProfileFile::open_of_any_keying(path, &options, None)?;
    let keys = match user {
        Some(_) => Vec::new(),
        None => file.some_keys(KEYS_SHOWN)?,
    };
    let user = user.map(|user| inspect_user(&file, user));
    Ok(Inspection { path: path.to_owned(), file: file.status(), user, keys })
}

fn inspect_user(file: &ProfileFile, user: &[u8]) -> UserInspection {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let data = file.fetch(user, |data| data.map(<[u8]>::to_vec)).flatten();
    let data = data.filter(|data| !data.is_empty());
    let parsed = data.as_deref().map(Profile::parse);
    UserInspection {
        key: text(user),
        lookup: file.lookup(user),
        reason: parsed.and_then(Result::err).map(|error| stdx::Chain(&error).to_string()),
        data: data.as_deref().map(text),
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: good", self.path.display())?;
        writeln!(f, "bytes: {}", self.bytes)?;
        write!(f, "{}", self.file)?;
        writeln!(f, "quick checks: {:?}", self.quick)?;
        write!(f, "full check: {:?}", self.full)?;
        match self.rows_without_affinity {
            Some(rows) => write!(
                f,
                "\nnote: no row has an affinity: of {rows} with `data`, none has a number below \
                 `affinity`, as in {{\"affinity\": {{\"sport\": 0.6}}}}"
            ),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(user) = &self.user else {
            writeln!(f, "{}", self.path.display())?;
            write!(f, "{}", self.file)?;
            return write!(f, "some keys: {}", self.keys.join(" "));
        };
        let has = match user.lookup {
            Lookup::Present => "has a profile",
            Lookup::Absent => "has no profile",
            Lookup::Broken | Lookup::NoGeneration => "cannot be looked up",
        };
        write!(f, "`{}` {has}", user.key)?;
        if let Some(data) = &user.data {
            write!(f, "\n{data}")?;
        }
        match &user.reason {
            Some(reason) => write!(f, "\nno data for models: {reason}"),
            None => Ok(()),
        }
    }
}

/// One line for each fact that is known.
impl fmt::Display for FileStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [("rows", self.rows), ("profiles", self.profiles)];
        let bytes = ("resident bytes", self.resident_bytes.map(|bytes| bytes as u64));
        let built = ("built, unix ms", self.built_unix_ms);
        for (name, value) in counts.into_iter().chain([bytes, built]) {
            if let Some(value) = value {
                writeln!(f, "{name}: {value}")?;
            }
        }
        match &self.users {
            Some(users) => writeln!(f, "users: {users}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
