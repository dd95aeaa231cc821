//! Claims about the tier under injected faults: a failing disk, a power cut, a clock set back.

mod loads;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use metrics::Registry;
use stdx::{Disk, FaultyDisk, Lasting, ManualClock, Random};
use testkit::FIXTURE_TIMEOUT;

use super::DiskTier;
use crate::area::Area;
use crate::disk::log::{Record, RecordChange};
use crate::disk::record::DiskContent;
use crate::disk::state::{DiskPlan, DiskTimes};
use crate::entry::Entry;
use crate::purge::{PurgeVerdict, Purges};
use crate::tags::Tags;

const START: u64 = 1_700_000_000_000_000;

fn start(disk: &FaultyDisk, clock: &ManualClock) -> DiskTier {
    start_with(disk, clock, Arc::default())
}

fn start_with(disk: &FaultyDisk, clock: &ManualClock, purges: Arc<Purges>) -> DiskTier {
    let plan =
        DiskPlan { dir: PathBuf::from("/cache"), bytes: 16_000_000, times: DiskTimes::for_tests() };
    let (disk, clock) = (Arc::new(disk.clone()), Arc::new(clock.clone()));
    DiskTier::start(plan, disk, clock, purges, &Registry::default()).unwrap()
}

fn entry(body: &str) -> Arc<Entry> {
    Arc::new(Entry {
        status: 200,
        fields: Default::default(),
        dated: false,
        body: body.to_owned().into(),
        etag: Some(b"\"1\""[..].into()),
        last_modified: None,
        born: Instant::now(),
        fresh: Duration::from_secs(600),
        while_revalidate: Duration::ZERO,
        if_error: Duration::ZERO,
        ranked_by: None,
        decision_at: None,
        varies: false,
        strict: false,
        sets_cookie: false,
        open: false,
        hold_off: Default::default(),
        tracked: None,
        tags: Default::default(),
        stamp: 0,
        encodings: None,
    })
}

fn find(tier: &DiskTier, key: &[u8]) -> Option<Arc<Entry>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(tier.find(key))? {
        DiskContent::Entry(kept) => Some(kept.entry),
        DiskContent::Varies(_) => None,
    }
}

#[track_caller]
fn eventually(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + FIXTURE_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

fn wait_until_written(tier: &DiskTier) {
    eventually("writes", || tier.status().waiting == 0);
}

/// Returns a body that shows its key and version, and whether it is whole.
fn body(key: u64, version: u64, length: usize) -> String {
    format!("{key} {version} {}", "0123456789".repeat(length))
}

#[test]
fn a_kill_or_a_power_cut_at_any_moment_brings_no_wrong_answer() {
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut disk = FaultyDisk::new(seed);
        let clock = ManualClock::at(START);
        let mut versions = [0; 12];
        for _ in 0..4 {
            let tier = start(&disk, &clock);
            for (key, version) in versions.iter().enumerate() {
                let Some(found) = find(&tier, &key.to_le_bytes()) else { continue };
                let text = std::str::from_utf8(&found.body).unwrap();
                let parts: Vec<&str> = text.split(' ').collect();
                let named: u64 = parts[0].parse().unwrap();
                let told: u64 = parts[1].parse().unwrap();
                assert_eq!(
                    (named, text.len()),
                    (key as u64, body(named, told, parts[2].len() / 10).len())
                );
                assert!(told <= *version, "seed {seed}: version {told} of {version}");
            }
            for _ in 0..random.up_to(30) {
                let key = random.up_to(11);
                versions[key as usize] += 1;
                let entry = entry(&body(key, versions[key as usize], random.up_to(9000) as usize));
                tier.keep(&(key as usize).to_le_bytes(), &entry);
                if random.bits() & 7 == 0 {
                    wait_until_written(&tier);
                }
            }
            disk = if random.bits() & 1 == 0 { disk.kill() } else { disk.crash() };
        }
    }
}

#[test]
fn after_a_failure_the_store_is_begun_anew_and_what_it_held_never_comes_back() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"a", &entry("old"));
    wait_until_written(&tier);
    disk.fail_nth(1, Lasting::Forever);
    tier.keep(b"b", &entry("x"));
    eventually("the fault", || tier.status().reason.is_some());
    tier.forget(b"a");
    assert_eq!(tier.state.metrics.up.get(), 0);
    assert!(find(&tier, b"a").is_none());
    disk.heal();
    eventually("the next store", || tier.status().reason.is_none());
    assert!(find(&tier, b"a").is_none());
    tier.keep(b"c", &entry("new"));
    wait_until_written(&tier);
    assert_eq!(find(&tier, b"c").unwrap().body, "new");
    assert!(tier.state.metrics.errors.get() > 0);
}

