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
        "data/audit`, and at syslog (/dev/log). Where that fails, they are done all the same, with \
         an alarm.",
        "GET /list of www.example.org: upstream `backend` answers. Answers for everybody are \
         stored for 1m, and used for 5m more while they are fetched again. The user's id is in the \
         cookie `id`: of those with a profile, 5% get an answer of their own, and all others that \
         for everybody. 1% of all users are held out to compare with.",
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

const UPSTREAM: &str = "[[upstream]]\nname = \"a\"\nservers = [\"127.0.0.1:9000\"]\n";

/// What is said of a route to an upstream with these keys.
fn of_route(keys: &str) -> String {
    said(&format!("{UPSTREAM}[[route]]\nto = \"upstream:a\"\n{keys}\n"))
}

#[test]
fn what_is_stored_is_told_as_the_gateway_stores_it() {
    let user = "cache = { ttl = \"1m\" }\npersonalise = { user = \"cookie:id\"";
    for (keys, sentence) in [
        (
            "path = \"/u/{user}/list\"\ncache = { ttl = \"1m\" }\n\
             personalise = { user = \"path:2\" }"
                .to_owned(),
            "No answer is stored: the path has who asks, at `path:2`.",
        ),
        (
            "path = \"/u/{user}\"\ncache = { ttl = \"1m\", per_user = true }\n\
             personalise = { user = \"path:2\" }"
                .to_owned(),
            "Each user's own answers are stored for 1m, and none for everybody: `path:2` says who \
             asks.",
        ),
        (
            format!("path = \"/{{*rest}}\"\n{user}, identifies = [\"path:2\"] }}"),
            "Answers for everybody are stored for 1m, but an upstream's for everybody is not if \
             the path has `path:2`.",
        ),
        (
            format!("path = \"/a\"\n{user} }}").replace("1m\"", "1m\", per_user = true"),
            "Answers for everybody, and each user's own, are stored for 1m.",
        ),
        (
            "path = \"/a\"\ncoalesce = \"strict\"\nhold = \"7s\"".to_owned(),
            "No answer is stored for longer than identical requests share it. Identical requests \
             share one answer, good or bad, for 7s, unless it says `private` or `no-store`.",
        ),
        ("path = \"/a\"".to_owned(), "upstream `a` answers. No answer is stored. -"),
    ] {
        let said = of_route(&keys);
        assert!(said.contains(sentence), "no {sentence}\nin {said}");
    }
    // A model gets no path of the user's, so its answers for everybody are stored.
    let keys = "path = \"/u/{user}\"\ncache = {}\npersonalise = { user = \"path:2\" }\n";
    let said = said(&format!("[[route]]\nto = \"models\"\n{keys}"));
    assert!(said.contains("Answers for everybody are stored for as long as their"), "{said}");
}

#[test]
fn a_request_with_cookies_is_said_to_get_what_is_stored() {
    let said = of_route("path = \"/a\"\ncache = { ttl = \"1m\" }");
    assert!(said.contains("such a request also gets what is stored for everybody"), "{said}");
}

#[test]
fn profiles_of_another_database_are_not_said_to_come_from_a_sink() {
    let config = "[profiles]\nfile = \"p.db\"\nevery = \"6h\"\nquery = \"SELECT 1\"\n\
                  database = \"postgres://a:b@127.0.0.1/db\"\n";
    let said = said(config);
    assert!(said.contains("built every 6h by a query in another database."), "{said}");
}

#[test]
fn what_is_not_recorded_or_never_paused_is_not_promised() {
    let said = of_route("path = \"/a\"\nrecord = \"off\"\n[journal]");
    assert!(said.contains("It is not recorded.") && said.contains("Every other request"), "{said}");
    let pausing = UPSTREAM.replace("\nname", "\npassive.failures = 0\nname");
    let said = self::said(&pausing);
    assert!(said.contains("one that takes no connection is passed over."), "{said}");
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
