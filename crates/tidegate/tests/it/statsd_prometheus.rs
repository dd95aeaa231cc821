//! statsd's page for Prometheus, read by a parser that is not ours (that of PyPI's
//! `prometheus-client`), and by the plug-in for Munin.

use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{Client, Reply, Server, TempDir, free_port, skip};

use crate::running::{BINARY, Running, until};

const OPEN: &str = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";

/// Python with the parser; `None`, with the reason printed, where the set-up has not put it.
fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/venv/bin/python");
    let has_parser = Command::new(&python).args(["-c", "import prometheus_client"]).status();
    if has_parser.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    skip("prometheus-client is not installed; `cargo xtask setup --test` installs it");
    None
}

/// Families by name as the parser reads them; `how` is `text` or `open`.
fn parsed(python: &Path, how: &str, page: &[u8]) -> Value {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statsd_prometheus/read_page.py");
    let mut parser = Command::new(python);
    parser.arg(script).arg(how).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut parser = parser.stderr(Stdio::piped()).spawn().unwrap();
    parser.stdin.take().unwrap().write_all(page).unwrap();
    let output = parser.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(page));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The value of a sample; `None` when it is not there.
fn value(families: &Value, family: &str, name: &str, labels: &Value) -> Option<f64> {
    let samples = families[family]["samples"].as_array()?;
    let found = samples.iter().find(|sample| sample[0] == name && sample[1] == *labels);
    found.and_then(|sample| sample[2].as_f64())
}

struct Statsd {
    server: Server,
    udp: u16,
    page: SocketAddr,
    _folder: TempDir,
}

impl Statsd {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let (udp, page) = (free_port(), SocketAddr::from(([127, 0, 0, 1], free_port())));
        let path = folder.path().join("t.toml");
        std::fs::write(&path, config(udp, &page.to_string())).unwrap();
        let mut command = Command::new(BINARY);
        command.arg("statsd").arg("--config").arg(path);
        let server = Server::spawn(command, page).unwrap();
        Self { server, udp, page, _folder: folder }
    }

    fn send(&self, datagrams: &[&str]) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for datagram in datagrams {
            socket.send_to(datagram.as_bytes(), ("127.0.0.1", self.udp)).unwrap();
        }
    }

    fn page(&self, accept: &str) -> Reply {
        Client::get(self.page, "/metrics").header("accept", accept).send()
    }

    /// Waits for a flush that brings a line.
    fn wait_for(&self, line: &str) {
        until(line, || self.page("").text().lines().any(|found| found == line));
    }

    fn stop(mut self) {
        self.server.signal("TERM").unwrap();
        assert!(self.server.wait().unwrap().success());
    }
}

fn config(udp: u16, page: &str) -> String {
    format!(
        "[statsd]\nlisten = [\"udp:127.0.0.1:{udp}\"]\nmanagement = \"off\"\nflush = \"1s\"\n\
         percentiles = [90, 99.9]\nhistogram = [{{ part = \"binned\", bins = [1, 10, \"inf\"] }}]\n\
         backend = [{{ kind = \"prometheus\", listen = \"{page}\" }}]\n"
    )
}

