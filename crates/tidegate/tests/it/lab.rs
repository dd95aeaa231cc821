//! Claims about `tidegate lab probe`, against origins that are scripted.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Origin, OriginReply, TempDir};

use crate::running::{BINARY, run};

/// Runs `lab probe` with words split at spaces: status code, stdout, stderr.
fn probe(line: &str, folder: &Path) -> (i32, String, String) {
    let words: Vec<&str> = ["lab", "probe"].into_iter().chain(line.split_whitespace()).collect();
    run(&words, folder)
}

fn url(origin: &Origin) -> String {
    format!("http://{}/x?{{n}}", origin.address())
}

#[test]
fn a_probe_prints_the_plot_the_histogram_the_quantiles_and_the_steps() {
    let origin = Origin::start(|request| match request.nth {
        3 => OriginReply::status(503),
        _ => OriginReply::ok("yes").header("server-timing", "db;dur=0.001"),
    });
    let folder = TempDir::new().unwrap();
    let (code, out, err) = probe(&format!("{} -n 40 --rate 400", url(&origin)), folder.path());
    assert_eq!(code, 0, "{err}");
    // Whoever redirects the output sees that it lives.
    assert!(err.starts_with("probing http://127.0.0.1:"), "{err}");
    assert!(
        err.lines().next().unwrap().ends_with(": 40 calls, at 400 a second, which takes 100ms")
    );
    assert_eq!(origin.requests().len(), 40);
    for text in [
        "1 × status 503",
        "Calls over time",
        "Calls by latency",
        "p50",
        "p95",
        "connect",
        "wait",
        "server.db",
        "transfer",
        "calls arrived at random, 400 a second; seed 1",
        "Verdict",
    ] {
        assert!(out.contains(text), "no `{text}` in\n{out}");
    }
    assert!(!out.contains('\u{1b}'), "colour although this is no terminal");
}

#[test]
fn what_is_saved_is_what_json_says() {
    let origin = Origin::start(|_| OriginReply::ok("yes").header("x-cache", "HIT"));
    let folder = TempDir::new().unwrap();
    let line = format!("{} -n 12 --closed --keep-alive --format json --save x.json", url(&origin));
    let (code, out, err) = probe(&line, folder.path());
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["calls"], &report["failed"]), (&12.into(), &0.into()));
    let text = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
    let saved: Value = serde_json::from_str(&text).unwrap();
    let series = &saved["series"][0];
    assert_eq!(series["total_ms"].as_array().unwrap().len(), 12);
    let names: Vec<&Value> =
        series["attributes"].as_array().unwrap().iter().map(|of| &of["name"]).collect();
    for name in ["x-cache", "status", "address", "connection", "bytes"] {
        assert!(names.contains(&&Value::from(name)), "no {name} in {names:?}");
    }
    assert_eq!(origin.connections(), 1);
}

#[test]
fn two_targets_are_compared_in_pairs() {
    let (first, second) =
        (Origin::start(|_| OriginReply::ok("a")), Origin::start(|_| OriginReply::ok("b")));
    let folder = TempDir::new().unwrap();
    let line = format!("{} --vs {} -n 30 --closed --format json", url(&first), url(&second));
    let (code, out, err) = probe(&line, folder.path());
    assert_eq!(code, 0, "{err}");
    let versus = &serde_json::from_str::<Value>(&out).unwrap()["versus"];
    assert_eq!(versus["paired"], true);
    assert_eq!(versus["difference"]["calls"], serde_json::json!([30, 30]));
    assert!(versus["difference"]["median_ci_ms"].is_array(), "{versus}");
    assert_eq!((first.requests().len(), second.requests().len()), (30, 30));
}

