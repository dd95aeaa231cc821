//! `tidegate traffic` against a real Varnish, a real journal, and files that grow.
//!
//! The oracle is varnishncsa: what it says of each VXID, the captures must say, however varnishlog
//! was asked to group them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;
use testkit::{Absent, Client, Origin, OriginReply, Server, TempDir, free_port, notice, require};

use crate::running::{BINARY, Running, run, until};

const REQUESTS: usize = 10_000;
const CLIENTS: usize = 8;

const VCL: &str = r#"
vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "ORIGIN"; }
sub vcl_recv {
    if (req.url ~ "^/synth") { return (synth(403, "Not for you")); }
    if (req.url ~ "^/pass") { return (pass); }
    if (req.url ~ "^/pipe") { return (pipe); }
    if (req.url ~ "^/restart" && req.restarts == 0) { return (restart); }
    if (req.url ~ "^/again" && req.restarts == 0) { set req.http.again = "1"; }
}
sub vcl_hit { if (req.url ~ "^/hitpass") { return (pass); } }
sub vcl_deliver { if (req.http.again && req.restarts == 0) { return (restart); } }
sub vcl_backend_response {
    if (bereq.url ~ "^/esi") { set beresp.do_esi = true; }
    if (bereq.url ~ "^/grace") { set beresp.ttl = 0.05s; set beresp.grace = 1h; }
    if (bereq.url ~ "^/hfm") { set beresp.uncacheable = true; set beresp.ttl = 60s; }
    if (bereq.url ~ "^/hfp") { return (pass(60s)); }
}
"#;

/// What of a request Varnish says.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    handling: String,
    status: String,
    total_us: u64,
}

fn varnish(folder: &Path, origin: SocketAddr) -> Option<Server> {
    let varnishd = require("varnishd", Absent::Skip)?;
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let vcl = folder.join("test.vcl");
    std::fs::write(&vcl, VCL.replace("ORIGIN", &origin.port().to_string())).unwrap();
    let mut command = Command::new(varnishd);
    command.args(["-j", "none", "-F", "-a", &address.to_string(), "-l", "160m"]);
    command.arg("-f").arg(vcl).arg("-n").arg(folder.join("varnish"));
    Some(Server::spawn(command, address).unwrap())
}

fn origin() -> Origin {
    Origin::start(|request| {
        let reply = match request.path() {
            "/down" => return OriginReply::status(200).close_before_head(),
            path if path.starts_with("/404") => OriginReply::status(404).body("none"),
            path if path.starts_with("/esi/outer") => OriginReply::ok(
                "<p><esi:include src=\"/esi/inner\"/><esi:include src=\"/pass\"/></p>",
            ),
            path if path.starts_with("/esi") => OriginReply::ok("<esi:include src=\"/hit/7\"/>"),
            _ => OriginReply::ok("x".repeat(100)),
        };
        reply.header("Cache-Control", "max-age=600")
    })
}

/// Sends every kind of request in turn, over connections that are kept where they can be.
fn drive(address: SocketAddr, client: usize) {
    let mut kept = Client::connect(address).unwrap();
    for number in 0..REQUESTS / CLIENTS {
        if number % 25 == 0 {
            kept = Client::connect(address).unwrap();
        }
        let key = format!("{}", number % 50);
        let own = format!("{client}-{number}");
        match number % 20 {
            0..=6 => drop(kept.request("GET", &format!("/hit/{key}")).send()),
            7 => drop(kept.request("GET", &format!("/miss/{own}")).send()),
            8 => drop(kept.request("GET", "/pass").header("Cookie", "id=1").send()),
            9 => drop(kept.request("GET", "/synth").header("Authorization", "Basic x").send()),
            10 => drop(kept.request("GET", &format!("/restart/{key}")).send()),
            11 => drop(kept.request("GET", &format!("/again/{key}")).send()),
            12 => drop(kept.request("GET", &format!("/esi/outer/{key}")).send()),
            13 => drop(kept.request("GET", "/grace").send()),
            14 => drop(kept.request("GET", &format!("/hfm/{key}")).send()),
            15 => drop(kept.request("GET", &format!("/hfp/{key}")).send()),
            16 => drop(kept.request("POST", "/hit/1").body("abc").send()),
            17 => drop(kept.request("HEAD", &format!("/hitpass/{key}")).send()),
            18 if number % 40 == 18 => drop(Client::get(address, "/pipe").send()),
            18 => drop(kept.request("GET", "/down").send()),
            _ => drop(kept.request("GET", &format!("/404/{key}")).send()),
        }
    }
}

/// What a tool of Varnish prints of all that has happened.
fn printed(tool: &str, folder: &Path, arguments: &[&str]) -> String {
    let program = require(tool, Absent::Panic).unwrap();
    let mut command = Command::new(program);
    command.arg("-n").arg(folder.join("varnish")).arg("-d").args(arguments);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

fn said(folder: &Path) -> BTreeMap<u64, Said> {
    let format = "%{Varnish:vxid}x %{Varnish:handling}x %s %D";
    let text = printed("varnishncsa", folder, &["-E", "-F", format]);
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let (handling, status) = (words[1].to_owned(), words[2].to_owned());
        (words[0].parse().unwrap(), Said { handling, status, total_us: words[3].parse().unwrap() })
    };
    text.lines().map(line).collect()
}

