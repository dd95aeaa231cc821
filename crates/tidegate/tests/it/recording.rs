//! Claims about what is recorded.

use std::path::Path;
use std::sync::Arc;

use journal::{Consumer, JournalRead, Reader};
use stdx::{Random, RealDisk};
use testkit::Client;

use crate::running::{Running, json, until};

const CONFIG: &str = r#"
[journal]
dir = "data/journal"
sync = "always"

[[model]]
name = "news"
file = "model.json"
items = "items.jsonl"

[[route]]
path = "/list"
to = "model:news"
cache = { ttl = "1h" }
personalise = { user = "cookie:userId" }

[[route]]
path = "/read"
collect = "only"
personalise = { user = "cookie:userId" }
"#;

fn prepare(folder: &Path) {
    let model = r#"{"format":"tidegate-linear-1","name":"news","version":"7","intercept":0,
        "features":[{"name":"item.popularity","weight":1.0}]}"#;
    let items = "{\"id\":\"1\",\"title\":\"One\",\"category\":\"a\",\"popularity\":0.9}\n\
                 {\"id\":\"2\",\"title\":\"Two\",\"category\":\"b\",\"popularity\":0.1}\n";
    std::fs::write(folder.join("model.json"), model).unwrap();
    std::fs::write(folder.join("items.jsonl"), items).unwrap();
}

#[test]
fn an_acknowledged_event_survives_kill_9() {
    let server = Running::start(CONFIG, prepare);
    for event in 0..200 {
        let reply = Client::post(server.public, &format!("/read?item={event}"), "")
            .header("cookie", "userId=ann")
            .send();
        assert_eq!(reply.status, 204);
    }
    let server = server.crash_and_restart(CONFIG);
    let lines = server.journal();
    for event in 0..200 {
        let wanted = format!("item={event}");
        let found = lines.iter().filter(|line| line["query"] == *wanted).count();
        assert_eq!(found, 1, "event {event}");
    }
}

#[test]
fn a_cached_answer_is_recorded_with_the_ranking_that_made_it() {
    let server = Running::start(CONFIG, prepare);
    let first = json(&server.get("/list"));
    let second = json(&server.get_as("bob", "/list"));
    assert_eq!(first["request_id"], second["request_id"], "served from one entry");
    let lines = server.wait_for_journal(|lines| lines.len() >= 2);
    // Cores write in turn, so the two may stand in either order.
    let is_ranking = |line: &&serde_json::Value| line["id"] == first["request_id"];
    let ranking = lines.iter().find(is_ranking).unwrap();
    assert_eq!(ranking["ranked_by"], first["request_id"]);
    let shown = &ranking["impression"];
    assert_eq!(shown["model"], "news", "{ranking}");
    assert_eq!(shown["version"], "7");
    assert_eq!(shown["propensity"], 1.0);
    assert_eq!(shown["items"], serde_json::json!(["1", "2"]));
    let hit = lines.iter().find(|line| !is_ranking(line)).unwrap();
    assert_eq!(hit["ranked_by"], first["request_id"]);
    assert_eq!(hit["cache"], "hit");
    assert_eq!(hit["user"], "bob");
    assert!(hit["impression"].is_null());
}

#[test]
fn secrets_are_not_recorded_and_addresses_and_ids_only_as_configured() {
    let config = CONFIG.replace(
        "sync = \"always\"",
        "sync = \"always\"\nclient_ip = \"truncate\"\nuser = \"hash\"\nuser_key = \"k\"",
    );
    let server = Running::start(&config, prepare);
    let reply = Client::get(server.public, "/list")
        .header("cookie", "userId=ann; session=hush")
        .header("authorization", "Bearer hush")
        .send();
    assert_eq!(reply.status, 200);
    let lines = server.wait_for_journal(|lines| !lines.is_empty());
    let text = lines[0].to_string();
    assert!(!text.contains("hush"), "{text}");
    assert!(!text.contains("ann"), "{text}");
    assert_eq!(lines[0]["client_ip"], "127.0.0.0");
}

