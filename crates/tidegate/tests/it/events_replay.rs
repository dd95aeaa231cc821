//! Claims about delivering a part of a source again, and about giving up.

use std::path::Path;
use std::process::Command;

use testkit::TempDir;

use crate::running::{BINARY, run, until};

const CONFIG: &str = r#"
node = "n"

[[source]]
name = "web"
files = ["access.log*"]

[[rollup]]
name = "by_id"
by = ["query.id"]
sum = ["bytes_out"]
sink = "main"

[[rollup]]
name = "single"
raw = true
fields = ["path"]
sink = "main"

[[sink]]
name = "main"
url = "sqlite:sink.db"

[[sink]]
name = "copy"
url = "sqlite:copy.db"
flush = "5ms"
"#;

/// The line of an id, in the minute of the same number.
fn line(id: u64) -> String {
    format!(
        "192.0.2.7 - - [21/Nov/2026:10:{:02}:00 +0000] \"GET /p?id={id} HTTP/1.1\" 200 {id} \
         \"-\" \"-\"\n",
        id % 60
    )
}

fn folder(ids: std::ops::Range<u64>) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.toml"), CONFIG).unwrap();
    let text: String = ids.map(line).collect();
    std::fs::write(folder.path().join("access.log"), text).unwrap();
    folder
}

fn ask(folder: &Path, file: &str, sql: &str) -> Vec<(i64, i64)> {
    let database = rusqlite::Connection::open(folder.join(file)).unwrap();
    let Ok(mut statement) = database.prepare(sql) else { return Vec::new() };
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap_or_default()
}

fn replay(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    run(&[&["events", "replay"], arguments].concat(), folder)
}

const IDS: &str = "SELECT CAST(query_id AS INTEGER), count FROM by_id ORDER BY 1";

fn once(ids: impl Iterator<Item = i64>) -> Vec<(i64, i64)> {
    ids.map(|id| (id, 1)).collect()
}

#[test]
fn lines_of_a_time_are_delivered_again_beside_the_first_delivery() {
    let folder = folder(0..60);
    let folder = folder.path();
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);
    let times = ["--since", "2026-11-21T10:10", "--until", "2026-11-21T10:20"];
    let dry = replay(folder, &[&times[..], &["--dry-run"]].concat());
    assert!(dry.1.contains("web: 60 lines") && dry.1.contains("by_id: 10 lines"), "{dry:?}");
    assert!(!folder.join("copy.db").exists());
    let part = [&times[..], &["--to", "copy"]].concat();
    let (code, text, said) = replay(folder, &part);
    assert_eq!(code, 0, "{said}");
    assert!(text.contains("20 rows"), "{text}");
    assert_eq!(ask(folder, "copy.db", IDS), once(10..20));
    let places = "SELECT file_offset, 1 FROM single WHERE source = 'web' ORDER BY 1";
    assert_eq!(ask(folder, "copy.db", places).len(), 10);
    // Again, it has nothing left; what came since is added.
    assert_eq!(replay(folder, &part).0, 0);
    assert_eq!(ask(folder, "copy.db", IDS), once(10..20));
    std::fs::write(folder.join("access.log.0"), line(75) + &line(85)).unwrap();
    assert_eq!(replay(folder, &part).0, 0);
    assert_eq!(ask(folder, "copy.db", IDS), once((10..20).chain([75])));
    // The first delivery is as it was.
    assert_eq!(ask(folder, "sink.db", IDS), once(0..60));
    let (code, text, said) = run(&["events", "verify"], folder);
    assert_eq!(code, 0, "{text}{said}");
}

#[test]
fn lines_of_some_bytes_go_into_tables_of_other_names_in_the_same_sink() {
    let folder = folder(0..60);
    let folder = folder.path();
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);
    let end = (0..7).map(line).map(|line| line.len()).sum::<usize>();
    let place = format!("access.log:1-{end}");
    let part = ["--to", "main", "--prefix", "again_", "--rollup", "by_id", "--only", &place];
    assert_eq!(replay(folder, &part).0, 0);
    let again = IDS.replace("by_id", "again_by_id");
    assert_eq!(ask(folder, "sink.db", &again), once(1..7));
    let raw = "SELECT COUNT(*), 1 FROM sqlite_master WHERE name = 'again_single'";
    assert_eq!(ask(folder, "sink.db", raw), [(0, 1)]);
}

