//! What an operator asks of a file by hand: is it fit, and what does it say about a user?

use std::path::Path;
use std::time::{Duration, Instant};

use generation::Stop;

use crate::Lookup;
use crate::error::ProfilesError;
use crate::file::{FileOptions, FileStatus, ProfileFile};
use crate::profile::{Profile, ProfileError};

/// A file that passed every check.
#[derive(Debug)]
pub struct Report {
    /// Size of the file.
    pub bytes: u64,
    /// Rows, profiles, time of the build.
    pub file: FileStatus,
    /// Time the checks took that a file must pass before it is used.
    pub quick: Duration,
    /// Time the full check took, the keys in memory included.
    pub full: Duration,
}

/// What a file says about a user.
#[derive(Debug)]
pub struct Inspection {
    /// Whether there is a profile.
    pub lookup: Lookup,
    /// The key that was looked up.
    pub key: String,
    /// The data column as it stands there.
    pub data: Option<String>,
    /// The profile in it, or what keeps it from being one.
    pub profile: Option<Result<Profile, ProfileError>>,
}

/// Runs the quick and the full checks on the file at `path`.
///
/// # Errors
/// The first check that fails; the message says what to do.
pub fn check(path: &Path, options: &FileOptions) -> Result<Report, ProfilesError> {
    let start = Instant::now();
    let file = ProfileFile::open(path, options, None)?;
    let quick = start.elapsed();
    file.verify(&Stop::default())?;
    let full = start.elapsed() - quick;
    let bytes = std::fs::metadata(path).map_err(ProfilesError::io(path))?.len();
    Ok(Report { bytes, file: file.status(), quick, full })
}

/// Looks `user` up in the file at `path`, after the quick checks only.
///
/// # Errors
/// When the file fails the quick checks.
pub fn inspect(
    path: &Path,
    options: &FileOptions,
    user: &[u8],
) -> Result<Inspection, ProfilesError> {
    let file = ProfileFile::open(path, options, None)?;
    let data = file.fetch(user, |data| data.map(<[u8]>::to_vec)).flatten();
    Ok(Inspection {
        lookup: file.lookup(user),
        key: String::from_utf8_lossy(&options.user_key.of(user)).into_owned(),
        profile: data.as_deref().map(Profile::parse),
        data: data.map(|data| String::from_utf8_lossy(&data).into_owned()),
    })
}
