//! Claims about building profiles from what was recorded.

use std::path::Path;

use testkit::{Client, MariaDb, Postgres, TempDir};

use crate::running::{Running, run, until};

const CONFIG: &str = r#"
[journal]
dir = "data/journal"
sync = "always"

[profiles]
file = "data/profiles.db"
items = "items.jsonl"
items_min = 3

[[route]]
path = "/1/feedback/read"
collect = "only"
personalise = { user = "cookie:userId" }
"#;

fn prepare(folder: &Path) {
    let items: String = (0..10)
        .map(|n| format!("{{\"id\":\"{n}\",\"title\":\"T{n}\",\"category\":\"c{}\"}}\n", n % 2))
        .collect();
    std::fs::write(folder.join("items.jsonl"), items).unwrap();
}

#[test]
fn profiles_are_built_of_users_with_enough_distinct_reads() {
    let server = Running::start(CONFIG, prepare);
    let read = |user: &str, item: u32| {
        let target = format!("/1/feedback/read?item={item}&request=0");
        let reply = Client::post(server.public, &target, "")
            .header("cookie", &format!("userId={user}"))
            .send();
        assert_eq!(reply.status, 204);
    };
    [0, 2, 4, 1].into_iter().for_each(|item| read("keen", item));
    [0, 0, 0, 0].into_iter().for_each(|item| read("stubborn", item));
    // `sync = "always"`: what was answered is durable.
    let (code, out, err) = run(&["profiles", "build"], server.folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 profile of 2 users"), "{out}");
    let file = "data/profiles.db";
    let (code, out, _) =
        run(&["profiles", "inspect", file, "--user", "keen"], server.folder.path());
    assert_eq!(code, 0);
    assert!(out.contains("\"c0\":0.75"), "{out}");
    let (_, out, _) =
        run(&["profiles", "inspect", file, "--user", "stubborn"], server.folder.path());
    assert!(out.contains("no profile"), "{out}");
    let (code, _, err) = run(&["profiles", "check", file], server.folder.path());
    assert_eq!(code, 0, "{err}");
    assert_eq!(run(&["profiles", "build", "--force"], server.folder.path()).0, 0);
    until("the generation", || !server.status()["profiles"]["generation"].is_null());
    std::fs::write(server.folder.path().join("bad.db"), b"SQLite format 3\0garbage").unwrap();
    assert_eq!(run(&["profiles", "check", "bad.db"], server.folder.path()).0, 1);
}

/// Users and what they read, on its way to `sink`.
fn counted(sink: &str, query: &str) -> String {
    format!(
        r#"
[profiles]
file = "data/profiles.db"
items_min = 3
query = '''{query}'''

[[source]]
name = "web"
files = ["access.log"]

[[rollup]]
name = "seen"
by = ["query.user", "query.item", "query.kind", "hour"]

[[sink]]
name = "main"
url = "{sink}"
"#
    )
}

const READS: &str = r#"SELECT query_user AS "user", query_item AS item, query_kind AS category,
                       hour AS time FROM seen"#;

/// `keen` reads four items, one of them twice, and `lazy` one.
fn write_log(folder: &Path) {
    let reads = [("keen", 0), ("keen", 2), ("keen", 4), ("keen", 1), ("keen", 1), ("lazy", 0)];
    let lines = reads.map(|(user, item)| {
        let time = "21/Nov/2026:09:48:01 +0000";
        let target = format!("/r?user={user}&item={item}&kind=c{}", item % 2);
        format!("10.0.0.1 - - [{time}] \"GET {target} HTTP/1.1\" 204 0 \"-\" \"-\"\n")
    });
    std::fs::write(folder.join("access.log"), lines.concat()).unwrap();
}

#[test]
fn profiles_are_built_by_a_query_in_the_engine_of_the_sink() {
    let in_mysql = READS.replace('"', "`");
    let sinks = [
        ("sqlite:sink.db".to_owned(), READS),
        (Postgres::shared().database(), READS),
        (MariaDb::shared().database(), &in_mysql),
    ];
    for (sink, query) in sinks {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        write_log(folder);
        std::fs::write(folder.join("tidegate.toml"), counted(&sink, query)).unwrap();
        let (code, _, err) = run(&["profiles", "build"], folder);
        assert_eq!(code, 1, "there is no table yet");
        assert!(err.contains("run the `query` of [profiles]"), "{err}");
        let (code, _, err) = run(&["events", "run", "--once"], folder);
        assert_eq!(code, 0, "{err}");
        let (code, out, err) = run(&["profiles", "build"], folder);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("1 profile of 2 users"), "{out}");
        let keen = ["profiles", "inspect", "data/profiles.db", "--user", "keen"];
        let (_, out, _) = run(&keen, folder);
        assert!(out.contains("\"c0\":0.75"), "{sink}: {out}");
    }
}

#[test]
fn profiles_are_built_by_a_query_in_a_database_that_is_no_sink() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let database = Postgres::shared().database();
    Postgres::shared().query(&database, "CREATE TABLE clicks (who text, what text)");
    let rows = "('keen', '1'), ('keen', '2'), ('keen', '3'), ('lazy', '1')";
    Postgres::shared().query(&database, &format!("INSERT INTO clicks VALUES {rows}"));
    let query = "SELECT who AS \"user\", what AS item FROM clicks";
    let config = format!(
        "[profiles]\nfile = \"data/profiles.db\"\nitems_min = 3\ndatabase = \"{database}\"\n\
         query = '{query}'\n"
    );
    std::fs::write(folder.join("tidegate.toml"), &config).unwrap();
    let (code, out, err) = run(&["profiles", "build"], folder);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 profile of 2 users"), "{out}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(Postgres::shared().query(&database, tables), "1", "nothing is made there");
    let (_, shown, _) = run(&["config", "print"], folder);
    assert!(shown.contains("database = \"postgres://") && shown.contains(":…@"), "{shown}");
    let unreachable = config.replace("127.0.0.1", "127.0.0.2");
    std::fs::write(folder.join("tidegate.toml"), unreachable).unwrap();
    let (code, _, err) = run(&["profiles", "build"], folder);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("run the `query` of [profiles]"), "{err}");
}

#[test]
fn the_record_process_builds_on_schedule_where_there_is_one() {
    let config = counted("sqlite:data/sink.db", READS)
        .replace("items_min = 3", "items_min = 3\nevery = \"100ms\"");
    let server = Running::start(&config, write_log);
    until("the generation", || !server.status()["profiles"]["generation"].is_null());
    until("the word of it", || server.status()["learned"]["profiles"] == 1);
}
