//! Claims about `tidegate events verify` and `query`, whatever the engine.
//!
//! What a sink holds is what its log says, and the first thing that is not is named.

use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;
use serde_json::Value;
use testkit::{MariaDb, Postgres, TempDir};

use crate::events::{CONFIG, append, start};
use crate::running::run;

/// Tells events to verify: status code, stdout, stderr.
fn verify(folder: &Path) -> (i32, String, String) {
    run(&["events", "verify"], folder)
}

fn deliver(folder: &Path) {
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    assert_eq!(code, 0, "{said}");
}

/// Lines that are written while others are verified.
const WRITTEN_BESIDE: u64 = 2000;

const ROLLUPS: &str = r#"
node = "n"

[[source]]
name = "web"
files = ["access.log*"]

[[field]]
name = "item"
from = "query.id"
type = "integer"
required = true

[[rollup]]
name = "by_minute"
by = ["minute", "path"]
sum = ["bytes_out"]
min = ["bytes_out"]
max = ["bytes_out", "time"]
mean = ["query.id"]
last = ["header.user-agent"]
unique = ["client_ip", "query.id"]
quantiles = ["bytes_out"]

[[rollup]]
name = "errors"
where = "status >= 500"
by = ["hour", "item"]

[[rollup]]
name = "single"
raw = true
fields = ["time", "path", "status", "item", "user"]

[[sink]]
name = "main"
url = "SINK"
flush = "20ms"
"#;

/// A line of that number, each in a minute of its own from some, late ones among them.
fn line(id: u64) -> String {
    let (minute, status) = (id % 7, [200, 503][usize::from(id.is_multiple_of(11))]);
    let path = match id % 50 {
        0 => format!("/{}", "long/".repeat(300)),
        1 => "/caf\u{e9}".to_owned(),
        _ => format!("/p{}", id % 3),
    };
    let client = id % 40;
    format!(
        "192.0.2.{client} - u{client} [21/Nov/2026:10:{minute:02}:00 +0000] \
         \"GET {path}?id={id} HTTP/1.1\" {status} {id} \"-\" \"agent {id}\"\n"
    )
}

fn write(folder: &Path, name: &str, ids: std::ops::Range<u64>) {
    let mut text: Vec<u8> = ids.flat_map(|id| line(id).into_bytes()).collect();
    // Refused: cut, without an id, with an id that is no number.
    text.extend_from_slice(b"192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET /cut\n");
    text.extend_from_slice(line(1).replace("id=1", "x=1").as_bytes());
    text.extend_from_slice(line(1).replace("id=1", "id=one").as_bytes());
    // What is no UTF-8 counts.
    text.extend_from_slice(b"192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET /\xff\xfe?id=7 ");
    text.extend_from_slice(b"HTTP/1.1\" 200 7 \"-\" \"-\"\n");
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.create(true).append(true).open(folder.join(name)).unwrap();
    file.write_all(&text).unwrap();
}

/// Packs a file, as a rotation does.
fn pack(folder: &Path, name: &str) {
    let plain = std::fs::read(folder.join(name)).unwrap();
    let file = std::fs::File::create(folder.join(format!("{name}.gz"))).unwrap();
    let mut packed = GzEncoder::new(file, flate2::Compression::fast());
    packed.write_all(&plain).unwrap();
    packed.finish().unwrap();
    std::fs::remove_file(folder.join(name)).unwrap();
}

