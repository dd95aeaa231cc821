//! Claims about which answers a purge covers, and about what is remembered of many.

use super::{Area, EXACT_MAX, PREFIXES_MAX, Purges, Verdict};
use crate::tags::{Tags, fingerprint};

const KEY: &[u8] = b"http\na\n/news/1?p=2\n\x01";

fn resource(host: Option<&str>, target: &str) -> Area {
    Area::Resource(host.map(Into::into), target.into())
}

fn prefix(host: Option<&str>, start: &str) -> Area {
    Area::Prefix(host.map(Into::into), start.into())
}

fn tag(name: &str) -> Area {
    Area::Tag(name.into())
}

/// What becomes of an answer with the tag `t` that was being fetched when this was purged.
fn judge(area: Area, soft: bool) -> Verdict {
    let purges = Purges::default();
    let stamp = purges.stamp();
    purges.record(&[area], soft);
    let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
    let later = purges.verdict(purges.stamp(), KEY, &tags);
    assert_eq!(later, Verdict::Good, "what is fetched behind the purge is not covered");
    purges.verdict(stamp, KEY, &tags)
}

#[test]
fn an_answer_is_covered_by_its_url_its_tags_and_prefixes_of_its_url() {
    for area in [
        resource(Some("a"), "/news/1?p=2"),
        resource(None, "/news/1?p=2"),
        prefix(Some("a"), "/news/"),
        prefix(None, "/news/1?p"),
        prefix(None, "/"),
        tag("t"),
    ] {
        assert_eq!(judge(area.clone(), false), Verdict::Gone, "{area:?}");
        assert_eq!(judge(area.clone(), true), Verdict::Stale, "{area:?}");
    }
    for area in [
        resource(Some("b"), "/news/1?p=2"),
        resource(Some("a"), "/news/1"),
        resource(None, "/news/1"),
        prefix(Some("b"), "/"),
        prefix(Some("a"), "/news/2"),
        tag("u"),
        tag(""),
    ] {
        assert_eq!(judge(area.clone(), false), Verdict::Good, "{area:?}");
    }
}

#[test]
fn a_hard_purge_is_not_undone_by_a_soft_one() {
    let purges = Purges::default();
    let stamp = purges.stamp();
    purges.record(&[tag("t"), prefix(None, "/news")], false);
    purges.record(&[tag("t"), prefix(None, "/news")], true);
    let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
    assert_eq!(purges.verdict(stamp, KEY, &tags), Verdict::Gone);
    assert_eq!(purges.verdict(stamp + 2, KEY, &tags), Verdict::Stale);
}

#[test]
fn what_began_before_a_purge_that_was_forgotten_counts_as_purged() {
    for (max, other) in [
        (EXACT_MAX, (|n| tag(&format!("{n}"))) as fn(usize) -> Area),
        (PREFIXES_MAX, |n| prefix(Some("b"), &format!("/{n}"))),
    ] {
        let purges = Purges::default();
        let stamp = purges.stamp();
        let others: Vec<Area> = (0..max).map(other).collect();
        purges.record(&others, false);
        let none = Tags::default();
        assert_eq!(purges.verdict(stamp, KEY, &none), Verdict::Good);
        purges.record(&[other(max)], false);
        assert_eq!(purges.verdict(stamp, KEY, &none), Verdict::Gone);
        assert_eq!(purges.verdict(stamp + 1, KEY, &none), Verdict::Good);
        let records = purges.hold();
        assert!(records.exact.len() <= EXACT_MAX && records.order.len() <= EXACT_MAX);
        assert!(records.prefixes.len() <= PREFIXES_MAX);
    }
}

#[test]
fn one_thing_purged_again_and_again_is_remembered() {
    let purges = Purges::default();
    for _ in 0..2 * EXACT_MAX {
        purges.record(&[tag("t")], false);
    }
    let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
    let stamp = purges.stamp();
    assert_eq!(purges.verdict(stamp - 1, KEY, &tags), Verdict::Gone);
    assert_eq!(purges.verdict(stamp - 1, KEY, &Tags::default()), Verdict::Good);
    assert_eq!(purges.hold().exact.len(), 1);
}