fn shown(capture: &Path) -> BTreeMap<u64, Said> {
    let folder = capture.parent().unwrap();
    let file = capture.to_str().unwrap();
    let (code, out, err) = run(&["traffic", file, "--format", "ndjson"], folder);
    assert_eq!((code, err.as_str()), (0, ""));
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let said = Said {
            handling: text(&line["cache"]),
            status: text(&line["status"]),
            total_us: line["total_us"].as_u64().unwrap_or(0),
        };
        (line["vxid"].as_u64().unwrap(), said)
    };
    out.lines().map(line).collect()
}

#[test]
fn every_request_is_what_varnishncsa_says_it_is() {
    let folder = TempDir::new().unwrap();
    let origin = origin();
    let Some(varnish) = varnish(folder.path(), origin.address()) else { return };
    let address = varnish.address();
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            scope.spawn(move || drive(address, client));
        }
    });
    let mut wanted = BTreeMap::new();
    until("all requests are in the log", || {
        wanted = said(folder.path());
        wanted.len() >= REQUESTS
    });
    for handling in ["hit", "miss", "pass", "pipe", "synth"] {
        let count = wanted.values().filter(|said| said.handling == handling).count();
        assert!(count > REQUESTS / 50, "{handling}: {count}");
    }
    let mut compared = 0;
    for arguments in
        [&["-g", "vxid"][..], &["-g", "request"], &["-g", "session"], &["-g", "raw"], &["-v"]]
    {
        let capture = folder.path().join("capture.txt");
        std::fs::write(&capture, printed("varnishlog", folder.path(), arguments)).unwrap();
        let found = shown(&capture);
        assert_eq!(found.len(), wanted.len(), "{arguments:?}");
        for (vxid, said) in &wanted {
            let found = &found[vxid];
            // It takes the difference of two doubles, and cuts it off.
            let is_same_time = found.total_us.abs_diff(said.total_us) <= 1;
            let same = (&found.handling, &found.status) == (&said.handling, &said.status);
            assert!(same && is_same_time, "{arguments:?}, {vxid}: {found:?}, not {said:?}");
            compared += 1;
        }
    }
    let log = folder.path().join("capture.txt");
    let raw = printed("varnishlog", folder.path(), &["-g", "raw", "-q", "RespStatus == 403"]);
    std::fs::write(&log, printed("varnishlog", folder.path(), &["-g", "raw"])).unwrap();
    let select = ["traffic", "capture.txt", "-g", "raw", "-q", "RespStatus == 403"];
    let (_, out, _) = run(&select, folder.path());
    assert!(out == raw && !out.is_empty(), "records are not those of varnishlog");
    let count = wanted.len();
    notice(&format!("traffic: {compared} of {compared} records agree with varnishncsa ({count})"));
}

#[test]
fn a_journal_is_shown_with_its_decisions() {
    let config = "[journal]\ndir = \"data/journal\"\n[[route]]\npath = \"/{*rest}\"\n\
        to = \"upstream:app\"\ncache = { ttl = \"60s\" }\n[[upstream]]\nname = \"app\"\n";
    let origin = Origin::start(|_| OriginReply::ok("hello"));
    let config = format!("{config}servers = [\"{}\"]\n", origin.address());
    let server = Running::start(&config, |_| {});
    for _ in 0..2 {
        server.get("/a?b=1");
    }
    let folder = server.folder.path();
    let mut lines: Vec<Value> = Vec::new();
    until("both lines are durable", || {
        let (code, out, err) = run(&["traffic", "data/journal", "--format", "ndjson"], folder);
        assert_eq!((code, err.as_str()), (0, ""));
        lines = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.len() >= 2
    });
    // Each connection has a lane of its own.
    lines.sort_by_key(|line| line["time"].to_string());
    assert_eq!((&lines[0]["cache"], &lines[1]["cache"]), (&"miss".into(), &"hit".into()));
    assert_eq!((&lines[1]["decision"], &lines[1]["path"]), (&"generic".into(), &"/a".into()));
    let (_, out, _) = run(&["traffic", "data/journal", "--where", "cache == 'hit'"], folder);
    assert!(out.contains("=> GET /a?b=1 HTTP/1.1 HIT\n"), "{out}");
    assert!(!out.contains("MISS") && out.contains("Total number of requests: 2"), "{out}");
    drop(server.server);
    let segment = folder.join("data/journal/00000000000000000000.log");
    let length = segment.metadata().unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 9).unwrap();
    let (_, out, err) = run(&["traffic", "data/journal"], folder);
    assert!(out.contains("Total number of requests: 1"), "{out}");
    assert!(err.ends_with(" bytes of the journal are not there, or cannot be read\n"), "{err}");
}

const LINE: &str = "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /first HTTP/1.1\" 200 5\n";

