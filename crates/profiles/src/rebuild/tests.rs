//! From exchanges in a real journal to look-ups in the file.

mod incremental;

use std::fs;
use std::path::PathBuf;

use exchange::{CacheResult, Decision, ExchangeRef, Phase};
use journal::{Journal, Options};

use super::*;
use crate::config::{self, Config};
use crate::tests::logged;
use crate::{FileOptions, Lookup, Profile, inspect};

struct Fixture {
    folder: tempfile::TempDir,
    plan: Plan,
}

impl Fixture {
    fn new(config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let items = [
            r#"{"id":"1","category":"b"}"#,
            "",
            r#"{"id":"2","category":"t","n":1}"#,
            r#"{"id":"3","section":"b"}"#,
        ];
        fs::write(folder.path().join("items.jsonl"), items.join("\n")).unwrap();
        let config = Config {
            file: Some("profiles.db".into()),
            items: Some("items.jsonl".into()),
            items_min: config.items_min.or(Some(2)),
            ..config
        };
        let plan =
            config::plan(&config, folder.path(), &mut |key, reason| panic!("{key}: {reason}"));
        Self { folder, plan }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// Appends to the journal as the gateway does, and closes it.
    fn record(&self, lines: impl IntoIterator<Item = Vec<u8>>) {
        let journal = Journal::open(Options::new(self.journal()), Arc::new(RealDisk)).unwrap();
        let lane = journal.lane();
        for line in lines {
            lane.append(|buffer| buffer.extend_from_slice(&line)).unwrap();
        }
    }

    fn rebuild(&self) -> Result<BuildSummary, ProfilesError> {
        rebuild_from_journal(&self.journal(), &self.plan, &UserKey::Plain, Output::WholeFile)
    }

    fn profile(&self, user: &str) -> Option<Profile> {
        let file = ProfileFile::open(&self.plan.file, &FileOptions::default(), None).unwrap();
        file.data(user.as_bytes())
    }
}

fn exchange(user: &str, query: &str, status: u16, path: &str) -> Vec<u8> {
    let mut line = Vec::new();
    let exchange = ExchangeRef {
        time_us: stdx::unix_micros(),
        id: 1,
        method: "POST",
        scheme: "http",
        host: None,
        path: path.as_bytes(),
        query: Some(query.as_bytes()),
        version: "HTTP/1.1",
        status,
        bytes_in: 0,
        bytes_out: 0,
        client_ip: None,
        user: Some(user.as_bytes()).filter(|user| !user.is_empty()),
        user_agent: None,
        referer: None,
        route: None,
        decision: Decision::from_name("generic").unwrap(),
        decision_detail: None,
        cache: CacheResult::from_name("none").unwrap(),
        upstream: None,
        ranked_by: None,
        fetched_by: None,
        phases: [0; Phase::COUNT],
        total_us: 1,
        impression: None,
    };
    exchange::encode(&exchange, &mut line);
    line
}

fn read(user: &str, item: &str) -> Vec<u8> {
    exchange(user, &format!("item={item}&request=00"), 204, "/1/feedback/read")
}

#[test]
fn reads_in_the_journal_become_profiles() {
    let fixture = Fixture::new(Config::default());
    fixture.record([
        read("ann", "1"),
        read("ann", "2"),
        read("ann", "unknown%20item"),
        read("bob", "1"),
        read("", "1"),
        exchange("bob", "item=2", 503, "/1/feedback/read"),
        exchange("bob", "item=2", 200, "/1/feedback/seen"),
        exchange("bob", "other=2", 204, "/1/feedback/read"),
    ]);
    let before = stdx::unix_micros() / 1_000;
    let built = fixture.rebuild().unwrap();
    assert_eq!((built.rows, built.users, built.skipped), (1, 2, 0));
    let built_unix_ms = inspect(&fixture.plan.file, None).unwrap().file.built_unix_ms.unwrap();
    assert!((before..=stdx::unix_micros() / 1_000).contains(&built_unix_ms), "{built_unix_ms}");
    let profile = fixture.profile("ann").unwrap();
    let mut categories: Vec<_> = profile.affinity().map(|(name, _)| name).collect();
    categories.sort_unstable();
    assert_eq!(categories, ["b", "t"]);
    assert!((profile.affinity().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-3);
    assert_eq!(profile.feature("reads"), Some(3.0));
    assert!(profile.recent().any(|item| item == "unknown item"));
    assert_eq!(fixture.profile("bob"), None);
}

#[test]
fn later_reads_change_the_next_build() {
    let fixture = Fixture::new(Config::default());
    fixture.record([read("ann", "1"), read("ann", "2"), read("bob", "1")]);
    assert_eq!(fixture.rebuild().unwrap().rows, 1);
    fixture.record([read("bob", "2")]);
    assert_eq!(fixture.rebuild().unwrap().rows, 2);
    assert!(fixture.profile("bob").is_some());
}

#[test]
fn garbage_in_the_journal_is_passed_over_and_said() {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    let warned = |lines: Vec<Vec<u8>>| {
        fixture.record(lines);
        let logged = logged(|| assert_eq!(fixture.rebuild().unwrap().rows, 1));
        logged.into_iter().filter(|line| line.starts_with("WARN")).collect::<Vec<_>>()
    };
    assert_eq!(warned(vec![read("ann", "1")]), [""; 0]);
    let lines = vec![b"garbage\n".to_vec(), read("ann", "1"), b"\xff{\n\n".to_vec()];
    assert_eq!(warned(lines), ["WARN message=lines of the journal are no exchanges malformed=3"]);
    assert_eq!(warned(vec![read("ann", "1")]), [""; 0], "they were said");
}

#[test]
fn event_and_item_may_be_chosen() {
    let fixture = Fixture::new(Config {
        items_min: Some(1),
        event: Some("path ~ '^/news/' and status == 200".into()),
        item: Some("path".into()),
        ..Config::default()
    });
    fixture.record([exchange("ann", "", 200, "/news/17"), exchange("ann", "", 200, "/about")]);
    assert_eq!(fixture.rebuild().unwrap().rows, 1);
    let profile = fixture.profile("ann").unwrap();
    assert_eq!(profile.recent().collect::<Vec<_>>(), ["/news/17"]);
}

#[test]
fn users_recorded_as_hashes_are_found_by_their_ids() {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    let user_key = UserKey::hash("salt");
    let recorded = String::from_utf8(user_key.of(b"ann").into_owned()).unwrap();
    fixture.record([read(&recorded, "1")]);
    rebuild_from_journal(&fixture.journal(), &fixture.plan, &user_key, Output::WholeFile).unwrap();
    let options = fixture.plan.file_options(user_key);
    let file = ProfileFile::open(&fixture.plan.file, &options, None).unwrap();
    assert_eq!(file.lookup(b"ann"), Lookup::Present);
    assert_eq!(file.lookup(recorded.as_bytes()), Lookup::Absent);
}

#[test]
fn build_that_lost_most_profiles_does_not_replace_the_file() {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    fixture.record((0..200).map(|user| read(&format!("user-{user}"), "1")));
    fixture.rebuild().unwrap();
    fs::rename(fixture.journal(), fixture.folder.path().join("lost")).unwrap();
    let refused = fixture.rebuild().unwrap_err().to_string();
    assert!(refused.contains("0 rows after 200"), "{refused}");
    assert!(fixture.profile("user-7").is_some());
}

#[test]
fn absent_journal_builds_an_empty_file_where_there_was_none() {
    let fixture = Fixture::new(Config::default());
    assert_eq!(fixture.rebuild().unwrap().rows, 0);
    assert_eq!(inspect(&fixture.plan.file, None).unwrap().file.rows, Some(0));
}

#[test]
fn items_file_that_is_broken_is_named_with_its_line() {
    let fixture = Fixture::new(Config::default());
    let items = fixture.folder.path().join("items.jsonl");
    let refusal = |content: &str| {
        fs::write(&items, content).unwrap();
        fixture.rebuild().unwrap_err().to_string()
    };
    assert!(refusal("{\"id\":\"1\"}\n{\"id\":").contains("line 2: EOF"));
    assert!(refusal("{\"id\":7}").contains("line 1: there is no text `id`"));
    fs::remove_file(&items).unwrap();
    assert!(fixture.rebuild().unwrap_err().to_string().contains("items.jsonl"));
}

/// A fixture whose profile file is another builder's.
fn by_hand(sql: &str) -> Fixture {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    let connection = rusqlite::Connection::open(&fixture.plan.file).unwrap();
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
    fixture
}

#[test]
fn a_file_made_by_hand_is_not_replaced_by_a_smaller_one_unless_that_is_meant() {
    let mut fixture = by_hand(
        "CREATE TABLE user_profiles (profile_id text PRIMARY KEY, data text);
         INSERT INTO user_profiles VALUES ('ann', '{}'), ('bob', ''), ('eve', NULL);",
    );
    fixture.record([read("zoe", "1")]);
    let refused = fixture.rebuild().unwrap_err();
    assert!(matches!(refused, ProfilesError::Shrunk { rows: 1, last: 3, .. }), "{refused}");
    assert!(refused.to_string().contains("raise `shrink_max` = 50%"), "{refused}");
    assert!(fixture.profile("ann").is_some());
    fixture.plan.shrink_max = 1.0;
    assert_eq!(fixture.rebuild().unwrap().rows, 1);
    assert!(fixture.profile("zoe").is_some() && fixture.profile("ann").is_none());
}

#[test]
fn a_file_made_by_hand_is_replaced_by_one_with_as_many_rows() {
    let fixture = by_hand(
        "CREATE TABLE user_profiles (user_id text PRIMARY KEY, has_profile int);
         INSERT INTO user_profiles VALUES ('ann', 1);",
    );
    fixture.record([read("ann", "1")]);
    assert_eq!(fixture.rebuild().unwrap().rows, 1);
}

#[test]
fn scheduled_builds_note_in_the_journal_how_far_they_read() {
    for every in [None, Some("1h".to_owned())] {
        let scheduled = every.is_some();
        let fixture = Fixture::new(Config { every, ..Config::default() });
        fixture.record([read("ann", "1"), read("ann", "2")]);
        let bookmark = fixture.journal().join("readers/profiles");
        fixture.rebuild().unwrap();
        assert_eq!(bookmark.exists(), scheduled);
        if scheduled {
            let manifest = Manifest::read(&state::dir_of(&fixture.plan.file)).unwrap().unwrap();
            let offset: u64 = fs::read_to_string(&bookmark).unwrap().trim_end().parse().unwrap();
            assert!(offset > 0 && offset == manifest.journal.offset, "{offset}");
        }
        forget_journal(&fixture.journal());
        assert!(!bookmark.exists());
    }
}

#[test]
fn a_small_file_is_written_whole_and_only_when_something_changed() {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    let build = || {
        let journal = fixture.journal();
        rebuild_from_journal(&journal, &fixture.plan, &UserKey::Plain, Output::Changes).unwrap()
    };
    fixture.record([read("ann", "1")]);
    assert_eq!(build().items, Some(1));
    fixture.record([read("bob", "2")]);
    let built = build();
    assert_eq!((built.items, built.lines, built.rows), (Some(2), 1, 2));
    assert_eq!(built.bytes, fs::metadata(&fixture.plan.file).unwrap().len());
    let unchanged = build();
    assert_eq!((unchanged.items, unchanged.rows, unchanged.bytes), (None, 2, built.bytes));
}

#[test]
fn a_new_item_has_its_category_in_profiles_by_the_next_build_also_for_reads_before_it() {
    let fixture = Fixture::new(Config { items_min: Some(1), ..Config::default() });
    let build = || {
        let journal = fixture.journal();
        rebuild_from_journal(&journal, &fixture.plan, &UserKey::Plain, Output::Changes).unwrap()
    };
    let share = |category: &str| {
        let profile = fixture.profile("ann").unwrap();
        profile.feature(&format!("affinity.{category}"))
    };
    fixture.record([read("ann", "1"), read("ann", "9")]);
    build();
    assert_eq!((share("b"), share("new")), (Some(1.0), None), "nobody knows item 9");
    let items = fixture.folder.path().join("items.jsonl");
    let more = fs::read_to_string(&items).unwrap() + "\n{\"id\":\"9\",\"category\":\"new\"}";
    fs::write(&items, more).unwrap();
    assert_eq!(build().lines, 0, "no line is read again");
    assert_eq!((share("b"), share("new")), (Some(0.5), Some(0.5)));
}