#[test]
fn a_public_parser_reads_every_type_in_both_formats() {
    let Some(python) = python() else { return };
    let statsd = Statsd::start();
    statsd.send(&[
        "web.hits:3|c|#path:/a\"b\\c,who:J\u{fc}rgen \u{2603}\nweb.hits:1|c|@0.1|#path:/other",
        "depth:-2.5|g\nu:a|s\nu:b|s\nu:a|s\ntook:320:1:5|ms\nbinned.took:1:5:50|d|#quantile:x",
        "a.b:1|c\na-b:2|c\ng.x:1|g\ng-x:2|g\nboth:1|c\nboth:7|g\n9lives:1|c\nlist:1|c|#r:x,r:y",
        "bad\nzero:1|c|@0",
    ]);
    statsd.wait_for("list_total{r=\"x,y\"} 1");
    statsd.send(&["web.hits:4|c|#path:/a\"b\\c,who:J\u{fc}rgen \u{2603}\ntook:4|ms\ndone:1|c"]);
    // Of that flush alone.
    statsd.wait_for("took{quantile=\"0.999\"} 4");
    statsd.wait_for("done_total 1");

    let text = statsd.page("");
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = parsed(&python, "text", text.text().as_bytes());
    let open = statsd.page(OPEN);
    let kind = open.header("content-type").unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    let open = parsed(&python, "open", open.text().as_bytes());

    for (families, format) in [(&text, "text"), (&open, "open")] {
        for (family, kind, name, labels, wanted) in shown_in_both() {
            assert_eq!(families[family]["type"], kind, "{format}: {family}");
            assert_eq!(
                value(families, family, name, &labels),
                Some(wanted),
                "{format}: {name} {labels}: {}",
                families[family]
            );
        }
    }
    assert_eq!(text["web_hits_total"]["help"], "Counter `web.hits` of statsd.");
    // The gauge has the name that OpenMetrics would give to the counter's family.
    assert_eq!(open["both_total"]["type"], "unknown");
    assert_eq!(value(&open, "both_total", "both_total", &json!({})), Some(1.0));
    statsd.stop();
}

/// A family, its type, and the name, labels and value of one of its samples.
type Shown = (&'static str, &'static str, &'static str, Value, f64);

fn shown_in_both() -> Vec<Shown> {
    let path = json!({ "path": "/a\"b\\c", "who": "J\u{fc}rgen_\u{2603}" });
    let (none, tagged) = (json!({}), json!({ "tag_quantile": "x" }));
    let bucket = |le: &str| json!({ "tag_quantile": "x", "le": le });
    vec![
        ("web_hits_total", "counter", "web_hits_total", path.clone(), 7.0),
        ("web_hits_total", "counter", "web_hits_total", json!({ "path": "/other" }), 10.0),
        ("depth", "gauge", "depth", none.clone(), -2.5),
        ("u", "gauge", "u", none.clone(), 0.0),
        ("took", "summary", "took_sum", none.clone(), 330.0),
        ("took", "summary", "took_count", none.clone(), 4.0),
        ("binned_took", "histogram", "binned_took_bucket", bucket("1.0"), 1.0),
        ("binned_took", "histogram", "binned_took_bucket", bucket("10.0"), 2.0),
        ("binned_took", "histogram", "binned_took_bucket", bucket("+Inf"), 3.0),
        ("binned_took", "histogram", "binned_took_sum", tagged.clone(), 56.0),
        ("a_b_total", "counter", "a_b_total", none.clone(), 3.0),
        ("g_x", "gauge", "g_x", none.clone(), 1.0),
        ("both", "gauge", "both", none.clone(), 7.0),
        ("_9lives_total", "counter", "_9lives_total", none.clone(), 1.0),
        ("list_total", "counter", "list_total", json!({ "r": "x,y" }), 1.0),
        (
            "tidegate_statsd_lines_total",
            "counter",
            "tidegate_statsd_lines_total",
            none.clone(),
            21.0,
        ),
        (
            "tidegate_statsd_bad_lines_total",
            "counter",
            "tidegate_statsd_bad_lines_total",
            json!({ "reason": "rate" }),
            1.0,
        ),
        (
            "tidegate_statsd_page_refused_names",
            "gauge",
            "tidegate_statsd_page_refused_names",
            none.clone(),
            1.0,
        ),
    ]
}

#[test]
fn only_the_page_is_answered() {
    let statsd = Statsd::start();
    let call = |method: &str, path: &str| Client::call(statsd.page, method, path).send();
    assert_eq!(call("GET", "/").status, 404);
    assert_eq!(call("POST", "/metrics").status, 405);
    let head = call("HEAD", "/metrics");
    assert_eq!((head.status, head.text()), (200, ""));
    statsd.stop();
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let statsd = Statsd::start();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.toml");
    std::fs::write(&path, config(free_port(), &statsd.page.to_string())).unwrap();
    let output = Command::new(BINARY).arg("statsd").arg("-c").arg(path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&format!("listen on `tcp:{}`: Address already", statsd.page)), "{text}");
    statsd.stop();
}

