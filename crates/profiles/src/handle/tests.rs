//! The handle through the life of its file.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::{BuildOptions, Builder, UserRead};

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

    /// Publishes a build with the users `PREFIX-0` to `PREFIX-999`.
    fn publish(&self, prefix: &str) {
        let options = BuildOptions { items_min: 1, ..BuildOptions::default() };
        let mut builder = Builder::new(&self.path, options, 1_000).unwrap();
        for user in 0..1_000 {
            let user = format!("{prefix}-{user}");
            builder.add(UserRead {
                user: user.as_bytes(),
                item: prefix,
                category: "b",
                unix_ms: 9,
            });
        }
        builder.finish(|_| Ok(())).unwrap();
    }

    fn open(&self) -> Profiles {
        Profiles::open(&self.path, FileOptions::default())
    }

    fn replace(&self, content: &[u8]) {
        let other = self.folder.path().join("other.db");
        fs::write(&other, content).unwrap();
        fs::rename(&other, &self.path).unwrap();
    }
}

#[test]
fn missing_file_is_no_generation_and_no_error() {
    let fixture = Fixture::new();
    let profiles = fixture.open();
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::NoGeneration);
    assert_eq!(profiles.data(b"ann-1"), None);
    let status = profiles.status();
    assert!(status.file.is_none() && status.watched.problem.is_some());

    fixture.publish("ann");
    profiles.poll();
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Present);
    assert_eq!(profiles.lookup(b"bob-1"), Lookup::Absent);
    let status = profiles.status();
    assert_eq!(status.file.unwrap().rows, Some(1_000));
    assert!(status.watched.problem.is_none());
}

#[test]
fn build_put_in_place_by_rename_is_used_at_the_next_poll() {
    let twice = generation::POLL_INTERVAL * 2;
    assert!(twice < Duration::from_secs(1), "{twice:?}");
    let fixture = Fixture::new();
    fixture.publish("ann");
    let profiles = fixture.open();
    assert_eq!(profiles.generation(), Some(1));
    fixture.publish("bob");
    profiles.poll();
    assert_eq!(profiles.generation(), Some(2));
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Absent);
    assert_eq!(profiles.data(b"bob-1").unwrap().recent().collect::<Vec<_>>(), ["bob"]);
}

#[test]
fn last_good_build_serves_through_every_kind_of_bad_file() {
    let fixture = Fixture::new();
    fixture.publish("ann");
    let profiles = fixture.open();
    let whole = fs::read(&fixture.path).unwrap();
    let mut headless = whole.clone();
    headless[..16].fill(0);
    let wrong_schema = {
        let path = fixture.folder.path().join("wrong.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        fs::read(path).unwrap()
    };
    let bad: [&[u8]; 5] = [b"", b"garbage", &whole[..whole.len() / 2], &headless, &wrong_schema];
    for (failures, content) in bad.iter().enumerate() {
        fixture.replace(content);
        profiles.poll();
        assert_eq!(profiles.lookup(b"ann-1"), Lookup::Present);
        assert!(profiles.data(b"ann-1").is_some());
        let status = profiles.status().watched;
        assert_eq!((status.generation, status.failures), (Some(1), failures as u64 + 1));
        assert!(status.problem.is_some());
    }
    fs::remove_file(&fixture.path).unwrap();
    profiles.poll();
    assert!(profiles.data(b"ann-1").is_some());
    fixture.publish("bob");
    profiles.poll();
    assert_eq!(profiles.lookup(b"bob-1"), Lookup::Present);
}

#[test]
fn full_check_that_fails_rolls_back_to_the_last_that_passed() {
    let fixture = Fixture::new();
    fixture.publish("ann");
    let profiles = fixture.open();
    profiles.verify(&Stop::default());
    assert!(profiles.status().watched.verified);

    fixture.publish("bob");
    let connection = rusqlite::Connection::open(&fixture.path).unwrap();
    connection.execute("UPDATE user_profiles SET data = '{}' WHERE rowid = 7", []).unwrap();
    drop(connection);
    profiles.poll();
    assert_eq!(profiles.lookup(b"bob-1"), Lookup::Present);
    profiles.verify(&Stop::default());
    assert_eq!(profiles.lookup(b"bob-1"), Lookup::Absent);
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Present);
    let status = profiles.status().watched;
    assert_eq!((status.generation, status.rollbacks), (Some(1), 1));
    assert!(status.problem.unwrap().message.contains("checksum"));
    profiles.poll();
    assert_eq!(profiles.generation(), Some(1), "a file that was rolled back is not tried again");
}

#[test]
fn file_overwritten_in_place_by_garbage_stops_serving_data_and_recovers() {
    let fixture = Fixture::new();
    fixture.publish("ann");
    let profiles = fixture.open();
    let length = fs::metadata(&fixture.path).unwrap().len() as usize;
    fs::write(&fixture.path, vec![7; length]).unwrap();
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Broken);
    profiles.poll();
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Broken);
    assert_eq!(profiles.data(b"ann-1"), None);
    fixture.publish("ann");
    profiles.poll();
    assert_eq!(profiles.lookup(b"ann-1"), Lookup::Present);
}

#[test]
fn threads_that_look_up_never_see_anything_but_a_whole_build() {
    let fixture = Fixture::new();
    fixture.publish("both");
    let profiles = fixture.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(profiles.lookup(b"both-500"), Lookup::Present);
                    assert_eq!(profiles.lookup(b"none-500"), Lookup::Absent);
                    assert!(profiles.data(b"both-500").is_some());
                }
            });
        }
        for _ in 0..20 {
            fixture.publish("both");
            profiles.poll();
            profiles.verify(&Stop::default());
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(profiles.generation(), Some(21));
}
