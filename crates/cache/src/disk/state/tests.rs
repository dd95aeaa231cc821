//! Claims about marks, clocks, damage, and what a full disk takes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use metrics::Registry;
use stdx::{FaultyDisk, ManualClock};

use super::super::file::LogFile;
use super::super::log::{Record, RecordChange, RecordLog};
use super::super::metrics::DiskMetrics;
use super::super::record::{self, DiskContent, DiskEntry};
use super::{DiskPlan, DiskState, DiskTimes, Opened};
use crate::entry::{Entry, NewEntry};
use crate::tests::{MINUTE, entry, response};

const START: u64 = 1_700_000_000_000_000;

fn state(clock: &ManualClock) -> DiskState {
    let plan = DiskPlan { dir: "/cache".into(), bytes: 1 << 20, times: DiskTimes::for_tests() };
    let disk = Arc::new(FaultyDisk::new(1));
    let metrics = DiskMetrics::new(&Registry::default());
    DiskState::new(plan, disk, Arc::new(clock.clone()), Arc::default(), metrics)
}

/// Returns a log of so many bytes, as it is after it was opened.
fn opened(state: &DiskState, bytes: u64) -> Arc<Opened> {
    state.disk.create_dir_all(std::path::Path::new("/")).unwrap();
    let file = state.disk.open_write(std::path::Path::new("/log")).unwrap();
    let log = RecordLog::open(LogFile(file), bytes).unwrap();
    Arc::new(Opened { log, _lock: Box::new(()) })
}

fn content(entry: &Arc<Entry>) -> DiskContent {
    let entry = Arc::clone(entry);
    DiskContent::Entry(DiskEntry { entry, born_us: START, has_encodings: false })
}

fn put(opened: &Opened, key: &[u8], bytes: Vec<u8>) {
    let record = Some(Record { bytes, tags: Default::default() });
    opened.log.write(&[RecordChange { key: key.into(), record }], 0, false).unwrap();
}

#[test]
fn a_key_has_one_mark_and_few_others_share_it() {
    let state = state(&ManualClock::at(START));
    for number in 0..1000_u64 {
        state.mark(&number.to_le_bytes()).fetch_add(1, Ordering::Relaxed);
    }
    let marked = |number: u64| state.mark(&number.to_le_bytes()).load(Ordering::Relaxed);
    assert!((0..1000).all(|number| (1..10).contains(&marked(number))));
    let shared = (1000..2000).filter(|number| marked(*number) > 0).count();
    assert!(shared < 300, "{shared} of 1000 other keys");
}

#[test]
fn while_the_clock_is_more_than_a_second_behind_no_age_is_known() {
    let clock = ManualClock::at(START);
    let state = state(&clock);
    let us = Duration::from_micros(1);
    assert_eq!(state.clocks().wall, Some(START));
    clock.set_back(Duration::from_secs(1));
    assert_eq!(state.clocks().wall, Some(START - 1_000_000));
    clock.set_back(us);
    assert_eq!(state.clocks().wall, None);
    clock.advance(us * 2);
    assert_eq!(state.clocks().wall, Some(START - 999_999));
    clock.advance(Duration::from_secs(9));
    assert_eq!(state.clocks().wall, Some(START + 8_000_001));
    assert_eq!(state.latest_us.load(Ordering::Relaxed), START + 8_000_001);
}

#[test]
fn a_damaged_record_is_counted_and_forgotten_and_a_sound_one_is_not() {
    let state = state(&ManualClock::at(START));
    let opened = opened(&state, 1 << 20);
    let key = b"key";
    let sound = record::encode(key, &content(&entry("sound")));
    let mut damaged = sound.clone();
    damaged[30] ^= 1;
    put(&opened, key, damaged);
    assert!(state.read(&opened, key).is_none());
    assert_eq!((state.metrics.damaged.get(), state.queue.count()), (1, 1));
    assert!(matches!(state.queue.get(key), Some(None)), "it will be forgotten");
    put(&opened, key, sound);
    let Some(DiskContent::Entry(found)) = state.read(&opened, key) else { panic!() };
    assert_eq!((&*found.entry.body, state.metrics.damaged.get()), (&b"sound"[..], 1));
    assert!(state.read(&opened, b"none").is_none());
    assert_eq!(state.metrics.damaged.get(), 1, "what is not there is not damaged");
}

