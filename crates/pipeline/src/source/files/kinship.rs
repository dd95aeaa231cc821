//! Tells by their names whether one of two files with the same content may be a copy of the other.
//!
//! Rotation gives a log's files names that begin alike: `access.log`, `access.log.1`,
//! `access.log-20250101.gz`, `access-20250101.log`. Their common name is the part without numbers,
//! dates and endings of packers. A rotated file belongs to the log beside it in its directory; only
//! where there is none, it may come from another directory. The log itself is no copy of what was
//! rotated from it.
//! Invariant: files of two logs, by their names, are no kin, however long their contents are the
//! same. What this means for them is in `identify`; users read it in
//! docs/operating/log-formats.md.
//! Never here: contents, and files that were renamed, which their content alone tells.

use std::path::Path;

use stdx::Disk;

/// Endings that packers and editors add.
const ENDINGS: [&str; 12] = [
    ".gz", ".zst", ".bz2", ".xz", ".bak", ".backup", ".old", ".orig", ".copy", ".save", ".tmp", "~",
];

/// A file by its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedFile<'p> {
    pub path: &'p Path,
}

impl NamedFile<'_> {
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether the log that its name comes from is there beside it.
    fn has_live_log(&self, disk: &dyn Disk) -> bool {
        let common = common_name(self.name());
        common != self.name() && disk.metadata(&self.path.with_file_name(common)).is_ok()
    }

    /// Whether it may be a copy of the file `of`, or the other way round.
    pub(super) fn may_copy(&self, of: NamedFile<'_>, disk: &dyn Disk) -> bool {
        if self.path == of.path {
            return true;
        }
        let (new, old) = (self.name(), of.name());
        let is_live = common_name(new) == new;
        if is_live && is_rotated_from(old, new) {
            // The next log may begin as the last one did.
            return false;
        }
        let is_alike = common_name(new) == common_name(old)
            || (new != old && (new.starts_with(old) || old.starts_with(new)));
        let is_beside = self.path.parent() == of.path.parent();
        if is_beside && is_alike {
            return true;
        }
        if self.has_live_log(disk) {
            return false;
        }
        let is_moved = is_alike && (new != old || !is_live);
        !is_beside && is_moved
    }
}

fn is_rotated_from(old: &str, live: &str) -> bool {
    old != live && common_name(old) == live
}

/// The name without what rotation adds to it.
fn common_name(name: &str) -> String {
    let mut name = name;
    loop {
        let ending = ENDINGS.into_iter().find_map(|ending| name.strip_suffix(ending));
        match ending.or_else(|| without_number(name)).filter(|rest| !rest.is_empty()) {
            Some(rest) => name = rest,
            None => break,
        }
    }
    let Some((mut stem, ending)) = name.rsplit_once('.') else { return name.to_owned() };
    while let Some(rest) = without_number(stem).filter(|rest| !rest.is_empty()) {
        stem = rest;
    }
    format!("{stem}.{ending}")
}

/// A name without the number or date at its end.
fn without_number(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once(['.', '-', '_'])?;
    let is_number = last.starts_with(|first: char| first.is_ascii_digit())
        && last.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'T' | b'Z' | b':'));
    is_number.then_some(rest)
}

#[cfg(test)]
mod tests;
