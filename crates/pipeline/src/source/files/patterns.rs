//! Finds the files that a source names: paths in which `*`, `?`, `[…]` and `**` stand for names.
//!
//! Invariant: a listing without troubles has every file that matches, but for two limits. Names
//! that are not UTF-8 are not found, nor is what lies more than 16 directories below a `**`.
//! Neither is reported. A directory that cannot be listed is a trouble; then nothing may be
//! concluded from a file's absence, and `scan` drops no log. A missing directory is no trouble: it
//! counts as empty.
//! A file with two names comes twice (`file_table` joins them). Patterns match a leading dot,
//! unlike a shell's. The doc comment of `files` in `config` tells users what a pattern means.

use std::io;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;
use stdx::{Disk, Metadata};

/// Directories that `**` goes down at most.
const DEPTH_MAX: usize = 16;

/// One pattern, cut at the slashes.
#[derive(Debug, Clone)]
pub struct FilePattern {
    parts: Vec<PatternPart>,
}

#[derive(Debug, Clone)]
enum PatternPart {
    Name(PathBuf),
    Pattern(Pattern),
    AnyDirs,
}

/// What there is.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files, in no order; one that has two names comes twice.
    pub files: Vec<(PathBuf, Metadata)>,
    /// What could not be looked at.
    pub troubles: Vec<(PathBuf, io::Error)>,
}

impl FilePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(path: &Path) -> Result<Self, String> {
        let mut parts = Vec::new();
        for component in path.components() {
            parts.push(match component {
                Component::Normal(name) => part(&name.to_string_lossy(), name.as_ref())?,
                other => PatternPart::Name(PathBuf::from(other.as_os_str())),
            });
        }
        if parts.is_empty() || matches!(parts.last(), Some(PatternPart::AnyDirs)) {
            return Err("it names no file".to_owned());
        }
        Ok(Self { parts })
    }

    /// Whether any file matches at present.
    pub fn matches_any(&self, disk: &dyn Disk) -> bool {
        let mut listing = Listing::default();
        self.list(disk, &mut listing);
        !listing.files.is_empty()
    }

    /// Adds the files that match to `listing`.
    pub fn list(&self, disk: &dyn Disk, listing: &mut Listing) {
        PatternWalk { disk, listing, depth: 0 }.down(PathBuf::new(), &self.parts);
    }
}

fn part(text: &str, name: &Path) -> Result<PatternPart, String> {
    Ok(match text {
        "**" => PatternPart::AnyDirs,
        _ if text.contains(['*', '?', '[']) => {
            PatternPart::Pattern(Pattern::new(text).map_err(|error| error.to_string())?)
        }
        _ => PatternPart::Name(name.to_owned()),
    })
}

struct PatternWalk<'w> {
    disk: &'w dyn Disk,
    listing: &'w mut Listing,
    depth: usize,
}

impl PatternWalk<'_> {
    fn down(&mut self, dir: PathBuf, parts: &[PatternPart]) {
        let Some((first, rest)) = parts.split_first() else { return };
        match first {
            PatternPart::Name(name) if rest.is_empty() => self.file(dir.join(name)),
            PatternPart::Name(name) => self.down(dir.join(name), rest),
            PatternPart::Pattern(pattern) if rest.is_empty() => {
                let names = self.disk.list(here(&dir));
                for name in self.listed(&dir, names).iter().filter(|name| pattern.matches(name)) {
                    self.file(dir.join(name));
                }
            }
            PatternPart::Pattern(pattern) => {
                let names = self.disk.list_dirs(here(&dir));
                for name in self.listed(&dir, names).iter().filter(|name| pattern.matches(name)) {
                    self.down(dir.join(name), rest);
                }
            }
            PatternPart::AnyDirs => {
                let names = self.disk.list_dirs(here(&dir));
                let names = self.listed(&dir, names);
                if self.depth < DEPTH_MAX {
                    self.depth += 1;
                    names.iter().for_each(|name| self.down(dir.join(name), parts));
                    self.depth -= 1;
                }
                self.down(dir, rest);
            }
        }
    }

    fn listed(&mut self, dir: &Path, names: io::Result<Vec<String>>) -> Vec<String> {
        match names {
            Ok(names) => names,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.listing.troubles.push((dir.to_owned(), error));
                }
                Vec::new()
            }
        }
    }

    fn file(&mut self, path: PathBuf) {
        match self.disk.metadata(&path) {
            Ok(found) => self.listing.files.push((path, found)),
            // It was there a moment ago, or is yet to come.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.listing.troubles.push((path, error)),
        }
    }
}

fn here(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}
