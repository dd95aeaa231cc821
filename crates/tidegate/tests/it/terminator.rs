//! Claims about Tidegate behind a real nginx that removes TLS, in front of an origin that wants it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Absent, Origin, OriginReply, Server, TempDir, free_port, require};

use crate::running::{Running, run};

/// The address that a client has here; nginx asks Tidegate from 127.0.0.1.
const CLIENT: &str = "127.0.0.5";
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/src/certificates");

/// A Tidegate that trusts the nginx in front of it.
struct Terminated {
    https: SocketAddr,
    http: SocketAddr,
    tidegate: Running,
    origin: Origin,
    _nginx: Server,
    _folder: TempDir,
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

/// Starts all three; `None` without nginx or curl. The origin sends `http` to `https`, and both of
/// its answers may be stored.
fn terminated() -> Option<Terminated> {
    let program = require("nginx", Absent::Skip)?;
    require("curl", Absent::Skip)?;
    let (https, http) = (loopback(), loopback());
    let origin = Origin::start(move |request| {
        let reply = match request.header("x-forwarded-proto") {
            Some("https") => OriginReply::ok(format!("for {}", request.target)),
            _ => OriginReply::status(301).header("Location", &format!("https://{https}/page")),
        };
        reply.header("Cache-Control", "max-age=600")
    });
    let config = format!(
        "[journal]\nsync = \"always\"\n[[upstream]]\nname = \"web\"\nservers = [\"{}\"]\n\
         [[route]]\nname = \"inside\"\npath = \"/{{*rest}}\"\nto = \"upstream:web\"\n\
         cache = {{}}\nwhen = 'client_ip == \"6.6.6.6\"'\n\
         [[route]]\nname = \"page\"\npath = \"/{{*rest}}\"\nto = \"upstream:web\"\ncache = {{}}\n",
        origin.address()
    );
    let tidegate = Running::start_listening("trusted = [\"127.0.0.1\"]", &config);
    let folder = TempDir::new().unwrap();
    let nginx = format!(
        "daemon off; pid nginx.pid; error_log error.log; user root root;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; client_body_temp_path t1; proxy_temp_path t2;\n\
         fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
         server {{ listen {http}; listen {https} ssl;\n\
         ssl_certificate {CERTIFICATES}/server.pem;\n\
         ssl_certificate_key {CERTIFICATES}/server.key;\n\
         location / {{ proxy_pass http://{}; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host $http_host;\n\
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n\
         proxy_set_header X-Forwarded-Proto $scheme;\n\
         proxy_set_header X-Forwarded-Host $http_host;\n\
         proxy_set_header X-Request-Id $request_id; add_header Its-Id $request_id; }} }} }}\n",
        tidegate.public
    );
    std::fs::write(folder.path().join("nginx.conf"), nginx).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
    let nginx = Server::spawn(command, https).unwrap();
    Some(Terminated { https, http, tidegate, origin, _nginx: nginx, _folder: folder })
}

/// Asks as the client. Returns head and body of the answer; with `-L`, of each one on the way.
fn curl(url: &str, options: &[&str]) -> String {
    let mut command = Command::new("curl");
    command.args(["-sSki", "--max-redirs", "3", "--interface", CLIENT]).args(options).arg(url);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn value<'a>(answer: &'a str, name: &str) -> &'a str {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(named, _)| named.eq_ignore_ascii_case(name)).expect("the header").1
}

const SPOOFED: [&str; 10] = [
    "-H",
    "X-Forwarded-For: 6.6.6.6",
    "-H",
    "X-Forwarded-Proto: https",
    "-H",
    "X-Forwarded-Host: evil.example",
    "-H",
    "Forwarded: for=6.6.6.6;proto=https;host=evil.example",
    "-H",
    "X-Request-Id: 0123456789abcdef0123456789abcdef",
];

#[test]
fn an_origin_that_enforces_https_does_not_redirect_for_ever() {
    let Some(all) = terminated() else { return };
    let (plain, encrypted) =
        (format!("http://{}/page", all.http), format!("https://{}/page", all.https));
    for is_stored in [false, true] {
        let answer = curl(&plain, &["-L"]);
        assert_eq!(answer.matches("HTTP/1.1 301").count(), 1, "{answer}");
        assert!(answer.ends_with("for /page"), "{answer}");
        let answer = curl(&encrypted, &["-L"]);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("for /page"), "{answer}");
        assert!(value(&answer, "cache-status").starts_with("tidegate; hit"), "{answer}");
        // Each port is a host of its own, so there are two keys, and each is asked for once.
        assert_eq!(all.origin.requests().len(), 2, "{is_stored}");
    }
}