#[test]
fn a_file_is_followed_behind_its_rotation_until_a_signal() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("access.log");
    std::fs::write(&log, LINE).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["traffic", "--follow", "--from-start"]).arg(&log);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.by_ref().map(Result::unwrap).find(|line| line.contains("=>")).unwrap();
    assert!(next().contains("GET /first"));
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(LINE.replace("first", "second").as_bytes()).unwrap();
    assert!(next().contains("GET /second"));
    std::fs::rename(&log, folder.path().join("access.log.1")).unwrap();
    std::fs::write(&log, LINE.replace("first", "third")).unwrap();
    assert!(next().contains("GET /third"));
    let process = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &process]).status().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.contains(&"Total number of requests: 3".to_owned()), "{rest:?}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_ends_it_without_a_word() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("access.log"), LINE.repeat(50_000)).unwrap();
    let script = format!("'{BINARY}' traffic access.log | head -n 1");
    let mut command = Command::new("sh");
    let output = command.args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.stdout.ends_with(b"GET /first HTTP/1.1 -\n"));
}

#[test]
fn a_packed_log_is_read_from_a_pipe_and_from_a_file() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.log"), format!("e.org:80 {LINE}")).unwrap();
    for script in ["gzip -c a.log | \"$0\" traffic", "gzip -c a.log > a.gz; \"$0\" traffic a.gz"] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{script} --format ndjson"), BINARY]);
        let output = command.current_dir(folder.path()).output().unwrap();
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&line["host"], &line["path"]), (&"e.org".into(), &"/first".into()), "{script}");
    }
}

#[test]
fn a_signal_ends_standard_input_that_says_nothing() {
    let mut command = Command::new(BINARY);
    command.arg("traffic").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(LINE.as_bytes()).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    output.read_line(&mut first).unwrap();
    let process = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &process]).status().unwrap().success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\n\nTotal number of requests: 1\n\n"), "{rest}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_signal_ends_a_named_pipe_that_nobody_writes_to() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let start = || {
        let mut command = Command::new(BINARY);
        command.arg("traffic").arg(&pipe).stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut child = start();
    let process = child.id().to_string();
    let catches = |status: String| {
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
        u64::from_str_radix(caught, 16).unwrap() & 1 << 1 != 0
    };
    until("it catches signals", || {
        std::fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(catches)
    });
    assert!(Command::new("kill").args(["-s", "INT", &process]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    let child = start();
    std::fs::write(&pipe, LINE).unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(out.ends_with("\n\nTotal number of requests: 1\n\n"), "{out}");
}

#[test]
fn queries_are_saved_under_names() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("access.log"), LINE.repeat(2)).unwrap();
    let traffic = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        command.arg("traffic").args(arguments).current_dir(folder.path());
        let output = command.env("XDG_CONFIG_HOME", folder.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    assert_eq!(traffic(&["--save", "broken", "RespStatus >= 500"]).0, 0);
    assert_eq!(traffic(&["--save", "first", "path == '/first'"]).0, 0);
    assert_eq!(traffic(&["--queries"]).1, "broken  RespStatus >= 500\nfirst   path == '/first'\n");
    let (_, out, _) = traffic(&["access.log", "-Q", "first"]);
    assert_eq!(out.matches("=> GET /first").count(), 2);
    let (_, out, _) = traffic(&["access.log", "-Q", "first", "-Q", "broken"]);
    assert_eq!(out, "\n\nTotal number of requests: 2\n\n");
    let (code, _, err) = traffic(&["access.log", "-Q", "frist"]);
    assert!(code == 2 && err.contains("did you mean `first`?"), "{err}");
    let (code, _, err) = traffic(&["--save", "wrong", "statsu == 1"]);
    assert!(code == 2 && err.contains("did you mean `status`?"), "{err}");
}

#[test]
fn what_is_not_used_is_said() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("access.log");
    std::fs::write(&log, format!("{LINE}junk\n{LINE}")).unwrap();
    let (code, out, err) = run(&["traffic", "access.log", "--only-misses"], folder.path());
    assert_eq!((code, out.as_str()), (0, "\n\nTotal number of requests: 2\n\n"));
    assert!(err.contains("note: 3 lines; 1 not of the format\n"), "{err}");
    assert!(err.contains("note: `only_misses` does not work here"), "{err}");
    for asked in [["--where", "total > 100ms"], ["-q", "Timestamp:Resp[2] > 0.1 and not Hit"]] {
        let (code, _, err) = run(&["traffic", "access.log", asked[0], asked[1]], folder.path());
        assert_eq!(code, 0);
        assert!(err.contains("note: no exchange has `") && err.contains("total"), "{err}");
    }
    let (_, _, err) = run(&["traffic", "access.log", "--where", "status == 599"], folder.path());
    assert!(!err.contains("no exchange has"), "{err}");
    let (code, _, err) = run(&["traffic", "."], folder.path());
    assert_eq!(code, 1);
    assert!(err.contains("there is no segment of a journal"), "{err}");
    std::fs::write(&log, "         2 ReqURL         c /\n").unwrap();
    let (_, _, err) = run(&["traffic", "access.log"], folder.path());
    assert!(err.contains("let varnishlog's `-i` and `-I` pass `Begin` and `End`"), "{err}");
}
