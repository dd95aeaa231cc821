//! Claims about the responses that a purge covers, and about the record of many purges.

use super::{EXACT_MAX, PREFIXES_MAX, PurgeVerdict, Purges};
use crate::area::Area;
use crate::fingerprint::fingerprint;
use crate::tags::Tags;

const KEY: &[u8] = b"http\na\n/news/1?p=2\n\x01";

/// Returns the verdict on a response with the tag `t` whose fetch was under way at this purge.
fn judge(area: Area, soft: bool) -> PurgeVerdict {
    let purges = Purges::default();
    let stamp = purges.stamp();
    purges.record(&[area], soft, |_| ());
    let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
    let later = purges.verdict(purges.stamp(), KEY, &tags);
    assert_eq!(later, PurgeVerdict::Good, "what is fetched behind the purge is not covered");
    purges.verdict(stamp, KEY, &tags)
}

#[test]
fn an_answer_is_covered_by_its_url_its_tags_and_prefixes_of_its_url() {
    for area in [
        Area::resource(Some("a"), "/news/1?p=2"),
        Area::resource(None, "/news/1?p=2"),
        Area::prefix(Some("a"), "/news/"),
        Area::prefix(None, "/news/1?p"),
        Area::prefix(None, "/"),
        Area::tag("t"),
    ] {
        assert_eq!(judge(area.clone(), false), PurgeVerdict::Gone, "{area:?}");
        assert_eq!(judge(area.clone(), true), PurgeVerdict::Stale, "{area:?}");
    }
    for area in [
        Area::resource(Some("b"), "/news/1?p=2"),
        Area::resource(Some("a"), "/news/1"),
        Area::resource(None, "/news/1"),
        Area::prefix(Some("b"), "/"),
        Area::prefix(Some("a"), "/news/2"),
        Area::tag("u"),
        Area::tag(""),
    ] {
        assert_eq!(judge(area.clone(), false), PurgeVerdict::Good, "{area:?}");
    }
}

#[test]
fn a_hard_purge_is_not_undone_by_a_soft_one() {
    let purges = Purges::default();
    let stamp = purges.stamp();
    purges.record(&[Area::tag("t"), Area::prefix(None, "/news")], false, |_| ());
    purges.record(&[Area::tag("t"), Area::prefix(None, "/news")], true, |_| ());
    let tags = Tags::from_fingerprints(vec![fingerprint(b"t")]);
    assert_eq!(purges.verdict(stamp, KEY, &tags), PurgeVerdict::Gone);
    assert_eq!(purges.verdict(stamp + 2, KEY, &tags), PurgeVerdict::Stale);
}

#[test]
fn what_began_before_a_prefix_that_was_forgotten_counts_as_purged() {
    let purges = Purges::default();
    let stamp = purges.stamp();
    let others: Vec<Area> =
        (0..PREFIXES_MAX).map(|n| Area::prefix(Some("b"), &format!("/{n}"))).collect();
    purges.record(&others, false, |_| ());
    let none = Tags::default();
    assert_eq!(purges.verdict(stamp, KEY, &none), PurgeVerdict::Good);
    purges.record(&[Area::prefix(Some("b"), "/more")], false, |_| ());
    assert_eq!(purges.verdict(stamp, KEY, &none), PurgeVerdict::Gone);
    assert_eq!(purges.verdict(stamp + 1, KEY, &none), PurgeVerdict::Good);
    assert_eq!(purges.hold().prefixes.len(), PREFIXES_MAX);
}

#[test]
fn a_prefix_that_is_purged_again_and_again_takes_one_place() {
    let purges = Purges::default();
    let stamp = purges.stamp();
    for _ in 0..2 * PREFIXES_MAX {
        purges.record(&[Area::prefix(None, "/other")], false, |_| ());
    }
    assert_eq!(purges.verdict(stamp, KEY, &Tags::default()), PurgeVerdict::Good);
    assert_eq!(purges.hold().prefixes.len(), 1);
}

#[test]
fn purges_of_other_things_take_no_response_with_them_up_to_their_bound() {
    let purges = Purges::default();
    let stamp = purges.stamp();
    let purge_others = |count: usize| {
        let others: Vec<Area> =
            (0..count).map(|n| Area::resource(Some("a"), &format!("/{n}"))).collect();
        purges.record(&others, false, |_| ());
    };
    let verdict = |stamp: u64, target: &str| {
        purges.verdict(stamp, format!("http\na\n{target}").as_bytes(), &Tags::default())
    };
    purge_others(EXACT_MAX);
    for n in 0..1000 {
        assert_eq!(verdict(stamp, &format!("/kept/{n}")), PurgeVerdict::Good);
        assert_eq!(verdict(stamp, &format!("/{n}")), PurgeVerdict::Gone);
    }
    let recent = purges.stamp();
    purge_others(EXACT_MAX);
    assert_eq!(verdict(stamp, "/kept/1"), PurgeVerdict::Gone, "what began before them is in doubt");
    assert_eq!(verdict(recent, "/kept/1"), PurgeVerdict::Good);
    assert_eq!(verdict(recent, "/1"), PurgeVerdict::Gone);
    let records = purges.hold();
    assert_eq!((records.exact.len(), records.order.len()), (EXACT_MAX, EXACT_MAX));
}

#[test]
fn a_queue_gets_the_numbers_of_purges_in_their_order() {
    let purges = Purges::default();
    let mut numbers = Vec::new();
    for areas in [&[Area::tag("a")][..], &[Area::tag("b"), Area::prefix(None, "/")]] {
        purges.record(areas, false, |number| numbers.push(number));
    }
    assert_eq!((numbers, purges.stamp()), (vec![1, 3], 3));
}
