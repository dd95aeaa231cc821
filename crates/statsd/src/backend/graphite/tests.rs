//! What a Graphite is told of the server itself.

mod names;

use crate::backend::delivery::Render;
use crate::backend::graphite::GraphiteNames;
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::legacy;
use crate::plan::Graphite;
use crate::status::BackendStatus;

/// The number behind this name in a first flush.
fn sent(flavour: Flavour, status: &BackendStatus, name: &str) -> u64 {
    let plan = legacy::read("{}", flavour).expect("the file can be used");
    let names = GraphiteNames::new(&Graphite::default(), &plan);
    let mut text = Vec::new();
    let mut each = |part: &[u8]| {
        text.extend_from_slice(part);
        Ok(())
    };
    names.parts(&Flush::default(), status, &mut each).expect("a vector takes everything");
    let text = String::from_utf8(text).expect("text");
    let number = |line: &str| line.strip_prefix(name)?.split(' ').nth(1)?.parse().ok();
    text.lines().find_map(number).unwrap_or_else(|| panic!("no `{name}` in {text}"))
}

#[test]
fn a_backend_that_never_failed_has_its_last_exception_at_its_start_as_in_statsd() {
    let mut status = BackendStatus::started();
    status.started.unix_s = 1_700_000_000;
    let name = "stats.statsd.graphiteStats.last_exception";
    assert_eq!(sent(Flavour::Statsd, &status, name), 1_700_000_000);
    assert_eq!(sent(Flavour::Native, &status, name), 1_700_000_000);
    assert_eq!(sent(Flavour::Perl, &status, name), 0, "the port begins with 0");
}
