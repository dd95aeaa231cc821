//! Other projects' clients send every type they have, in every way they have, to `tidegate statsd`.
//!
//! In the end everything is there, exactly: counts, sums, gauges, members, events and checks.
//! The scripts beside this file send the same amounts under a prefix for each way, and `done` last.
//! A client that samples by chance gets random numbers that let exactly half of its samples out.
//! So the sum at a rate of 0.5 is known.
//! A client that is not installed is passed over, and the output says so.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Absent, Server, TempDir, free_port, notice, require, skip};

use crate::running::{BINARY, until};

/// What each way is to bring.
const COUNTERS: [(&str, f64); 3] = [("hits", 90.0), ("sampled", 100.0), ("done", 1.0)];
const GAUGES: [(&str, f64); 2] = [("level", 12.0), ("below", -4.0)];
/// With the number of values and their sum.
const TIMERS: [(&str, f64, f64); 2] = [("took", 10.0, 55.0), ("took_sampled", 10.0, 80.0)];
/// What those add that speak DogStatsD.
const DOG_COUNTER: (&str, f64) = ("tagged;canary=true;env=prod;team=a", 5.0);
const DOG_GAUGE: (&str, f64) = ("dated", 3.0);
const DOG_TIMERS: [(&str, f64, f64); 2] = [("size", 10.0, 55.0), ("spread", 10.0, 55.0)];

#[test]
fn net_statsd_for_perl_is_added_up_exactly() {
    let Some(perl) = require("perl", Absent::Skip) else { return };
    if !Command::new(&perl).args(["-MNet::Statsd", "-e", "1"]).output().unwrap().status.success() {
        return skip("Net::Statsd is not installed; `cargo xtask setup --test` installs it");
    }
    let statsd = Statsd::start();
    let mut wanted = Flushed::default();
    wanted.add_way("udp");
    wanted.counters.insert("udp.listed".to_owned(), 100.0);
    let mut client = Command::new(perl);
    client.arg(ours("net_statsd.pl")).arg(statsd.port.to_string());
    statsd.check("libnet-statsd-perl", client, &["udp"], wanted);
}

#[test]
fn pypi_statsd_is_added_up_exactly() {
    let Some(python) = python("statsd") else { return };
    let statsd = Statsd::start();
    let ways = ways(&["udp", "udp6", "tcp", "tcp6", "stream", "udp_packed", "tcp_packed"]);
    let mut wanted = Flushed::default();
    for way in &ways {
        wanted.add_way(way);
        wanted.add_users(way, 0);
    }
    let mut client = Command::new(python);
    client.arg(ours("statsd_client.py")).arg(statsd.port.to_string()).arg(statsd.socket("s.sock"));
    client.args(&ways);
    statsd.check("PyPI statsd", client, &ways, wanted);
}

#[test]
fn pypi_datadog_is_added_up_exactly() {
    let Some(python) = python("datadog") else { return };
    let statsd = Statsd::start();
    let ways = ways(&["udp", "udp6", "unixgram", "sender", "buffered", "packed"]);
    let mut wanted = Flushed::default();
    for way in &ways {
        wanted.add_way(way);
        wanted.add_users(way, 0);
        wanted.add_dog(way);
        // Of names its client puts its namespace before samples only.
        wanted.notices.push(event("Köln: ü|🌊", "Flut\nund|Ebbe 🌊"));
        wanted.notices.push(check("db.up", "gone\naway|far"));
    }
    let mut client = Command::new(python);
    client.arg(ours("dogstatsd.py")).arg(statsd.port.to_string()).arg(statsd.socket("d.sock"));
    client.args(&ways);
    statsd.check("PyPI datadog", client, &ways, wanted);
}

#[test]
fn npm_hot_shots_is_added_up_exactly() {
    let Some(node) = require("node", Absent::Skip) else { return };
    let modules = target().join("statsd-clients/node_modules");
    if !modules.join("hot-shots").exists() {
        return skip("hot-shots is not installed; `cargo xtask setup --test` installs it");
    }
    let statsd = Statsd::start();
    let ways = ways(&["udp", "udp6", "tcp", "stream", "sender", "buffered", "aggregated"]);
    let mut wanted = Flushed::default();
    for way in &ways {
        wanted.add_way(way);
        wanted.add_users(way, 1);
        wanted.add_dog(way);
        for name in ["listed", "listed.too"] {
            wanted.counters.insert(format!("{way}.{name}"), 100.0);
        }
        wanted.notices.push(match *way {
            "tcp" => event("tcp.a|b", "c\nd|e"),
            way => event(&format!("{way}.Köln: ü|🌊"), "Flut\nund|Ebbe 🌊"),
        });
        wanted.notices.push(check(&format!("{way}.db.up"), "gone away|far"));
    }
    let mut client = Command::new(node);
    client.arg(ours("hot_shots.js")).arg(modules.canonicalize().unwrap());
    client.arg(statsd.port.to_string()).arg(statsd.socket("s.sock")).args(&ways);
    statsd.check("npm hot-shots", client, &ways, wanted);
}

/// What a flush holds, without the server's own names and those in which a client speaks of itself.
#[derive(Debug, Default, PartialEq)]
struct Flushed {
    counters: BTreeMap<String, f64>,
    gauges: BTreeMap<String, f64>,
    /// Number and sum of values.
    timers: BTreeMap<String, (f64, f64)>,
    sets: BTreeMap<String, BTreeSet<String>>,
    /// In the order of their texts.
    notices: Vec<Value>,
}

