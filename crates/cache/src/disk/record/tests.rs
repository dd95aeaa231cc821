//! Claims about records: a key gives back only what was written under it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stdx::Random;

use super::{Clocks, Damaged, DiskContent, DiskEntry, decode, encode};
use crate::entry::Entry;
use crate::tags::Tags;

const KEY: &[u8] = b"http\nnews.test\n/a";
const BORN: u64 = 1_000_000_000_000;

fn kept(body: &'static str) -> DiskEntry {
    let entry = Entry {
        status: 203,
        fields: b"etag: \"1\"\r\n"[..].into(),
        dated: true,
        body: body.into(),
        etag: Some(b"\"1\""[..].into()),
        last_modified: None,
        born: Instant::now(),
        fresh: Duration::from_secs(60),
        while_revalidate: Duration::from_secs(5),
        if_error: Duration::from_secs(9),
        ranked_by: Some(77),
        decision_at: Some(1..3),
        varies: true,
        strict: false,
        sets_cookie: false,
        open: true,
        hold_off: Default::default(),
        tracked: None,
        tags: Tags::from_fingerprints(vec![3, 1]),
        stamp: 0,
        encodings: None,
    };
    DiskEntry { entry: Arc::new(entry), born_us: BORN, has_encodings: false }
}

fn clocks(after: Duration) -> Clocks {
    Clocks { now: Instant::now(), wall: Some(BORN + after.as_micros() as u64) }
}

fn entry(stored: DiskContent) -> Arc<Entry> {
    match stored {
        DiskContent::Entry(kept) => kept.entry,
        DiskContent::Varies(_) => panic!("an answer was written"),
    }
}

#[test]
fn comes_back_as_it_was_but_for_its_age() {
    let before = kept("a body");
    let record = encode(KEY, &DiskContent::Entry(before.clone()));
    let clocks = clocks(Duration::from_secs(20));
    let DiskContent::Entry(after) = decode(&record, KEY, 12, clocks).unwrap() else { panic!() };
    assert_eq!((after.entry.stamp, after.born_us, after.has_encodings), (12, BORN, false));
    assert_eq!(after.entry.age(clocks.now), Duration::from_secs(20));
    let same = Entry { born: before.entry.born, stamp: 0, ..(*after.entry).clone() };
    assert_eq!(format!("{same:?}"), format!("{:?}", before.entry));
    let names: crate::key::FieldNames = ["accept".into(), "lang".into()].into();
    let record = encode(KEY, &DiskContent::Varies(Arc::clone(&names)));
    let DiskContent::Varies(found) = decode(&record, KEY, 12, clocks).unwrap() else { panic!() };
    assert_eq!(found, names);
}

#[test]
fn every_damage_is_seen() {
    let record = encode(KEY, &DiskContent::Entry(kept("a body")));
    let now = clocks(Duration::ZERO);
    for length in 0..record.len() {
        assert_eq!(decode(&record[..length], KEY, 12, now).unwrap_err(), Damaged);
    }
    for at in 0..record.len() {
        for bit in 0..8 {
            let mut damaged = record.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(decode(&damaged, KEY, 12, now).unwrap_err(), Damaged, "{at}");
        }
    }
    let other = encode(KEY, &DiskContent::Entry(kept("another body")));
    let half = [&record[..record.len() / 2], &other[record.len() / 2..]].concat();
    assert_eq!(decode(&half, KEY, 12, now).unwrap_err(), Damaged);
}

#[test]
fn a_record_of_another_key_is_refused() {
    let record = encode(b"http\nnews.test\n/b", &DiskContent::Entry(kept("theirs")));
    let now = clocks(Duration::ZERO);
    assert_eq!(decode(&record, KEY, 12, now).unwrap_err(), Damaged);
    assert_eq!(decode(&record, &KEY[..KEY.len() - 1], 12, now).unwrap_err(), Damaged);
}

#[test]
fn bytes_with_a_sound_checksum_and_no_sense_are_no_record() {
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let mut record = encode(KEY, &DiskContent::Entry(kept("a body")));
        let body = 8 + 1 + 8 + KEY.len();
        for _ in 0..=random.up_to(3) {
            let at = body + random.up_to((record.len() - body - 1) as u64) as usize;
            record[at] = random.bits() as u8;
        }
        let sum = twox_hash::XxHash3_64::oneshot(&record[8..]);
        record[..8].copy_from_slice(&sum.to_le_bytes());
        // No bytes lead to a panic, and the range of the decision lies within the body.
        if let Ok(DiskContent::Entry(kept)) = decode(&record, KEY, 12, clocks(Duration::ZERO)) {
            let hole = kept.entry.decision_at.clone().unwrap_or_default();
            assert!(kept.entry.body.get(hole).is_some());
        }
    }
}

#[test]
fn an_answer_of_unknown_age_is_never_fresh() {
    let record = encode(KEY, &DiskContent::Entry(kept("a body")));
    let now = Instant::now();
    // The clock has gone back, or shows a time before the response had age zero.
    for wall in [None, Some(BORN - 1), Some(0)] {
        let entry = entry(decode(&record, KEY, 12, Clocks { now, wall }).unwrap());
        assert!(!entry.is_fresh(now) && !entry.may_answer_stale(now));
        assert!(!entry.may_answer_error(now));
        assert_eq!(entry.etag.as_deref(), Some(&b"\"1\""[..]));
    }
    let entry = entry(decode(&record, KEY, 12, clocks(Duration::from_secs(61))).unwrap());
    assert!(!entry.is_fresh(Instant::now()));
}
