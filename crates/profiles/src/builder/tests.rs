//! What a build makes of reads, and what it leaves on the disk.

use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;

use super::data::RECENT_MAX;
use super::reads::USER_ITEMS_MAX;
use super::*;
use crate::{FileOptions, Lookup, ProfileFile, inspect};

const NOW: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

struct Fixture {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles.db");
        Self { folder, path }
    }

    fn builder(&self, items_min: usize) -> Builder {
        let options = BuildOptions { items_min, ..BuildOptions::default() };
        Builder::new(&self.path, options, NOW).unwrap()
    }

    fn data(&self, user: &str) -> Option<String> {
        inspect(&self.path, Some(user.as_bytes())).unwrap().user.unwrap().data
    }

    /// The names of all files in the folder.
    fn listing(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

fn read<'r>(user: &'r str, item: &'r str, category: &'r str, days_ago: u64) -> UserRead<'r> {
    UserRead { user: user.as_bytes(), item, category, unix_ms: NOW - days_ago * DAY_MS }
}

fn any(_: u64) -> Result<(), ProfilesError> {
    Ok(())
}

#[test]
fn profile_says_shares_count_and_the_latest_first() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(2);
    builder.add(read("ann", "1", "b", 7));
    builder.add(read("ann", "2", "b", 0));
    builder.add(read("ann", "3", "t", 0));
    builder.add(read("ann", "4", "", 1));
    let built = builder.finish(any).unwrap();
    assert_eq!((built.rows, built.users, built.items, built.skipped), (1, 1, Some(4), 0));
    assert_eq!(built.bytes, fs::metadata(&fixture.path).unwrap().len());
    let data = r#"{"affinity":{"b":0.6,"t":0.4},"reads":4,"recent":["2","3","4","1"]}"#;
    assert_eq!(fixture.data("ann").unwrap(), data);
}

#[test]
fn item_read_again_counts_once_at_its_latest_read() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    for days_ago in (0..30).rev() {
        builder.add(read("ann", "again", "b", days_ago));
    }
    builder.add(read("ann", "once", "t", 0));
    builder.finish(any).unwrap();
    let data = r#"{"affinity":{"b":0.5,"t":0.5},"reads":2,"recent":["again","once"]}"#;
    assert_eq!(fixture.data("ann").unwrap(), data);
}

#[test]
fn too_few_distinct_items_make_no_profile() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(5);
    for item in ["1", "2", "3", "4", "4", "4"] {
        builder.add(read("few", item, "b", 0));
    }
    for item in ["1", "2", "3", "4", "5"] {
        builder.add(read("enough", item, "b", 0));
    }
    let built = builder.finish(any).unwrap();
    assert_eq!((built.rows, built.users), (1, 2));
    assert!(fixture.data("few").is_none() && fixture.data("enough").is_some());
}

#[test]
fn reads_outside_the_window_or_with_unfit_ids_are_left_out() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    builder.add(read("old", "1", "b", 31));
    builder.add(read("", "1", "b", 0));
    builder.add(read(&"u".repeat(101), "1", "b", 0));
    builder.add(read("ann", "", "b", 0));
    builder.add(read("ann", &"i".repeat(ITEM_BYTES_MAX + 1), "b", 0));
    builder.add(read("ann", "1", &"c".repeat(ITEM_BYTES_MAX + 1), 0));
    builder.add(read("ann", "1", &"c".repeat(2 * ITEM_BYTES_MAX), 0));
    builder.add(UserRead { unix_ms: NOW + DAY_MS, ..read("ahead", "1", "b", 0) });
    let longest = (&*"u".repeat(100), &*"i".repeat(ITEM_BYTES_MAX), &*"c".repeat(ITEM_BYTES_MAX));
    builder.add(read(longest.0, longest.1, longest.2, 30));
    let built = builder.finish(any).unwrap();
    assert_eq!((built.rows, built.users, built.skipped), (2, 2, 7));
    assert!(fixture.data("ahead").is_some());
    let profile = crate::Profile::parse(fixture.data(longest.0).unwrap().as_bytes()).unwrap();
    assert_eq!(profile.affinity().collect::<Vec<_>>(), [(longest.2, 1.0)]);
}

