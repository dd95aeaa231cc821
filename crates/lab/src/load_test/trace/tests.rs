//! Arrival traces in the forms in which they come.

use super::super::calls::{CallDefaults, Calls};
use super::Trace;

fn read(text: &str) -> Result<(Trace, Vec<String>), String> {
    let mut calls = Calls::new(CallDefaults::default());
    let trace = Trace::parse(text, "trace", &mut calls).map_err(|error| error.to_string())?;
    Ok((trace, calls.all().iter().map(|call| call.name.clone()).collect()))
}

#[test]
fn seconds_count_from_the_start_and_are_put_in_order() {
    let (trace, _) = read("# when\n0.5\n0\n\n1.25\n").unwrap();
    assert_eq!(trace.at_ns, [0, 500_000_000, 1_250_000_000]);
}

#[test]
fn timestamps_count_from_the_first_of_them() {
    let expected = [0, 250_000_000, 1_000_000_000];
    for text in [
        "1795325652.5\n1795325652.75\n1795325653.5",
        "1795325652500\n1795325652750\n1795325653500",
        "2026-11-22T05:34:12.5Z\n2026-11-22T05:34:12.75Z\n2026-11-22T05:34:13.5Z",
    ] {
        let (trace, _) = read(text).unwrap();
        for (at, expected) in trace.at_ns.iter().zip(expected) {
            assert!(at.abs_diff(expected) < 1_000, "{text}: {at}");
        }
    }
}

#[test]
fn a_line_may_name_its_call_and_each_call_is_held_once() {
    let text = "0 http://127.0.0.1/a\n0.1,POST,http://127.0.0.1/b\n0.2 http://127.0.0.1/a";
    let (trace, names) = read(text).unwrap();
    assert_eq!(trace.calls, [0, 1, 0]);
    assert_eq!(names, ["http://127.0.0.1/a", "POST http://127.0.0.1/b"]);
}

#[test]
fn a_bad_line_is_named_with_its_place() {
    for (text, reason) in [
        ("0\nsoon", "line 2: `soon` is neither"),
        ("-1", "line 1: `-1` is neither"),
        ("NaN", "line 1: `NaN` is neither"),
        ("0 GET http://127.0.0.1/ 4", "line 1: more than"),
        ("0\n1 http://127.0.0.1/", "line 2: either all lines"),
        ("0 h2://127.0.0.1/", "line 1: `h2://127.0.0.1/`: the generator speaks"),
        ("# nothing\n", "no arrivals"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
