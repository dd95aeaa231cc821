//! Look-ups in files as others write them, and in files that are broken in every way.

use std::fs;
use std::os::unix::fs::FileExt;

use super::*;
use crate::tests::logged;
use crate::{BuildOptions, Builder, Schema, UserRead};

struct Fixture {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Fixture {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profiles 100%?#.db");
        Self { folder, path }
    }

    /// A database written by `sql`.
    fn of(sql: &str) -> Self {
        let fixture = Self::empty();
        fixture.run(sql);
        fixture
    }

    /// A file of our builder with users `user-0`, `user-1`, …
    fn built(users: u64) -> Self {
        let fixture = Self::empty();
        let options = BuildOptions { items_min: 1, ..BuildOptions::default() };
        let mut builder = Builder::new(&fixture.path, options, 1_000).unwrap();
        for user in 0..users {
            let (user, item) = (format!("user-{user}"), user.to_string());
            let (user, item) = (user.as_bytes(), item.as_str());
            builder.add(UserRead { user, item, category: "b", unix_ms: 1_000 });
        }
        builder.finish(|_| Ok(())).unwrap();
        fixture
    }

    fn run(&self, sql: &str) {
        Connection::open(&self.path).unwrap().execute_batch(sql).unwrap();
    }

    fn open(&self) -> Result<ProfileFile, ProfilesError> {
        ProfileFile::open(&self.path, &FileOptions::default(), None)
    }

    fn refusal(&self) -> String {
        match self.open() {
            Ok(_) => panic!("the file was taken"),
            Err(error) => stdx::Chain(&error).to_string(),
        }
    }

    fn writer(&self) -> File {
        fs::OpenOptions::new().write(true).open(&self.path).unwrap()
    }
}

const PROFILES: &str = "
    CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
    INSERT INTO user_profiles VALUES
        ('ann', '{\"affinity\":{\"b\":1},\"reads\":5,\"recent\":[\"1\"]}'),
        ('bob', NULL),
        ('eve', 'no json');";

const FLAGS: &str = "
    CREATE TABLE user_profiles (user_id char(100) PRIMARY KEY NOT NULL, has_profile boolean);
    INSERT INTO user_profiles VALUES ('ann', 1), ('bob', 0), ('eve', NULL), ('joe', 'true');";

/// Runs `check` on the file before its full check and after.
fn before_and_after_the_full_check(fixture: &Fixture, check: impl Fn(&ProfileFile)) {
    let file = fixture.open().unwrap();
    check(&file);
    file.verify(&Stop::default()).unwrap();
    assert!(file.status().resident_bytes.is_some());
    check(&file);
}

#[test]
fn row_with_data_is_a_profile() {
    before_and_after_the_full_check(&Fixture::of(PROFILES), |file| {
        for user in ["ann", "bob", "eve"] {
            assert_eq!(file.lookup(user.as_bytes()), Lookup::Present, "{user}");
        }
        assert_eq!(file.lookup(b"joe"), Lookup::Absent);
        assert_eq!(file.data(b"ann").unwrap().feature("affinity.b"), Some(1.0));
        assert_eq!(file.data(b"bob"), Some(Profile::default()));
        assert_eq!(file.data(b"joe"), None);
    });
}

#[test]
fn data_that_is_no_json_is_a_profile_without_data_and_counted() {
    let file = Fixture::of(PROFILES).open().unwrap();
    assert_eq!(file.data(b"eve"), Some(Profile::default()));
    assert_eq!(file.data(b"eve"), Some(Profile::default()));
    assert_eq!((file.status().bad_data, file.status().broken), (2, 0));
}

#[test]
fn zero_and_null_flags_mean_none() {
    before_and_after_the_full_check(&Fixture::of(FLAGS), |file| {
        assert_eq!(file.lookup(b"ann"), Lookup::Present);
        assert_eq!(file.lookup(b"joe"), Lookup::Present);
        assert_eq!(file.lookup(b"bob"), Lookup::Absent);
        assert_eq!(file.lookup(b"eve"), Lookup::Absent);
        assert_eq!(file.data(b"ann"), Some(Profile::default()));
        assert_eq!(file.data(b"bob"), None);
    });
}

