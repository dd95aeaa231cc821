//! Claims about purges of the log: what they cover, and what they leave behind.

use super::super::{AreaPurge, RecordLog};
use super::{PLENTY, TornFile, key, put, put_tagged};
use crate::area::Area;

/// Returns the numbers below 30 that are left, and those of them that are stale.
fn left(store: &RecordLog) -> (Vec<u64>, Vec<u64>) {
    let found = |number: &u64| store.get(&key(*number)).unwrap();
    let left: Vec<u64> = (0..30).filter(|number| found(number).is_some()).collect();
    let is_stale = |number: &u64| found(number).is_some_and(|found| found.stale_us == Some(9));
    (left.clone(), left.into_iter().filter(is_stale).collect())
}

#[test]
fn a_purge_covers_what_it_names_and_nothing_else() {
    // Host 1 has the numbers 1, 4, 7, … 28; every even number is tagged.
    for (area, expected) in [
        (Area::resource(Some("host1"), "/7"), vec![7]),
        (Area::resource(None, "/7"), vec![7]),
        (Area::resource(Some("host2"), "/7"), vec![]),
        (Area::resource(None, "/70"), vec![]),
        (Area::prefix(Some("host1"), "/1"), vec![1, 10, 13, 16, 19]),
        (Area::prefix(None, "/2"), vec![2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]),
        (Area::prefix(None, "/"), (0..30).collect()),
        (Area::tag("even"), (0..30).filter(|number| number % 2 == 0).collect()),
        (Area::tag("twelve"), vec![12]),
        (Area::tag("none"), vec![]),
    ] {
        for stale_us in [None, Some(9)] {
            let store = RecordLog::open(TornFile::default(), PLENTY).unwrap();
            let tags = |number: u64| match number {
                12 => &["even", "twelve"][..],
                number if number % 2 == 0 => &["even"],
                _ => &[],
            };
            let changes: Vec<_> = (0..30).map(|n| put_tagged(n, 1, 50, tags(n))).collect();
            store.write(&changes, 1, false).unwrap();
            store.purge(&[AreaPurge { area: area.clone(), stale_us }]).unwrap();
            let rest = (0..30).filter(|number| !expected.contains(number)).collect();
            match stale_us {
                None => assert_eq!(left(&store), (rest, vec![]), "{area:?}"),
                Some(_) => assert_eq!(left(&store), ((0..30).collect(), expected.clone())),
            }
        }
    }
}

#[test]
fn a_record_that_was_written_again_without_a_tag_is_not_purged_by_it() {
    let store = RecordLog::open(TornFile::default(), PLENTY).unwrap();
    store.write(&[put_tagged(1, 1, 50, &["t"]), put_tagged(2, 1, 50, &["t"])], 1, false).unwrap();
    store.write(&[put_tagged(1, 2, 50, &["u"])], 1, false).unwrap();
    store.purge(&[AreaPurge { area: Area::tag("t"), stale_us: None }]).unwrap();
    assert_eq!(left(&store), (vec![1], vec![]));
    store.write(&[put_tagged(2, 2, 50, &["t"])], 1, false).unwrap();
    store.purge(&[AreaPurge { area: Area::tag("t"), stale_us: Some(9) }]).unwrap();
    assert_eq!(left(&store), (vec![1, 2], vec![2]));
    store.write(&[put(2, 3, 50)], 1, false).unwrap();
    assert_eq!(left(&store), (vec![1, 2], vec![]), "a new record is not stale");
}

#[test]
fn a_purge_of_more_than_one_transaction_takes_all_that_it_covers() {
    let store = RecordLog::open(TornFile::default(), PLENTY).unwrap();
    let many = super::super::PURGED_AT_ONCE as u64 * 2 + 10;
    let changes: Vec<_> = (0..many).map(|number| put(number, 1, 10)).collect();
    store.write(&changes, 1, false).unwrap();
    let purges = [
        Area::prefix(Some("host0"), "/"),
        Area::resource(None, "/1"),
        Area::prefix(Some("host2"), "/"),
    ];
    let purges = purges.map(|area| AreaPurge { area, stale_us: None });
    store.purge(&purges).unwrap();
    assert_eq!(store.entries(), (0..many).filter(|n| n % 3 == 1 && *n != 1).count() as u64);
}

#[test]
fn a_log_whose_records_were_all_evicted_or_purged_takes_no_rows() {
    let store = RecordLog::open(TornFile::default(), 4_000_000).unwrap();
    let empty = store.used();
    for round in 0..20_u64 {
        let tagged = |n| put_tagged(round * 100 + n, 1, 10_000, &["a", "b"]);
        store.write(&(0..100).map(tagged).collect::<Vec<_>>(), 1, false).unwrap();
    }
    assert!(store.evicted() > 0);
    let held = store.head.lock().row_bytes / store.entries();
    let one = super::super::index_bytes(&key(1900)) + 2 * super::super::tag_bytes(&key(1900));
    assert_eq!(held, one, "each record has a row in the index, and one for each tag");
    store.purge(&[AreaPurge { area: Area::tag("a"), stale_us: None }]).unwrap();
    assert_eq!((store.entries(), empty), (0, 0));
}

#[test]
fn purging_a_full_log_again_and_again_keeps_to_its_bytes() {
    let (file, bytes) = (TornFile::default(), 16_000_000);
    let fill = (bytes as f64 * crate::disk::writer::FILL) as u64;
    let store = RecordLog::open(file.clone(), fill).unwrap();
    for round in 0..4 {
        for batch in 0..15_u64 {
            let tagged = |n| put_tagged(batch * 3000 + n, round, 300, &["a", "b"]);
            store.write(&(0..3000).map(tagged).collect::<Vec<_>>(), 1, false).unwrap();
        }
        let area = if round % 2 == 0 { Area::tag("a") } else { Area::prefix(None, "/") };
        for stale_us in [Some(9), None] {
            store.purge(&[AreaPurge { area: area.clone(), stale_us }]).unwrap();
        }
        assert_eq!(store.entries(), 0);
    }
    assert!(file.taken() <= bytes, "{} bytes", file.taken());
}
