//! What an operator reads.

use super::*;
use crate::{BuildOptions, Builder, UserKey, UserRead};

fn built(user_key: UserKey) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let options = BuildOptions { items_min: 1, user_key, ..BuildOptions::default() };
    let mut builder = Builder::new(&path, options, 1_000).unwrap();
    builder.add(UserRead { user: b"ann", item: "1", category: "b", unix_ms: 1_000 });
    builder.finish(|_| Ok(())).unwrap();
    (folder, path)
}

#[test]
fn user_is_shown_with_data() {
    let (_folder, path) = built(UserKey::Plain);
    let shown = |user: &[u8]| inspect(&path, Some(user)).unwrap().to_string();
    let data = r#"{"affinity":{"b":1},"reads":1,"recent":["1"]}"#;
    assert_eq!(shown(b"ann"), format!("`ann` has a profile\n{data}"));
    assert_eq!(shown(b"bob"), "`bob` has no profile");
}

#[test]
fn data_that_is_no_profile_is_shown_with_its_fault() {
    let (_folder, path) = built(UserKey::Plain);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE user_profiles SET data = '[1'", []).unwrap();
    let shown = inspect(&path, Some(b"ann")).unwrap().to_string();
    assert!(shown.starts_with("`ann` has a profile\n[1\nno data for models: "), "{shown}");
}

#[test]
fn file_of_hashed_users_is_shown_without_its_salt() {
    let user_key = UserKey::hash("2026");
    let (_folder, path) = built(user_key.clone());
    let inspection = inspect(&path, None).unwrap();
    assert_eq!(inspection.keys, [String::from_utf8_lossy(&user_key.of(b"ann"))]);
    assert_eq!(inspection.file.users, Some(user_key.mark()));
    assert_eq!(inspect(&path, Some(b"ann")).unwrap().user.unwrap().lookup, Lookup::Absent);
}

#[test]
fn check_reports_what_it_read() {
    let (_folder, path) = built(UserKey::Plain);
    let report = check(&path).unwrap();
    assert_eq!((report.file.rows, report.file.profiles), (Some(1), Some(1)));
    let text = report.to_string();
    assert!(text.contains("rows: 1\nprofiles: 1\n") && text.contains("users: plain\n"), "{text}");
}

fn by_hand(rows: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let table = "CREATE TABLE user_profiles (profile_id text PRIMARY KEY NOT NULL, data);";
    connection.execute_batch(&format!("{table} INSERT INTO user_profiles VALUES {rows};")).unwrap();
    connection.close().unwrap();
    (folder, path)
}

#[test]
fn check_names_the_row_whose_data_no_model_can_read() {
    for (data, reason) in [
        ("'{\"affinity\": '", "EOF while parsing"),
        ("'[1]'", "invalid type"),
        ("7", "it is a number"),
    ] {
        let (_folder, path) = by_hand(&format!("('ann', '{{}}'), ('bob', {data}), ('eve', 5.5)"));
        let refused = check(&path).unwrap_err().to_string();
        assert!(
            refused.contains("row `bob` and 1 more: ") && refused.contains(reason),
            "{refused}"
        );
    }
}

#[test]
fn check_counts_no_other_rows_where_one_is_wrong() {
    let (_folder, path) = by_hand("('ann', '{}'), ('bob', '[1]'), ('eve', NULL)");
    let refused = check(&path).unwrap_err().to_string();
    assert!(refused.contains("row `bob`: a model cannot read `data`: "), "{refused}");
}