#[test]
fn history_of_one_user_is_bounded_to_the_latest_items() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    for number in 0..5_000 {
        let unix_ms = NOW - 10_000 + number;
        builder.add(UserRead { unix_ms, ..read("robot", &number.to_string(), "b", 0) });
    }
    builder.finish(any).unwrap();
    let profile = crate::Profile::parse(fixture.data("robot").unwrap().as_bytes()).unwrap();
    assert_eq!(profile.feature("reads"), Some(USER_ITEMS_MAX as f64));
    let recent: Vec<_> = profile.recent().collect();
    assert_eq!((recent.len(), recent[0], recent[99]), (RECENT_MAX, "4999", "4900"));
}

#[test]
fn ids_that_need_quoting_survive() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    let users: [&[u8]; 4] = [b"o'hara\"; --", b"nul\0inside", b"\xff\xfe", "ünï".as_bytes()];
    for user in users {
        builder.add(UserRead { user, ..read("", "it\"em\\", "c\"at", 0) });
    }
    builder.finish(any).unwrap();
    let file = ProfileFile::open(&fixture.path, &FileOptions::default(), None).unwrap();
    for user in users {
        let profile = file.data(user).unwrap();
        assert_eq!(profile.feature("affinity.c\"at"), Some(1.0));
        assert_eq!(profile.recent().collect::<Vec<_>>(), ["it\"em\\"]);
    }
    assert_eq!(file.lookup(b"nul"), Lookup::Absent);
}

#[test]
fn build_answers_a_query_put_together_as_text() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    builder.add(read("ann", "1", "b", 0));
    builder.finish(any).unwrap();
    let connection = Connection::open(&fixture.path).unwrap();
    let ask = |user: &str| {
        let sql = "SELECT 1 FROM user_profiles WHERE profile_id='".to_owned() + user + "'";
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).ok()
    };
    assert_eq!((ask("ann"), ask("bob")), (Some(1), None));
}

#[test]
fn build_needs_no_sqlite_newer_than_3_13() {
    let fixture = Fixture::new();
    fixture.builder(1).finish(any).unwrap();
    let bytes = fs::read(&fixture.path).unwrap();
    assert_eq!(bytes[18..20], [1, 1], "a rollback journal, no write-ahead log");
    assert_eq!(bytes[44..48], [0, 0, 0, 4], "schema format of 3.3.0");
    let connection = Connection::open(&fixture.path).unwrap();
    let mut schema = connection.prepare("SELECT sql FROM sqlite_master WHERE sql <> ''").unwrap();
    let schema: Vec<String> = schema.query_map([], |row| row.get(0)).unwrap().flatten().collect();
    let profiles = "CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, \
                    data text)";
    assert_eq!(schema, [profiles, "CREATE TABLE meta (key text PRIMARY KEY NOT NULL, value text)"]);
}

#[test]
fn build_leaves_nothing_but_its_file() {
    let fixture = Fixture::new();
    fixture.builder(1).finish(any).unwrap();
    assert_eq!(fixture.listing(), ["profiles.db"]);
}

#[test]
fn failed_build_leaves_the_old_file_and_nothing_else() {
    let fixture = Fixture::new();
    fs::create_dir(&fixture.path).unwrap();
    let mut builder = fixture.builder(1);
    builder.add(read("ann", "1", "b", 0));
    assert!(builder.finish(any).is_err(), "a folder is in the way of the rename");
    assert_eq!(fixture.listing(), ["profiles.db"]);
}

#[test]
fn build_takes_over_what_a_dead_build_left() {
    let fixture = Fixture::new();
    fs::write(fixture.folder.path().join(".profiles.db.building"), "half a file").unwrap();
    fixture.builder(1).finish(any).unwrap();
    assert_eq!(fixture.listing(), ["profiles.db"]);
    ProfileFile::open(&fixture.path, &FileOptions::default(), None).unwrap();
}

