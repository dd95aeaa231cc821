//! Writes a whole profile file from tables of reads, in one pass over all users.
//!
//! Memory does not grow with the number of users, but for a hash of each distinct item.
//! Invariant: the same reads give the same rows, however they are divided among tables. With
//! `keep`, what the next build needs is written on the way. It is one table of reads without those
//! that have left the window, and one of when they leave it.

use std::collections::HashSet;
use std::path::Path;

use twox_hash::XxHash3_64;

use super::BuildContext;
use super::data::write_data;
use super::expiry::{self, KeySorter};
use super::reads;
use super::write::FileWriter;
use crate::error::ProfilesError;
use crate::state::{Manifest, TableFile};
use crate::table::{Merge, Table, TableWriter};

/// What a fold came to.
pub(crate) struct Folded {
    /// Profiles in the file.
    pub rows: u64,
    /// Users with a read within the window.
    pub users: u64,
    /// Distinct items that they read.
    pub items: u64,
    /// Which file it is, as [`crate::meta::Meta::identity`] says.
    pub file: String,
}

/// The tables that a fold leaves.
struct Kept {
    reads: TableWriter,
    expiry: KeySorter,
    reads_name: String,
    expiry_name: String,
}

/// Writes the file at `path`, which is empty. With `keep`, its tables are replaced by new ones.
///
/// # Errors
/// `State` when a table fails; otherwise when nothing can be written.
pub(crate) fn fold(
    context: &BuildContext<'_>,
    tables: &[Table],
    path: &Path,
    keep: Option<&mut Manifest>,
) -> Result<Folded, ProfilesError> {
    let dir = context.dir;
    let begin_unix_ms = context.begin_unix_ms();
    let data_options = context.data_options();
    let mut kept = keep.map(|manifest| Kept::create(dir, manifest).map(|kept| (kept, manifest)));
    let mut kept = kept.take().transpose().map_err(ProfilesError::io(dir))?;
    let mut file = FileWriter::create(path).map_err(ProfilesError::sqlite(path))?;
    let mut merge = Merge::new(tables).map_err(ProfilesError::state(dir))?;
    let (mut rows, mut users, mut data) = (0, 0, String::new());
    let mut items = HashSet::<u64, foldhash::fast::RandomState>::default();
    while merge.next().map_err(ProfilesError::state(dir))? {
        let mut found = Vec::new();
        reads::decode(merge.values(), &mut found).map_err(ProfilesError::state(dir))?;
        reads::settle(&mut found, begin_unix_ms);
        if found.is_empty() {
            continue;
        }
        users += 1;
        items.extend(found.iter().map(|read| XxHash3_64::oneshot(read.item.as_bytes())));
        if let Some((kept, _)) = &mut kept {
            kept.add(context, merge.key(), &found).map_err(ProfilesError::io(dir))?;
        }
        if found.len() >= context.options.items_min {
            rows += 1;
            data.clear();
            write_data(&data_options, &found, &mut data);
            file.add(merge.key(), &data).map_err(ProfilesError::sqlite(path))?;
        }
    }
    let mark = context.options.user_key.mark();
    let meta = file.finish(mark, context.now_unix_ms).map_err(ProfilesError::sqlite(path))?;
    if let Some((kept, manifest)) = kept {
        kept.finish(dir, manifest).map_err(ProfilesError::io(dir))?;
    }
    Ok(Folded { rows, users, items: items.len() as u64, file: meta.identity() })
}

impl Kept {
    fn create(dir: &Path, manifest: &mut Manifest) -> std::io::Result<Self> {
        let (reads_name, expiry_name) = (manifest.name("reads"), manifest.name("expiry"));
        let reads = TableWriter::create(&dir.join(&reads_name))?;
        let expiry = KeySorter::new(dir.join(&expiry_name));
        Ok(Self { reads, expiry, reads_name, expiry_name })
    }

    fn add(
        &mut self,
        context: &BuildContext<'_>,
        user: &[u8],
        found: &[reads::ItemRead<'_>],
    ) -> std::io::Result<()> {
        let (mut value, mut key) = (Vec::new(), Vec::new());
        found.iter().for_each(|read| reads::encode(*read, &mut value));
        self.reads.add(user, &value)?;
        let time = expiry::time_of(found, context.begin_unix_ms(), context.now_unix_ms);
        expiry::key(time, user, &mut key);
        self.expiry.add(&key)
    }

    fn finish(self, dir: &Path, manifest: &mut Manifest) -> std::io::Result<()> {
        self.reads.finish()?;
        self.expiry.finish()?;
        manifest.reads = vec![TableFile::of(dir, self.reads_name)?];
        manifest.expiry = vec![TableFile::of(dir, self.expiry_name)?];
        manifest.changes = Vec::new();
        Ok(())
    }
}
