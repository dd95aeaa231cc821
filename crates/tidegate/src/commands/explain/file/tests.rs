//! Claims about what is said of a configuration.

use screen::Style;

const CONFIG: &str = r#"
[journal]
keep = { age = "7d", bytes = "5GB" }

[[upstream]]
name = "backend"
servers = ["127.0.0.1:9000", "10.0.0.2:9000"]
health = { path = "/ping" }

[[route]]
path = "/list"
host = "www.example.org"
methods = ["GET"]
to = "upstream:backend"
cache = { ttl = "1m", stale = "5m" }
personalise = { user = "cookie:id", rollout = "5%", hold_out = "1%" }

[[route]]
path = "/read"
collect = "only"
reply = "gif"

[[sink]]
name = "main"
url = "postgres://tide:secret@127.0.0.1/db"

[[rollup]]
name = "hits"
by = ["minute", "status"]
where = "status >= 400"
unique = ["user"]
quantiles = ["total"]
"#;

fn said(config: &str) -> String {
    let dir = testkit::TempDir::new().unwrap();
    let file = dir.path().join("tidegate.toml");
    std::fs::write(&file, config).unwrap();
    let style = Style { width: 100, colour: false, ascii: false };
    super::text(&file, &crate::commands::load(&file).unwrap(), &style)
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_configuration_is_told_section_by_section() {
    let said = said(CONFIG);
    for sentence in [
        "Clients are answered at 127.0.0.1:8080.",
        "127.0.0.1:8081 shows status and metrics and takes actions, to this machine alone.",
        "GET /list of www.example.org: upstream `backend` answers. Answers are stored for 1m, and \
         used for 5m more while they are fetched again. The user's id is in the cookie `id`: of \
         those with a profile, 5% get an answer of their own, and all others share \
         one. 1% of all users are held out to compare with.",
        "/read: recorded, and answered here by a pixel.",
        "Any other path: 404.",
        "Upstream `backend`: 127.0.0.1:9000, 10.0.0.2:9000. Each is asked for /ping every 10s, and \
         is in use while 3 of its last 20 answers were good. A failed request is not tried again.",
        "Every request goes to",
        "is on disk within 1s, and is kept for 7 days, up to 5GB in all.",
        "Rollup `hits`: the lines of journal with `status >= 400` by minute, status, with unique \
         user; quantiles of total; into sink `main`.",
        "Sink `main`: postgres://tide:…@127.0.0.1/db, every 1s.",
        "`cache.bytes`: stored answers take 256MB of memory",
        "without [profiles] everybody gets the generic answer",
    ] {
        assert!(said.contains(sentence), "no {sentence}\nin {said}");
    }
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn what_a_file_has_nothing_of_is_not_told() {
    let said = said("[[route]]\npath = \"/{*rest}\"\nto = \"models\"\nrecord = \"off\"\n");
    assert!(
        said.contains("/{*rest}: the model API answers. No answer is stored. It is not recorded."),
        "{said}"
    );
    assert!(said.contains("Nothing: there is no [journal]."), "{said}");
    for absent in ["404", "Upstream", "What is counted", "cache.bytes"] {
        assert!(!said.contains(absent), "{absent} in {said}");
    }
}