#[test]
fn names_of_table_and_columns_may_be_chosen() {
    let fixture = Fixture::of(
        "CREATE TABLE \"my \"\"users\" (\"the id\" text PRIMARY KEY, \"has\" integer);
         INSERT INTO \"my \"\"users\" VALUES ('ann', 1), ('bob', 0);",
    );
    let schema = Schema {
        table: "my \"users".into(),
        user_key: "the id".into(),
        flag: "has".into(),
        ..Schema::default()
    };
    let options = FileOptions { schema, ..FileOptions::default() };
    let file = ProfileFile::open(&fixture.path, &options, None).unwrap();
    assert_eq!((file.lookup(b"ann"), file.lookup(b"bob")), (Lookup::Present, Lookup::Absent));
}

#[test]
fn user_must_equal_the_key_byte_for_byte() {
    let numbers = "CREATE TABLE user_profiles (user_id integer PRIMARY KEY, has_profile);
                   INSERT INTO user_profiles VALUES (7, 1), (-3, 1), (8, 0);";
    before_and_after_the_full_check(&Fixture::of(numbers), |file| {
        assert_eq!(file.lookup(b"7"), Lookup::Present);
        assert_eq!(file.lookup(b"-3"), Lookup::Present);
        for other in ["8", "007", "7.0", " 7", "7 ", "+7", "7e0", "9"] {
            assert_eq!(file.lookup(other.as_bytes()), Lookup::Absent, "{other}");
        }
    });
    let nocase = "CREATE TABLE user_profiles
                    (profile_id text COLLATE NOCASE PRIMARY KEY, data text);
                  INSERT INTO user_profiles VALUES ('Ann', NULL);";
    before_and_after_the_full_check(&Fixture::of(nocase), |file| {
        assert_eq!(file.lookup(b"Ann"), Lookup::Present);
        assert_eq!(file.lookup(b"ann"), Lookup::Absent);
    });
}

#[test]
fn database_in_utf_16_is_read() {
    let sql = "PRAGMA encoding = 'UTF-16le';".to_owned() + PROFILES;
    before_and_after_the_full_check(&Fixture::of(&sql), |file| {
        assert_eq!(file.lookup(b"ann"), Lookup::Present);
        assert_eq!(file.lookup(b"\xff\xfe"), Lookup::Absent);
        assert!(file.data(b"ann").unwrap().feature("reads").is_some());
    });
}

#[test]
fn table_without_row_numbers_and_empty_table_are_read() {
    let without = PROFILES.replace("data text)", "data text) WITHOUT ROWID");
    before_and_after_the_full_check(&Fixture::of(&without), |file| {
        assert_eq!(file.lookup(b"ann"), Lookup::Present);
    });
    let empty = PROFILES.split("INSERT").next().unwrap();
    before_and_after_the_full_check(&Fixture::of(empty), |file| {
        assert_eq!(file.lookup(b"ann"), Lookup::Absent);
        assert_eq!(file.rows(), Some(0));
    });
}

#[test]
fn ids_with_quotes_nuls_or_no_text_at_all_are_bound_and_absent() {
    before_and_after_the_full_check(&Fixture::of(PROFILES), |file| {
        let long = vec![b'a'; 10 * 1024];
        let ids: [&[u8]; 9] =
            [b"", b"'", b"ann' OR '1'='1", b"ann\0", b"\0", b"\xff\xfe\xfd", b"?1", b"%", &long];
        for id in ids {
            assert_eq!(file.lookup(id), Lookup::Absent, "{}", String::from_utf8_lossy(id));
            assert_eq!(file.data(id), None);
        }
        assert_eq!(file.status().broken, 0);
    });
}

