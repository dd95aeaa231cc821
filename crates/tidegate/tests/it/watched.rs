//! Claims about the dashboard and the alert rules in `packaging`: a server with every part exports
//! each metric and label that they name.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use testkit::{Client, free_port};

use crate::running::{Running, run, until};

const RULES: &str = include_str!("../../../../packaging/prometheus/tidegate.rules.yaml");
const DASHBOARD: &str = include_str!("../../../../packaging/grafana/tidegate.json");
/// What Prometheus adds, and what the buckets of a histogram have.
const NOT_OF_THE_SERVER: [&str; 2] = ["instance", "le"];

const APP: &str = r#"
async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"app"})
"#;

const CONFIG: &str = r#"
[resolver]
servers = ["127.0.0.1:NOBODY"]

[journal]

[profiles]
file      = "data/profiles.db"
every     = "1s"
event     = 'path == "/read" and status < 400'
items     = "NEWS/items.jsonl"
items_min = 1

[cache.disk]

[statsd]
listen  = ["udp:127.0.0.1:STATSD"]
backend = [{ kind = "prometheus", listen = "off" }]

[[model]]
name  = "news"
file  = "NEWS/model.json"
items = "NEWS/items.jsonl"

[[model]]
name = "words"
file = "NEWS/embedding"

[[upstream]]
name    = "app"
python  = "app:app"
workers = 1

[[upstream]]
name    = "named"
servers = ["api.test:9000"]

[[route]]
path        = "/list"
to          = "model:news"
cache       = { ttl = "1m", disk = true }
personalise = { user = "cookie:userId", rollout = "100%" }

[[route]]
path = "/embed"
to   = "models"

[[route]]
path        = "/read"
collect     = "only"
personalise = { user = "cookie:userId" }

[[route]]
path = "/named"
to   = "upstream:named"

[[route]]
path = "/{*rest}"
to   = "upstream:app"

[[sink]]
name = "main"
url  = "sqlite:data/events.db"

[[rollup]]
name = "hits"
by   = ["minute"]
"#;

/// A server with every part, whose requests have touched them all.
fn server_with_every_part() -> Running {
    let news = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/news");
    let config = CONFIG
        .replace("NEWS", news)
        .replace("NOBODY", &free_port().to_string())
        .replace("STATSD", &free_port().to_string());
    let app = |folder: &Path| std::fs::write(folder.join("app.py"), APP).unwrap();
    let server = Running::start(&config, app);
    until("the worker", || server.get("/").status == 200);
    let read = Client::post(server.public, "/read?item=1", "").header("cookie", "userId=u");
    assert_eq!(read.send().status, 204);
    assert_eq!(server.get("/list").status, 200);
    until("a hit", || server.get("/list").header("cache-status").unwrap().contains("; hit"));
    until("the user's own list", || {
        server.get_as("u", "/list").header("tidegate-decision") == Some("personalised")
    });
    let texts = r#"{"inputs": ["a text"]}"#;
    let embedded = Client::post(server.public, "/embed", texts);
    let embedded = embedded.header("content-type", "application/json").send();
    assert_eq!(embedded.status, 200, "{}", embedded.text());
    assert_eq!(server.get("/named").status, 503);
    let admin = server.admin.to_string();
    run(&["workers", "recycle", "app", "--admin", &admin], server.folder.path());
    server
}

/// Both pages that Prometheus scrapes.
fn exported(server: &Running) -> String {
    let page = |path| Client::get(server.admin, path).send().text().to_owned();
    page("/metrics") + &page("/statsd/metrics")
}

/// Every query of the dashboard and of the rules.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let of_panels = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let of_rules = RULES.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    of_panels.chain(of_rules.map(str::to_owned)).collect()
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The metrics that a query names.
fn metrics(query: &str) -> BTreeSet<&str> {
    query.split(|c| !is_of_a_name(c)).filter(|word| word.starts_with("tidegate_")).collect()
}

/// The labels by which a query selects and groups, but for those of Prometheus.
fn labels(query: &str) -> BTreeSet<&str> {
    let grouped = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let grouped = grouped.flat_map(|list| list.split(", "));
    let selectors = query.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let selected = selectors.flat_map(|list| list.split(", "));
    let selected = selected.filter_map(|matcher| matcher.split(['=', '!']).next());
    grouped.chain(selected).filter(|label| !NOT_OF_THE_SERVER.contains(label)).collect()
}

/// What of a query a page lacks.
fn lacking(query: &str, page: &str) -> Vec<String> {
    let mut lacking = Vec::new();
    for metric in metrics(query) {
        let of_metric = |line: &&str| {
            line.strip_prefix(metric).is_some_and(|rest| !rest.starts_with(is_of_a_name))
        };
        let samples: Vec<&str> = page.lines().filter(of_metric).collect();
        if samples.is_empty() {
            lacking.push(metric.to_owned());
        }
        let has = |label: &str| samples.iter().any(|line| line.contains(&format!("{label}=\"")));
        let unknown = labels(query).into_iter().filter(|label| !has(label));
        lacking.extend(unknown.map(|label| format!("{metric} by {label}")));
    }
    lacking
}

#[test]
fn a_server_exports_all_that_dashboard_and_rules_name() {
    let server = server_with_every_part();
    let queries = queries();
    assert!(queries.len() > 50, "{}", queries.len());
    let mut found = Vec::new();
    until("every metric", || {
        let page = exported(&server);
        found = queries.iter().flat_map(|query| lacking(query, &page)).collect();
        found.is_empty()
    });
}

#[test]
fn a_metric_or_label_that_no_server_has_is_found() {
    let page = "tidegate_shed_total 1\ntidegate_fetches_total{reason=\"x\"} 1\n";
    let query = |text: &str| lacking(text, page);
    let good = "sum by (reason, instance) (rate(tidegate_fetches_total{instance=~\"a\"}[5m]))";
    assert!(query(good).is_empty());
    assert_eq!(query("tidegate_shed"), ["tidegate_shed"]);
    assert_eq!(query("sum by (pool) (tidegate_shed_total)"), ["tidegate_shed_total by pool"]);
    let selected = query("tidegate_shed_total{instance=~\"a\", cache!=\"hit\"}");
    assert_eq!(selected, ["tidegate_shed_total by cache"]);
}

#[test]
fn the_metric_of_alarms_counts_what_the_status_page_says() {
    let nobody = free_port();
    let config = format!(
        "[resolver]\nservers = [\"127.0.0.1:{nobody}\"]\n\n\
         [[upstream]]\nname = \"named\"\nservers = [\"api.test:9000\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:named\"\n"
    );
    let server = Running::start(&config, |_| {});
    let alarms = server.status()["alarms"].clone();
    let alarms = alarms.as_array().unwrap();
    let metrics = Client::get(server.admin, "/metrics").send();
    let count = |kind: &str| {
        let start = format!("tidegate_alarms{{kind=\"{kind}\"}} ");
        metrics.text().lines().find_map(|line| line.strip_prefix(&start)?.parse::<usize>().ok())
    };
    assert_eq!(alarms.len(), 2, "{alarms:?}");
    assert_eq!(count("upstream-down"), Some(1), "{}", metrics.text());
    assert_eq!(count("upstream-names"), Some(1));
    assert_eq!(count("journal"), Some(0));
}
