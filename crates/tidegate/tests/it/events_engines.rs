//! Claims about what every engine holds: distinct counts, quantiles and single lines, of a process
//! that is killed while it delivers.

use std::path::Path;

use testkit::{MariaDb, Postgres, TempDir};

use crate::events::{CONFIG, append, first, start};
use crate::running::{run, until};

const MORE: &str = r#"
[[rollup]]
name = "spread"
by = ["status"]
unique = ["query.id"]
quantiles = ["bytes_out"]

[[rollup]]
name = "single"
raw = true
"#;
/// Lines, in so many steps, each with a process of its own that is killed.
const LINES: u64 = 3_000;
const STEPS: u64 = 5;

/// How a database is asked.
type Ask = Box<dyn Fn(&Path, &str) -> String>;

fn engines() -> [(String, &'static str, Ask); 3] {
    let (postgres, mariadb) = (Postgres::shared(), MariaDb::shared());
    let urls = [postgres.database(), mariadb.database()];
    let [in_postgres, in_mariadb] = urls.clone();
    let ask_postgres = move |_: &Path, sql: &str| postgres.query(&in_postgres, sql);
    let ask_mariadb = move |_: &Path, sql: &str| mariadb.query(&in_mariadb, sql);
    let [to_postgres, to_mariadb] = urls;
    [
        ("sqlite:sink.db".to_owned(), "lower(hex({}))", Box::new(ask_sqlite)),
        (to_postgres, "encode({}, 'hex')", Box::new(ask_postgres)),
        (to_mariadb, "lower(hex({}))", Box::new(ask_mariadb)),
    ]
}

fn ask_sqlite(folder: &Path, sql: &str) -> String {
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let width = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut cells: Vec<String> = Vec::new();
    let row = rows.next().unwrap().unwrap();
    for at in 0..width {
        let value: rusqlite::types::Value = row.get(at).unwrap();
        cells.push(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Real(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => panic!("{other:?}"),
        });
    }
    cells.join("|")
}

/// Delivers everything; what was delivered is held once, whatever the last process was at.
fn deliver(folder: &Path, config: &str) {
    for step in 0..STEPS {
        append(folder, step * LINES / STEPS..(step + 1) * LINES / STEPS);
        let server = start(folder, config, "tidegate.toml");
        until("a delivery", || first(server.address())["batches"].as_u64() > Some(0));
        server.signal("KILL").unwrap();
    }
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    assert_eq!(code, 0, "{said}");
}

/// The same numbers, as the command shows them.
fn queried(folder: &Path) -> String {
    let (code, text, said) = run(&["events", "query", "spread", "--format", "json"], folder);
    assert_eq!(code, 0, "{said}");
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = ["unique_query_id", "p50_bytes_out", "p90_bytes_out", "p99_bytes_out"];
    let numbers = names.map(|name| rows[0][name].as_f64().unwrap().to_string());
    numbers.join("|")
}

#[test]
fn sketches_and_single_lines_are_the_same_in_every_engine() {
    let mut all = Vec::new();
    for (url, hex, ask) in engines() {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        deliver(folder, &(CONFIG.replace("sqlite:sink.db", &url) + MORE));
        let single = "SELECT COUNT(*), COUNT(DISTINCT file_offset), SUM(bytes_out) FROM single";
        let sum: u64 = (0..LINES).sum();
        assert_eq!(ask(folder, single), format!("{LINES}|{LINES}|{sum}"), "{url}");
        assert_eq!(ask(folder, "SELECT status, count FROM spread"), format!("200|{LINES}"));
        let [unique, quantiles] =
            ["unique_query_id", "quantiles_bytes_out"].map(|column| hex.replace("{}", column));
        let held = ask(folder, &format!("SELECT {unique}, {quantiles} FROM spread_sketches"));
        let numbers = "unique_query_id_count, p50_bytes_out, p90_bytes_out, p99_bytes_out";
        let numbers = ask(folder, &format!("SELECT {numbers} FROM spread_sketches"));
        assert_eq!(numbers, queried(folder), "{url}");
        all.push((url, held));
    }
    let (_, first) = &all[0];
    assert!(first.len() > 100, "{first}");
    for (url, held) in &all[1..] {
        assert_eq!(held, first, "{url}");
    }
}
