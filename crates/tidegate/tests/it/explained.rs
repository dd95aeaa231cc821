//! Claims about `tidegate explain`: it says what a request gets, and what a recorded one got.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;

use crate::running::{Running, json, run};

const CONFIG: &str = r#"
[journal]
dir = "data/journal"
sync = "always"

[profiles]
file = "profiles.db"

[[model]]
name = "news"
file = "model.json"
items = "items.jsonl"

[[route]]
name = "static"
path = "/static/{*rest}"
to = "model:news"

[[route]]
name = "list"
path = "/list"
to = "model:news"
cache = { ttl = "1h" }
personalise = { user = "cookie:userId", salt = "s" }
"#;

const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"news","version":"7","intercept":0.5,
"features":[{"name":"item.popularity","weight":1.0}],
"crosses":[{"left":"user.affinity.b","right":"item.category=b","weight":5.0}]}"#;

const ITEMS: &str = r#"{"id":"1","title":"One","category":"a","popularity":0.9}
{"id":"2","title":"Two","category":"b","popularity":0.25}
"#;

fn prepare(folder: &Path) {
    std::fs::write(folder.join("model.json"), MODEL).unwrap();
    std::fs::write(folder.join("items.jsonl"), ITEMS).unwrap();
    let file = Connection::open(folder.join("profiles.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);",
    )
    .unwrap();
    let data = r#"{"affinity":{"b":0.5},"reads":5,"recent":["9"]}"#;
    file.execute("INSERT INTO user_profiles VALUES ('ann', ?)", [data]).unwrap();
    file.close().unwrap();
}

/// What the command prints as JSON.
#[track_caller]
fn explain(folder: &Path, arguments: &[&str]) -> Value {
    let all = [&["explain", "--format", "json"], arguments].concat();
    let (code, out, error) = run(&all, folder);
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&out).unwrap()
}

/// What the command prints for people, one subject a line.
#[track_caller]
fn text(folder: &Path, arguments: &[&str]) -> String {
    let (code, out, error) = run(&[&["explain"], arguments].concat(), folder);
    assert_eq!(code, 0, "{error}");
    out
}

#[test]
fn a_ranking_is_explained_with_each_score_in_parts() {
    let server = Running::start(CONFIG, prepare);
    let said = explain(server.folder.path(), &["/list", "--user", "ann"]);
    let now = &said["now"];
    assert_eq!(now["known_from"], "server");
    assert_eq!(now["decision"], "personalised");
    assert_eq!(now["user"]["source"], "cookie:userId");
    assert_eq!(now["profile"]["recent"][0], "9");
    let got = json(&server.get_as("ann", "/list"));
    for (explained, item) in
        now["ranking"]["items"].as_array().unwrap().iter().zip(got["items"].as_array().unwrap())
    {
        assert_eq!((&explained["id"], &explained["score"]), (&item["id"], &item["score"]));
        let parts = explained["explain"].as_object().unwrap().values();
        let sum: f64 = parts.map(|part| part.as_f64().unwrap()).sum();
        assert!((sum - item["score"].as_f64().unwrap()).abs() < 1e-12, "{explained}");
    }
    let page = text(server.folder.path(), &["/list", "--user", "ann"]);
    for line in [
        "route     list, to model:news",
        "not       static: path: its pattern does not match",
        "user      ann, from cookie:userId; profile present",
        "decision  personalised: the user has a profile",
    ] {
        assert!(page.contains(line), "{line} in\n{page}");
    }
    let parts = "user.affinity.b * item.category=b +2.5, intercept +0.5, item.popularity +0.25";
    assert!(page.contains(parts), "{page}");
}

#[test]
fn without_a_server_the_files_tell_what_they_know() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    let asked = ["/list", "--user", "ann"];
    let running = explain(folder, &asked);
    let offline = explain(folder, &["/list", "--user", "ann", "--offline"]);
    let Running { server: mut process, folder, .. } = server;
    process.signal("TERM").unwrap();
    process.wait().unwrap();
    let stopped = explain(folder.path(), &asked);
    assert_eq!(offline, stopped);
    assert_eq!(offline["now"]["known_from"], "files");
    for same in ["decision", "draw", "user", "profile", "routes", "ranking", "target_name"] {
        assert_eq!(offline["now"][same], running["now"][same], "{same}");
    }
    let page = text(folder.path(), &asked);
    assert!(page.contains("No server answers"), "{page}");
    let page = text(folder.path(), &["/list", "--user", "ann", "--offline"]);
    assert!(page.contains("No server was asked") && !page.contains("No server answers"), "{page}");
}

