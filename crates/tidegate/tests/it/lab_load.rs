//! Claims about `tidegate lab load`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::Value;
use testkit::{Origin, OriginReply, TempDir};

use crate::running::{BINARY, run};

fn url(server: &Origin, path: &str) -> String {
    format!("http://{}{path}", server.address())
}

#[test]
fn an_open_loop_reports_both_times_and_writes_what_other_tools_read() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::ok("x"));
    let (code, out, err) = run(
        &[
            "lab",
            "load",
            &url(&server, "/a"),
            "--rate",
            "500",
            "-n",
            "200",
            "--hgrm",
            "out.hgrm",
            "--hlog",
            "out.hlog",
            "--save",
            "out.json",
        ],
        folder.path(),
    );
    assert_eq!(code, 0, "{err}");
    for part in ["200 calls succeeded", "intended sending", "actual sending", "p99"] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(file("out.hgrm").contains("Total count    =          200]"), "{}", file("out.hgrm"));
    assert!(file("out.hlog").contains("#[Histogram log format version 1.3]"));
    let saved: Value = serde_json::from_str(&file("out.json")).unwrap();
    assert_eq!(saved["series"][0]["total_ms"].as_array().unwrap().len(), 200);
}

#[test]
fn json_holds_the_load_and_what_can_be_said_of_its_calls() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|request| match request.nth % 10 {
        0 => OriginReply::status(503),
        _ => OriginReply::ok("x"),
    });
    let arguments = ["lab", "load", &url(&server, "/"), "-n", "100", "--format", "json"];
    let (code, out, err) = run(&arguments, folder.path());
    assert_eq!(code, 0, "{err}");
    let value: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["load"]["loop"], "closed");
    assert_eq!(value["load"]["succeeded"], 90);
    assert_eq!(value["load"]["failed"]["status 503"], 10);
    assert_eq!(value["calls"], 90);
    assert!(value["verdicts"].is_array());
}

#[test]
fn without_verdicts_only_the_load_is_told_with_its_notes() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::ok("x"));
    let url = url(&server, "/");
    let run = |format: &str| {
        let plan = ["-n", "300", "--keep", "100", "--no-verdict", "--format", format];
        let (code, out, err) = run(&[&["lab", "load", &url], &plan[..]].concat(), folder.path());
        assert_eq!(code, 0, "{err}");
        out
    };
    let value: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!(value["load"]["succeeded"], 300);
    assert!(value.get("verdicts").is_none());
    let text = run("text");
    assert!(text.contains("300 calls succeeded"), "{text}");
    assert!(text.contains("a random sample of 300"), "{text}");
    assert!(!text.contains("Verdict"), "{text}");
}

#[test]
fn headers_methods_bodies_and_url_files_reach_the_server() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::ok("x"));
    std::fs::write(folder.path().join("urls"), "/a\nPUT /b\nX-Own: 1\n").unwrap();
    let (code, _, err) = run(
        &[
            "lab",
            "load",
            &url(&server, "/"),
            "--urls",
            "urls",
            "-n",
            "30",
            "-H",
            "X-All: 2",
            "-d",
            "body",
        ],
        folder.path(),
    );
    assert_eq!(code, 0, "{err}");
    let requests = server.requests();
    let own = requests.iter().find(|request| request.target == "/b").unwrap();
    assert_eq!((own.method.as_str(), own.body.as_slice()), ("PUT", b"body".as_slice()));
    assert_eq!((own.header("x-own"), own.header("x-all")), (Some("1"), Some("2")));
    assert_eq!(server.count("/a"), 10);
}

#[test]
fn without_one_success_the_report_is_printed_and_the_code_is_1() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::status(500));
    let (code, out, err) = run(&["lab", "load", &url(&server, "/"), "-n", "5"], folder.path());
    assert_eq!(out.matches(&url(&server, "/")).count(), 1, "{out}");
    assert_eq!(code, 1);
    assert!(out.contains("failed: 5 status 500"), "{out}");
    assert!(err.contains("no call succeeded: 5 status 500"), "{err}");
}

#[test]
fn what_cannot_be_loaded_is_refused_with_a_hint() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("trace"), "0\nsoon\n").unwrap();
    let gone = Origin::start(|_| OriginReply::ok("x"));
    let nobody = url(&gone, "/");
    drop(gone);
    for (arguments, code, text) in [
        (&["h2://127.0.0.1/"][..], 2, "HTTP/1.1 only, also over TLS"),
        (&["http://127.0.0.1:1/", "--rate", "0"], 2, "write 2000 or 100..5000"),
        (&["http://127.0.0.1:1/", "--rate", "1e300"], 2, "at most 10000000 a second"),
        (&["--urls", "/dev/zero"], 1, "longer than the 64 MiB that `--urls` takes"),
        (&["--arrivals", "/dev/zero"], 1, "longer than the 64 MiB that `--arrivals` takes"),
        (&["http://127.0.0.1:1/", "-d", "@/dev/zero"], 1, "64 MiB that `-d @FILE` takes"),
        (&["https://127.0.0.1:1/", "--ca", "/dev/zero"], 1, "64 MiB that `--ca` takes"),
        (&["http://127.0.0.1:1/", "--arrivals", "trace"], 1, "read `trace`, line 2: `soon`"),
        (&["http://127.0.0.1:1/", "--rate", "1..2", "-n", "3"], 2, "a ramp takes `--for`"),
        (&["http://127.0.0.1:1/", "--for", "0s"], 2, "no time for a call"),
        (&["http://127.0.0.1:1/", "-H", "x"], 2, "`x` is no header"),
        (&[nobody.as_str(), "-n", "1"], 1, "hint: does the server run"),
        (&[], 2, "required"),
    ] {
        let arguments: Vec<&str> = ["lab", "load"].iter().chain(arguments).copied().collect();
        let (found, _, err) = run(&arguments, folder.path());
        assert_eq!(found, code, "{arguments:?}: {err}");
        assert!(err.contains(text), "{arguments:?}: {err}");
    }
}