#[test]
fn the_gateways_own_pages_are_read_too() {
    let Some(python) = python() else { return };
    let udp = free_port();
    let config = config(udp, "off")
        + "[[upstream]]\nname = \"u\"\nservers = [\"127.0.0.1:1\"]\n\
           [[route]]\npath = \"/{*rest}\"\nto = \"upstream:u\"\n";
    let running = Running::start(&config, |_| {});
    assert_eq!(running.get("/x").status, 502);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"a.b:5|c", ("127.0.0.1", udp)).unwrap();
    let page = |path: &str| Client::get(running.admin, path).send();
    until("a flush", || page("/statsd/metrics").text().contains("\na_b_total 5\n"));
    let theirs = parsed(&python, "text", page("/statsd/metrics").text().as_bytes());
    assert_eq!(value(&theirs, "a_b_total", "a_b_total", &json!({})), Some(5.0));
    let ours = parsed(&python, "text", page("/metrics").text().as_bytes());
    assert!(ours.get("a_b_total").is_none(), "names of others are among ours");
    let kinds: Vec<&str> =
        ours.as_object().unwrap().values().filter_map(|family| family["type"].as_str()).collect();
    for kind in ["counter", "gauge", "histogram"] {
        assert!(kinds.contains(&kind), "there is no {kind}: {kinds:?}");
    }
    assert!(!kinds.contains(&"unknown"), "{ours}");
    let status = running.status();
    assert_eq!(status["statsd"]["prometheus"]["refused_names"], 0, "{status:#}");
}

#[test]
fn the_plug_in_for_munin_shows_the_names_of_its_prefix() {
    let statsd = Statsd::start();
    statsd.send(&["web.hits:3|c\nweb.took:10:20|ms\nweb.depth:-2.5|g\nother:1|c"]);
    statsd.wait_for("other_total 1");
    let folder = TempDir::new().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/munin/tidegate_");
    let link = folder.path().join("tidegate_web");
    std::os::unix::fs::symlink(script.canonicalize().unwrap(), &link).unwrap();
    let page = format!("http://{}/metrics", statsd.page);
    // As munin-node starts it: what is configured stands in the environment.
    let run = |page: &str, verb: Option<&str>| {
        let mut plugin = Command::new(&link);
        let output = plugin.env("tidegate", BINARY).env("page", page).args(verb).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&page, Some("autoconf")), (true, "yes\n".to_owned()));
    let (_, suggested) = run(&page, Some("suggest"));
    assert_eq!(suggested, "other\nstatsd\ntidegate_statsd\nweb\n");
    let (_, config) = run(&page, Some("config"));
    for line in
        ["multigraph tidegate_web_rates", "hits_total.label web.hits", "depth.label web.depth"]
    {
        assert!(config.lines().any(|found| found == line), "{line}: {config}");
    }
    let (_, values) = run(&page, None);
    for line in ["hits_total.value 3", "took_sum.value 30", "took.value 2", "depth.value -2.5"] {
        assert!(values.lines().any(|found| found == line), "{line}: {values}");
    }
    assert!(!values.contains("other"), "{values}");
    let nowhere = format!("http://127.0.0.1:{}/metrics", free_port());
    let (is_success, said) = run(&nowhere, Some("autoconf"));
    assert!(is_success && said.starts_with("no (get the page `http://127.0.0.1:"), "{said}");
    assert_eq!(run(&nowhere, None), (false, String::new()));
    statsd.stop();
}