#[test]
fn a_live_change_counts_without_a_server_and_a_broken_one_stays_where_it_is() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    let admin = server.admin.to_string();
    assert_eq!(run(&["rollout", "set", "--admin", &admin, "--kill", "on"], folder).0, 0);
    let said = explain(folder, &["/list", "--user", "ann", "--offline"]);
    assert_eq!(said["now"]["decided_by"], "the kill switch is on");
    let file = folder.join("data/live.toml");
    std::fs::write(&file, "not toml").unwrap();
    let asked = ["explain", "/list", "--user", "ann", "--offline"];
    let (code, _, error) = run(&asked, folder);
    assert_eq!(code, 0);
    assert!(error.contains("live changes are not known"), "{error}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "not toml");
}

#[test]
fn what_is_cached_is_told_with_its_age_and_lifetime() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    let host = server.public.to_string();
    let url = format!("http://{host}/list");
    assert_eq!(explain(folder, &[&url])["now"]["cache"]["missing_by"], "uri-miss");
    server.get("/list");
    let said = explain(folder, &[&url]);
    let entry = &said["now"]["cache"]["entry"];
    assert_eq!(entry["fresh_by"], "`cache.ttl` of the route");
    assert_eq!(entry["fresh_s"], 3600.0);
    let page = text(folder, &[&url]);
    assert!(page.contains("Memory answers at once (`hit`)"), "{page}");
}

#[test]
fn a_recorded_request_is_found_by_its_id_and_by_that_of_its_ranking() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    let own = json(&server.get_as("ann", "/list?limit=1"));
    server.get("/list");
    server.get("/list");
    let lines = server.wait_for_journal(|lines| lines.len() >= 3);
    let id = own["request_id"].as_str().unwrap();
    let said = explain(folder, &["--request", id]);
    let recorded = &said["recorded"];
    assert_eq!((&recorded["user"], &recorded["status"]), (&"ann".into(), &200.into()));
    assert_eq!(recorded["decision"], "personalised");
    assert_eq!(recorded["ranking"]["items"], serde_json::json!(["2"]));
    assert_eq!(said["now"]["decision"], "personalised");
    assert!(said["now"]["target"].as_str().unwrap().starts_with("/list?limit=1"));
    // The third was answered with the ranking of the second.
    let hit = lines.iter().find(|line| line["cache"] == "hit").unwrap();
    let said = explain(folder, &["--request", hit["id"].as_str().unwrap()]);
    assert_eq!(said["recorded"]["ranked_by"], hit["ranked_by"]);
    assert_eq!(said["recorded"]["ranking"]["version"], "7");
    let page = text(folder, &["--request", hit["ranked_by"].as_str().unwrap()]);
    assert!(page.contains("later requests were answered with it 1 times"), "{page}");
}

#[test]
fn a_recorded_request_is_found_in_packed_segments() {
    let config =
        CONFIG.replace("sync = \"always\"", "sync = \"always\"\nsegment_bytes_max = \"4kB\"");
    let server = Running::start(&config, prepare);
    let first = json(&server.get_as("ann", "/list"));
    for number in 0..200 {
        server.get(&format!("/list?number={number}"));
    }
    let folder = server.folder.path();
    let journal = folder.join("data/journal");
    crate::running::until("a packed segment", || {
        let names = std::fs::read_dir(&journal).unwrap().flatten().map(|entry| entry.file_name());
        names.into_iter().any(|name| !name.to_string_lossy().ends_with(".log"))
    });
    let said = explain(folder, &["--request", first["request_id"].as_str().unwrap()]);
    assert_eq!(said["recorded"]["user"], "ann");
}

