//! Claims about `filter`.

use super::*;
use crate::exchange::ExchangeRef;
use crate::outcome::{CacheResult, Decision};

fn exchange<'a>() -> ExchangeRef<'a> {
    ExchangeRef {
        time_us: 1_795_233_252_000_000,
        method: "GET",
        host: Some(b"news.example"),
        path: b"/1/recommendations.json",
        query: Some(b"item=17&q=a%20b"),
        status: 200,
        bytes_out: 20_000,
        user_agent: Some(b"Mozilla (McHammer 2.0)"),
        decision: Decision::Personalised,
        cache: CacheResult::Miss,
        phases: [0, 0, 0, 0, 0, 0, 25_000, 0, 0, 0, 0, 0, 0],
        total_us: 26_000,
        ..Default::default()
    }
}

#[track_caller]
fn check(filter: &str, expected: bool) {
    assert_eq!(Filter::parse(filter).unwrap().matches(&exchange()), expected, "{filter}");
}

#[track_caller]
fn check_error(filter: &str, expected: &str) {
    assert_eq!(Filter::parse(filter).unwrap_err().to_string(), format!("filter, {expected}"));
}

#[test]
fn compares_text_and_numbers() {
    check("path == '/1/recommendations.json'", true);
    check("path == \"/\"", false);
    check("path != '/'", true);
    check("status >= 200 and status < 300", true);
    check("status in [404, 200]", true);
    check("method in ['POST', 'PUT']", false);
    check("query.item == '17'", true);
    check("query.item > 9", true);
    check("query.q == 'a b'", true);
    check("query.q > 9", false);
    check("decision == 'personalised' and cache != 'hit'", true);
    check("status == 200.5", false);
}

#[test]
fn compares_durations_sizes_and_times() {
    check("phase.fetch > 20ms", true);
    check("phase.fetch >= 25ms and phase.fetch <= 25000us", true);
    check("total < 1s", true);
    check("bytes_out > 10KB", true);
    check("bytes_out > 1MiB", false);
    check("time >= '2026-11-21T03:54:12Z'", true);
    check("time > '2026-11-21T04:54:12+01:00'", false);
}

#[test]
fn searches_regular_expressions() {
    check(r#"header.user-agent ~ "McHammer""#, true);
    check(r"header.user-agent ~ 'McHammer \d\.\d'", true);
    check("path !~ '^/1/'", false);
    check("header.referer ~ '.*'", false);
    check("header.referer !~ '.*'", true);
}

#[test]
fn an_absent_field_satisfies_only_a_negation() {
    check("user", false);
    check("not user", true);
    check("user == ''", false);
    check("user != ''", true);
    check("user < 'z' or user >= ''", false);
    check("user in ['a']", false);
    check("host and query", true);
    check("header.x-kind", false);
}

#[test]
fn not_binds_tighter_than_and_tighter_than_or() {
    check("true or true and false", true);
    check("(true or true) and false", false);
    check("not false and false", false);
    check("not (false and false)", true);
    check("not status == 200", false);
    check("not not true", true);
}

#[test]
fn text_may_hold_quotes_and_backslashes() {
    check(r"path != 'it\'s \\ \d'", true);
    check(r#"path != "it's""#, true);
    check(r"path ~ '\.json$'", true);
}

#[test]
fn an_error_names_its_column_and_the_cure() {
    check_error("", "column 1: expected a field name, `not` or `(`, found the end");
    check_error("path = '/'", "column 6: `=` is no comparison; write `==`");
    check_error("paht == '/'", "column 1: no field `paht`; did you mean `path`?");
    check_error("path == /", "column 9: `/` has no meaning here");
    check_error("path == hit", "column 9: put text in quotes: 'hit'");
    check_error(
        "total > 20",
        "column 9: `total` is a length of time; write it with a unit, like 20ms",
    );
    check_error(
        "status == 20ms",
        "column 11: `status` is no length of time, so `20ms` cannot be compared with it",
    );
    check_error("status == '200'", "column 11: `status` is a number; write it without quotes");
    check_error(
        "cache == 'hot'",
        "column 10: no cache result `hot`; \
         there are `none`, `hit`, `stale`, `miss`, `collapsed`, `pass`",
    );
    check_error("path ~ 'a('", "column 8: bad regular expression: unclosed group");
    check_error("path ~ 3", "column 8: expected a regular expression in quotes, found `3`");
    check_error("path == 'a", "column 9: the text that starts here lacks its closing '");
    check_error("path == 'a' status", "column 13: expected `and`, `or` or the end, found `status`");
    check_error("(path", "column 6: expected `)`, found the end");
    check_error("status in [200", "column 15: expected `]`, found the end");
    check_error("path == 'ü' & user", "column 13: write `and`");
}

#[test]
fn hostile_filters_are_refused() {
    let deep = "(".repeat(100) + "true" + &")".repeat(100);
    check_error(&deep, "column 65: more than 64 levels deep");
    check_error(&"not ".repeat(2000), "column 1: the filter is longer than 4096 bytes");
    check_error("path ~ '(a{1000}){1000}'", "column 8: the regular expression is too large");
}
