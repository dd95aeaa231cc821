//! Claims about purges that hold over restarts.

use super::PurgeLog;
use crate::disk::log::Logged;
use crate::fingerprint::fingerprint;
use crate::purge::{Area, PurgeVerdict};
use crate::tags::Tags;

const KEY: &[u8] = b"http\nnews.test\n/a/b";

fn tags(names: &[&str]) -> Tags {
    Tags::from_fingerprints(names.iter().map(|name| fingerprint(name.as_bytes())).collect())
}

/// Returns what the log on disk holds after these purges, numbered from one.
fn written(purges: &[(Area, bool)], log: &mut PurgeLog) -> Logged {
    let mut written = Logged::default();
    for (number, (area, soft)) in (1..).zip(purges) {
        log.add(std::slice::from_ref(area), *soft, number);
        let taken = log.take_unwritten();
        written.places.extend(taken.places);
        written.prefixes.extend(taken.prefixes);
    }
    written
}

fn resource(target: &str) -> Area {
    Area::Resource(Some("news.test".into()), target.into())
}

#[test]
fn purges_of_earlier_lives_cover_what_was_fetched_before_them() {
    let purges = [
        (resource("/a/b"), false),
        (Area::Tag("t".into()), true),
        (Area::Prefix(None, "/c".into()), false),
    ];
    let held = written(&purges, &mut PurgeLog::default());
    let mut next = PurgeLog::default();
    assert!(next.resume(&Logged { stamp: 3, ..held }));
    assert_eq!(next.verdict(0, KEY, &tags(&[])), PurgeVerdict::Gone);
    assert_eq!(next.verdict(1, KEY, &tags(&[])), PurgeVerdict::Good);
    assert_eq!(next.verdict(1, KEY, &tags(&["t"])), PurgeVerdict::Stale);
    assert_eq!(next.verdict(2, KEY, &tags(&["t"])), PurgeVerdict::Good);
    assert_eq!(next.verdict(2, b"http\nother.test\n/c/d", &tags(&[])), PurgeVerdict::Gone);
    assert_eq!(next.verdict(3, b"http\nother.test\n/c/d", &tags(&[])), PurgeVerdict::Good);
}

#[test]
fn numbers_go_on_where_the_last_life_ended() {
    let held = written(&[(resource("/x"), false)], &mut PurgeLog::default());
    let mut next = PurgeLog::default();
    next.resume(&Logged { stamp: 4, ..held });
    assert_eq!((next.stamp(0), next.stamp(2)), (Some(4), Some(6)));
    assert_eq!((next.stamp_here(3), next.stamp_here(4), next.stamp_here(6)), (0, 0, 2));
    next.add(&[resource("/y")], false, 1);
    assert!(next.take_unwritten().places.values().all(|number| *number == 5));
}

#[test]
fn what_a_removed_store_knew_of_purges_keeps_older_answers_out_of_the_next() {
    let mut log = PurgeLog::default();
    log.add(&[resource("/x")], false, 1);
    log.clear();
    assert_eq!((log.stamp(0), log.stamp(1)), (None, Some(1)));
    assert_eq!(log.take_unwritten(), Logged::default());
}

#[test]
fn a_log_without_sense_is_refused() {
    for prefix in [&b""[..], b"\x00", b"\x00\x01no line", b"\x00\x01\xff\n/"] {
        let logged = Logged { prefixes: [(prefix.to_vec(), 1)].into(), ..Logged::default() };
        assert!(!PurgeLog::default().resume(&logged), "{prefix:?}");
    }
}
