//! Claims about `header`: which files are whole, and which are still written to.

use std::fs;

use super::*;

struct Database {
    folder: tempfile::TempDir,
    header: [u8; HEADER_BYTES],
}

impl Database {
    /// A header of a database of `pages` pages, as SQLite writes it.
    fn new(page_bytes: u64, pages: u32) -> Self {
        let mut header = [0; HEADER_BYTES];
        header[..16].copy_from_slice(MAGIC);
        let folder = tempfile::tempdir().unwrap();
        let mut database = Self { folder, header };
        let page_bytes = if page_bytes == 65_536 { 1 } else { page_bytes as u16 };
        database.header[16..18].copy_from_slice(&page_bytes.to_be_bytes());
        database.set(24, 7).set(28, pages).set(92, 7);
        database
    }

    /// Writes a number into the header.
    fn set(&mut self, at: usize, number: u32) -> &mut Self {
        self.header[at..at + 4].copy_from_slice(&number.to_be_bytes());
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("p.db")
    }

    /// Checks a file of this length with this header, and with something at these `offsets`.
    fn check(&self, bytes: u64, offsets: impl IntoIterator<Item = u64>) -> Result<(), String> {
        let path = self.path();
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&path).unwrap();
        file.write_all_at(&self.header, 0).unwrap();
        offsets.into_iter().for_each(|at| file.write_all_at(b"x", at).unwrap());
        file.set_len(bytes).unwrap();
        check(&file, &path).map_err(|error| error.to_string())
    }

    /// As `check`, with something in each of the pages.
    fn check_filled(&self, bytes: u64) -> Result<(), String> {
        self.check(bytes, (0..bytes.div_ceil(512)).map(|block| block * 512 + 500))
    }
}

#[track_caller]
fn assert_refused(checked: Result<(), String>, expected: &str) {
    let refusal = checked.unwrap_err();
    assert!(refusal.contains(expected), "{refusal}");
}

#[test]
fn a_page_has_a_length_that_sqlite_allows() {
    for page_bytes in [512, 1_024, 4_096, 32_768, 65_536] {
        assert_eq!(Database::new(page_bytes, 3).check_filled(3 * page_bytes), Ok(()));
    }
    for page_bytes in [0, 2, 256, 513, 4_095] {
        let checked = Database::new(page_bytes, 3).check_filled(3 * page_bytes + 1_000);
        assert_refused(checked, &format!("its header states pages of {page_bytes} bytes"));
    }
}

#[test]
fn a_copy_that_is_cut_is_refused_where_its_length_is_stated() {
    let mut database = Database::new(512, 3);
    assert_eq!(database.check_filled(3 * 512), Ok(()));
    assert_eq!(database.check_filled(4 * 512), Ok(()), "a longer file is whole");
    assert_refused(database.check_filled(3 * 512 - 1), "1535 bytes of 1536; copy it elsewhere");
    assert_refused(database.check_filled(100), "100 bytes of 1536; copy it elsewhere");
    assert_refused(database.check_filled(99), "99 bytes are no SQLite database");
    database.set(92, 6);
    assert_eq!(database.check_filled(2 * 512), Ok(()), "its last writer did not keep the count");
}

#[test]
fn an_empty_page_is_refused_unless_some_are_free() {
    let mut database = Database::new(512, 65);
    let all_but =
        |empty: u64| (0..65).filter(move |page| *page != empty).map(|page| page * 512 + 500);
    let bytes = 65 * 512;
    for page in 1..65 {
        let refusal = format!("page {} of 65 is empty", page + 1);
        assert_refused(database.check(bytes, all_but(page)), &refusal);
    }
    database.set(36, 1);
    assert_eq!(database.check(bytes, all_but(7)), Ok(()), "free pages may hold anything");
}

#[test]
fn the_page_that_sqlite_leaves_unused_is_no_hole() {
    for page_bytes in [1_024, 4_096, 65_536] {
        // Of two GiB and a page, every 64th part is looked at: the page in the middle is unused.
        let step = (2 << 30) / 64;
        let database = Database::new(page_bytes, (64 * step / page_bytes) as u32 + 1);
        let looked_at =
            |but: u64| (1..=64).filter(move |part| *part != but).map(|part| part * step);
        let bytes = 64 * step + page_bytes;
        assert_eq!(database.check(bytes, looked_at(32)), Ok(()));
        assert_refused(database.check(bytes, looked_at(33)), "is empty; the copy is not complete");
    }
}

#[test]
fn a_journal_counts_while_it_holds_changes() {
    let database = Database::new(512, 1);
    let checked = |suffix: &str, content: &[u8]| {
        let path = beside(&database.path(), suffix);
        fs::write(&path, content).unwrap();
        let checked = database.check_filled(512);
        fs::remove_file(&path).unwrap();
        checked
    };
    // SQLite ends a transaction by removing the journal, by emptying it, or by zeros at its start.
    for over in [&b""[..], &JOURNAL_MAGIC[..7], &[0; 512]] {
        assert_eq!(checked("-journal", over), Ok(()));
    }
    assert_refused(checked("-journal", &JOURNAL_MAGIC), "-journal` holds changes");
    assert_eq!(checked("-wal", &[1; 32]), Ok(()));
    assert_refused(checked("-wal", &[1; 33]), "-wal` holds changes");
    fs::create_dir(beside(&database.path(), "-journal")).unwrap();
    assert_refused(database.check_filled(512), "p.db-journal");
}