#[test]
fn requests_of_a_user_are_listed_with_the_causes_of_their_decisions() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    server.get_as("ann", "/list");
    assert_eq!(run(&["rollout", "set", "--kill", "on"], folder).0, 0, "by the file that is here");
    server.get_as("ann", "/list?limit=1");
    server.get_as("bob", "/list");
    server.get("/static/a");
    assert_eq!(run(&["rollout", "set", "--clear"], folder).0, 0);
    server.wait_for_journal(|lines| lines.len() == 4);
    let listed = |arguments: &[&str]| -> Vec<(String, String)> {
        let said = explain(folder, arguments);
        let member = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let requests = said["recorded"].as_array().unwrap().iter();
        requests.map(|one| (member(one, "target"), member(one, "decision_detail"))).collect()
    };
    let pairs = |expected: &[(&str, &str)]| -> Vec<(String, String)> {
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    let of_ann = pairs(&[("/list", ""), ("/list?limit=1", "killed")]);
    assert_eq!(listed(&["--user", "ann", "--since", "1h"]), of_ann);
    assert_eq!(listed(&["/list", "--since", "1h"]).len(), 3);
    assert_eq!(listed(&["/static/a", "--since", "1h"]), pairs(&[("/static/a", "")]));
    assert_eq!(listed(&["--user", "ann", "--until", "1h"]), pairs(&[]));
    let page = text(folder, &["--user", "ann", "--since", "1h"]);
    assert!(page.contains("fallback; detail=killed"), "{page}");
    let lines = server.journal();
    let of_kill = lines.iter().find(|line| line["decision_detail"] == "killed").unwrap();
    let page = text(folder, &["--request", of_kill["id"].as_str().unwrap()]);
    assert!(page.contains("fallback; detail=killed: the kill switch was on\n"), "{page}");
    let (code, _, error) = run(&["explain", "--since", "1h"], folder);
    assert_eq!(code, 1);
    assert!(error.contains("name a user (`--user ID`) or a path"), "{error}");
}

#[test]
fn a_model_that_refuses_is_no_personalised_answer() {
    let own = "[[model]]\nname = \"own\"\nfile = \"model.json\"\nitems = \"items.jsonl\"\n";
    let apart = CONFIG.replace("salt = \"s\"", "salt = \"s\", to = \"model:own\"");
    let server = Running::start(&(apart + own), prepare);
    let folder = server.folder.path();
    let reply = server.get_as("ann", "/list?limit=x");
    assert_eq!(reply.header("tidegate-decision"), Some("fallback; detail=model"));
    let said = explain(folder, &["/list?limit=x", "--user", "ann"]);
    assert_eq!(said["now"]["decision"], "fallback");
    let reason = said["now"]["decided_by"].as_str().unwrap();
    assert!(reason.starts_with("the model refuses: `limit` must be"), "{reason}");
}

#[test]
fn a_path_alone_is_asked_where_clients_come_in() {
    let server = Running::start(CONFIG, prepare);
    server.get("/list");
    let said = explain(server.folder.path(), &["/list"]);
    assert_eq!(said["now"]["host"], server.public.to_string());
    assert!(said["now"]["now"].as_str().unwrap().starts_with("Memory answers"), "{said}");
}

#[test]
fn hashed_users_are_not_asked_for_again() {
    let config = CONFIG.replace(
        "sync = \"always\"",
        "sync = \"always\"\nuser = \"hash\"\nuser_key = \"long enough to be a secret\"",
    );
    let server = Running::start(&config, prepare);
    let folder = server.folder.path();
    let own = json(&server.get_as("ann", "/list"));
    let id = own["request_id"].as_str().unwrap();
    // A line can be read by others once it is durable.
    crate::running::until("a durable line", || run(&["explain", "--request", id], folder).0 == 0);
    let (code, out, error) = run(&["explain", "--request", id], folder);
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("name the user by `--user ID`"), "{error}");
    assert!(!out.contains("ann"), "{out}");
}

