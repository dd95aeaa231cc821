//! From rows to look-ups in the file.

use std::io;
use std::path::Path;

use super::*;
use crate::config::{self, Config};
use crate::{FileOptions, ProfileFile};

fn plan(folder: &Path) -> Plan {
    let config = Config {
        file: Some("profiles.db".into()),
        items_min: Some(2),
        query: Some("SELECT".into()),
        ..Config::default()
    };
    config::plan(&config, folder, &mut |key, why| panic!("{key}: {why}"))
}

fn build(
    plan: &Plan,
    names: &[&str],
    rows: &[&[Option<&str>]],
) -> Result<BuildSummary, ProfilesError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    rebuild_from_query(plan, &UserKey::Plain, |take| {
        for row in rows {
            let cells: Vec<_> = row.iter().map(|cell| cell.map(str::as_bytes)).collect();
            if take(&names, &cells).is_break() {
                break;
            }
        }
        Ok::<_, io::Error>(())
    })
}

#[test]
fn users_with_enough_reads_get_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let (ann, bob) = (Some("ann"), Some("bob"));
    let rows: &[&[Option<&str>]] = &[
        &[Some("1"), ann, Some("b")],
        &[Some("2"), ann, Some("t")],
        &[Some("3"), ann, None],
        &[None, bob, Some("b")],
        &[Some("1"), bob, Some("b")],
        &[Some("9"), None, Some("b")],
        &[Some("9"), Some(""), Some("b")],
        &[Some(""), bob, Some("b")],
    ];
    let before = stdx::unix_micros() / 1_000;
    let built = build(&plan, &["ITEM", "user", "category"], rows).unwrap();
    assert_eq!((built.rows, built.users), (1, 2));
    let file = ProfileFile::open(&plan.file, &FileOptions::default(), None).unwrap();
    let built_unix_ms = file.status().built_unix_ms.unwrap();
    assert!((before..=stdx::unix_micros() / 1_000).contains(&built_unix_ms), "{built_unix_ms}");
    assert!(file.data(b"ann").is_some());
    assert_eq!(file.data(b"bob"), None);
}

#[test]
fn users_of_a_database_become_keys_and_those_of_a_sink_are_keys() {
    let folder = tempfile::tempdir().unwrap();
    let key = UserKey::hash("secret");
    let ann = String::from_utf8(key.of(b"ann").into_owned()).unwrap();
    let options = FileOptions { user_key: key.clone(), ..FileOptions::default() };
    for (database, written) in [(Some("postgres://a@b/c".to_owned()), "ann"), (None, &*ann)] {
        let plan = Plan { database, ..plan(folder.path()) };
        let names = ["user", "item"].map(str::to_owned);
        let built = rebuild_from_query(&plan, &key, |take| {
            for item in [b"1", b"2"] {
                let _ = take(&names, &[Some(written.as_bytes()), Some(item)]);
            }
            Ok::<_, io::Error>(())
        });
        assert_eq!(built.unwrap().rows, 1);
        let file = ProfileFile::open(&plan.file, &options, None).unwrap();
        assert!(file.data(b"ann").is_some(), "{written}");
    }
}

#[test]
fn a_query_without_a_row_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    assert_eq!(build(&plan, &["user", "item"], &[]).unwrap().rows, 0, "there is no file yet");
    let rows: &[&[Option<&str>]] = &[&[Some("ann"), Some("1")], &[Some("ann"), Some("2")]];
    assert_eq!(build(&plan, &["user", "item"], rows).unwrap().rows, 1);
    let error = build(&plan, &["u", "i"], &[]).unwrap_err().to_string();
    assert!(error.contains("there is none; the file stays"), "{error}");
    let file = ProfileFile::open(&plan.file, &FileOptions::default(), None).unwrap();
    assert!(file.data(b"ann").is_some());
    let forced = Plan { shrink_max: 1.0, ..plan };
    assert_eq!(build(&forced, &["user", "item"], &[]).unwrap().rows, 0);
}

#[test]
fn times_may_be_seconds_with_a_fraction() {
    assert_eq!(unix_ms(b"1795233252.123456"), Some(1_795_233_252_123));
    assert_eq!(unix_ms(b"1795233252"), Some(1_795_233_252_000));
    assert_eq!(unix_ms(b"1.2.3"), None);
}

#[test]
fn rows_that_are_no_reads_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path());
    let wrong = [
        (&["user", "query_item"][..], "no column is called `item`, there are `user`, `query_item`"),
        (&["user", "item", "time"][..], "`soon` in column `time` is no time"),
    ];
    for (names, expected) in wrong {
        let row: &[Option<&str>] = &[Some("ann"), Some("1"), Some("soon")];
        let error = build(&plan, names, &[&row[..names.len()]]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let cut = rebuild_from_query(&plan, &UserKey::Plain, |_| Err(io::Error::other("gone")));
    let error = stdx::Chain(&cut.unwrap_err()).to_string();
    assert_eq!(error, "run the `query` of [profiles]: gone");
    assert!(!plan.file.exists());
}

#[test]
fn times_are_read_as_engines_write_them() {
    let expected = Some(1_795_254_480_250);
    for text in [
        "2026-11-21T09:48:00.25Z",
        "2026-11-21 09:48:00.250000",
        "2026-11-21 09:48:00.25+00",
        "2026-11-21T09:48:00.25+00:00",
    ] {
        assert_eq!(unix_ms(text.as_bytes()), expected, "{text}");
    }
    assert_eq!(unix_ms(b"2026-11-21"), Some(1_795_219_200_000));
    assert_eq!(unix_ms(b"1795254480"), Some(1_795_254_480_000));
    assert_eq!(unix_ms(b"2026-11-21 09:48:00+02"), None);
    assert_eq!(unix_ms(b"x"), None);
}
