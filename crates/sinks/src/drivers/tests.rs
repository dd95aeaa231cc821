//! Claims about engines without a driver, and that the list of them is complete.

use std::collections::BTreeSet;
use std::path::Path;

use super::{DriverLeftOut, ENGINES};
use crate::{UrlError, open};

#[test]
fn says_what_is_left_out_and_how_to_have_it() {
    let error = UrlError::from(DriverLeftOut::check("kafka").unwrap_err());
    assert_eq!(
        error.to_string(),
        "this build leaves out the driver of Kafka; \
         hint: `cargo build --release` builds Tidegate with all drivers"
    );
}

#[test]
fn refuses_no_engine_that_is_always_there() {
    for scheme in ["sqlite", "ndjson", "csv", "clickhouse", "oracle"] {
        assert_eq!(DriverLeftOut::check(scheme), Ok(()));
    }
}

#[test]
fn a_build_opens_what_it_has_a_driver_for_and_refuses_the_others() {
    for (scheme, engine) in ENGINES {
        let opened = open(&format!("{scheme}://user@127.0.0.1:1/database"), Path::new("/"));
        let left_out = Err(UrlError::from(DriverLeftOut { engine }));
        let expected = if cfg!(feature = "drivers") { Ok(()) } else { left_out };
        assert_eq!(opened.map(|_| ()), expected);
    }
}

/// The schemes of arms that are there only with the feature, as the source of `open` shows them.
fn left_out(source: &str) -> BTreeSet<&str> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_gate = |line: &str| line == "#[cfg(feature = \"drivers\")]";
    let arms = lines.windows(2).filter(|two| is_gate(two[0])).filter_map(|two| {
        let (schemes, _) = two[1].split_once(" =>")?;
        Some(schemes.split('|').map(|scheme| scheme.trim().trim_matches('"')))
    });
    arms.flatten().collect()
}

#[test]
fn the_list_has_every_scheme_that_is_opened_only_with_the_feature() {
    let listed: BTreeSet<&str> = ENGINES.iter().map(|(scheme, _)| *scheme).collect();
    assert_eq!(left_out(include_str!("../lib.rs")), listed);
    let queried = left_out(include_str!("../rows.rs"));
    assert!(!queried.is_empty() && queried.is_subset(&listed), "{queried:?}");
}
