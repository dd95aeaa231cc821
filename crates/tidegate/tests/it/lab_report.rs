//! Claims about `tidegate lab report`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::running::{BINARY, run};

fn folder(files: &[(&str, &[u8])]) -> testkit::TempDir {
    let folder = testkit::TempDir::new().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

#[track_caller]
fn json(folder: &Path, args: &[&str]) -> Value {
    let all: Vec<&str> =
        ["lab", "report", "--format", "json"].iter().chain(args).copied().collect();
    let (code, out, err) = run(&all, folder);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

#[track_caller]
fn refused(folder: &Path, args: &[&str]) -> String {
    let all: Vec<&str> = ["lab", "report"].iter().chain(args).copied().collect();
    let (code, out, err) = run(&all, folder);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    err
}

/// Calls of three steps, of which `wait` is stalled every thirtieth time.
fn stalled(header: bool) -> String {
    let mut text =
        if header { "connect_ms,wait_ms,transfer_ms,server\n".to_owned() } else { String::new() };
    for at in 0..900_u32 {
        let jitter = f64::from(at * 7919 % 100) / 100.0;
        let (stall, server) =
            if at % 30 == 7 { (200.0, "b") } else { (0.0, ["a", "b"][at as usize % 2]) };
        let (connect, transfer) = (4.0 + jitter, 3.0 + f64::from(at * 104_729 % 100) / 100.0);
        text += &format!("{connect},{},{transfer},{server}\n", 5.0 + jitter + stall);
    }
    text
}

#[test]
fn a_csv_of_steps_names_the_slow_step_in_every_format() {
    let folder = folder(&[("a.csv", stalled(true).as_bytes())]);
    let report = json(folder.path(), &["--from", "a.csv"]);
    assert_eq!((report["calls"].as_u64(), report["failed"].as_u64()), (Some(900), Some(0)));
    let verdicts = report["verdicts"].as_array().unwrap();
    let step = verdicts.iter().find(|verdict| verdict["kind"] == "step").expect("a step");
    assert_eq!(step["step"], "wait");
    assert!(report["quantiles"]["p99"]["ms"].as_f64().unwrap() > 200.0, "{report}");
    assert_eq!(report["phases"].as_array().unwrap().len(), 3);

    let (code, text, _) =
        run(&["lab", "report", "--from", "a.csv", "--width", "80"], folder.path());
    assert_eq!(code, 0);
    assert!(text.contains("Step `wait` is slow by itself") && !text.contains('\u{1b}'), "{text}");

    let dash =
        run(&["lab", "report", "--from", "a.csv", "--width", "80", "-o", "-"], folder.path());
    assert_eq!(dash, (0, text, String::new()));

    let html = &["lab", "report", "--from", "a.csv", "--format", "html", "-o", "a.html"];
    assert_eq!(run(html, folder.path()), (0, String::new(), String::new()));
    let html = fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
}

#[test]
fn standard_input_of_one_column_is_read_and_a_narrow_terminal_is_kept_to() {
    let mut report = Command::new(BINARY)
        .args(["lab", "report", "--from", "-", "--width", "20", "--ascii"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines: String = (0..100).map(|at| format!("{}.5\n", at % 7)).collect();
    report.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let out = report.wait_with_output().unwrap();
    assert!(out.status.success());
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("100 calls") && text.is_ascii(), "{text}");
    assert!(text.lines().all(|line| line.len() <= 20), "{text}");
}

#[test]
fn bad_rows_are_counted_and_named_or_refused_when_strict() {
    let folder =
        folder(&[("a.csv", b"latency_ms\n5\nfast\n-1\n6\n"), ("bad.csv", b"latency_ms\nx\n")]);
    let report = json(folder.path(), &["--from", "a.csv"]);
    assert_eq!(report["calls"], 2);
    assert_eq!(report["left_out"]["negative"], 1);
    assert_eq!(report["notes"][0], "left out: a.csv:3: latency_ms: `fast` is not a number");
    let error = refused(folder.path(), &["--from", "a.csv", "--strict"]);
    assert_eq!(error, "error: a.csv:3: latency_ms: `fast` is not a number\n");
    let error = refused(folder.path(), &["--from", "bad.csv"]);
    assert!(error.contains("read `bad.csv`: no row is good; the first: bad.csv:2"), "{error}");
}

#[test]
fn files_that_are_not_there_and_filters_that_are_none_are_refused() {
    let folder = folder(&[("a.csv", b"latency_ms\n5\n")]);
    let error = refused(folder.path(), &["--from", "nothing.csv"]);
    assert!(error.contains("read `nothing.csv`") && error.contains("\nhint: "), "{error}");
    for (option, value, text) in
        [("--where", "status >", "column"), ("--since", "soon", "nor a time")]
    {
        let args = ["lab", "report", "--from", "a.csv", option, value];
        let (code, _, error) = run(&args, folder.path());
        assert_eq!(code, 2);
        assert!(error.contains(option) && error.contains(text), "{error}");
    }
    let error = refused(folder.path(), &["--from", "a.csv", "--where", "status == 200"]);
    assert!(error.contains("`--where` needs exchanges"), "{error}");
    let error = refused(folder.path(), &["--from", "a.csv", "--since", "2024-01-01"]);
    assert!(error.contains("need rows with a date and a time"), "{error}");
    assert_eq!(run(&["lab", "report"], folder.path()).0, 2);
}

#[test]
fn files_without_calls_are_refused_and_those_with_few_reported() {
    let folder =
        folder(&[("none.csv", b"latency_ms\n"), ("three.csv", b"1\n2\n3\n"), ("empty", b"")]);
    for (file, why) in [("none.csv", "there is no call in it"), ("empty", "it is empty")] {
        let error = refused(folder.path(), &["--from", file]);
        assert_eq!(error, format!("error: read `{file}`: {why}\n"));
    }
    let report = json(folder.path(), &["--from", "three.csv"]);
    assert_eq!(report["calls"], 3, "{report}");
    assert_eq!(report["verdicts"][0]["reason"], "3 calls; at least 15 are needed");
}

#[test]
fn an_access_log_is_filtered_and_rotated_files_are_joined() {
    let line = |path: &str, seconds: f64| {
        format!(
            "10.0.0.1 - - [14/Nov/2023:22:13:21 +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"a\" \
             rt={seconds} uct=0.001 uht=0.002 urt=0.003\n"
        )
    };
    let (one, two) = (line("/a", 0.5) + &line("/b", 0.25), line("/b", 0.125));
    let packed = zstd::encode_all(two.as_bytes(), 0).unwrap();
    let folder = folder(&[("access.log", one.as_bytes()), ("access.log.1.zst", &packed)]);
    let both = ["--from", "access.log", "access.log.1.zst"];
    let report = json(folder.path(), &both);
    assert_eq!((report["calls"].as_u64(), report["max_ms"].as_f64()), (Some(3), Some(500.0)));
    let filter = ["--from", "access.log", "access.log.1.zst", "--where", "path == '/b'"];
    assert_eq!(json(folder.path(), &filter)["calls"], 2);
    let since = ["--from", "access.log", "--since", "2024-01-01"];
    assert_eq!(json(folder.path(), &since)["calls"], 0);
}

#[test]
fn an_address_is_fetched_and_compared() {
    let body = stalled(true);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let folder = folder(&[("a.csv", stalled(true).as_bytes())]);
    let url = format!("http://{address}/a.csv");
    let report = json(folder.path(), &["--from", "a.csv", "--vs", &url, "--paired"]);
    served.join().unwrap();
    assert_eq!(report["versus"]["paired"], true);
    assert_eq!(report["versus"]["difference"]["shift_ms"], 0.0);
    assert_eq!(report["versus"]["report"]["calls"], 900);
    let error = refused(folder.path(), &["--from", &url]);
    assert!(error.contains("fetch `http://"), "{error}");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = folder(&[("a.csv", stalled(true).as_bytes())]);
    let mut report = Command::new(BINARY)
        .args(["lab", "report", "--from", "a.csv", "--format", "html"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(report.stdout.take());
    let out = report.wait_with_output().unwrap();
    assert!(out.status.success(), "{:?}", out.status);
    assert_eq!(String::from_utf8_lossy(&out.stderr), "");
}

#[test]
fn the_journals_folder_and_that_of_the_configuration_are_read() {
    let folder = testkit::TempDir::new().unwrap();
    let dir = folder.path().join("data/journal");
    fs::create_dir_all(&dir).unwrap();
    let mut lines = Vec::new();
    for at in 0..200_u64 {
        let exchange = exchange::ExchangeRef {
            time_us: 1_700_000_000_000_000 + at * 10_000,
            method: "GET",
            path: if at % 2 == 0 { b"/a" } else { b"/b" },
            status: 200,
            total_us: 1000 + at,
            ..exchange::ExchangeRef::default()
        };
        exchange::encode(&exchange, &mut lines);
    }
    fs::write(dir.join("00000000000000000000.log"), lines).unwrap();
    let report = json(folder.path(), &["--from", "data/journal"]);
    assert_eq!(report["calls"], 200);
    let config = "[listen]\npublic = \"127.0.0.1:0\"\n[journal]\ndir = \"data/journal\"\n";
    fs::write(folder.path().join("tidegate.toml"), config).unwrap();
    let report = json(folder.path(), &["--from", "journal", "--where", "path == '/b'"]);
    assert_eq!(report["calls"], 100);
}

#[test]
fn a_result_replaces_a_link_or_refuses_it_and_waits_for_no_fifo() {
    let folder = folder(&[("a.csv", stalled(true).as_bytes()), ("mine", b"mine")]);
    let folder = folder.path();
    std::os::unix::fs::symlink("mine", folder.join("link")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("fifo")).status().unwrap().success());
    for args in [
        &["lab", "report", "--from", "a.csv", "-o", "fifo"][..],
        &["lab", "bench", "--runs", "1", "--export-json", "fifo", "true"],
        &["lab", "bench", "--runs", "1", "--export-csv", "link", "true"],
        &["lab", "bench", "--runs", "1", "--save", "link", "true"],
    ] {
        let (code, _, err) = run(args, folder);
        assert_eq!(code, 1, "{args:?}: {err}");
        let is_named = err.contains("it is no regular file") || err.contains("it is a link");
        assert!(is_named, "{args:?}: {err}");
    }
    let (code, out, _) = run(&["lab", "report", "--from", "a.csv", "-o", "/dev/stdout"], folder);
    assert_eq!(code, 0);
    assert!(out.contains("wait"), "{out}");
    assert_eq!(run(&["lab", "report", "--from", "a.csv", "-o", "link"], folder).0, 0);
    assert_eq!(fs::read_to_string(folder.join("mine")).unwrap(), "mine");
    assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_file());
}
