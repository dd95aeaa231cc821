//! Claims about building profiles from what was recorded.

use std::path::Path;

use testkit::Client;

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
    assert!(out.contains("1 profiles of 2 users"), "{out}");
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
