//! Claims about `Server-Timing`.

use super::{CallDetails, pieces, read};

fn made(value: &str) -> CallDetails {
    let mut made = CallDetails::default();
    read(value, &mut made);
    made
}

#[test]
fn durations_are_parts_and_descriptions_are_names() {
    let made =
        made("db;dur=53.2, cache;desc=\"Cache, \\\"Read\\\"\";dur=\"23\" , hit;desc=x;, miss");
    let part = |name: &str, ms: f64| (name.to_owned(), ms);
    assert_eq!(made.parts, [part("server.db", 53.2), part("server.cache", 23.0)]);
    let name = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(made.names, [name("server.hit", "x"), name("server.miss", "yes")]);
}

#[test]
fn durations_that_are_no_times_are_left_out() {
    for bad in ["a;dur=-1", "a;dur=NaN", "a;dur=inf", "a;dur=", "a;dur=1e999"] {
        assert_eq!(made(bad).parts, [], "{bad}");
    }
    assert_eq!(made("").names, []);
    assert_eq!(made(" , ;dur=1").parts, []);
}

#[test]
fn separators_inside_quotation_marks_do_not_separate() {
    let split: Vec<_> = pieces("a\"b,\\\",c\",d", ',').collect();
    assert_eq!(split, ["a\"b,\\\",c\"", "d"]);
}