#[test]
fn id_longer_than_the_limit_has_no_profile_even_if_it_is_in_the_file() {
    let id = "x".repeat(101);
    let sql = format!("{PROFILES} INSERT INTO user_profiles VALUES ('{id}', NULL)");
    let fixture = Fixture::of(&sql);
    let options = FileOptions { id_bytes_max: 101, ..FileOptions::default() };
    let file = ProfileFile::open(&fixture.path, &options, None).unwrap();
    assert_eq!(file.lookup(id.as_bytes()), Lookup::Present);
    let file = fixture.open().unwrap();
    assert_eq!(file.lookup(id.as_bytes()), Lookup::Absent);
}

#[test]
fn wrong_schema_is_refused_with_what_is_wanted() {
    let check = |sql: &str, expected: &str| {
        let refusal = Fixture::of(sql).refusal();
        assert!(refusal.contains(expected), "{refusal}");
    };
    check("CREATE TABLE other (a)", "there is no table `user_profiles`");
    check("CREATE TABLE user_profiles (a, b)", "table `user_profiles` has columns a, b");
    check("CREATE TABLE user_profiles (profile_id text, data text)", "no index");
    check(
        "CREATE TABLE user_profiles (profile_id PRIMARY KEY, data);
         INSERT INTO user_profiles VALUES (x'616e6e', NULL)",
        "write keys as text",
    );
    check(
        "CREATE TABLE user_profiles (profile_id PRIMARY KEY, data);
         INSERT INTO user_profiles VALUES (7, NULL)",
        "key `7` stands in it, but its look-up says Absent",
    );
}

#[test]
fn what_is_no_database_is_refused() {
    let fixture = Fixture::empty();
    assert!(fixture.refusal().contains("No such file"));
    fs::write(&fixture.path, "").unwrap();
    assert!(fixture.refusal().contains("0 bytes are no SQLite database"));
    fs::write(&fixture.path, vec![b'x'; 10_000]).unwrap();
    assert!(fixture.refusal().contains("it is no SQLite database"));
    fs::remove_file(&fixture.path).unwrap();
    fs::create_dir(&fixture.path).unwrap();
    assert!(fixture.refusal().ends_with("%?#.db`: it is no regular file"));
    assert!(fixture.refusal().starts_with("refuse `"), "its builder must mend that");
    let device = ProfileFile::open(Path::new("/dev/zero"), &FileOptions::default(), None);
    assert!(device.is_err());
}

#[test]
fn copy_cut_at_any_length_is_refused() {
    let fixture = Fixture::built(2_000);
    let whole = fs::read(&fixture.path).unwrap();
    for part in 0..100 {
        let bytes = whole.len() * part / 100;
        fs::write(&fixture.path, &whole[..bytes]).unwrap();
        assert!(fixture.open().is_err(), "{bytes} of {}", whole.len());
    }
    fs::write(&fixture.path, &whole[..whole.len() - 1]).unwrap();
    assert!(fixture.refusal().contains("copy it elsewhere, then rename it"));
}

#[test]
fn copy_with_a_hole_at_its_end_is_refused() {
    let fixture = Fixture::built(2_000);
    let whole = fs::read(&fixture.path).unwrap();
    for part in 1..20 {
        let mut copied = whole.clone();
        copied[whole.len() * part / 20 / 4096 * 4096..].fill(0);
        fs::write(&fixture.path, copied).unwrap();
        assert!(fixture.open().is_err(), "{part}/20");
    }
}

