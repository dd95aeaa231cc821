//! Claims about what is said of keys.

use super::*;

fn said(key: &str) -> String {
    text(key, &Style::default()).unwrap()
}

fn refused(key: &str) -> String {
    text(key, &Style::default()).unwrap_err().to_string()
}

#[test]
fn a_key_is_told_with_its_unit_default_bounds_and_example() {
    let expected = "\
listen.drain_timeout
  Time that connections get to finish when the process is told to end; default
  `30s`, and `0s` closes them at once.

  value     a length of time: 20ms, 1s, 5m, 6h, 14d, and 1h30m for both
  default   30s
  bounds    0s or more
  example   [listen]
            drain_timeout = \"60s\"
";
    assert_eq!(said("listen.drain_timeout"), expected);
    let ttl = said("route[2].cache.ttl");
    assert!(
        ttl.starts_with("route.cache.ttl\n") && ttl.contains("default   the origin's\n"),
        "{ttl}"
    );
    assert!(ttl.contains("example   [[route]]\n            cache.ttl = \"60s\"\n"), "{ttl}");
    let every = said("profiles.every");
    assert!(every.contains("bounds    more than 0\n"), "{every}");
    let window = said("events.window_bytes_max");
    assert!(window.contains("bounds    write a size from 1MB to 2GB\n"), "{window}");
    let kind = said("statsd.backend.kind");
    assert!(kind.contains("backend = [{ kind = \"graphite\" }]"), "the list is of one\n{kind}");
}

#[test]
fn a_table_is_told_with_its_keys_and_their_defaults() {
    for (key, keys) in [
        ("upstream.passive", "  keys      failures (default 3), pause (default 10s)\n"),
        ("upstream.retry", "  keys      min_per_second (default 10), share (default 20%)\n"),
        ("personalise.guard", "  keys      errors (default 10%), latency (default 1s)\n"),
    ] {
        let said = said(key);
        assert!(said.contains(keys) && !said.contains("none\n"), "{said}");
    }
}

#[test]
fn what_is_no_key_is_told_with_what_is() {
    assert_eq!(
        refused("route.cache.tll"),
        "there is no key `route.cache.tll`; did you mean `route.cache.ttl`?"
    );
    assert_eq!(refused("coalece"), "there is no key `coalece`; did you mean `coalesce`?");
    assert_eq!(refused("rout.path"), "there is no key `rout.path`; did you mean `route.path`?");
    assert!(refused("path").starts_with("`path` is a key of several: `"), "{}", refused("path"));
    assert!(refused("zebra").contains("--grep zebra"), "{}", refused("zebra"));
    assert!(refused("route.zebra").contains("reference route"), "{}", refused("route.zebra"));
    // One name, one key.
    assert!(said("hit_for_miss").starts_with("route.hit_for_miss\n"));
    assert!(said("route").starts_with("[[route]]\n"));
    assert!(said("node").contains("example   node = "), "{}", said("node"));
}

#[test]
fn defaults_are_found_however_they_are_said() {
    for (text, default) in [
        ("Longest time; default `5m`. Then 408.", Some("5m")),
        (
            "Freshness, in place of the origin's; default: the origin's. With `0s` …",
            Some("the origin's"),
        ),
        ("How often, such as `1s` (default), or `always`.", Some("1s")),
        ("What: `x` (default: `X-Forwarded-For`, `-Proto`), or `y`.", Some("x")),
        ("Waiters; default 50000.", Some("50000")),
        ("By default it is the only one there is.", Some("it is the only one there is")),
        ("Its name.", None),
    ] {
        assert_eq!(default_of(text).as_deref(), default, "{text}");
    }
}

#[test]
fn every_example_is_of_the_type_of_its_key() {
    for section in reference::sections() {
        for key in &section.keys {
            let example = example(&section, key, &full(&section, key));
            if let Some(complaint) = complaint(&section, key, &example) {
                let is_misplaced =
                    complaint.contains("unknown key") || complaint.contains("found ");
                assert!(!is_misplaced, "{}.{}: {example}: {complaint}", section.name, key.path);
            }
        }
    }
}
