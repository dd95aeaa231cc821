//! Claims about the SQL for Grafana in docs/operating/grafana.md: it runs as it stands there, and
//! draws what `events query` says.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use testkit::{MariaDb, Postgres, TempDir};

use crate::running::run;

const PAGE: &str = include_str!("../../../../docs/operating/grafana.md");
const CONFIG: &str = r#"
node = "n"

[[source]]
name = "web"
files = ["access.log"]
format = "ltsv"

[[sink]]
name = "main"
url = "SINK"
"#;
/// 2026-11-21, from 10:00 to 10:03, in seconds since 1970; a fourth minute is not in the chart.
const FROM: u64 = 1_795_255_200;
const TO: u64 = FROM + 3 * 60 - 1;

/// The blocks of a language below a heading of the page.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(heading));
    let fence = format!("```{language}\n");
    let blocks = section.unwrap_or_default().split(fence.as_str()).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Four minutes of a log: 50 clients, times of 1 to 100 ms.
fn log() -> String {
    let mut text = String::new();
    for line in 0..400 {
        let (minute, client, ms) = (line / 100, line % 50, line % 100 + 1);
        writeln!(
            text,
            "time:2026-11-21T10:{minute:02}:00Z\thost:192.0.2.{client}\tmethod:GET\turi:/a\t\
             status:200\tsize:5\treqtime:0.{ms:03}"
        )
        .unwrap();
    }
    text
}

/// Expands Grafana's macros as the data source of an engine does.
fn expanded(sql: &str, filter: &str) -> String {
    sql.replace("$__timeFilter(minute)", filter)
        .replace("$__from", &(FROM * 1000).to_string())
        .replace("$__to", &(TO * 1000).to_string())
}

/// A row of the chart as numbers: p50, p99, clients.
fn numbers(line: &str) -> Vec<f64> {
    line.split('|').skip(2).map(|cell| cell.parse().expect(line)).collect()
}

#[test]
fn panels_draw_what_the_query_says_in_every_engine() {
    let (postgres, mariadb) = (Postgres::shared(), MariaDb::shared());
    let [to_postgres, to_mariadb] = [postgres.database(), mariadb.database()];
    let at = |seconds: u64| format!("to_timestamp({seconds})");
    let in_postgres = format!("minute BETWEEN {} AND {}", at(FROM), at(TO));
    let in_mariadb = format!("minute BETWEEN FROM_UNIXTIME({FROM}) AND FROM_UNIXTIME({TO})");
    type Ask<'a> = Box<dyn Fn(&Path, &str) -> String + 'a>;
    let engines: [(&str, &str, &str, Ask<'_>); 3] = [
        (
            "PostgreSQL",
            &to_postgres,
            &in_postgres,
            Box::new(|_, sql| postgres.query(&to_postgres, sql)),
        ),
        (
            "MariaDB",
            &to_mariadb,
            &in_mariadb,
            Box::new(|_, sql| {
                mariadb.query(&to_mariadb, &format!("SET time_zone = '+00:00'; {sql}"))
            }),
        ),
        ("SQLite", "sqlite:sink.db", "", Box::new(ask_sqlite)),
    ];
    for (heading, url, filter, ask) in engines {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let config = CONFIG.replace("SINK", url) + &blocks("Rollups", "toml").join("\n");
        std::fs::write(folder.join("tidegate.toml"), config).unwrap();
        std::fs::write(folder.join("access.log"), log()).unwrap();
        let (code, _, said) = run(&["events", "run", "--once"], folder);
        assert_eq!(code, 0, "{said}");
        let panels = blocks(heading, "sql");
        let [requests, times] = panels.as_slice() else { panic!("{heading} has two panels") };
        let requests = ask(folder, &expanded(requests, filter));
        assert_eq!(requests.lines().count(), 3, "{heading}: {requests}");
        assert!(requests.lines().all(|line| line.ends_with("|100")), "{heading}: {requests}");
        let times = ask(folder, &expanded(times, filter));
        let drawn: Vec<Vec<f64>> = times.lines().map(numbers).collect();
        assert_eq!(drawn, queried(folder)[..3], "{heading}");
        assert!((drawn[0][1] / 99.0 - 1.0).abs() < 0.011 && drawn[0][2] == 50.0, "{drawn:?}");
    }
}

/// What the command says of the same minutes.
fn queried(folder: &Path) -> Vec<Vec<f64>> {
    let (code, text, said) = run(&["events", "query", "by_minute", "--format", "json"], folder);
    assert_eq!(code, 0, "{said}");
    let rows: Value = serde_json::from_str(&text).unwrap();
    let of = |row: &Value| {
        let number = |name: &str| row[name].as_f64().unwrap();
        let [p50, p99] = ["p50_total", "p99_total"].map(|name| number(name) / 1000.0);
        vec![p50, p99, number("unique_client_ip")]
    };
    rows.as_array().unwrap().iter().map(of).collect()
}

fn ask_sqlite(folder: &Path, sql: &str) -> String {
    use rusqlite::types::ValueRef;
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let width = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cell = |at| match row.get_ref(at).unwrap() {
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            other => other.as_str().unwrap().to_owned(),
        };
        lines.push((0..width).map(cell).collect::<Vec<_>>().join("|"));
    }
    lines.join("\n")
}
