//! Claims about `assembly`.

use stdx::Random;

use super::{Assembler, Grouping};
use crate::limits::{WatchCounts, WatchLimits};
use crate::summary;
use crate::tag::Tag;
use crate::transaction::Kind;

fn assembler(grouping: Grouping, limits: WatchLimits) -> Assembler {
    Assembler::new(grouping, limits, summary::tags())
}

/// Takes all groups that are ready, as lists of VXIDs with their levels.
fn taken(assembler: &mut Assembler) -> Vec<Vec<(u64, u32)>> {
    let mut groups = Vec::new();
    while let Some(group) = assembler.group() {
        groups.push(group.iter().map(|one| (one.vxid, one.level)).collect());
        assembler.drop_group();
    }
    groups
}

fn add(assembler: &mut Assembler, vxid: u64, tag: Tag, data: &str, counts: &mut WatchCounts) {
    if tag == Tag::BEGIN {
        assembler.begin(vxid, Kind::Other, counts);
    }
    assembler.record(vxid, (tag, data.as_bytes()), counts);
    if tag == Tag::END {
        assembler.end(vxid, counts);
    }
}

/// A fetch is logged before its request; one request is a restart, one is of ESI.
const TREE: [(u64, Tag, &str); 16] = [
    (3, Tag::BEGIN, "bereq 2 fetch"),
    (3, Tag::END, ""),
    (5, Tag::BEGIN, "req 4 esi 1"),
    (5, Tag::END, ""),
    (2, Tag::BEGIN, "req 1 rxreq"),
    (2, Tag::LINK, "bereq 3 fetch"),
    (2, Tag::LINK, "req 4 restart"),
    (2, Tag::END, ""),
    (4, Tag::BEGIN, "req 2 restart"),
    (4, Tag::LINK, "req 5 esi 1"),
    (4, Tag::END, ""),
    (1, Tag::BEGIN, "sess 0 HTTP/1"),
    (1, Tag::LINK, "req 2 rxreq"),
    (1, Tag::END, ""),
    (7, Tag::BEGIN, "sess 0 HTTP/1"),
    (7, Tag::END, ""),
];

fn groups_of_tree(grouping: Grouping) -> (Vec<Vec<(u64, u32)>>, WatchCounts) {
    let mut counts = WatchCounts::default();
    let mut assembler = assembler(grouping, WatchLimits::default());
    let mut groups = Vec::new();
    for (vxid, tag, data) in TREE {
        add(&mut assembler, vxid, tag, data, &mut counts);
        groups.extend(taken(&mut assembler));
    }
    assembler.finish(&mut counts);
    groups.extend(taken(&mut assembler));
    assert_eq!(assembler.open_count(), 0);
    (groups, counts)
}

#[test]
fn a_vxid_is_a_group_of_its_own() {
    let (groups, counts) = groups_of_tree(Grouping::Vxid);
    assert_eq!(groups, [[(5, 1)], [(2, 1)], [(4, 1)]]);
    assert_eq!(counts, WatchCounts::default());
}

#[test]
fn a_request_has_its_fetches_restarts_and_esi_requests() {
    let (groups, counts) = groups_of_tree(Grouping::Request);
    assert_eq!(groups[0], [(2, 1), (3, 2), (4, 1), (5, 2)]);
    assert_eq!(counts.cut, 0);
}

#[test]
fn a_session_has_all_its_requests() {
    let (groups, counts) = groups_of_tree(Grouping::Session);
    assert_eq!(groups, [vec![(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)], vec![(7, 1)]]);
    assert_eq!(counts, WatchCounts::default());
}

#[test]
fn transactions_without_end_are_given_up_at_the_limit() {
    let mut counts = WatchCounts::default();
    let limits = WatchLimits { incomplete_max: 10, ..WatchLimits::default() };
    let mut assembler = assembler(Grouping::Vxid, limits);
    for vxid in 1..=1000 {
        add(&mut assembler, vxid, Tag::BEGIN, "req 1 rxreq", &mut counts);
        assert!(assembler.open_count() <= 10);
    }
    assembler.finish(&mut counts);
    assert_eq!((counts.over_limit, counts.cut), (990, 10));
}