#[test]
fn no_secret_of_a_url_and_no_hashed_id_is_recorded_in_clear() {
    let config = CONFIG.replace("cookie:userId", "query:uid").replace(
        "sync = \"always\"",
        "sync = \"always\"\nuser = \"hash\"\nuser_key = \"a secret\"",
    );
    let server = Running::start(&config, prepare);
    let referer = "https://a.example/u/ann?uid=ann&password=hush&page=2";
    let target = "/read?item=7&uid=ann&Token=hush&%6bey=hush";
    assert_eq!(
        Client::post(server.public, target, "").header("referer", referer).send().status,
        204
    );
    let lines = server.wait_for_journal(|lines| !lines.is_empty());
    assert_eq!(lines[0]["query"], "item=7&uid=redacted&Token=redacted&%6bey=redacted");
    let expected = "https://a.example/u/redacted?uid=redacted&password=redacted&page=2";
    assert_eq!(lines[0]["referer"], expected);
    let text = lines[0].to_string();
    assert!(!text.contains("hush") && !text.contains("ann\""), "{text}");
    assert!(lines[0]["user"].as_str().is_some_and(|user| user.len() > 10), "{text}");
}

/// Every line that the journal holds, compressed or not.
fn kept(server: &Running) -> Vec<String> {
    let dir = server.folder.path().join("data/journal");
    let mut reader = Reader::open(&dir, Arc::new(RealDisk)).unwrap();
    let mut kept = Vec::new();
    loop {
        match reader.read().unwrap() {
            JournalRead::Lines(lines) => {
                kept.extend(lines.map(|(line, _)| String::from_utf8(line.to_vec()).unwrap()));
            }
            JournalRead::Gap { .. } | JournalRead::Lost { .. } | JournalRead::Displaced(_) => {}
            JournalRead::CaughtUp => return kept,
        }
    }
}

/// Sends requests whose recorded fields are as long as a client can make them.
fn flood(server: &Running, requests: usize) {
    for number in 0..requests {
        // Each another, so that they compress badly.
        let noise = |count: usize| -> String {
            let mut random = Random::new(number as u64);
            (0..count / 16).map(|_| format!("{:016x}", random.bits())).collect()
        };
        let reply = Client::post(server.public, &format!("/read?item={}", noise(50_000)), "")
            .header("referer", &format!("https://a.test/{}", noise(4_000)))
            .header("user-agent", &noise(4_000))
            .send();
        assert_eq!(reply.status, 204);
    }
}

#[test]
fn a_flood_of_long_requests_leaves_what_was_recorded_before() {
    let config = CONFIG.replace("sync = \"always\"", "sync = \"always\"\nkeep.bytes = \"2MB\"");
    let server = Running::start(&config, prepare);
    for item in 0..20 {
        let honest = Client::post(server.public, &format!("/read?item=honest-{item}"), "");
        assert_eq!(honest.send().status, 204);
    }
    flood(&server, 120);
    let honest = kept(&server).into_iter().filter(|line| line.contains("honest-"));
    assert_eq!(honest.count(), 20);
}

fn alarms(server: &Running) -> String {
    server.status()["alarms"].to_string()
}

#[test]
fn a_consumer_that_falls_behind_is_an_alarm_before_lines_are_lost() {
    let config = CONFIG.replace("sync = \"always\"", "sync = \"always\"\nkeep.bytes = \"400KB\"");
    let server = Running::start(&config, prepare);
    let dir = server.folder.path().join("data/journal");
    let consumer = Consumer::register(&dir, "events-main", 0, Arc::new(RealDisk)).unwrap();
    let behind = "consumer `events-main` has not read ";
    let mut floods = 0;
    while !alarms(&server).contains(behind) {
        flood(&server, 1);
        floods += 1;
        assert_eq!(server.status()["journal"]["unrecorded"], 0, "after {floods}");
    }
    let metrics = Client::get(server.admin, "/metrics").send();
    let gauge = "tidegate_journal_unread_bytes{consumer=\"events-main\"}";
    assert!(metrics.text().contains(gauge), "{}", metrics.text());
    let end = server.status()["journal"]["offset"].as_u64().unwrap();
    consumer.commit(end).unwrap();
    assert!(!alarms(&server).contains(behind), "{}", alarms(&server));
}

#[test]
fn lines_that_no_build_of_profiles_has_read_are_counted_and_an_alarm_when_they_are_deleted() {
    let config = CONFIG.replace("sync = \"always\"", "sync = \"always\"\nkeep.bytes = \"400KB\"");
    let profiles = "[profiles]\nfile = \"data/profiles.db\"\nevery = \"1h\"\n";
    let server = Running::start(&format!("{config}{profiles}"), prepare);
    let consumer = || server.status()["journal"]["consumers"][0].clone();
    until("the first build", || consumer()["name"] == "profiles");
    let deleted = || consumer()["deleted_unread_bytes"].as_u64().unwrap();
    while deleted() == 0 {
        flood(&server, 10);
    }
    let text = alarms(&server);
    assert!(text.contains("reader `profiles`: ") && text.contains("were deleted unread"), "{text}");
}
