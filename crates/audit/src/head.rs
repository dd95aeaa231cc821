//! Keeps the number and hash of the last entry in a file beside the trail, so that a cut tail is
//! noticed.
//!
//! It is written anew under another name, synced and renamed, after the entry itself is on disk. So
//! after a crash it may name an earlier entry, and never a later one than there is. Invariant:
//! [`TrailHead::read`] takes only the bytes that [`TrailHead::write`] would have written.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stdx::Disk;

use crate::entry::NO_HASH;
use crate::files::{self, HEAD};

const DRAFT: &str = "head.new";

/// The last entry of a trail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrailHead {
    pub number: u64,
    pub hash: String,
}

/// What stands in the place of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FoundHead {
    /// Nothing.
    Missing,
    /// What no head looks like.
    Damaged,
    Sound(TrailHead),
}

impl Default for TrailHead {
    fn default() -> Self {
        Self { number: 0, hash: NO_HASH.to_owned() }
    }
}

impl TrailHead {
    /// Reads the head of a trail.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> io::Result<FoundHead> {
        let file = match disk.open_read(&dir.join(HEAD)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FoundHead::Missing),
            opened => opened?,
        };
        let bytes = files::read_from(&*file, 0)?;
        let head = serde_json::from_slice::<Self>(&bytes).ok();
        let head = head.filter(|head| head.text().as_bytes() == bytes);
        Ok(head.map_or(FoundHead::Damaged, FoundHead::Sound))
    }

    /// Puts this in the place of the head that was there.
    pub(crate) fn write(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let draft = dir.join(DRAFT);
        match disk.remove(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.create(&draft)?;
        files::append(&*file, self.text().as_bytes())?;
        file.sync()?;
        disk.rename(&draft, &dir.join(HEAD))?;
        disk.sync_dir(dir)
    }

    fn text(&self) -> String {
        format!("{{\"number\":{},\"hash\":\"{}\"}}\n", self.number, self.hash)
    }
}
