//! Claims about what the log counts: its bytes, and the point at which it makes room.

use redb::{ReadableDatabase, ReadableTable};
use stdx::Random;

use super::super::{AreaPurge, BATCHES, INDEX, LOG, LOOSE_SHARE, PAGE_BYTES, RecordChange};
use super::super::{RecordLog, TAGS, index_bytes, pages, row_bytes, tag_bytes};
use super::{PLENTY, TornFile, forget, get, put, put_tagged, record};
use crate::area::Area;

#[test]
fn a_value_takes_whole_pages_whose_number_is_a_power_of_two() {
    for (length, count) in
        [(0, 1), (4064, 1), (4065, 2), (8160, 2), (8161, 4), (16_353, 8), (32_700, 8)]
    {
        assert_eq!(pages(length), count * 4096, "{length}");
    }
}

#[test]
fn a_row_takes_half_as_much_again_as_its_bytes_and_its_place() {
    assert_eq!(row_bytes(0), 24);
    assert_eq!(row_bytes(100), 174);
    let key = [0; 40];
    assert_eq!((index_bytes(&key), tag_bytes(&key)), (120, 108));
}

/// Returns the bytes of the pages of log and batches, and those of the rows, by what is there.
fn counted(log: &RecordLog) -> (u64, u64) {
    let transaction = log.database.begin_read().unwrap();
    let mut log_bytes = 0;
    for table in [LOG, BATCHES] {
        for row in transaction.open_table(table).unwrap().iter().unwrap() {
            log_bytes += pages(row.unwrap().1.value().len());
        }
    }
    let mut rows = 0;
    for row in transaction.open_table(INDEX).unwrap().iter().unwrap() {
        rows += index_bytes(row.unwrap().0.value());
    }
    for row in transaction.open_table(TAGS).unwrap().iter().unwrap() {
        rows += tag_bytes(row.unwrap().0.value().1);
    }
    (log_bytes, rows)
}

#[test]
fn its_sums_are_those_of_what_is_there_whatever_is_done() {
    for seed in 0..2 {
        let mut random = Random::new(seed);
        let file = TornFile::default();
        let mut log = RecordLog::open(file.clone(), 400_000).unwrap();
        for _ in 0..40 {
            let change = |random: &mut Random| {
                let (number, length) = (random.up_to(30), random.up_to(9000) as usize);
                let tags = [&[][..], &["a"], &["a", "b"]][random.up_to(2) as usize];
                match random.up_to(4) {
                    0 => forget(number),
                    _ => put_tagged(number, 1, length, tags),
                }
            };
            let changes: Vec<RecordChange> =
                (0..random.up_to(8)).map(|_| change(&mut random)).collect();
            log.write(&changes, 1, random.up_to(5) == 0).unwrap();
            if random.up_to(9) == 0 {
                let stale_us = (random.up_to(1) == 0).then_some(9);
                let areas = [Area::tag("b"), Area::prefix(Some("host1"), "/1")];
                let purges = areas.map(|area| AreaPurge { area, stale_us });
                log.purge(&purges).unwrap();
            }
            let head = *log.head.lock();
            assert_eq!((head.log_bytes, head.row_bytes), counted(&log), "seed {seed}");
            assert_eq!(log.used(), head.log_bytes + head.row_bytes);
            assert!(log.used() <= 400_000);
            if random.up_to(9) == 0 {
                let before = (log.used(), log.entries());
                drop(log);
                log = RecordLog::open(file.clone(), 400_000).unwrap();
                assert_eq!((log.used(), log.entries(), log.evicted()), (before.0, before.1, 0));
            }
        }
    }
}

#[test]
fn a_log_that_is_opened_again_goes_on_behind_what_it_has() {
    let file = TornFile::default();
    for turn in 0..3 {
        let log = RecordLog::open(file.clone(), PLENTY).unwrap();
        log.write(&[put(turn, 1, 50_000)], 1, turn == 1).unwrap();
        for number in 0..=turn {
            assert_eq!(get(&log, number), Some(record(number, 1, 50_000)));
        }
    }
}

/// Returns a log of these batches of records, and the least size with which it takes one record
/// more without making room.
fn filled(batches: u64, records: u64) -> (u64, TornFile) {
    let fill = |log: &RecordLog| {
        for batch in 0..batches {
            let all = (0..records).map(|number| put(batch * records + number, 1, 10));
            log.write(&all.collect::<Vec<_>>(), 1, true).unwrap();
        }
    };
    let log = RecordLog::open(TornFile::default(), PLENTY).unwrap();
    fill(&log);
    log.write(&[put(9999, 1, 10)], 1, true).unwrap();
    let head = *log.head.lock();
    // Pages of rows that change are copied before the old ones are released.
    let copied = |bytes: u64| head.row_bytes.min(PAGE_BYTES + bytes / LOOSE_SHARE);
    let least = (log.used()..).find(|bytes| bytes - copied(*bytes) >= log.used()).unwrap();
    let file = TornFile::default();
    fill(&RecordLog::open(file.clone(), PLENTY).unwrap());
    (least, file)
}

#[test]
fn it_makes_room_only_when_the_next_record_and_its_copied_pages_do_not_fit() {
    // Few rows, of which all may be copied, and many, of which a share may.
    for (batches, records) in [(3, 20), (2, 200)] {
        for (less, evicted) in [(0, 0), (1, records)] {
            let (least, file) = filled(batches, records);
            let log = RecordLog::open(file, least - less).unwrap();
            log.write(&[put(9999, 1, 10)], 1, true).unwrap();
            assert_eq!(log.evicted(), evicted, "{less} bytes less");
            assert_eq!(get(&log, 0).is_none(), evicted > 0, "the oldest goes first");
            assert!(get(&log, records).is_some() && get(&log, 9999).is_some());
            assert_eq!(log.entries(), batches * records + 1 - evicted);
        }
    }
}

#[test]
fn pages_that_were_released_become_free_before_they_are_too_many() {
    // Each change counts for a page, so ten of them are just allowed.
    let bytes = 10 * PAGE_BYTES * LOOSE_SHARE;
    let file = TornFile::default();
    let log = RecordLog::open(file.clone(), bytes).unwrap();
    let mut synced = Vec::new();
    for number in 1..=33 {
        let before = file.syncs();
        log.write(&[put(number, 1, 10)], 1, false).unwrap();
        synced.extend((file.syncs() > before).then_some(number));
    }
    assert_eq!(synced, [11, 22, 33]);
    let purge = |number: u64| {
        let before = file.syncs();
        let area = Area::resource(None, &format!("/{number}"));
        log.purge(&[AreaPurge { area, stale_us: None }]).unwrap();
        file.syncs() > before
    };
    assert_eq!((1..=33).filter(|number| purge(*number)).collect::<Vec<_>>(), [11, 22, 33]);
    assert!(!purge(34), "nothing was there");
    // A durable write starts the count again.
    log.write(&[], 1, true).unwrap();
    let many: Vec<_> = (0..10).map(|number| put(number, 2, 10)).collect();
    let before = file.syncs();
    log.write(&many, 1, false).unwrap();
    assert_eq!(file.syncs(), before);
    log.write(&[forget(1)], 1, false).unwrap();
    assert!(file.syncs() > before);
}
