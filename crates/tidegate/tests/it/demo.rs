//! Claims about `tidegate demo`: what the README shows.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{Client, Server, free_port};

use crate::running::{BINARY, journal_in, json, run, until};

struct Demo {
    public: SocketAddr,
    admin: SocketAddr,
    management: SocketAddr,
    server: Server,
}

fn demo(arguments: &[&str]) -> Demo {
    let public = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let management = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut command = Command::new(BINARY);
    command.arg("demo").args(["--public", &public.to_string(), "--admin", &admin.to_string()]);
    command.args(["--statsd", "127.0.0.1:0", "--management", &management.to_string()]);
    command.args(arguments);
    let server = Server::spawn(command, public).unwrap();
    Demo { public, admin, management, server }
}

/// The folder of a demo's run.
fn folder(demo: &Demo) -> PathBuf {
    std::env::temp_dir().join(format!("tidegate-demo-{}", demo.server.process_id()))
}

/// What an SQL text finds in the demo's sink.
fn asked(folder: &Path, sql: &str) -> Vec<Value> {
    let (_, text, _) = run(&["events", "query", "--format", "json", "--sql", sql], folder);
    serde_json::from_str(&text).unwrap_or_default()
}

fn ids(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_reader_with_reads_gets_another_list_than_an_anonymous_one() {
    let demo = demo(&["--no-readers"]);
    let anonymous = Client::get(demo.public, "/1/recommendations.json").send();
    assert_eq!(anonymous.status, 200);
    assert_eq!(anonymous.header("tidegate-decision"), Some("anonymous"));
    let generic = json(&anonymous);
    assert_eq!(generic["decision"], "anonymous");
    assert_eq!(generic["request_id"].as_str().unwrap().len(), 32);
    for field in ["id", "title", "category", "score"] {
        assert!(!generic["items"][0][field].is_null(), "{field}");
    }

    // Some of these are within the rollout; each reads six items of one category.
    let items = include_str!("../../../../examples/news/items.jsonl");
    let health: Vec<String> = items
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|item| item["category"] == "m")
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .take(6)
        .collect();
    for user in 5..10 {
        for id in &health {
            let target = format!("/1/feedback/read?item={id}&request=0");
            let read = Client::post(demo.public, &target, "")
                .header("cookie", &format!("userId=u{user}"))
                .send();
            assert_eq!(read.status, 204);
        }
    }
    let mut own = Value::Null;
    until("a personalised list", || {
        (5..10).any(|user| {
            let reply = Client::get(demo.public, "/1/recommendations.json")
                .header("cookie", &format!("userId=u{user}"))
                .send();
            own = json(&reply);
            reply.header("tidegate-decision") == Some("personalised")
        })
    });
    assert_eq!(own["decision"], "personalised");
    let (own_ids, generic_ids) = (ids(&own), ids(&generic));
    assert_ne!(own_ids, generic_ids);
    assert!(own_ids.iter().all(|id| !health.contains(id)), "what was read is not shown again");
    let own_items = own["items"].as_array().unwrap();
    let health_items = own_items.iter().filter(|item| item["category"] == "m").count();
    assert!(health_items >= 6, "{own}");
}