#[test]
fn second_build_at_the_same_time_is_refused() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join(".profiles.db.building");
    let held = fs::File::create(&path).unwrap();
    held.lock().unwrap();
    let refused = Builder::new(&fixture.path, BuildOptions::default(), NOW).err().unwrap();
    assert!(matches!(refused, ProfilesError::Busy { .. }), "{refused:?}");
    assert!(path.exists(), "the other build's file stays");
    drop(held);
    fixture.builder(1).finish(any).unwrap();
}

#[test]
fn hashed_users_are_found_under_the_same_salt_only() {
    let fixture = Fixture::new();
    let user_key = UserKey::hash("2026");
    let options = BuildOptions { items_min: 1, user_key: user_key.clone(), ..Default::default() };
    let mut hashing = Builder::new(&fixture.path, options.clone(), NOW).unwrap();
    hashing.add(read("ann", "1", "b", 0));
    hashing.finish(any).unwrap();
    let salted = FileOptions { user_key: user_key.clone(), ..FileOptions::default() };
    let file = ProfileFile::open(&fixture.path, &salted, None).unwrap();
    assert_eq!(file.lookup(b"ann"), Lookup::Present);
    assert!(ProfileFile::open(&fixture.path, &FileOptions::default(), None).is_err());

    let mut keyed =
        Builder::new(&fixture.path, BuildOptions { keyed: true, ..options }, NOW).unwrap();
    keyed.add(UserRead { user: &user_key.of(b"ann"), ..read("", "1", "b", 0) });
    keyed.finish(any).unwrap();
    let file = ProfileFile::open(&fixture.path, &salted, None).unwrap();
    assert_eq!(file.lookup(b"ann"), Lookup::Present);
}

#[test]
fn build_passes_its_own_full_check() {
    let fixture = Fixture::new();
    let mut builder = fixture.builder(1);
    for user in 0..2_000 {
        builder.add(read(&format!("user-{user}"), "1", "b", 0));
    }
    builder.finish(any).unwrap();
    let report = crate::check(&fixture.path).unwrap();
    assert_eq!((report.file.rows, report.file.profiles), (Some(2_000), Some(2_000)));
    assert_eq!(report.file.built_unix_ms, Some(NOW));
}

#[test]
fn reads_that_do_not_fit_into_memory_make_the_same_file() {
    let build = |batch_bytes_max: usize| {
        let fixture = Fixture::new();
        let mut builder = fixture.builder(2);
        builder.collector.batch_bytes_max = batch_bytes_max;
        for number in 0..600_u64 {
            let (user, item) = (format!("user-{}", number % 50), (number * 7 % 90).to_string());
            builder.add(read(&user, &item, "b", number % 29));
            assert!(builder.collector.batch.bytes() < batch_bytes_max);
        }
        let tables = builder.collector.collected.tables.len();
        let built = builder.finish(any).unwrap();
        assert_eq!(fixture.listing(), ["profiles.db"]);
        (tables, built, fs::read(&fixture.path).unwrap())
    };
    let (tables, at_once, file) = build(BATCH_BYTES_MAX);
    assert_eq!((tables, at_once.rows), (0, 50));
    let (tables, in_parts, same) = build(10_000);
    assert!((5..50).contains(&tables), "{tables} tables");
    assert!(in_parts == at_once && same == file);
}

#[test]
fn a_table_that_could_not_be_written_fails_the_build_whatever_comes_later() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("tables");
    fs::write(&dir, "in the way").unwrap();
    let options = BuildOptions { items_min: 1, ..BuildOptions::default() };
    let mut collector = Collector::new(options, NOW, dir.clone(), 0);
    collector.batch_bytes_max = 1_000;
    let counted = (0..100).filter(|item| collector.add(b"ann", &item.to_string(), NOW)).count();
    assert!((1..10).contains(&counted), "{counted}");
    fs::remove_file(&dir).unwrap();
    assert!(!collector.add(b"ann", "later", NOW), "nothing counts any more");
    let failed = collector.finish().unwrap_err();
    assert!(matches!(&failed, ProfilesError::Io { path, .. } if *path == dir), "{failed}");
}