#[test]
fn what_is_read_is_stale_since_the_purge_that_made_it_so_and_has_its_number() {
    let clock = ManualClock::at(START);
    let state = state(&clock);
    let opened = opened(&state, 1 << 20);
    let key = b"http\na\n/";
    put(&opened, key, record::encode(key, &content(&entry("x"))));
    state.progress.set_made(5);
    let read = || {
        let Some(DiskContent::Entry(found)) = state.read(&opened, key) else { panic!() };
        found.entry
    };
    assert_eq!((read().stamp, read().fresh), (5, MINUTE.fresh));
    clock.advance(Duration::from_secs(20));
    let area = crate::area::Area::prefix(None, "/");
    let purge = super::super::log::AreaPurge { area, stale_us: Some(START + 20_000_000) };
    opened.log.purge(&[purge]).unwrap();
    clock.advance(Duration::from_secs(3));
    let (found, now) = (read(), Instant::now());
    assert!(found.age(now) >= Duration::from_secs(23) && !found.is_fresh(now));
    // It was stale from its twentieth second on, not from the read.
    let since = found.fresh.as_secs_f64();
    assert!((19.9..20.1).contains(&since), "{since}");
}

#[test]
fn a_log_out_of_use_takes_no_answers_and_counts_them() {
    let state = state(&ManualClock::at(START));
    let dropped = || state.metrics.dropped.get();
    state.push(b"a", Some(content(&entry("x"))));
    assert_eq!(dropped(), 1);
    assert!(matches!(state.queue.get(b"a"), Some(None)), "what the log has is out of date");
    state.push(b"b", None);
    assert_eq!(dropped(), 1, "nothing is lost when a key is forgotten");
    *state.opened.write() = Some(opened(&state, 1 << 20));
    state.push(b"a", Some(content(&entry("x"))));
    assert!(matches!(state.queue.get(b"a"), Some(Some(_))));
    state.push(b"b", None);
    assert_eq!(dropped(), 1);
    let large = NewEntry { ..response(&[], vec![0; 32 << 20]) };
    state.push(b"a", Some(content(&Entry::new(large, MINUTE, Instant::now()))));
    assert_eq!(dropped(), 2);
    assert!(matches!(state.queue.get(b"a"), Some(None)));
}

#[test]
fn only_a_full_disk_wants_to_see_a_key_twice() {
    let state = state(&ManualClock::at(START));
    assert!(state.admits(b"a") && state.admits(b"b"), "out of use");
    let log = opened(&state, 100_000);
    *state.opened.write() = Some(Arc::clone(&log));
    assert!(state.admits(b"c"));
    for number in 0..20_u64 {
        put(&log, &number.to_le_bytes(), vec![0; 10_000]);
    }
    assert!(log.log.evicted() > 0);
    assert_eq!(state.metrics.first.get(), 0);
    assert_eq!([state.admits(b"d"), state.admits(b"d"), state.admits(b"d")], [false, true, true]);
    assert_eq!(state.metrics.first.get(), 1);
}

#[test]
fn an_alarm_for_a_slow_disk_lasts_as_long_as_its_rest() {
    let state = state(&ManualClock::at(START));
    assert_eq!((state.is_at_rest(), state.slowness()), (false, None));
    *state.rests_until.lock() = Some(Instant::now());
    assert_eq!((state.is_at_rest(), state.slowness()), (false, None));
    *state.rests_until.lock() = Some(Instant::now() + testkit::FIXTURE_TIMEOUT);
    assert!(state.is_at_rest());
    assert_eq!(state.slowness().unwrap(), "a read took longer than 60s");
    *state.rests_until.lock() = None;
    // A write that has only begun is no alarm.
    state.push(b"a", None);
    state.queue.take(Instant::now(), 0);
    assert_eq!(state.slowness(), None);
    state.queue.writing_since(Duration::from_secs(31));
    assert_eq!(state.slowness().unwrap(), "a write takes longer than 30s");
    state.queue.written();
    assert_eq!(state.slowness(), None);
}

#[test]
fn each_failure_of_the_engine_counts_and_the_first_breaks_the_log() {
    let state = state(&ManualClock::at(START));
    for times in 1..=3 {
        state.engine_failed("a made fault");
        assert!(state.broken.load(Ordering::Relaxed));
        assert_eq!(state.metrics.errors.get(), times);
    }
}
