//! Claims about profile files beneath a running server: nothing that happens to one is ever an
//! error to a user.

use std::path::Path;

use rusqlite::Connection;
use testkit::Client;

use crate::running::{Running, json, until};

const CONFIG: &str = r#"
[[model]]
name = "news"
file = "model.json"
items = "items.jsonl"

[profiles]
file = "profiles.db"

[[route]]
path = "/list"
to = "model:news"
cache = { ttl = "1h" }
personalise = { user = "cookie:userId" }
"#;

const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"news","version":"1","intercept":0,
"features":[{"name":"item.popularity","weight":1.0}],
"crosses":[{"left":"user.affinity.b","right":"item.category=b","weight":5.0}]}"#;

const ITEMS: &str = r#"{"id":"1","title":"One","category":"a","popularity":0.9}
{"id":"2","title":"Two","category":"b","popularity":0.1}
"#;

fn prepare(folder: &Path) {
    std::fs::write(folder.join("model.json"), MODEL).unwrap();
    std::fs::write(folder.join("items.jsonl"), ITEMS).unwrap();
}

/// Puts a file with these users in the place of the last, by rename.
pub(crate) fn replace(folder: &Path, users: &[&str]) {
    let data = r#"{"affinity":{"b":1.0},"reads":5,"recent":[]}"#;
    replace_by(folder, users.iter().map(|user| (*user, data)));
}

fn replace_by<'a>(folder: &Path, profiles: impl Iterator<Item = (&'a str, &'a str)>) {
    let draft = folder.join("draft.db");
    let file = Connection::open(&draft).unwrap();
    file.execute_batch(
        "CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);",
    )
    .unwrap();
    for (user, data) in profiles {
        file.execute("INSERT INTO user_profiles VALUES (?, ?)", [user, data]).unwrap();
    }
    file.close().unwrap();
    std::fs::rename(draft, folder.join("profiles.db")).unwrap();
}

fn decision(server: &Running, user: &str) -> String {
    let reply = server.get_as(user, "/list");
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("tidegate-decision").unwrap().to_owned()
}

/// 1 for a popularity above 0.5, and 8 for an affinity to the item's own category above 0.5.
const TREES: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\n\
    objective=lambdarank\nfeature_names=item.popularity user.affinity@item.category\n\n\
    Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=0.5\ndecision_type=10\n\
    left_child=-1\nright_child=-2\nleaf_value=0 1\n\n\
    Tree=1\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nthreshold=0.5\ndecision_type=10\n\
    left_child=-1\nright_child=-2\nleaf_value=0 8\n\nend of trees\n";