#[test]
fn what_would_count_twice_is_refused() {
    let folder = folder(0..60);
    let folder = folder.path();
    let refused = |arguments: &[&str], cause: &str| {
        let (code, text, said) = replay(folder, arguments);
        assert_eq!(code, 1, "{text}{said}");
        assert!(said.contains(cause), "{said}");
    };
    refused(&["--to", "main"], "`by_id` is what `events run` fills");
    refused(&["--to", "main"], "hint: `--prefix again_`");
    let nothing = "`--only nosuch` chooses no line of source `web`, counted by: by_id";
    refused(&["--only", "nosuch", "--dry-run"], nothing);
    refused(&["--only", "nosuch", "--to", "sqlite:nothing.db"], nothing);
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);
    // The same database by another name.
    refused(&["--to", "sqlite:./sink.db"], "gets the lines of `web` already");
    assert_eq!(replay(folder, &["--to", "copy", "--until", "2026-11-21T10:10"]).0, 0);
    let rest = ["--to", "copy", "--since", "2026-11-21T10:10"];
    refused(&rest, "it is of web in by_id, single, until 2026-11-21T10:10:00.000000Z, not of");
    assert_eq!(replay(folder, &[&rest[..], &["--name", "rest"]].concat()).0, 0);
    assert_eq!(ask(folder, "copy.db", IDS), once(0..60));
    refused(&["--to", "elsewhere"], "no sink `elsewhere`; there are: main, copy");
    refused(&["--to", "copy", "--rollup", "x"], "no rollup `x` of `web`; there are: by_id");
}

#[test]
fn a_replay_that_is_killed_again_and_again_counts_every_line_once() {
    const LINES: u64 = 40_000;
    let folder = folder(0..LINES);
    let folder = folder.path();
    let delivered =
        || ask(folder, "copy.db", "SELECT sequence, 0 FROM tidegate_checkpoints").first().copied();
    for _ in 0..8 {
        let before = delivered();
        let mut command = Command::new(BINARY);
        command.args(["events", "replay", "--to", "copy"]).current_dir(folder);
        let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
        until("a batch, or the end", || {
            delivered() > before || child.try_wait().unwrap().is_some()
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let (code, _, said) = replay(folder, &["--to", "copy"]);
    assert_eq!(code, 0, "{said}");
    let counts = "SELECT COUNT(*), SUM(count) FROM by_id";
    let all = LINES.cast_signed();
    assert_eq!(ask(folder, "copy.db", counts), [(all, all)]);
    let places = "SELECT COUNT(*), COUNT(DISTINCT file_offset) FROM single";
    assert_eq!(ask(folder, "copy.db", places), [(all, all)]);
}

#[test]
fn once_gives_up_on_a_dead_sink_and_delivers_to_the_others() {
    let folder = folder(0..60);
    let folder = folder.path();
    let more = "[[rollup]]\nname = \"other\"\nby = [\"query.id\"]\nsink = \"copy\"\n";
    std::fs::write(folder.join("tidegate.toml"), CONFIG.to_owned() + more).unwrap();
    // A folder stands where the database is to be.
    std::fs::create_dir(folder.join("sink.db")).unwrap();
    let (code, _, said) = run(&["events", "run", "--once", "--give-up-after", "200ms"], folder);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("error: gave up web to main after 200ms: "), "{said}");
    assert_eq!(ask(folder, "copy.db", &IDS.replace("by_id", "other")), once(0..60));
    let (code, _, said) = replay(folder, &["--to", "main", "--prefix", "x_"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("sink.db"), "{said}");
    std::fs::remove_dir(folder.join("sink.db")).unwrap();
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);
    assert_eq!(ask(folder, "sink.db", IDS), once(0..60));
}