#[test]
fn what_cannot_be_read_of_the_journal_is_told_to_whoever_looks_for_a_request() {
    let server = Running::start(CONFIG, prepare);
    server.get_as("ann", "/list");
    let lines = server.wait_for_journal(|lines| lines.len() == 1);
    let id = lines[0]["id"].as_str().unwrap().to_owned();
    let Running { server: mut process, folder, .. } = server;
    process.signal("TERM").unwrap();
    process.wait().unwrap();
    let folder = folder.path();
    let asked = |arguments: &[&str]| {
        let (_, out, error) = run(&[&["explain"], arguments].concat(), folder);
        (out, error)
    };
    let absent = "0af7651916cd43dd8448eb211c80319c";
    let (_, error) = asked(&["--request", absent]);
    assert!(!error.contains("not read of the log"), "{error}");

    let journal = folder.join("data/journal");
    let segment = std::fs::read_dir(&journal).unwrap().flatten().map(|entry| entry.path());
    let segment = segment.into_iter().find(|path| path.extension().is_some_and(|it| it == "log"));
    let segment = segment.unwrap();
    let whole = std::fs::read(&segment).unwrap();
    std::fs::create_dir(journal.join("00000000000000900000.log")).unwrap();
    std::fs::write(journal.join("00000000000000900001.log"), [0xfe; 5000]).unwrap();
    let fifo = journal.join("00000000000000900002.log.zst");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for arguments in [
        &["--request", absent][..],
        &["--request", &id, "--offline"],
        &["--user", "ann", "--since", "1h"],
        &["--user", "bob", "--since", "1h"],
    ] {
        let (_, error) = asked(arguments);
        for part in [
            "not read of the log: ",
            "`00000000000000900000.log` (it is no regular file)",
            "`00000000000000900001.log` (it begins behind the last line of the journal)",
            "`00000000000000900002.log.zst` (it is no regular file)",
        ] {
            assert!(error.contains(part), "{arguments:?}: no {part} in {error}");
        }
    }
    // Random bytes in place of a line.
    let mut random = vec![0xfe; whole.len() - 1];
    random.push(b'\n');
    std::fs::write(&segment, random).unwrap();
    let (_, error) = asked(&["--request", &id]);
    assert!(error.contains("no recorded request has the id"), "{error}");
    assert!(error.contains("not read of the log: 1 line, `"), "{error}");
    // And a segment that is gone, or cut.
    std::fs::write(&segment, &whole[..10]).unwrap();
    let (_, error) = asked(&["--request", &id]);
    assert!(error.contains("not read of the log: ") && error.contains(" bytes, `"), "{error}");
}

#[test]
fn a_url_that_the_journal_has_in_part_is_said_to_be_incomplete() {
    let server = Running::start(CONFIG, prepare);
    server.get("/list?limit=1&token=hush");
    server.get(&format!("/list?limit=2&q={}", "x".repeat(5000)));
    server.get("/list?limit=3");
    let lines = server.wait_for_journal(|lines| lines.len() == 3);
    let folder = server.folder.path();
    // A line can be read by others once it is durable.
    crate::running::until("three durable lines", || {
        let listed = explain(folder, &["/list", "--since", "1h"]);
        listed["recorded"].as_array().unwrap().len() == 3
    });
    // Cores write their lines in no order.
    let noted = |limit: usize, more: &[&str]| {
        let query = format!("limit={limit}");
        let is_it = |line: &&Value| line["query"].as_str().unwrap().starts_with(&query);
        let id = lines.iter().find(is_it).unwrap()["id"].as_str().unwrap();
        let (code, _, error) = run(&[&["explain", "--request", id], more].concat(), folder);
        assert_eq!(code, 0, "{error}");
        error
    };
    let error = noted(1, &[]);
    assert!(error.contains("not all of the URL (`token=redacted`)"), "{error}");
    assert!(error.contains("cannot be looked up"), "{error}");
    assert_eq!(noted(1, &["/list?limit=1&token=hush"]), "");
    let error = noted(2, &[]);
    assert!(error.contains("not all of the URL (what stood at `…`)"), "{error}");
    assert_eq!(noted(3, &[]), "");
}

#[test]
fn what_cannot_be_explained_says_why() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    for (arguments, reason) in [
        (vec!["news"], "`news` is no URL"),
        (vec!["/list", "-H", "nonsense"], "`nonsense` is no header"),
        (vec!["/list", "--user", "a;b"], "`cookie:userId` cannot carry the id `a;b`"),
        (vec!["--request", "12"], "32 hexadecimal digits"),
        (vec!["--request", "0af7651916cd43dd8448eb211c80319c"], "no recorded request has the id"),
    ] {
        let (code, out, error) = run(&[&["explain"], &arguments[..]].concat(), folder);
        assert_eq!((code, out.as_str()), (1, ""), "{arguments:?}");
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(run(&["explain"], folder).0, 2);
    let page = testkit::Client::get(server.admin, "/explain?url=/list&colour=red").send();
    assert_eq!(page.status, 400);
    assert!(page.text().contains("no parameter `colour`"), "{}", page.text());
    let page = testkit::Client::get(server.admin, "/explain?url=/list&url=/static/a").send();
    assert_eq!(page.status, 400);
    assert!(page.text().contains("`url` is given twice"), "{}", page.text());
}