#[test]
fn trees_rank_for_a_user_and_say_where_the_profile_lacks_affinities() {
    let server = Running::start(CONFIG, |folder| {
        std::fs::write(folder.join("model.json"), TREES).unwrap();
        std::fs::write(folder.join("items.jsonl"), ITEMS).unwrap();
        let profiles = [("ann", r#"{"affinity":{"b":1.0}}"#), ("ben", r#"{"reads":5}"#)];
        replace_by(folder, profiles.into_iter());
    });
    assert_eq!(decision(&server, "ann"), "personalised");
    assert_eq!(decision(&server, "ben"), "personalised; detail=no-affinity");
    let best = |user: &str| json(&server.get_as(user, "/list"))["items"][0].clone();
    let [ann, ben] = ["ann", "ben"].map(best);
    assert_eq!((&ann["id"], &ann["score"]), (&"2".into(), &8.0.into()));
    assert_eq!(ann["popularity"], 0.1, "all fields are shown");
    assert_eq!((&ben["id"], &ben["score"]), (&"1".into(), &1.0.into()));
    assert_eq!(json(&server.get("/list"))["items"][0]["id"], "1");
}

#[test]
fn a_new_generation_is_swapped_in_and_the_last_good_one_survives_a_bad_one() {
    let server = Running::start(CONFIG, prepare);
    let folder = server.folder.path();
    assert_eq!(decision(&server, "ann"), "fallback; detail=profiles", "no file yet");
    replace(folder, &["ann"]);
    until("the first generation", || decision(&server, "ann") == "personalised");
    assert_eq!(decision(&server, "bob"), "no-profile");
    let own = json(&server.get_as("ann", "/list"));
    assert_eq!(own["items"][0]["id"], "2");
    assert_eq!(json(&server.get("/list"))["items"][0]["id"], "1");

    for bad in [
        &b""[..],
        b"not a database at all",
        &std::fs::read(folder.join("profiles.db")).unwrap()[..5000],
    ] {
        let draft = folder.join("bad.db");
        std::fs::write(&draft, bad).unwrap();
        std::fs::rename(draft, folder.join("profiles.db")).unwrap();
        until("the alarm", || !server.status()["profiles"]["error"].is_null());
        assert_eq!(decision(&server, "ann"), "personalised", "the last good one serves");
    }
    std::fs::remove_file(folder.join("profiles.db")).unwrap();
    assert_eq!(decision(&server, "ann"), "personalised");
    replace(folder, &["bob"]);
    until("the next generation", || decision(&server, "bob") == "personalised");
    assert_eq!(decision(&server, "ann"), "no-profile");
}

#[test]
fn strange_user_ids_are_data_and_never_an_error() {
    let server = Running::start(CONFIG, |folder| {
        prepare(folder);
        replace(folder, &["o'hara", "\" OR 1=1 --", "ann"]);
    });
    until("the generation", || decision(&server, "ann") == "personalised");
    assert_eq!(decision(&server, "o'hara"), "personalised");
    assert_eq!(decision(&server, "' OR '1'='1"), "no-profile");
    assert_eq!(decision(&server, &"x".repeat(10_000)), "no-profile");
    let two = Client::get(server.public, "/list")
        .header("cookie", "a=b; userId=ann")
        .header("cookie", "userId=bob")
        .send();
    assert_eq!(two.header("tidegate-decision"), Some("no-profile"), "two different ids");
    let split = Client::get(server.public, "/list")
        .header("cookie", "a=b")
        .header("cookie", "c=d; userId=ann; e=f")
        .send();
    assert_eq!(split.header("tidegate-decision"), Some("personalised"), "several Cookie lines");
}

#[test]
fn the_rollout_is_changed_live_and_stays_changed_after_a_crash() {
    let server = Running::start(CONFIG, |folder| {
        prepare(folder);
        replace(folder, &["ann"]);
    });
    until("the generation", || decision(&server, "ann") == "personalised");
    let set = Client::post(server.admin, "/rollout", r#"{"killed":true}"#).send();
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(decision(&server, "ann"), "fallback; detail=killed");
    let server = server.crash_and_restart(CONFIG);
    until("the generation", || !server.status()["profiles"]["generation"].is_null());
    assert_eq!(decision(&server, "ann"), "fallback; detail=killed");
    let wrong = Client::post(server.admin, "/rollout", r#"{"rollout":7}"#).send();
    assert_eq!(wrong.status, 400);
    let cleared = Client::call(server.admin, "DELETE", "/rollout").send();
    assert_eq!(cleared.status, 200);
    assert_eq!(decision(&server, "ann"), "personalised");
}

#[test]
fn overrides_that_cannot_be_read_are_set_aside_with_an_alarm_until_the_next_change() {
    let server = Running::start(CONFIG, |folder| {
        prepare(folder);
        replace(folder, &["ann"]);
        std::fs::create_dir(folder.join("data")).unwrap();
        std::fs::write(folder.join("data/live.toml"), "[rollout.").unwrap();
    });
    let alarm = |server: &Running| server.status()["alarms"].to_string().contains("live.toml");
    assert!(alarm(&server), "{}", server.status()["alarms"]);
    until("the generation", || decision(&server, "ann") == "personalised");
    let set = Client::post(server.admin, "/rollout", r#"{"killed":true}"#).send();
    assert_eq!(set.status, 200, "{}", set.text());
    assert!(!alarm(&server), "{}", server.status()["alarms"]);
}

#[test]
fn the_admin_listener_refuses_foreign_hosts_and_pages() {
    let server = Running::start(CONFIG, prepare);
    let foreign = Client::get(server.admin, "/status").header("host", "evil.example").send();
    assert_eq!(foreign.status, 403);
    let page = Client::post(server.admin, "/rollout", "{}").header("origin", "http://evil.example");
    assert_eq!(page.send().status, 403);
    assert_eq!(Client::get(server.admin, "/nonsense").send().status, 404);
    assert_eq!(Client::get(server.admin, "/health/live").send().status, 200);
}

#[test]
fn a_feature_that_no_profile_of_a_file_has_is_noted() {
    let folder = testkit::TempDir::new().unwrap();
    let folder = folder.path();
    let reading = |field: &str| {
        let name = format!("\"weight\":1.0}},{{\"name\":\"user.{field}\",\"weight\":1.0}}],");
        MODEL.replace("\"weight\":1.0}],", &name)
    };
    std::fs::write(folder.join("items.jsonl"), ITEMS).unwrap();
    std::fs::write(folder.join("tidegate.toml"), CONFIG).unwrap();
    let data = r#"{"budget": 3, "plan": {"kind": "x"}}"#;
    replace_by(folder, std::iter::once(("a", data)));
    for (field, is_noted) in [("budgt", true), ("budget", false), ("plan.kind", false)] {
        std::fs::write(folder.join("model.json"), reading(field)).unwrap();
        let (code, out, error) = crate::running::run(&["config", "check"], folder);
        assert_eq!(code, 0, "{out}{error}");
        let note = format!("reads `user.{field}`; no profile that was looked at has it");
        assert_eq!(out.contains(&note), is_noted, "{out}");
    }
}