#[test]
fn transactions_without_end_are_given_up_when_the_log_is_older() {
    let mut counts = WatchCounts::default();
    let mut assembler = assembler(Grouping::Vxid, WatchLimits::default());
    let mut request = |vxid, time: &str, ends: bool| {
        add(&mut assembler, vxid, Tag::BEGIN, "req 1 rxreq", &mut counts);
        add(&mut assembler, vxid, Tag::TIMESTAMP, &format!("Resp: {time} 0 0"), &mut counts);
        if ends {
            add(&mut assembler, vxid, Tag::END, "", &mut counts);
        }
    };
    request(2, "1000.0", true);
    request(4, "1000.5", false);
    request(6, "1119.9", true);
    request(8, "1120.5", true);
    assert_eq!(assembler.open_count(), 0);
    assert_eq!(counts.timed_out, 1);
}

#[test]
fn a_group_that_lacks_a_fetch_is_shown_at_the_end() {
    let mut counts = WatchCounts::default();
    let mut assembler = assembler(Grouping::Request, WatchLimits::default());
    add(&mut assembler, 2, Tag::BEGIN, "req 1 rxreq", &mut counts);
    add(&mut assembler, 2, Tag::LINK, "bereq 3 fetch", &mut counts);
    add(&mut assembler, 2, Tag::END, "", &mut counts);
    assert!(!assembler.is_ready());
    assembler.finish(&mut counts);
    assert_eq!(taken(&mut assembler), [[(2, 1)]]);
    assert_eq!(counts.partial_groups, 1);
}

#[test]
fn transactions_that_name_each_other_end_all_the_same() {
    for grouping in [Grouping::Request, Grouping::Session] {
        let mut counts = WatchCounts::default();
        let mut assembler = assembler(grouping, WatchLimits::default());
        for (vxid, other) in [(2, 4), (4, 2), (6, 6)] {
            add(&mut assembler, vxid, Tag::BEGIN, &format!("req {other} esi"), &mut counts);
            add(&mut assembler, vxid, Tag::LINK, &format!("req {other} esi"), &mut counts);
            add(&mut assembler, vxid, Tag::END, "", &mut counts);
        }
        assembler.finish(&mut counts);
        let shown: usize = taken(&mut assembler).iter().map(Vec::len).sum();
        assert_eq!((shown, assembler.open_count()), (3, 0));
    }
}

#[test]
fn any_order_of_records_stays_within_the_bounds() {
    let mut random = Random::new(29);
    let mut below = |bound: u64| random.bits() % bound;
    for round in 0..60 {
        let grouping = [Grouping::Vxid, Grouping::Request, Grouping::Session][round % 3];
        let limits = WatchLimits { incomplete_max: 8, timeout_us: 5_000_000, rate: None };
        let mut assembler = assembler(grouping, limits);
        let mut counts = WatchCounts::default();
        for _ in 0..2000 {
            let (vxid, other) = (below(20), below(20));
            let (tag, data) = match below(6) {
                0 => (Tag::BEGIN, format!("req {other} rxreq")),
                1 => (Tag::BEGIN, format!("bereq {other} fetch")),
                2 => (Tag::BEGIN, format!("sess {other} HTTP/1")),
                3 => (Tag::LINK, format!("req {other} esi")),
                4 => (Tag::TIMESTAMP, format!("Resp: {}.5 0 0", 1000 + other)),
                _ => (Tag::END, String::new()),
            };
            add(&mut assembler, vxid, tag, &data, &mut counts);
            taken(&mut assembler);
            assert!(assembler.open_count() <= 8);
        }
        assembler.finish(&mut counts);
        taken(&mut assembler);
        assert_eq!((assembler.open_count(), assembler.bytes), (0, 0));
        assert_eq!(assembler.free.len(), assembler.slots.len());
    }
}
