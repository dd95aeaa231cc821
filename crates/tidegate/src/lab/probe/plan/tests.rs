//! Claims about what arguments mean.

use clap::Parser;
use lab::probe::{Arrivals, End, Plan};

use super::of;
use crate::cli::{Cli, Command, LabCommand};

fn plan(line: &str) -> anyhow::Result<Plan> {
    let words = ["tidegate", "lab", "probe"].into_iter().chain(line.split_whitespace());
    let Command::Lab(LabCommand::Probe(args)) = Cli::try_parse_from(words)?.command else {
        panic!()
    };
    of(&args)
}

#[test]
fn fifty_calls_at_random_are_the_usual_probe() {
    let plan = plan("http://127.0.0.1/").unwrap();
    assert_eq!(plan.end, End::Count(50));
    assert_eq!(plan.arrivals, Arrivals::Poisson(None));
    assert_eq!((plan.burst.calls, plan.http.method.as_str()), (1, "GET"));
}

#[test]
fn a_body_makes_it_a_post_unless_a_method_is_named() {
    assert_eq!(plan("http://a/ -d x").unwrap().http.method, "POST");
    assert_eq!(plan("http://a/ -d x -X PUT").unwrap().http.method, "PUT");
    assert!(plan("http://a/ -X ;").is_err());
    assert!(plan("http://a/ -d @/no/such/file").is_err());
}

#[test]
fn words_after_two_dashes_are_a_command() {
    let plan = plan("-n 3 -- check_http -H a -n 5").unwrap();
    assert_eq!(plan.targets[0].to_string(), "check_http -H a -n 5");
    assert_eq!(plan.end, End::Count(3));
}

#[test]
fn statuses_are_numbers_classes_and_ranges() {
    let statuses = |list: &str| plan(&format!("http://a/ --expect-status {list}"));
    assert_eq!(
        statuses("404,2xx,300-302").unwrap().http.statuses,
        [404..=404, 200..=299, 300..=302]
    );
    for bad in ["ok", "99", "xx", "2x", "200-", "1000"] {
        assert!(statuses(bad).is_err(), "{bad}");
    }
}

#[test]
fn headers_that_would_end_the_request_elsewhere_are_refused() {
    assert_eq!(plan("http://a/ -H X:y").unwrap().http.fields, [("X".to_owned(), "y".to_owned())]);
    for bad in ["X", ":y", "Content-Length:9", "transfer-encoding:chunked", "X(:y", "X:\u{7f}"] {
        assert!(plan(&format!("http://a/ -H {bad}")).is_err(), "{bad}");
    }
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    for bad in [
        "",
        "http://a/ -- true",
        "http://a/ --closed --rate 3",
        "http://a/ --closed --uniform",
        "http://a/ -n 5 --for 3s",
        "http://a/ -n 0",
        "http://a/ --burst 0",
        "http://a/ -4 -6",
        "http://a/ --warn 3s",
        "http://a/ --plugin --vs http://b/",
        "http://a/ --plugin --percentile 101",
    ] {
        assert!(plan(bad).is_err(), "{bad}");
    }
}