#[test]
fn calls_are_pipelined_over_one_connection() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::ok("x"));
    let url = url(&server, "/");
    for pace in [&["-c", "1"][..], &["--rate", "5000", "-c", "1", "--connections-max", "1"]] {
        let plan = ["-n", "60", "--pipeline", "4", "--no-verdict"];
        let words = [&["lab", "load", &url][..], &plan, pace].concat();
        let (code, out, err) = run(&words, folder.path());
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("60 calls succeeded") && out.contains("; 1 connections"), "{out}");
    }
    assert_eq!((server.count("/"), server.connections()), (120, 2));
}

#[test]
fn a_server_that_speaks_no_tls_is_told_without_a_hint_at_its_port() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let words = ["lab", "load", &url, "-n", "1", "-c", "1", "--insecure"];
    let (code, _, err) = run(&words, folder.path());
    served.join().unwrap();
    assert_eq!(code, 1, "{err}");
    assert!(err.ends_with(": what was answered is no TLS\n"), "{err}");
}

#[test]
fn a_missing_authority_is_named() {
    let folder = TempDir::new().unwrap();
    let words = ["lab", "load", "https://127.0.0.1:1/", "-n", "1", "--ca", "no-such.pem"];
    let (code, _, err) = run(&words, folder.path());
    assert!(code == 1 && err.contains("read the certificates of `no-such.pem`"), "{err}");
}

#[test]
fn an_interrupted_run_ends_with_a_report() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let child = Command::new(BINARY)
        .args(["lab", "load", &url(&server, "/"), "--for", "1h", "-c", "2"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    server.wait_for("/", 50);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(out.contains("interrupted after"), "{out}");
}

#[test]
fn twenty_columns_are_enough_and_a_closed_pipe_is_no_error() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let output = Command::new(BINARY)
        .args(["lab", "load", &url(&server, "/"), "-n", "50"])
        .env("COLUMNS", "20")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.lines().all(|line| line.chars().count() <= 20), "{out}");
    let line = format!("{BINARY} lab load {} -n 50 | true", url(&server, "/"));
    let shell = ["-c", &format!("set -o pipefail; {line}")];
    let output = Command::new("bash").args(shell).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A server that does so with each connection, on a thread of its own.
fn server(serve: fn(TcpStream) -> std::io::Result<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // What becomes of a connection whose client goes is no matter.
        listener.incoming().for_each(|stream| {
            std::thread::spawn(move || drop(stream.and_then(serve)));
        });
    });
    url
}

#[test]
fn replies_to_requests_that_were_never_sent_are_no_success() {
    let folder = TempDir::new().unwrap();
    let url = server(|mut stream| {
        stream.write_all(&b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".repeat(200))?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    for pipeline in ["1", "8"] {
        let words = ["lab", "load", &url, "-c", "2", "-n", "300", "--timeout", "1s", "--pipeline"];
        let words = [&words[..], &[pipeline, "--fail-if", "errors > 5%"]].concat();
        let (code, out, err) = run(&words, folder.path());
        assert_eq!(code, 1, "{out}{err}");
        assert!(out.contains("0 calls succeeded"), "{out}");
        assert!(err.contains("answered by more than was asked"), "{err}");
    }
}

#[test]
fn a_run_that_is_given_up_is_no_success() {
    let folder = TempDir::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // One reply, and nobody listens any more.
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    });
    let words = ["lab", "load", &url, "-c", "1", "--for", "1h", "--timeout", "300ms"];
    let (code, out, err) =
        run(&[&words[..], &["--fail-if", "errors > 5%"]].concat(), folder.path());
    served.join().unwrap();
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("1 calls succeeded") && out.contains("given up"), "{out}");
    assert!(err.contains("given up: every attempt to connect failed for 300ms"), "{err}");
}

#[test]
fn a_lack_of_descriptors_is_no_failure_of_the_server() {
    let folder = TempDir::new().unwrap();
    // Calls stay open, so that the next ones find no room.
    let server = Origin::start(|_| OriginReply::ok("").stall());
    for words in [
        "load URL -c 64 -n 100",
        "load URL --rate 500 -c 1 -n 100",
        "probe URL -n 8 --burst 16",
        "switch URL --on true --off true --blocks 2 --block 1s --settle 0s --burst 16 --rate 10",
        "watch URL --every 1ms --for 1h --output watched.db",
    ] {
        let words = words.replace("URL", &url(&server, "/"));
        let line = format!("ulimit -n 14; exec {BINARY} lab {words}");
        let mut command = Command::new("bash");
        let output = command.args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {err}");
        assert!(err.contains("error: too many open files: raise `ulimit -n`"), "{line}: {err}");
    }
}

#[test]
fn a_run_without_a_terminal_shows_that_it_lives() {
    let server = Origin::start(|_| OriginReply::ok("x"));
    let words = ["lab", "load", &url(&server, "/"), "--rate", "50", "--for", "6s", "--no-verdict"];
    let output = Command::new(BINARY).args(words).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.starts_with("5s of 6s: ") && err.contains("/s, p50 "), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
}

#[test]
fn the_help_offers_no_bound_that_is_refused() {
    let folder = TempDir::new().unwrap();
    let (_, help, _) = run(&["lab", "load", "--help"], folder.path());
    assert!(help.contains("'errors > 1%'") && !help.contains("slower"), "{help}");
}