#[test]
fn several_targets_have_a_row_each_and_stand_beside_the_first() {
    let [one, two] = [(); 2].map(|()| Origin::start(|_| OriginReply::ok("a")));
    let folder = TempDir::new().unwrap();
    let dead = format!("tcp://127.0.0.1:{}", testkit::free_port());
    let line = format!("{} {} {dead} -n 20 --closed --save x.json", url(&one), url(&two));
    let (code, out, err) = probe(&line, folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(err.starts_with("probing http://") && err.contains(": 60 calls"), "{err}");
    let rows: Vec<&str> = out.lines().take(4).collect();
    assert!(rows[0].starts_with("target") && rows[0].ends_with("beside the first"), "{out}");
    assert!(rows[1].starts_with("http://") && rows[2].starts_with("http://"), "{out}");
    assert!(rows[3].starts_with(&dead), "{out}");
    assert!(out.contains("failed: 20 × connection refused"), "{out}");
    assert_eq!((one.requests().len(), two.requests().len()), (20, 20));
    // What is saved of them is reported as the same table.
    let report = ["lab", "report", "--from", "x.json", "--format", "json"];
    let (code, out, err) = run(&report, folder.path());
    assert_eq!(code, 0, "{err}");
    let targets = &serde_json::from_str::<Value>(&out).unwrap()["targets"];
    assert_eq!(targets.as_array().unwrap().len(), 3);
    assert_eq!((&targets[1]["calls"], &targets[2]["failed"]), (&20.into(), &20.into()));
    assert!(targets[1]["change"]["verdict"].is_string(), "{targets}");
    let page = ["lab", "report", "--from", "x.json", "--format", "html"];
    assert_eq!(run(&page, folder.path()).0, 2);
}

#[test]
fn several_targets_may_be_bounded_but_are_no_plugin_and_have_no_second() {
    let origin = Origin::start(|_| OriginReply::ok("a"));
    let folder = TempDir::new().unwrap();
    let line = format!("{} {} -n 8 --closed --format json", url(&origin), url(&origin));
    let words: Vec<&str> = ["lab", "probe"].into_iter().chain(line.split(' ')).collect();
    let (code, out, _) = run(&[&words[..], &["--fail-if", "max > 0ms"]].concat(), folder.path());
    assert_eq!(code, 3, "{out}");
    let bounds = &serde_json::from_str::<Value>(&out).unwrap()["bounds"];
    assert_eq!(bounds.as_array().map(Vec::len), Some(2), "{bounds}");
    for (line, text) in [
        ("tcp:a:1 tcp:b:1 --vs tcp:c:1", "`--vs` compares one target"),
        ("tcp:a:1 tcp:b:1 --plugin", "`--plugin` judges one target"),
    ] {
        let (code, out, err) = probe(line, folder.path());
        assert!(code >= 2 && (out + &err).contains(text), "{line}: {err}");
    }
}

#[test]
fn calls_that_all_fail_are_said_and_exit_1() {
    let folder = TempDir::new().unwrap();
    let port = testkit::free_port();
    let (code, out, _) = probe(&format!("http://127.0.0.1:{port}/ -n 4 --rate 100"), folder.path());
    assert_eq!(code, 1);
    assert!(out.contains("4 × connection refused"), "{out}");
}

#[test]
fn what_is_written_wrong_is_wrong_usage_and_named() {
    let folder = TempDir::new().unwrap();
    for (line, text) in [
        ("http:/127.0.0.1/", "two slashes"),
        ("localhost:80/a", "is http://localhost:80/a meant?"),
        ("tcp:a:1 --vs b", "dns:NAME"),
        ("tcp:a:1 --closed --rate 3", "cannot be used with"),
        ("tcp:a:1 --rate 0", "the rate is a number"),
        ("http://a/ -H x", "`x` is no header"),
        ("http://a/ --expect-status ok", "`ok` is no status"),
        ("http://a/ --resolve a:80", "HOST:PORT:ADDRESS"),
        ("http://a/ --resolve a:443:::1", "`--resolve a:443:::1`: no target"),
    ] {
        let (code, out, err) = probe(line, folder.path());
        assert_eq!((code, out.as_str()), (2, ""), "{line}: {err}");
        assert!(err.contains(text), "{line}: {err}");
    }
}

#[test]
fn a_host_is_called_where_resolve_says_under_its_own_name() {
    let (first, second) =
        (Origin::start(|_| OriginReply::ok("a")), Origin::start(|_| OriginReply::status(302)));
    let folder = TempDir::new().unwrap();
    let [one, two] = [&first, &second].map(|origin| origin.address().port());
    let line = format!(
        "http://shop.test:{one}/ --resolve shop.test:{one}:127.0.0.1 --vs http://shop.test:{two}/ \
         --vs-resolve *:{two}:127.0.0.1 -n 3 --closed"
    );
    let (code, out, err) = probe(&line, folder.path());
    assert_eq!((code, err.lines().count()), (0, 1), "{out}{err}");
    assert!(out.contains(&format!("http://shop.test:{one}/ at 127.0.0.1\n")), "{out}");
    assert!(!out.contains("resolve"), "{out}");
    for (origin, port) in [(&first, one), (&second, two)] {
        let requests = origin.requests();
        assert_eq!(requests.len(), 3);
        assert_eq!(requests[0].header("host"), Some(format!("shop.test:{port}").as_str()));
    }
}

#[test]
fn examples_fit_on_a_terminal_of_eighty_columns() {
    let folder = TempDir::new().unwrap();
    for verb in ["probe", "load", "bench", "report", "steps", "switch"] {
        let (_, out, _) = run(&["lab", verb, "--help"], folder.path());
        let (_, examples) = out.split_once("\nExamples: ").expect("examples");
        let examples = examples.lines().skip(1).take_while(|line| line.starts_with(' '));
        let long: Vec<&str> = examples.filter(|line| line.len() > 79).collect();
        assert!(long.is_empty(), "{verb}: {long:?}");
    }
}

#[test]
fn a_place_for_the_number_is_seen_in_the_help() {
    let (code, out, _) = probe("--help", TempDir::new().unwrap().path());
    assert_eq!(code, 0);
    assert!(
        out.contains("`{n}` in a path") && out.contains("'http://127.0.0.1/x?{n}' --burst 8"),
        "{out}"
    );
}

#[test]
fn a_plugin_says_one_line_and_its_state() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let plugin = |line: &str| probe(&format!("{line} --plugin -n 5 --closed"), folder.path());
    let (code, out, err) = plugin(&format!("{} --warn 10s --crit 20s", url(&origin)));
    assert_eq!((code, err.as_str(), out.lines().count()), (0, "", 1));
    assert!(out.starts_with("LAB OK - p95 ") && out.contains("ms;10000;20000;0; p99="), "{out}");
    let (code, out, _) = plugin(&format!("{} --crit 0", url(&origin)));
    assert_eq!(code, 2, "{out}");
    let (code, out, _) = plugin(&format!("tcp://127.0.0.1:{}", testkit::free_port()));
    assert_eq!(code, 2);
    assert_eq!(out, "LAB CRITICAL - 5 of 5 calls failed: 5 × connection refused\n");
    let (code, out, err) = plugin("http://127.0.0.1:0/");
    assert_eq!((code, err.as_str()), (3, ""));
    assert!(out.starts_with("LAB UNKNOWN - invalid value 'http://127.0.0.1:0/'"), "{out}");
    for (line, text) in [
        ("tcp:a:1 --warn 1", "invalid value '1' for '--warn <TIME>'"),
        ("tcp:a:1 --rate 3", "cannot be used with '--closed'"),
        ("tcp:a:1 --rate 5/s", "`5/s` is no rate; write 20"),
        ("tcp:a:1 --burst 513", "plan of the probe: a burst is 512"),
        ("", "the following required arguments were not provided: <TARGET>"),
    ] {
        let (code, out, err) = plugin(line);
        assert_eq!((code, err.as_str(), out.lines().count()), (3, "", 1), "{line}: {out}");
        assert!(out.starts_with("LAB UNKNOWN - ") && out.contains(text), "{line}: {out}");
    }
}

