//! Claims about path patterns.

use super::{Match, Pattern};

#[track_caller]
fn check(pattern: &str, path: &str, expected: &str) {
    let pattern = Pattern::parse(pattern).unwrap();
    let found = match pattern.matches(path) {
        Match::Yes(captures) => format!("yes {}", captures.join(",")),
        Match::Forbidden => "forbidden".to_owned(),
        Match::No => "no".to_owned(),
    };
    assert_eq!(found.trim_end(), expected, "{path}");
}

#[test]
fn a_format_may_be_left_out_and_only_allowed_ones_pass() {
    let pattern = "/1/recommendations.{format:json}";
    check(pattern, "/1/recommendations.json", "yes json");
    check(pattern, "/1/recommendations", "yes json");
    check(pattern, "/1/recommendations.xml", "forbidden");
    check(pattern, "/1/recommendations.", "forbidden");
    check(pattern, "/1/recommendation.json", "no");
    check(pattern, "/1/recommendations.json/x", "no");
}

#[test]
fn captures_take_a_whole_segment_or_what_is_around_them() {
    check("/items/{id}", "/items/17", "yes 17");
    check("/items/{id}", "/items/", "no");
    check("/items/{id}", "/items/17/x", "no");
    check("/items/{id}.{format:json|xml}", "/items/a.b.xml", "yes a.b,xml");
    check("/v{version:1|2}/x", "/v2/x", "yes 2");
    check("/v{version:1|2}/x", "/v3/x", "forbidden");
}

#[test]
fn a_catch_all_matches_the_root_too() {
    check("/{*rest}", "/", "yes");
    check("/{*rest}", "/a/b", "yes a/b");
    check("/a/{*rest}", "/a", "yes");
    check("/a/{*rest}", "/ab", "no");
}

#[test]
fn bad_patterns_say_what_is_wrong() {
    for bad in ["x", "/{", "/a}", "/{*r}/x", "/{}", "/{a b}", "/{a}x", "/x.{f}y"] {
        assert!(Pattern::parse(bad).is_err(), "{bad}");
    }
}