/// Delivers a log that rotates, verifies, spoils one thing after the other in the sink by
/// `change`, and looks for the words that name it.
fn verified(url: &str, change: impl Fn(&str)) {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tidegate.toml"), ROLLUPS.replace("SINK", url)).unwrap();
    write(folder, "access.log", 0..400);
    deliver(folder);
    std::fs::rename(folder.join("access.log"), folder.join("access.log.1")).unwrap();
    write(folder, "access.log", 400..700);
    deliver(folder);
    pack(folder, "access.log.1");
    write(folder, "access.log", 700..900);
    deliver(folder);
    // What comes behind the checkpoint does not count.
    write(folder, "access.log", 900..910);
    let (code, text, said) = verify(folder);
    assert_eq!(code, 0, "{text}{said}");
    assert!(text.contains("web to main: 912 lines, "), "{text}");
    assert!(text.contains("web: 9 of them are refused, 9 of those are in quarantine"), "{text}");
    assert!(text.contains("single: 903 rows agree with the log"), "{text}");

    // Each is the first difference of its rollup, before those of the steps above it.
    let wrong = [
        (
            "DELETE FROM errors WHERE item = 33",
            "errors: 1 of 82 rows differ, first (hour 2026-11-21T10:00:00.000000Z, item 33): the \
             sink has no row of it; its first line is at byte ",
        ),
        ("UPDATE errors SET count = 7 WHERE item = 22", "item 22): `count` should be 1 and is 7;"),
        ("UPDATE errors SET item = -1 WHERE item = 11", "item -1): the log has no line of it"),
        ("DELETE FROM by_minute_sketches WHERE path = '/p2'", "the sink has no sketch of it"),
        (
            "UPDATE by_minute_sketches SET unique_client_ip = unique_query_id WHERE path = '/p1'",
            "`unique_client_ip` should be about ",
        ),
        (
            "UPDATE by_minute_sketches SET quantiles_bytes_out = NULL WHERE path = '/p0'",
            "`quantiles_bytes_out` is absent and should not be",
        ),
        ("UPDATE by_minute SET sum_bytes_out = 1 WHERE path LIKE '/lo%'", "`sum_bytes_out` should"),
        ("UPDATE by_minute SET last_header_user_agent = 'x'", "`last_header_user_agent` should be"),
        ("UPDATE single SET status = 201 WHERE item = 5", "status 201, item 5"),
        (
            "DELETE FROM single WHERE status = 201",
            "single: 1 of 903 rows differ, first the line at byte ",
        ),
    ];
    for (sql, words) in wrong {
        change(sql);
        let (code, text, said) = verify(folder);
        assert_eq!(code, 1, "{sql}: {text}{said}");
        assert!(text.contains(words), "{sql}: {text}");
        assert!(said.contains(" of 3 rollups differ from what the log holds"), "{said}");
    }
    let (_, text, _) = verify(folder);
    let place: usize = (0..5).map(|id| line(id).len()).sum();
    assert!(text.contains(&format!("the line at byte {place} of `./access.log.1.gz`")), "{text}");
}

#[test]
fn verify_names_what_differs_in_sqlite() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sink.db");
    verified(&format!("sqlite:{}", file.display()), |sql| {
        rusqlite::Connection::open(&file).unwrap().execute(sql, []).unwrap();
    });
}

#[test]
fn verify_names_what_differs_in_postgres() {
    let server = Postgres::shared();
    let url = server.database();
    verified(&url, |sql| drop(server.query(&url, sql)));
}

#[test]
fn verify_names_what_differs_in_mariadb() {
    let server = MariaDb::shared();
    let url = server.database();
    verified(&url, |sql| drop(server.query(&url, sql)));
}

#[test]
fn a_rollup_is_queried_alike_in_every_engine() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    write(folder, "access.log", 0..500);
    let urls =
        ["sqlite:sink.db".to_owned(), Postgres::shared().database(), MariaDb::shared().database()];
    let asked = |url: &str, more: &[&str]| -> Value {
        std::fs::write(folder.join("tidegate.toml"), ROLLUPS.replace("SINK", url)).unwrap();
        deliver(folder);
        let arguments = [&["events", "query", "--format", "json"], more].concat();
        let (code, text, said) = run(&arguments, folder);
        assert_eq!(code, 0, "{url}: {said}");
        serde_json::from_str(&text).unwrap()
    };
    for more in [
        &["by_minute"][..],
        &["by_minute", "--by", "hour", "--where", "path LIKE '/p%'"],
        &["by_minute", "--by", "", "--since", "2026-11-21T10:02", "--until", "2026-11-21T10:05"],
        &["single", "--since", "2026-11-21T10:06", "--where", "status = 503"],
    ] {
        let [first, others @ ..] = urls.each_ref().map(|url| asked(url, more));
        assert!(!first.as_array().unwrap().is_empty(), "{more:?}");
        for other in others {
            let rows = first.as_array().unwrap().iter().zip(other.as_array().unwrap());
            rows.for_each(|(one, other)| assert_eq!(one, other, "{more:?}"));
            assert_eq!(first, other);
        }
    }
    let sql = ["--sql", "SELECT path, SUM(count) AS n FROM by_minute GROUP BY path ORDER BY 1"];
    let whole = urls.each_ref().map(|url| asked(url, &sql).as_array().unwrap().len());
    assert_eq!(whole, [6; 3]);
}