impl Flushed {
    fn add_way(&mut self, way: &str) {
        let name = |name: &str| format!("{way}.{name}");
        self.counters.extend(COUNTERS.map(|(counter, sum)| (name(counter), sum)));
        self.gauges.extend(GAUGES.map(|(gauge, value)| (name(gauge), value)));
        self.timers.extend(TIMERS.map(|(timer, count, sum)| (name(timer), (count, sum))));
    }

    fn add_users(&mut self, way: &str, first: usize) {
        let users = (first..first + 10).map(|user| format!("u{user}"));
        self.sets.insert(format!("{way}.users"), users.collect());
    }

    fn add_dog(&mut self, way: &str) {
        let name = |name: &str| format!("{way}.{name}");
        self.counters.insert(name(DOG_COUNTER.0), DOG_COUNTER.1);
        self.gauges.insert(name(DOG_GAUGE.0), DOG_GAUGE.1);
        self.timers.extend(DOG_TIMERS.map(|(timer, count, sum)| (name(timer), (count, sum))));
    }

    fn of(flush: &Value) -> Self {
        let pairs = |table: &str| {
            let pairs = flush[table].as_object().unwrap().iter();
            pairs.filter(|(name, _)| !is_own(name)).map(|(name, value)| (name.clone(), value))
        };
        let number = |value: &Value| value.as_f64().unwrap();
        let mut notices = flush["notices"].as_array().cloned().unwrap_or_default();
        notices.sort_by_key(Value::to_string);
        let members = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        Self {
            counters: pairs("counters").map(|(name, sum)| (name, number(sum))).collect(),
            gauges: pairs("gauges").map(|(name, value)| (name, number(value))).collect(),
            timers: pairs("timer_data")
                .map(|(name, told)| (name, (number(&told["count"]), number(&told["sum"]))))
                .collect(),
            sets: pairs("sets").map(|(name, value)| (name, members(value))).collect(),
            notices,
        }
    }
}

fn is_own(name: &str) -> bool {
    name.starts_with("statsd.") || name.contains("datadog.dogstatsd.client.")
}

fn event(title: &str, text: &str) -> Value {
    json!({
        "type": "event", "title": title, "text": text, "unix_s": 1_700_000_000,
        "host": "h", "aggregation_key": "k", "priority": "low", "source": "s", "alert": "error",
        "tags": "a:1,b",
    })
}

fn check(name: &str, message: &str) -> Value {
    json!({
        "type": "check", "name": name, "status": 2, "unix_s": 1_700_000_000, "host": "h",
        "tags": "a:1,b", "message": message,
    })
}

/// A server that shows what it has when it ends.
struct Statsd {
    server: Server,
    management: SocketAddr,
    port: u16,
    folder: TempDir,
}

impl Statsd {
    fn start() -> Self {
        let (folder, port) = (TempDir::new().unwrap(), free_port());
        let management = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let file = folder.path().join("tidegate.toml");
        let addresses: &[&str] = if has_ipv6() { &["127.0.0.1", "[::1]"] } else { &["127.0.0.1"] };
        let inputs = addresses
            .iter()
            .map(|address| format!("\"udp:{address}:{port}\", \"tcp:{address}:{port}\", "));
        let inputs: String = inputs.collect();
        let text = format!(
            "[statsd]\nlisten = [{inputs}\"unix:s.sock\", \"unixgram:d.sock\"]\n\
             management = \"{management}\"\nflush = \"1000h\"\nsnapshot = \"off\"\n\
             backend = [{{ kind = \"console\" }}]\n"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(BINARY);
        command.arg("statsd").arg("--config").arg(file);
        let server = Server::spawn(command, management).unwrap();
        Self { server, management, port, folder }
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a client to its end, waits until what each way sent last is there, ends the server, and
    /// compares what it shows.
    fn check(mut self, name: &str, mut client: Command, ways: &[&str], mut wanted: Flushed) {
        let output = client.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        until("what each way sent last", || {
            let counters = self.ask("counters\n");
            ways.iter().all(|way| counters.contains(&format!("\"{way}.done\"")))
        });
        let stats = self.ask("stats\n");
        assert!(stats.contains("messages.bad_lines_seen: 0\n"), "{name}: {stats}");
        self.server.signal("TERM").unwrap();
        assert!(self.server.wait().unwrap().success());
        let mut flush = Value::Null;
        until("the flush that the server shows at its end", || {
            flush = shown(&self.server.stdout()).unwrap_or_default();
            flush.is_object()
        });
        wanted.notices.sort_by_key(Value::to_string);
        assert_eq!(Flushed::of(&flush), wanted, "{name}");
        let lines = &flush["counters"]["statsd.metrics_received"];
        notice(&format!(
            "{name}: {} ways, {lines} lines, {} events and checks, none lost, none bad",
            ways.len(),
            wanted.notices.len()
        ));
    }

    fn ask(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(self.management).unwrap();
        stream.write_all(command.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

/// Those of a client's ways that this machine has.
fn ways(all: &[&'static str]) -> Vec<&'static str> {
    if !has_ipv6() {
        skip("this machine has no IPv6, and nothing is sent by it");
    }
    all.iter().copied().filter(|way| has_ipv6() || !way.ends_with('6')).collect()
}

fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

/// The one flush on a console; none until it is there as a whole.
fn shown(console: &str) -> Option<Value> {
    let (_, flush) = console.strip_prefix("Flushing stats at")?.split_once('\n')?;
    serde_json::from_str(flush).ok()
}

/// The Python of the set-up, where it has this package.
fn python(package: &str) -> Option<PathBuf> {
    let python = target().join("venv/bin/python");
    let import = Command::new(&python).args(["-c", &format!("import {package}")]).output();
    if import.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(&format!("`{package}` for Python is not there; `cargo xtask setup --test` installs it"));
    None
}

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

fn ours(script: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statsd_clients").join(script)
}
