//! Names the files of a trail, lists and reads them.
//!
//! Files are `audit-000001.ndjson`, `audit-000002.ndjson` and so on; beside them are `head` and
//! `lock`. Any other file in the directory is not looked at.

use std::io;
use std::path::Path;

use stdx::{Disk, DiskFile};

/// The file that the holder of the trail locks.
pub(crate) const LOCK: &str = "lock";
/// The file that names the last entry.
pub(crate) const HEAD: &str = "head";

/// Returns the name of a file of the trail.
pub(crate) fn name(number: u64) -> String {
    format!("audit-{number:06}.ndjson")
}

/// Returns the numbers of the files that are there, in order.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<u64>> {
    let number = |file: &String| {
        let number = file.strip_prefix("audit-")?.strip_suffix(".ndjson")?.parse().ok()?;
        (name(number) == *file).then_some(number)
    };
    let mut numbers: Vec<u64> = disk.list(dir)?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads a file from `offset` to its end.
pub(crate) fn read_from(file: &dyn DiskFile, offset: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.len()?.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Appends all of the bytes.
pub(crate) fn append(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            taken => bytes = &bytes[taken..],
        }
    }
    Ok(())
}