#[test]
fn our_own_plugin_is_a_target_whose_figures_are_read() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let folder = TempDir::new().unwrap();
    let inner = format!("{BINARY} lab probe {} --plugin -n 3 --closed", url(&origin));
    let line = format!("-n 2 --closed --first 7 --format json --save x.json -- {inner}");
    let (code, _, err) = probe(&line, folder.path());
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(folder.path().join("x.json")).unwrap();
    assert!(text.contains("\"p95_ms\"") && text.contains("\"OK\""), "{text}");
    // `{n}` is a number of the outer probe.
    assert!(origin.requests().iter().all(|r| ["/x?7", "/x?8"].contains(&r.target.as_str())));
}

#[test]
fn an_interrupt_prints_what_there_is() {
    let origin = Origin::start(|request| match request.target.as_str() {
        "/x?5" => OriginReply::ok("").stall(),
        _ => OriginReply::ok("yes"),
    });
    let mut command = Command::new(BINARY);
    command.args(["lab", "probe", &url(&origin), "--closed", "--first", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    origin.wait_for("/x", 5);
    let kill = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(out.contains("interrupted: 4 calls had ended, 1 were under way"), "{out}");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let mut command = Command::new(BINARY);
    command.args(["lab", "probe", &url(&origin), "--closed", "-n", "3"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(said.starts_with("probing ") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let origin = Origin::start(|_| OriginReply::ok("yes"));
    let mut command = Command::new(BINARY);
    command.args(["lab", "probe", &url(&origin), "--closed", "-n", "30"]).env("COLUMNS", "20");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        assert!(line.chars().count() <= 20, "`{line}`");
    }
    assert!(child.wait().unwrap().success());
}