#[test]
fn check_notes_that_no_row_has_an_affinity_and_only_then() {
    for (rows, noted) in [
        (r#"('ann', '{"affinty":{"b":1}}'), ('bob', '{"reads":"16"}'), ('eve', NULL)"#, Some(2)),
        (r#"('ann', '{"affinity":{"b":"1"}}')"#, Some(1)),
        (r#"('ann', '{"affinty":{"b":1}}'), ('bob', '{"affinity":{"b":1}}')"#, None),
        ("('ann', NULL), ('bob', '')", None),
    ] {
        let (_folder, path) = by_hand(rows);
        let report = check(&path).unwrap();
        assert_eq!(report.rows_without_affinity, noted, "{rows}");
        let note = noted.map(|rows| format!("no row has an affinity: of {rows} with `data`"));
        let text = report.to_string();
        assert_eq!(text.contains("affinity"), note.is_some(), "{text}");
        assert!(text.contains(&note.unwrap_or_default()), "{text}");
    }
}

#[test]
fn some_keys_are_shown_from_all_over_the_file() {
    let rows: Vec<String> = (0..200).map(|user| format!("({}, NULL)", 1_000 + user)).collect();
    let (_folder, path) = by_hand(&rows.join(", ").replace('(', "('").replace(", NULL", "', NULL"));
    let keys = inspect(&path, None).unwrap().keys;
    assert!((5..=KEYS_SHOWN).contains(&keys.len()), "{keys:?}");
    let numbers: Vec<u32> = keys.iter().map(|key| key.parse().unwrap()).collect();
    assert!(numbers[0] < 1_050 && *numbers.last().unwrap() >= 1_150, "{keys:?}");
    assert!(numbers.is_sorted_by(|a, b| a < b), "{keys:?}");
}

#[test]
fn the_time_of_the_checks_is_told_apart() {
    let (_folder, path) = built(UserKey::Plain);
    let begun = Instant::now();
    let report = check(&path).unwrap();
    assert!(report.quick + report.full <= begun.elapsed(), "{report}");
}

#[test]
fn data_may_be_empty() {
    let (_folder, path) = by_hand("('ann', ''), ('bob', NULL), ('eve', '{\"reads\": 3}')");
    assert_eq!(check(&path).unwrap().file.profiles, Some(3));
    assert_eq!(inspect(&path, Some(b"ann")).unwrap().to_string(), "`ann` has a profile");
    let file = ProfileFile::open(&path, &FileOptions::default(), None).unwrap();
    assert_eq!(file.data(b"ann"), Some(Profile::default()));
    assert_eq!(file.status().bad_data, 0);
}

/// What `check` says of a table of flags whose ids are declared so.
fn checked(declared: &str, ids: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let table = format!("CREATE TABLE user_profiles (user_id {declared}, has_profile boolean)");
    connection.execute_batch(&table).unwrap();
    for id in ids {
        connection.execute("INSERT INTO user_profiles VALUES (?1, 1)", [id]).unwrap();
    }
    connection.close().unwrap();
    let checked = check(&path).map(|report| report.to_string());
    checked.map_err(|error| error.to_string())
}

#[test]
fn ids_that_sqlite_changed_are_named_by_the_check() {
    let ids = ["ann", "007", "1e3"];
    let refused = checked("string PRIMARY KEY", &ids).unwrap_err();
    assert!(refused.contains("column `user_id` is declared `string`"), "{refused}");
    assert!(refused.contains("rows with numbers: 2, such as `7`, `1000`"), "{refused}");
    for declared in ["text PRIMARY KEY", "char(100) PRIMARY KEY NOT NULL", "PRIMARY KEY"] {
        assert!(checked(declared, &ids).unwrap().contains("profiles: 3"), "{declared}");
    }
    assert!(checked("string PRIMARY KEY", &["ann", "bob"]).is_ok(), "nothing was changed");
    assert!(checked("integer PRIMARY KEY", &["7", "1000"]).is_ok(), "these are meant");
    let unfindable = checked("string PRIMARY KEY", &["123456789012345678901234"]).unwrap_err();
    assert!(unfindable.contains("write keys as text"), "{unfindable}");
    let slow = checked("string", &ids).unwrap_err();
    assert!(slow.contains("no index on"), "{slow}");
}