#[test]
fn formats_methods_and_explanations_are_as_the_readme_says() {
    let demo = demo(&["--no-readers"]);
    assert_eq!(Client::get(demo.public, "/1/recommendations").send().status, 200);
    assert_eq!(Client::get(demo.public, "/1/recommendations.xml").send().status, 404);
    let posted = Client::post(demo.public, "/1/recommendations.json", "").send();
    assert_eq!(posted.status, 405);
    assert_eq!(posted.header("allow"), Some("GET, HEAD"));
    let explained = Client::get(demo.public, "/1/recommendations.json?explain=1").send();
    let explained = json(&explained);
    assert!(explained["items"][0]["explain"].is_object(), "{explained}");
    let gif = Client::get(demo.public, "/1/feedback/read.gif?item=1").send();
    assert_eq!(gif.header("content-type"), Some("image/gif"));
    assert!(gif.body.starts_with(b"GIF89a"));
    let body = r#"{"candidates":["1","2","3"],"user":{"affinity":{"b":1.0}},"limit":2}"#;
    let ranked = Client::post(demo.public, "/v1/models/news/rank", body).send();
    assert_eq!(ranked.status, 200, "{}", ranked.text());
    assert_eq!(json(&ranked)["items"].as_array().unwrap().len(), 2);
    let malformed = Client::post(demo.public, "/v1/models/news/rank", r#"{"limit":}"#).send();
    assert_eq!(malformed.status, 400);
    assert!(malformed.text().contains("byte 9"), "{}", malformed.text());
    let timed =
        Client::get(demo.public, "/1/recommendations.json").header("tidegate-debug", "1").send();
    assert!(timed.header("server-timing").is_some_and(|timing| timing.contains("total;dur=")));
}

#[test]
fn a_second_demo_does_not_share_the_first_ones_address() {
    let first = demo(&["--no-readers"]);
    let (public, admin) = (first.public.to_string(), format!("127.0.0.1:{}", free_port()));
    let second = Command::new(BINARY)
        .args(["demo", "--seconds", "1", "--public", &public, "--admin", &admin])
        .args(["--statsd", "127.0.0.1:0", "--management", "127.0.0.1:0"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
}

#[test]
fn the_demos_own_metrics_are_flushed_by_statsd_with_route_decision_and_status() {
    let demo = demo(&["--no-readers"]);
    let ask = || {
        let mut stream = TcpStream::connect(demo.management).unwrap();
        stream.write_all(b"last tidegate.\n").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let list = ";route=/1/recommendations.{format:json};status=2xx  timer ";
    let has = |text: &str, timer: &str| text.lines().any(|line| line.starts_with(timer));
    until("a flush with the times of lists", || {
        let cookie = Client::get(demo.public, "/1/recommendations.json").header("cookie", "a=b");
        assert_eq!(cookie.send().status, 200);
        let text = ask();
        has(&text, &format!("tidegate.exchange;decision=anonymous{list}"))
            && has(&text, &format!("tidegate.phase;decision=anonymous;phase=respond{list}"))
            && has(&text, "tidegate.fetches  counter sum=")
    });
}

#[test]
fn simulated_readers_close_the_loop_and_the_demo_ends_by_itself() {
    let mut demo = demo(&["--seconds", "24", "--rate", "400"]);
    until("personalised answers", || {
        let text = Client::get(demo.admin, "/metrics").send();
        let line = text.text().lines().find(|line| {
            line.starts_with("tidegate_exchanges_total")
                && line.contains("recommendations")
                && line.contains("decision=\"personalised\"")
                && line.contains("cache=\"pass\"")
        });
        line.is_some_and(|line| !line.ends_with(" 0"))
    });
    let (code, text, said) = run(&["events", "verify"], &folder(&demo));
    assert_eq!(code, 0, "{text}{said}");
    let ended = demo.server.wait().unwrap();
    assert!(ended.success(), "{}", demo.server.stderr());
    let shown = demo.server.stdout();
    assert_eq!(shown.matches("curl ").count(), 4, "{shown}");
    assert!(shown.contains("lists p99 anonymous "), "{shown}");
    assert!(shown.contains("hit ratio"), "{shown}");
}

#[test]
fn rollups_hold_what_the_journal_holds_and_verify_agrees() {
    let demo = demo(&["--no-readers"]);
    let folder = folder(&demo);
    for turn in 0..60 {
        let reply = Client::get(demo.public, "/1/recommendations.json")
            .header("cookie", &format!("userId=u{}", turn % 7))
            .send();
        assert_eq!(reply.status, 200);
        let read = format!("/1/feedback/read?item={}", turn % 5);
        let cookie = format!("userId=u{}", turn % 3);
        let read = Client::post(demo.public, &read, "").header("cookie", &cookie).send();
        assert_eq!(read.status, 204);
    }
    until("the reads", || {
        let sql = "SELECT SUM(count) AS reads FROM reads_by_item";
        asked(&folder, sql).first().is_some_and(|row| row["reads"] == 60)
    });
    until("all requests", || {
        let sql = "SELECT SUM(count) AS requests FROM requests";
        asked(&folder, sql).first().is_some_and(|row| row["requests"] == 120)
    });
    let lines = journal_in(&folder.join("data/journal"));
    let is_read = |line: &&Value| line["path"] == "/1/feedback/read";
    assert_eq!((lines.len(), lines.iter().filter(is_read).count()), (120, 60));
    let whole = ["events", "query", "reads_by_item", "--by", "query_item", "--format", "json"];
    let (_, text, said) = run(&whole, &folder);
    let items: Vec<Value> = serde_json::from_str(&text).expect(&said);
    for item in &items {
        let of_item = |line: &&Value| {
            line["query"] == format!("item={}", item["query_item"].as_str().unwrap())
        };
        assert_eq!(item["count"], lines.iter().filter(is_read).filter(of_item).count());
        assert_eq!(item["unique_user"], 3);
    }
    assert_eq!(items.len(), 5);
    let (code, text, said) = run(&["events", "verify"], &folder);
    assert_eq!(code, 0, "{text}{said}");
    assert!(text.contains("journal to main: 120 lines"), "{text}");
    // The process tells where it stands a moment after the database has the rows.
    until("the status", || {
        run(&["events", "status"], &folder).1.contains("journal to main: caught up")
    });
}

#[test]
fn the_demo_groups_sentences_and_speaks_the_open_inference_protocol() {
    let demo = demo(&["--no-readers"]);
    let ready = Client::get(demo.public, "/v2/health/ready").send();
    assert_eq!((ready.status, json(&ready)["ready"].as_bool()), (200, Some(true)));
    let about = json(&Client::get(demo.public, "/v2/models/words").send());
    assert_eq!(about["inputs"][0]["datatype"], "BYTES");
    let dogs = [
        "Dog Walking: 10 Simple Steps",
        "The Secrets of Dog Walking",
        "Why You Need To Dog Walking",
        "The Art of Dog Walking",
        "The Joy of Dog Walking",
    ];
    let speaking = [
        "Public Speaking For The Modern Age",
        "Learn The Art of Public Speaking",
        "Master The Art of Public Speaking",
        "The Best Way To Public Speaking",
    ];
    let sentences: Vec<&str> = dogs.into_iter().chain(speaking).collect();
    let body = serde_json::json!({ "sentences": sentences }).to_string();
    let groups = json(&Client::post(demo.public, "/cluster", body).send());
    assert_eq!(groups["noise"], serde_json::json!([]));
    let found = groups["clusters"].as_array().unwrap().iter().map(|cluster| {
        let mut sentences: Vec<&str> =
            cluster["sentences"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        sentences.sort_unstable();
        sentences
    });
    let sorted = |mut sentences: Vec<&'static str>| {
        sentences.sort_unstable();
        sentences
    };
    assert_eq!(found.collect::<Vec<_>>(), [sorted(dogs.into()), sorted(speaking.into())]);
    assert!(Client::get(demo.public, "/docs").send().text().contains("openapi.json"));
}
