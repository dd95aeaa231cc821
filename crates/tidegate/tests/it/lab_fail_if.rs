//! Claims about `--fail-if` of `tidegate lab`: exit codes, sentences and refusals.

use serde_json::Value;
use testkit::{Origin, OriginReply, TempDir};

use crate::running::run;

/// Runs a verb of the laboratory with words split at spaces, then the bounds.
fn lab(line: &str, bounds: &[&str], folder: &TempDir) -> (i32, String, String) {
    let mut words: Vec<&str> = ["lab"].into_iter().chain(line.split(' ')).collect();
    bounds.iter().for_each(|bound| words.extend(["--fail-if", bound]));
    run(&words, folder.path())
}

#[test]
fn a_bound_that_is_exceeded_ends_with_3_and_one_that_cannot_be_told_with_4() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|_| OriginReply::ok("x"));
    let url = format!("http://{}/", server.address());
    for verb in ["load", "probe"] {
        let line = format!("{verb} {url} -n 30 --rate 2000");
        let (code, out, err) = lab(&line, &["p50 > 1h", "errors > 0"], &folder);
        assert_eq!(code, 0, "{verb}: {err}");
        assert!(out.contains("\nBounds\n`p50 > 1h` is kept: p50 is "), "{out}");
        let (code, out, _) = lab(&line, &["p50 > 1h", "max > 0ms", "p99 > 1h"], &folder);
        assert_eq!(code, 3, "{verb}: {out}");
        assert!(out.contains("`max > 0ms` is exceeded: max is "), "{out}");
        let (code, out, _) = lab(&line, &["p50 > 1h", "p99 > 1h"], &folder);
        assert_eq!(code, 4, "{verb}: {out}");
        assert!(out.contains("`p99 > 1h` cannot be told from 30 calls; 368 calls would"), "{out}");
    }
}

#[test]
fn json_has_the_bounds_and_those_not_kept_are_on_stderr() {
    let folder = TempDir::new().unwrap();
    let server = Origin::start(|request| match request.nth % 2 {
        0 => OriginReply::status(503),
        _ => OriginReply::ok("x"),
    });
    let line = format!("load http://{}/ -n 40 --format json", server.address());
    let (code, out, err) = lab(&line, &["errors > 1%", "p50 > 1h"], &folder);
    assert_eq!(code, 3, "{err}");
    let bounds = &serde_json::from_str::<Value>(&out).unwrap()["bounds"];
    assert_eq!((&bounds[0]["state"], &bounds[0]["measured"]), (&"exceeded".into(), &0.5.into()));
    assert_eq!((&bounds[1]["state"], &bounds[1]["bound"]), (&"kept".into(), &"p50 > 1h".into()));
    assert!(err.contains("`errors > 1%` is exceeded: the share of failed calls is 50 %"), "{err}");
    assert!(!err.contains("p50"), "{err}");
    // Without a call that succeeded nothing is judged.
    let gone = Origin::start(|_| OriginReply::status(500));
    let line = format!("load http://{}/ -n 4", gone.address());
    assert_eq!(lab(&line, &["p50 > 1h"], &folder).0, 1);
}

#[test]
fn runs_of_commands_are_bounded_and_the_second_beside_the_first() {
    let folder = TempDir::new().unwrap();
    let words = ["lab", "bench", "-N", "-r", "12", "sleep 0.001", "--vs", "sleep 0.03"];
    let (code, out, err) =
        run(&[&words[..], &["--fail-if", "slower > 50%"]].concat(), folder.path());
    assert_eq!(code, 3, "{err}");
    assert!(out.contains("`slower > 50%` of `sleep 0.03` is exceeded: the change is "), "{out}");
    let quiet = ["--style", "none", "--fail-if", "max > 0ms", "--fail-if", "p50 > 1h"];
    let (code, out, err) = run(&[&words[..5], &["true"], &quiet[..]].concat(), folder.path());
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with("`max > 0ms` is exceeded") && err.lines().count() == 1, "{err}");
}

#[test]
fn two_saved_results_are_compared_with_a_verdict_and_a_bound() {
    let folder = TempDir::new().unwrap();
    let column = |factor: f64| {
        let times = (0..400_u32).map(|at| factor * (10.0 + f64::from(at * 7919 % 97) / 50.0));
        times.map(|ms| format!("{ms}\n")).collect::<String>()
    };
    std::fs::write(folder.path().join("a.csv"), column(1.0)).unwrap();
    std::fs::write(folder.path().join("b.csv"), column(1.1)).unwrap();
    let (code, out, _) = lab("report --from a.csv --vs b.csv", &["slower > 5%"], &folder);
    assert_eq!(code, 3, "{out}");
    let spaces = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(spaces.contains("second target: slower by 9."), "{out}");
    let line = "report --from a.csv --vs b.csv --format json";
    let (code, out, err) = lab(line, &["slower > 50%"], &folder);
    assert_eq!(code, 0, "{err}");
    let change = &serde_json::from_str::<Value>(&out).unwrap()["versus"]["change"];
    assert_eq!(change["verdict"], "slower");
    let [low, high] = [0, 1].map(|end| change["ci"][end].as_f64().unwrap());
    assert!(low < 0.1 && 0.1 < high && high - low < 0.03, "{change}");
    let (code, out, _) = lab("report --from a.csv --vs a.csv", &["slower > 5%"], &folder);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("no difference seen; at least "), "{out}");
}

#[test]
fn what_could_not_be_compared_is_not_kept() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.csv"), "5\n".repeat(400)).unwrap();
    std::fs::write(folder.path().join("zero.csv"), "0\n".repeat(400)).unwrap();
    let (code, out, err) = lab("report --from a.csv", &["slower > 5%"], &folder);
    assert_eq!(code, 2, "{out}{err}");
    let (code, out, _) = lab("report --from zero.csv --vs a.csv", &["slower > 5%"], &folder);
    assert_eq!(code, 4, "{out}");
    let good = Origin::start(|_| OriginReply::ok("yes"));
    let bad = Origin::start(|_| OriginReply::status(500));
    let [good, bad] = [&good, &bad].map(|origin| format!("http://{}/", origin.address()));
    for line in [format!("{good} --vs {bad}"), format!("{bad} {good} {good}")] {
        let line = format!("probe {line} -n 60 --rate 400");
        let (code, out, err) = lab(&line, &["slower > 5%"], &folder);
        assert_eq!(code, 4, "{line}: {out}{err}");
        assert!(out.contains("cannot be told: a comparison needs calls on both sides"), "{out}");
    }
}

#[test]
fn a_bad_bound_is_wrong_usage_with_its_column_and_the_grammar() {
    let folder = TempDir::new().unwrap();
    for (line, bound, text) in [
        ("probe tcp:a:1", "p99 > 50", "column 7: `50` is no length of time"),
        ("load http://127.0.0.1:1/", "p99 <> 50ms", "column 5: `<>` is neither `>` nor `>=`"),
        ("bench true", "latency > 1s", "`latency` is no measure; write MEASURE > LIMIT"),
        ("load http://127.0.0.1:1/", "slower > 5%", "`slower > 5%` needs something to compare"),
        ("probe tcp:a:1", "slower > 5%", "needs something to compare with: a second target"),
        ("probe tcp:a:1 --plugin", "p50 > 1s", "cannot be used with"),
    ] {
        let (code, out, err) = lab(line, &[bound], &folder);
        let is_plugin = line.ends_with("--plugin");
        assert_eq!(code, if is_plugin { 3 } else { 2 }, "{line} {bound}: {err}");
        assert!((out + &err).contains(text), "{line} {bound}: {err}");
    }
}