#[test]
fn what_was_forgotten_is_forgotten_after_a_restart() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"a", &entry("old"));
    tier.keep(b"b", &entry("kept"));
    wait_until_written(&tier);
    tier.forget(b"a");
    assert!(find(&tier, b"a").is_none());
    drop(tier);
    let tier = start(&disk, &clock);
    assert!(find(&tier, b"a").is_none());
    assert_eq!(find(&tier, b"b").unwrap().body, "kept");
}

#[test]
fn a_clock_that_went_back_resurrects_nothing() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"a", &entry("x"));
    drop(tier);
    let is_fresh = |tier: &DiskTier| find(tier, b"a").map(|entry| entry.is_fresh(Instant::now()));
    clock.advance(Duration::from_secs(300));
    let tier = start(&disk, &clock);
    assert_eq!(is_fresh(&tier), Some(true));
    drop(tier);
    // The clock goes back by ten seconds, to a time after the response had age zero.
    let back = ManualClock::at(START + 290_000_000);
    let tier = start(&disk, &back);
    assert_eq!(is_fresh(&tier), Some(false));
    back.advance(Duration::from_secs(20));
    assert_eq!(is_fresh(&tier), Some(true));
    back.advance(Duration::from_secs(600));
    assert_eq!(is_fresh(&tier), Some(false));
    drop(tier);
    // The clock goes back by hours: no age can be computed, and the log is removed.
    let tier = start(&disk, &ManualClock::at(START - 7_200_000_000));
    assert_eq!((is_fresh(&tier), tier.status().entries), (None, 0));
}

#[test]
fn a_record_that_stands_under_another_key_is_not_found() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"theirs", &entry("theirs"));
    wait_until_written(&tier);
    let opened = tier.state.opened.read().clone().unwrap();
    let bytes = opened.log.get(b"theirs").unwrap().unwrap().bytes;
    let record = Some(Record { bytes, tags: Tags::default() });
    opened.log.write(&[RecordChange { key: b"ours"[..].into(), record }], 0, true).unwrap();
    assert!(find(&tier, b"ours").is_none());
    assert_eq!(tier.state.metrics.damaged.get(), 1);
    assert_eq!(find(&tier, b"theirs").unwrap().body, "theirs");
}

#[test]
fn a_full_disk_takes_what_comes_a_second_time() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    let large = "x".repeat(1_000_000);
    for number in 0..20_u64 {
        tier.keep(&number.to_le_bytes(), &entry(&large));
        wait_until_written(&tier);
    }
    let opened = tier.state.opened.read().clone().unwrap();
    assert!(opened.log.evicted() > 0);
    assert!((8_000_000..=13_600_000).contains(&tier.status().bytes), "{:?}", tier.status());
    let before = tier.state.metrics.first.get();
    tier.keep(b"once", &entry("x"));
    assert!(find(&tier, b"once").is_none());
    assert_eq!(tier.state.metrics.first.get(), before + 1);
    tier.keep(b"once", &entry("x"));
    assert!(find(&tier, b"once").is_some());
}

#[test]
fn a_disk_that_hangs_holds_up_neither_misses_nor_the_end() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"a", &entry("x"));
    wait_until_written(&tier);
    *tier.state.rests_until.lock() = Some(Instant::now() + Duration::from_secs(600));
    assert!(find(&tier, b"a").is_none());
    assert_eq!(tier.state.metrics.slow.get(), 1);
    assert!(tier.status().reason.unwrap().contains("a read took longer"));
    *tier.state.rests_until.lock() = None;
    assert!(find(&tier, b"a").is_some());
    disk.hold_syncs();
    tier.keep(b"b", &entry("y"));
    eventually("the write", || !tier.state.queue.writing_for().is_zero());
    // Changes that wait to be written are found all the same.
    assert_eq!(find(&tier, b"b").unwrap().body, "y");
    drop(tier);
    disk.release_syncs();
}

#[test]
fn what_is_of_no_use_for_long_is_not_written() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    let brief = Entry { fresh: Duration::from_secs(1), etag: None, ..(*entry("x")).clone() };
    tier.keep(b"a", &entry("before"));
    tier.keep(b"a", &Arc::new(brief));
    assert!(find(&tier, b"a").is_none());
}

#[test]
fn a_store_that_a_reader_finds_broken_is_replaced() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(b"a", &entry("x"));
    wait_until_written(&tier);
    tier.state.engine_failed("a made fault");
    // The states between may be too short to be seen; in one of them there is no file.
    let file = tier.state.plan.dir.join("cache.redb");
    let is_whole = || !tier.state.broken.load(Ordering::Relaxed) && tier.status().reason.is_none();
    eventually("the next store", || is_whole() && disk.metadata(&file).is_ok());
    assert!(find(&tier, b"a").is_none());
}

