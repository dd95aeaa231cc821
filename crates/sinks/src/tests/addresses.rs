//! Which engine an address means, and what an address is good for.

use std::path::PathBuf;
use std::time::Duration;

use pipeline::SinkPlan;

use super::*;
use crate::{local_path, query_sink, runs_queries};

/// Schemes, whether an address of each names a place on this machine, and whether it runs queries.
const SCHEMES: [(&str, bool, bool); 10] = [
    ("sqlite", true, true),
    ("ndjson", true, false),
    ("csv", true, false),
    ("postgres", false, true),
    ("postgresql", false, true),
    ("mysql", false, true),
    ("mariadb", false, true),
    ("clickhouse", false, false),
    ("kafka", false, false),
    ("mongodb", false, false),
];

fn sink(name: &str, url: &str) -> SinkPlan {
    SinkPlan { name: name.to_owned(), url: url.to_owned(), flush: Duration::from_secs(1) }
}

#[test]
fn every_scheme_is_opened_and_only_files_are_on_this_machine() {
    let root = Path::new("/var/lib");
    for (scheme, is_local, has_queries) in SCHEMES {
        let url = match is_local {
            true => format!("{scheme}:out"),
            false => format!("{scheme}://u:p@127.0.0.1:1/d"),
        };
        assert!(open(&url, root).is_ok(), "{url}");
        let expected = is_local.then(|| PathBuf::from("/var/lib/out"));
        assert_eq!(local_path(&url, root), expected, "{url}");
        assert_eq!(runs_queries(&url), has_queries, "{url}");
    }
    assert_eq!(local_path("sqlite", root), None);
}

#[test]
fn an_address_without_its_file_or_directory_is_refused() {
    for (url, what) in [
        ("sqlite", "file"),
        ("sqlite:", "file"),
        ("ndjson:", "directory"),
        ("csv:", "directory"),
        ("csv", "directory"),
    ] {
        let Err(error) = open(url, Path::new("/")) else { panic!("`{url}` lacks its {what}") };
        assert_eq!(error.to_string(), format!("`{url}` names no {what}"));
    }
}

#[test]
fn a_query_runs_in_the_sink_that_is_named_or_in_the_only_one() {
    let [files, first, second] =
        [sink("files", "csv:out"), sink("first", "sqlite:a.db"), sink("second", "mysql://u@h/d")];
    let found = |name: Option<&str>, sinks: &[SinkPlan]| {
        query_sink(name, sinks).map(|sink| sink.name.clone())
    };
    let all = [files.clone(), first.clone(), second];
    assert_eq!(found(Some("second"), &all), Ok("second".to_owned()));
    assert_eq!(found(Some("first"), &all), Ok("first".to_owned()));
    assert_eq!(found(None, &[first]), Ok("first".to_owned()));
    let no_query = "`files` runs no query; SQLite, PostgreSQL, MariaDB and MySQL do";
    for (name, sinks, expected) in [
        (Some("third"), &all[..], "`third` is no [[sink]]"),
        (Some("files"), &all, no_query),
        (None, &[files], no_query),
        (None, &all, "is missing; name the [[sink]] that `query` runs in"),
        (None, &[], "is missing, and there is no [[sink]] to run `query` in"),
    ] {
        assert_eq!(found(name, sinks), Err(expected.to_owned()));
    }
}