#[test]
fn database_that_is_still_written_to_is_refused() {
    let fixture = Fixture::of(PROFILES);
    let writer = Connection::open(&fixture.path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute("DELETE FROM user_profiles WHERE profile_id = 'ann'", []).unwrap();
    assert!(fixture.refusal().contains("-wal` holds changes"));
    drop(writer);
    let file = fixture.open().unwrap();
    assert_eq!(file.lookup(b"ann"), Lookup::Absent);
    assert_eq!(file.lookup(b"bob"), Lookup::Present);
    drop(file);

    fixture.run("PRAGMA journal_mode = delete; PRAGMA cache_size = 1;");
    let writer = Connection::open(&fixture.path).unwrap();
    writer.execute_batch("PRAGMA cache_spill = 1; PRAGMA cache_size = 1; BEGIN;").unwrap();
    for row in 0..2_000 {
        writer.execute("INSERT INTO user_profiles VALUES (?1, hex(zeroblob(200)))", [row]).unwrap();
    }
    assert!(fixture.open().is_err(), "a transaction is under way");
}

#[test]
fn too_few_rows_are_refused() {
    let full = Fixture::built(1_000);
    let last = full.open().unwrap();
    let half = Fixture::built(499);
    let options = FileOptions::default();
    let refused = ProfileFile::open(&half.path, &options, Some(&last));
    assert!(refused.err().unwrap().to_string().contains("499 rows after 1000"));
    let lenient = FileOptions { shrink_max: 0.6, ..options.clone() };
    ProfileFile::open(&half.path, &lenient, Some(&last)).unwrap();
    let floor = FileOptions { rows_min: 500, ..options.clone() };
    assert!(ProfileFile::open(&half.path, &floor, None).is_err());

    let small = Fixture::built(99);
    let last = small.open().unwrap();
    ProfileFile::open(&Fixture::built(1).path, &options, Some(&last)).unwrap();
}

#[test]
fn later_format_of_our_own_is_refused() {
    let fixture = Fixture::built(10);
    fixture.run("UPDATE meta SET value = 'tidegate-profiles-2' WHERE key = 'format'");
    assert!(fixture.refusal().contains("this program reads `tidegate-profiles-1`"));
}

#[test]
fn rows_changed_after_the_build_fail_the_full_check() {
    let changes = [
        "DELETE FROM user_profiles WHERE profile_id = 'user-7'",
        "UPDATE user_profiles SET data = '{}' WHERE profile_id = 'user-7'",
        "UPDATE user_profiles SET profile_id = 'user-x' WHERE profile_id = 'user-7'",
        "UPDATE meta SET value = 999 WHERE key = 'rows'",
    ];
    for change in changes {
        let fixture = Fixture::built(1_000);
        fixture.run(change);
        let file = fixture.open().unwrap();
        assert!(file.verify(&Stop::default()).is_err(), "{change}");
        assert!(file.status().resident_bytes.is_none());
    }
}

/// Bytes that look random and are the same in every run.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// Asserts that a broken file finds nobody who is not in it, and after a full check that passed,
/// everybody who is.
fn assert_no_wrong_answer(file: &ProfileFile, what: &str) {
    let verified = file.status().resident_bytes.is_some();
    for user in 0..120 {
        let (known, unknown) = (format!("user-{}", user * 16), format!("stranger-{user}"));
        assert_ne!(file.lookup(unknown.as_bytes()), Lookup::Present, "{what}");
        assert_eq!(file.data(unknown.as_bytes()), None, "{what}");
        let data = file.data(known.as_bytes());
        if verified {
            assert_eq!(file.lookup(known.as_bytes()), Lookup::Present, "{what}");
            let recent = (user * 16).to_string();
            assert!(data.unwrap().recent().eq([recent.as_str()]), "{what}");
        }
    }
}

#[test]
fn corruption_anywhere_gives_no_panic_and_no_wrong_answer() {
    let fixture = Fixture::built(2_000);
    let whole = fs::read(&fixture.path).unwrap();
    let (mut refused, mut rolled_back, mut passed) = (0, 0, 0);
    for seed in 0..400 {
        let mut random = noise(seed + 1);
        let mut corrupt = whole.clone();
        let at = random.next().unwrap() as usize % whole.len();
        let longest = [1, 8, 64, 4096][seed as usize % 4];
        let end = (at + longest).min(whole.len());
        corrupt[at..end].iter_mut().zip(random).for_each(|(byte, noise)| *byte = noise as u8);
        fs::write(&fixture.path, corrupt).unwrap();

        let what = format!("seed {seed}: {at}..{end}");
        let Ok(file) = fixture.open() else {
            refused += 1;
            continue;
        };
        assert_no_wrong_answer(&file, &what);
        match file.verify(&Stop::default()) {
            Ok(()) => passed += 1,
            Err(_) => rolled_back += 1,
        }
        assert_no_wrong_answer(&file, &what);
    }
    assert!(refused > 20 && rolled_back > 100, "{refused} {rolled_back} {passed}");
}

#[test]
fn overwrite_in_place_under_use_gives_broken_and_never_a_wrong_answer() {
    let other = fs::read(&Fixture::built(3_000).path).unwrap();
    let faults: [&dyn Fn(&File); 4] = [
        &|file| file.set_len(0).unwrap(),
        &|file| file.set_len(5_000).unwrap(),
        &|file| file.write_all_at(&other, 0).unwrap(),
        &|file| file.write_all_at(&[0x5a; 40_000], 4096).unwrap(),
    ];
    for fault in faults {
        let fixture = Fixture::built(2_000);
        let file = fixture.open().unwrap();
        assert_eq!(file.lookup(b"user-1"), Lookup::Present);
        fault(&fixture.writer());
        for user in 0..2_000 {
            assert_eq!(file.lookup(format!("user-{user}").as_bytes()), Lookup::Broken);
            assert_eq!(file.data(format!("user-{user}").as_bytes()), None);
        }
        assert_eq!(file.status().broken, 4_000);
        assert!(file.verify(&Stop::default()).is_err());
    }
}

#[test]
fn look_ups_that_fail_are_counted_each_and_logged_once() {
    let fixture = Fixture::built(10);
    let file = fixture.open().unwrap();
    fixture.writer().set_len(0).unwrap();
    let logged = logged(|| {
        for _ in 0..3 {
            assert_eq!(file.lookup(b"user-1"), Lookup::Broken);
        }
    });
    assert_eq!(file.status().broken, 3);
    assert!(
        logged.len() == 1 && logged[0].starts_with("ERROR message=profile look-ups fail path=")
    );
}

#[test]
fn keys_in_memory_outlive_an_overwrite_in_place() {
    let fixture = Fixture::built(2_000);
    let file = fixture.open().unwrap();
    file.verify(&Stop::default()).unwrap();
    fixture.writer().set_len(100).unwrap();
    assert_eq!(file.lookup(b"user-1"), Lookup::Present);
    assert_eq!(file.lookup(b"stranger"), Lookup::Absent);
    assert_eq!(file.data(b"user-1"), None);
    assert_eq!(file.status().broken, 1);
}

#[test]
fn replaced_and_deleted_file_serves_on_under_its_open_handles() {
    let fixture = Fixture::built(2_000);
    let file = fixture.open().unwrap();
    let other = Fixture::built(1);
    fs::rename(&other.path, &fixture.path).unwrap();
    assert_eq!(file.lookup(b"user-1999"), Lookup::Present);
    fs::remove_file(&fixture.path).unwrap();
    for user in 0..2_000 {
        assert!(file.data(format!("user-{user}").as_bytes()).is_some());
    }
    file.verify(&Stop::default()).unwrap();
}

#[test]
fn full_check_ends_early_when_asked() {
    let fixture = Fixture::built(20_000);
    let file = fixture.open().unwrap();
    let stop = Stop::default();
    stop.ask();
    assert!(file.verify(&stop).is_err());
    file.verify(&Stop::default()).unwrap();
}

#[test]
fn look_ups_leave_nothing_beside_the_file() {
    let fixture = Fixture::of(PROFILES);
    let file = fixture.open().unwrap();
    file.lookup(b"ann");
    file.verify(&Stop::default()).unwrap();
    assert_eq!(fs::read_dir(fixture.folder.path()).unwrap().count(), 1);
}

#[test]
fn more_threads_than_connections_are_all_served() {
    let fixture = Fixture::built(500);
    let options = FileOptions { connections: 2, ..FileOptions::default() };
    let file = ProfileFile::open(&fixture.path, &options, None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for user in 0..500 {
                    let found = file.lookup(format!("user-{user}").as_bytes());
                    assert_eq!(found, Lookup::Present);
                }
            });
        }
    });
}