#[test]
fn verify_says_which_bytes_are_gone() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tidegate.toml"), CONFIG).unwrap();
    let (code, _, said) = verify(folder);
    assert_eq!(code, 1);
    assert!(said.contains("nothing was delivered"), "{said}");
    append(folder, 0..10);
    deliver(folder);
    std::fs::remove_file(folder.join("access.log")).unwrap();
    let (code, text, said) = verify(folder);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("(query_id \"0\"): the log has no line of it"), "{text}");
    assert!(text.contains("bytes that were counted are gone"), "{text}");
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn of_machines_that_share_a_sink_each_verifies_what_has_its_name() {
    let folders = ["a", "b"].map(|node| {
        let folder = TempDir::new().unwrap();
        (node, folder)
    });
    let database = folders[0].1.path().join("sink.db");
    for (node, folder) in &folders {
        let config = ROLLUPS.replace("SINK", &format!("sqlite:{}", database.display()));
        let config = config.replace("node = \"n\"", &format!("node = \"{node}\""));
        std::fs::write(folder.path().join("tidegate.toml"), config).unwrap();
        write(folder.path(), "access.log", if *node == "a" { 0..100 } else { 50..300 });
        deliver(folder.path());
    }
    for (folder, rows) in [(&folders[0].1, 101), (&folders[1].1, 251)] {
        let (code, text, said) = verify(folder.path());
        assert_eq!(code, 0, "{text}{said}");
        assert!(text.contains(&format!("single: {rows} rows agree with the log")), "{text}");
        assert!(text.contains("errors: 28 aggregates are not compared, `"), "{text}");
    }
    let connection = rusqlite::Connection::open(&database).unwrap();
    let spoil = "UPDATE by_minute_sketches SET unique_client_ip = unique_query_id WHERE node = 'b'";
    connection.execute(spoil, []).unwrap();
    assert_eq!(verify(folders[0].1.path()).0, 0);
    let (code, text, _) = verify(folders[1].1.path());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("`unique_client_ip` "), "{text}");
}

#[test]
fn verify_agrees_while_lines_are_written_and_delivered() {
    let urls =
        ["sqlite:sink.db".to_owned(), Postgres::shared().database(), MariaDb::shared().database()];
    for url in urls {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        write(folder, "access.log", 0..100);
        let config = ROLLUPS.replace("SINK", &url).replace("20ms", "1ms");
        std::fs::write(folder.join("tidegate.toml"), &config).unwrap();
        deliver(folder);
        let _server = start(folder, &config, "running.toml");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (100..WRITTEN_BESIDE).for_each(|id| write(folder, "access.log", id..id + 1));
            });
            for _ in 0..3 {
                let (code, text, said) = verify(folder);
                assert_eq!(code, 0, "{url}: {text}{said}");
            }
        });
    }
}

#[test]
fn a_log_that_is_rotated_while_it_is_read_is_never_said_to_differ() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("tidegate.toml"), ROLLUPS.replace("SINK", "sqlite:s.db")).unwrap();
    write(folder, "access.log.0", 0..500);
    write(folder, "access.log", 500..600);
    deliver(folder);
    std::thread::scope(|scope| {
        let turning = scope.spawn(|| {
            for turn in 1..2000 {
                let name = |turn: u32| folder.join(format!("access.log.{turn}"));
                std::fs::rename(name(turn - 1), name(turn)).unwrap();
                // The live log takes the name that was just left.
                std::fs::rename(folder.join("access.log"), name(turn - 1)).unwrap();
                std::fs::rename(name(turn - 1), folder.join("access.log")).unwrap();
            }
        });
        while !turning.is_finished() {
            let (code, text, said) = verify(folder);
            assert!(!text.contains(" differ"), "{text}{said}");
            let is_told = said.contains("rotated meanwhile") || said.contains("No such file");
            assert!(code == 0 || is_told, "{text}{said}");
        }
    });
    assert_eq!(verify(folder).0, 0);
}