#[test]
fn one_host_has_an_answer_for_each_scheme() {
    let Some(all) = terminated() else { return };
    let of_host = |url: &str| curl(url, &["-H", "Host: one.example"]);
    for cache in ["tidegate; fwd", "tidegate; hit"] {
        let encrypted = of_host(&format!("https://{}/page", all.https));
        let plain = of_host(&format!("http://{}/page", all.http));
        for (answer, status) in [(encrypted, "HTTP/1.1 200"), (plain, "HTTP/1.1 301")] {
            assert!(answer.starts_with(status), "{answer}");
            assert!(value(&answer, "cache-status").starts_with(cache), "{answer}");
        }
    }
}

#[test]
fn the_journal_has_the_client_and_the_id_of_the_proxy_whatever_the_client_claims() {
    let Some(all) = terminated() else { return };
    let answer = curl(&format!("https://{}/page", all.https), &SPOOFED);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let line = &all.tidegate.wait_for_journal(|lines| lines.len() == 1)[0];
    let seen = ["client_ip", "scheme", "route", "id"].map(|name| line[name].as_str().unwrap());
    assert_eq!(seen, [CLIENT, "https", "page", value(&answer, "its-id")]);
    let sent = &all.origin.requests()[0];
    assert_eq!(sent.header("x-forwarded-for"), Some("127.0.0.5, 127.0.0.1"));
    assert_eq!(sent.header("x-forwarded-proto"), Some("https"));
    assert_eq!(sent.header("x-forwarded-host"), Some(&*all.https.to_string()));
    assert_eq!(sent.header("forwarded"), None);
    assert_eq!(sent.header("x-request-id"), Some(value(&answer, "its-id")));
}

#[test]
fn a_client_that_goes_past_the_proxy_is_not_believed() {
    let Some(all) = terminated() else { return };
    let host = ["-H", "Host: one.example"].as_slice();
    let past = format!("http://{}/page", all.tidegate.public);
    let answer = curl(&past, &[host, &SPOOFED].concat());
    assert!(answer.starts_with("HTTP/1.1 301"), "{answer}");
    let line = &all.tidegate.wait_for_journal(|lines| lines.len() == 1)[0];
    let seen = ["client_ip", "scheme", "route"].map(|name| line[name].as_str().unwrap());
    assert_eq!(seen, [CLIENT, "http", "page"]);
    assert_ne!(line["id"], Value::from("0123456789abcdef0123456789abcdef"));
    let sent = &all.origin.requests()[0];
    assert_eq!(sent.header("x-forwarded-for"), Some(CLIENT));
    assert_eq!(sent.header("x-forwarded-proto"), Some("http"));
    assert_eq!(sent.header("x-forwarded-host"), Some("one.example"));
    assert_eq!(sent.header("forwarded"), None);
    // What it was told is for `http`: clients by `https` get an answer of their own.
    let answer = curl(&format!("https://{}/page", all.https), host);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Writes a configuration and checks it.
fn check(folder: &Path, listen: &str) -> (i32, String, String) {
    std::fs::write(folder.join("tidegate.toml"), format!("[listen]\n{listen}\n")).unwrap();
    run(&["config", "check"], folder)
}

#[test]
fn every_network_that_is_none_is_reported_with_its_line() {
    let folder = TempDir::new().unwrap();
    let listen = "trusted = [\n  \"10.0.0.0/8\",\n  \"10.1.2.3/8\",\n  \"proxy.example\",\n  \
                  \"10.0.0.0/33\",\n  \"::1/129\",\n]\ntrusted_headers = \"x-real-ip\"";
    let (code, _, err) = check(folder.path(), listen);
    assert_eq!(code, 78, "{err}");
    for wanted in [
        "line 4: `listen.trusted[1]`: `10.1.2.3/8` has bits set behind its prefix; \
         write 10.0.0.0/8 for that network",
        "line 5: `listen.trusted[2]`: `proxy.example` is no address and no network",
        "line 6: `listen.trusted[3]`: `10.0.0.0/33` has no prefix length from 0 to 32",
        "line 7: `listen.trusted[4]`: `::1/129` has no prefix length from 0 to 128",
        "line 9: `listen.trusted_headers`: `x-real-ip` is none of x-forwarded, forwarded",
    ] {
        assert!(err.contains(wanted), "no `{wanted}` in\n{err}");
    }
    assert!(!err.contains("trusted[0]"), "{err}");
}

#[test]
fn trust_in_everybody_or_in_nobody_is_noted() {
    let folder = TempDir::new().unwrap();
    for (listen, note) in [
        ("trusted = [\"10.0.0.1\", \"0.0.0.0/0\"]", "`listen.trusted` has 0.0.0.0/0"),
        ("trusted = [\"::/0\"]", "`listen.trusted` has ::/0"),
        ("trusted_headers = \"forwarded\"", "`listen.trusted_headers` does nothing without"),
    ] {
        let (code, out, err) = check(folder.path(), listen);
        assert_eq!(code, 0, "{err}");
        assert!(out.lines().any(|line| line.starts_with("note: ") && line.contains(note)), "{out}");
    }
    let (_, out, _) = check(folder.path(), "trusted = [\"10.0.0.0/8\", \"fd00::/8\"]");
    assert!(!out.contains("trusted"), "{out}");
}
