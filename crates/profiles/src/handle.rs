//! Serves look-ups from the newest good generation of one watched profile file.
//!
//! `Profiles` joins `ProfileFile`, which answers, with `generation::Watched`, which loads, checks
//! and rolls back. It starts no thread: whoever owns it hands it to a `generation::Watcher`.
//! Invariant: a look-up gives one of the four values of `Lookup` and no error. `data` gives None
//! without a profile, without a file, and when the file fails.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use generation::{Failure, Load, Poll, Stop, Watched};

use crate::Lookup;
use crate::file::{FileStatus, ProfileFile};
use crate::options::FileOptions;
use crate::profile::Profile;

/// The profiles in use.
pub struct Profiles {
    watched: Watched<ProfileFile>,
    /// How often changes to a file were put to use.
    updates: AtomicU64,
}

/// What an operator asks about the profiles.
#[derive(Debug, Clone)]
pub struct Status {
    /// The file watched: generation, age, what is wrong with it.
    pub watched: generation::Status,
    /// The generation in use; none before the first good file.
    pub file: Option<FileStatus>,
}

struct Loader(FileOptions);

impl Profiles {
    /// Returns the handle after a first look at `path`; the file may come later. Whoever owns the
    /// handle keeps it fresh with a [`generation::Watcher`].
    pub fn open(path: &Path, options: FileOptions) -> Self {
        Self { watched: Watched::open(path, Loader(options)), updates: AtomicU64::new(0) }
    }

    /// Returns whether `user` has a profile. Once the full check of the file has passed, this takes
    /// well under half a microsecond for a user without one. Before that it is a look-up in SQLite.
    pub fn lookup(&self, user: &[u8]) -> Lookup {
        match &*self.watched.peek() {
            Some(generation) => generation.value.lookup(user),
            None => Lookup::NoGeneration,
        }
    }

    /// Returns the profile of `user`, empty if nothing is known beyond that there is one. None if
    /// there is no profile, or the file fails to answer.
    pub fn data(&self, user: &[u8]) -> Option<Profile> {
        self.watched.peek().as_ref()?.value.data(user)
    }

    /// Returns the number of the generation in use. It rises with every file and with every build
    /// that changed profiles of a file.
    pub fn generation(&self) -> Option<u64> {
        let number = self.watched.peek().as_ref().map(|generation| generation.number)?;
        Some(number + self.updates.load(Ordering::Relaxed))
    }

    /// Returns where file and generation stand.
    pub fn status(&self) -> Status {
        let current = self.watched.current();
        let watched = generation::Status { generation: self.generation(), ..self.watched.status() };
        Status { watched, file: current.map(|generation| generation.value.status()) }
    }
}

impl Poll for Profiles {
    fn poll(&self) {
        self.watched.poll();
        if let Some(generation) = self.watched.current()
            && generation.value.refresh()
        {
            self.updates.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn verify(&self, stop: &Stop) {
        self.watched.verify(stop);
    }
}

impl Load<ProfileFile> for Loader {
    fn load(&self, path: &Path, last: Option<&ProfileFile>) -> Result<ProfileFile, Failure> {
        Ok(ProfileFile::open(path, &self.0, last)?)
    }

    fn verify(&self, file: &ProfileFile, stop: &Stop) -> Result<(), Failure> {
        Ok(file.verify(stop)?)
    }
}

#[cfg(test)]
mod tests;