fn key(target: &str) -> Vec<u8> {
    format!("http\nnews.test\n{target}\n\u{1}").into_bytes()
}

fn resource(target: &str) -> Area {
    Area::resource(Some("news.test"), target)
}

/// Purges as the store does: in the record, and in the queue of the disk.
fn purge(tier: &DiskTier, area: Area, soft: bool) {
    let areas = [area];
    tier.state.purges.record(&areas, soft, |number| tier.purged(&areas, soft, number));
}

/// Returns what is left of a response that is read from disk now.
fn judged(tier: &DiskTier, target: &str) -> Option<PurgeVerdict> {
    let entry = find(tier, &key(target))?;
    let verdict = tier.state.purges.verdict(entry.stamp, &key(target), &entry.tags);
    let is_stale = !entry.is_fresh(Instant::now());
    Some(if is_stale { verdict.max(PurgeVerdict::Stale) } else { verdict })
}

#[test]
fn a_purge_covers_what_is_on_disk_at_once_and_after_a_kill_once_it_was_flushed() {
    for soft in [false, true] {
        let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
        let tier = start(&disk, &clock);
        for target in ["/a", "/b", "/c"] {
            tier.keep(&key(target), &entry(target));
        }
        wait_until_written(&tier);
        let covered = if soft { PurgeVerdict::Stale } else { PurgeVerdict::Gone };
        purge(&tier, resource("/a"), soft);
        let at_once = judged(&tier, "/a");
        assert!(at_once == Some(covered) || at_once.is_none() && !soft, "{at_once:?}");
        assert!(tier.flush_purges());
        let next = start(&disk.kill(), &clock);
        let left = if soft { Some(PurgeVerdict::Stale) } else { None };
        assert_eq!(judged(&next, "/a"), left, "soft: {soft}");
        assert_eq!(judged(&next, "/b"), Some(PurgeVerdict::Good));
        assert_eq!(judged(&next, "/c"), Some(PurgeVerdict::Good));
    }
}

#[test]
fn what_was_fetched_before_a_purge_is_not_written_after_it() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    let old = entry("old");
    purge(&tier, resource("/a"), false);
    assert!(tier.flush_purges());
    tier.keep(&key("/a"), &old);
    tier.keep(&key("/b"), &old);
    wait_until_written(&tier);
    assert!(find(&tier, &key("/a")).is_none());
    assert_eq!(judged(&tier, "/b"), Some(PurgeVerdict::Good));
    let new = Entry { stamp: tier.state.purges.stamp(), ..(*entry("new")).clone() };
    tier.keep(&key("/a"), &Arc::new(new));
    wait_until_written(&tier);
    assert_eq!(find(&tier, &key("/a")).unwrap().body, "new");
}

#[test]
fn purges_that_come_while_the_log_is_out_of_use_cover_what_it_held() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    tier.keep(&key("/a"), &entry("a"));
    tier.keep(&key("/b"), &entry("b"));
    drop(tier);
    let lock = disk.lock(&PathBuf::from("/cache/lock")).unwrap();
    let tier = start(&disk, &clock);
    eventually("the alarm", || tier.status().reason.is_some());
    purge(&tier, resource("/a"), false);
    assert!(!tier.flush_purges(), "nothing is durable while the log is out of use");
    drop(lock);
    eventually("the log", || tier.status().reason.is_none());
    assert!(tier.flush_purges());
    let next = start(&disk.kill(), &clock);
    assert!(find(&next, &key("/a")).is_none());
    assert_eq!(find(&next, &key("/b")).unwrap().body, "b");
}

#[test]
fn no_number_of_purges_of_other_things_takes_an_entry_from_disk() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    for number in 0..100 {
        tier.keep(&key(&format!("/kept/{number}")), &entry("kept"));
    }
    wait_until_written(&tier);
    for round in 0..130 {
        let areas: Vec<Area> =
            (0..1000).map(|number| resource(&format!("/quiet/{round}/{number}"))).collect();
        tier.state.purges.record(&areas, false, |number| tier.purged(&areas, false, number));
    }
    // Each try waits for some time only, and a busy machine may need more.
    assert!((0..60).any(|_| tier.flush_purges()));
    drop(tier);
    let tier = start(&disk, &clock);
    let left = (0..100).filter(|number| judged(&tier, &format!("/kept/{number}")).is_some());
    assert_eq!(left.count(), 100);
}