/// Lines of programs, with `~` for a number, and how many of four and half a line are refused.
const OF_PROGRAMS: [(&str, &str, usize); 8] = [
    (
        "haproxy",
        "Nov 21 03:54:1~ web1 haproxy[9]: 10.0.1.2:33317 [21/Nov/2026:03:54:1~.655] in s/s1 \
         10/0/30/-1/10~ 200 275~ - - ---- 1/1/1/1/0 0/0 \"GET /~ HTTP/1.1\"",
        1,
    ),
    (
        "ingress-nginx",
        "10.0.1.2 - - [21/Nov/2026:03:54:1~ +0000] \"GET /~ HTTP/1.1\" 200 1~ \"-\" \"curl\" \
         300 0.01~ [default-web-80] [] 10.1.0.1:80, 10.1.0.2:80 0, 12 0.001, 0.020 502, 200 \
         abcdef0~",
        1,
    ),
    (
        "lighttpd",
        "10.0.1.2 e.org:80 - [21/Nov/2026:03:54:1~ +0000] \"GET /~ HTTP/1.1\" 200 1~ \"-\" \"x\"",
        1,
    ),
    (
        "squid",
        "176369725~.123    45~ 1.2.3.4 TCP_MISS/200 1~ GET http://a.example/~ - \
         HIER_DIRECT/1.2.3.4 text/html",
        1,
    ),
    (
        "caddy",
        concat!(
            r#"{"ts":176369725~.5,"request":{"method":"GET","uri":"/~"},"#,
            r#""duration":0.00~,"size":1~,"status":200}"#
        ),
        1,
    ),
    ("logfmt", "time=2026-11-21T03:54:1~Z method=GET path=/~ status=200 bytes_out=1~ flag", 0),
    (
        "iis",
        "#Software: Microsoft Internet Information Services 10.0\r\n\
         #Fields: date time cs-method cs-uri-stem sc-status sc-bytes time-taken\r\n\
         2026-11-21 03:54:1~ GET /~ 200 1~ 3~\r",
        0,
    ),
    ("s3", "o b [06/Feb/2019:00:01:0~ +0000] 1.2.3.4 - 8C96 S3.GET k \"GET /~ HTTP/1.1\" 200", 5),
];

#[test]
fn both_readers_agree_on_lines_of_each_program_and_on_lines_that_are_cut() {
    for (format, line, refused) in OF_PROGRAMS {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let config = format!(
            "[[source]]\nname = \"log\"\nfiles = [\"a.log\"]\nformat = \"{format}\"\n\n\
             [[rollup]]\nname = \"reads\"\nby = [\"path\", \"status\"]\nsum = [\"bytes_out\"]\n\
             max = [\"total\"]\n\n[[sink]]\nname = \"main\"\nurl = \"sqlite:out.db\"\n"
        );
        std::fs::write(folder.join("tidegate.toml"), config).unwrap();
        let lines: Vec<String> =
            ["1", "2", "3", "3"].map(|number| line.replace('~', number)).into();
        let cut = &lines[0][..lines[0].len() / 2];
        std::fs::write(folder.join("a.log"), format!("{}\n{cut}\n", lines.join("\n"))).unwrap();
        deliver(folder);
        let (code, out, err) = verify(folder);
        assert_eq!(code, 0, "{format}: {out}{err}");
        let says_refused = match refused {
            0 => !out.contains("refused"),
            _ => out.contains(&format!("{refused} of them are refused, {refused} of those are")),
        };
        assert!(says_refused, "{format}: {out}");
        if refused < 5 {
            let (_, rows, _) = run(&["events", "query", "reads", "--by", "path"], folder);
            assert!(rows.contains("/3") && rows.contains("/1"), "{format}: {rows}");
            let (code, guess, _) = run(&["events", "inspect", "--guess", "a.log"], folder);
            assert!(code == 0 && guess.contains(&format!("format = \"{format}\"")), "{guess}");
        }
    }
}
