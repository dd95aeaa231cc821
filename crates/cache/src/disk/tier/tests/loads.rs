//! Claims about what is worth keeping, slow reads, and the pace of writes.

use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use metrics::Registry;
use parking_lot::Mutex;
use stdx::{FaultyDisk, ManualClock};

use super::super::{DiskTier, READS_MAX, is_worth};
use super::{START, entry, eventually, find, start, wait_until_written};
use crate::disk::state::{DiskPlan, DiskTimes};
use crate::entry::Entry;
use crate::tests::poll;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn worth_writing_is_what_can_be_validated_or_is_of_use_for_ten_seconds_more() {
    let now = Instant::now();
    let plain = Entry { etag: None, born: now, fresh: secs(10), ..(*entry("x")).clone() };
    let stale = |entry: &Entry| Entry { fresh: secs(4), ..entry.clone() };
    assert!(is_worth(&plain, now));
    assert!(!is_worth(&plain, now + Duration::from_nanos(1)));
    assert!(!is_worth(&stale(&plain), now));
    let revalidated = Entry { while_revalidate: secs(6), ..stale(&plain) };
    assert!(is_worth(&revalidated, now) && !is_worth(&revalidated, now + secs(1)));
    let after_errors = Entry { if_error: secs(6), ..stale(&plain) };
    assert!(is_worth(&after_errors, now) && !is_worth(&after_errors, now + secs(1)));
    let both = Entry { while_revalidate: secs(3), if_error: secs(5), ..stale(&plain) };
    assert!(!is_worth(&both, now), "the longer counts, not the sum");
    let validators = [
        Entry { etag: Some(b"\"1\""[..].into()), ..stale(&plain) },
        Entry { last_modified: Some(b"now"[..].into()), ..stale(&plain) },
    ];
    for validator in validators {
        assert!(is_worth(&validator, now + secs(99)));
        assert!(!is_worth(&Entry { sets_cookie: true, ..validator }, now));
    }
    assert!(!is_worth(&Entry { sets_cookie: true, ..plain }, now));
}

#[test]
fn an_answer_comes_back_from_disk_as_old_as_it_is() {
    let (disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let tier = start(&disk, &clock);
    let now = Instant::now();
    let old = Entry { born: now.checked_sub(secs(100)).unwrap(), ..(*entry("x")).clone() };
    tier.keep(b"a", &Arc::new(old));
    wait_until_written(&tier);
    clock.advance(secs(50));
    let age = find(&tier, b"a").unwrap().age(Instant::now());
    assert!(age >= secs(150) && age < secs(150) + now.elapsed(), "{age:?}");
    assert!(format!("{tier:?}").contains("/cache"));
}

fn start_with(times: DiskTimes, disk: &FaultyDisk) -> DiskTier {
    let plan = DiskPlan { dir: "/cache".into(), bytes: 16_000_000, times };
    let (disk, clock) = (Arc::new(disk.clone()), Arc::new(ManualClock::at(START)));
    DiskTier::start(plan, disk, clock, Arc::default(), &Registry::default()).unwrap()
}

#[test]
fn after_a_read_that_was_too_slow_the_disk_has_its_rest() {
    let times = DiskTimes { read_timeout: Duration::from_millis(1), ..DiskTimes::for_tests() };
    let tier = start_with(times, &FaultyDisk::new(1));
    tier.keep(b"a", &entry("x"));
    wait_until_written(&tier);
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock();
    tier.hold_readers(&gate);
    assert!(find(&tier, b"a").is_none());
    assert_eq!((tier.state.metrics.slow.get(), tier.state.is_at_rest()), (1, true));
    drop(held);
    // It lasts for seconds, and such look-ups count, too.
    assert!(find(&tier, b"a").is_none());
    assert_eq!(tier.state.metrics.slow.get(), 2);
    let end = tier.state.rests_until.lock().unwrap();
    assert!(end > Instant::now() + secs(1) && end <= Instant::now() + secs(5));
}

#[test]
fn beyond_its_bound_of_waiting_reads_a_look_up_finds_nothing_at_once() {
    let tier = start_with(DiskTimes::for_tests(), &FaultyDisk::new(1));
    tier.keep(b"a", &entry("x"));
    wait_until_written(&tier);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock();
        tier.hold_readers(&gate);
        let mut reads: Vec<_> = (0..READS_MAX + 50).map(|_| Box::pin(tier.find(b"a"))).collect();
        let refused = reads.iter_mut().filter_map(|read| match poll(read) {
            Poll::Ready(found) => Some(found.is_none()),
            Poll::Pending => None,
        });
        // The two threads may not have come to the gate yet.
        let refused = refused.filter(|is_nothing| *is_nothing).count();
        assert!((50..=52).contains(&refused), "{refused}");
        assert_eq!(tier.state.metrics.slow.get(), refused as u64);
        assert!(!tier.state.is_at_rest(), "the disk itself is not slow");
        drop(held);
        assert!(reads.swap_remove(0).await.is_some());
    });
}

/// Waits until the writer has come around this many times.
fn turns(tier: &DiskTier, count: usize) {
    for _ in 0..count {
        tier.state.metrics.bytes.set(-1);
        eventually("the writer", || tier.state.metrics.bytes.get() >= 0);
    }
}

#[test]
fn an_idle_tier_leaves_the_disk_alone() {
    let disk = FaultyDisk::new(1);
    let times = DiskTimes { flush_interval: Duration::from_millis(1), ..DiskTimes::for_tests() };
    let tier = start_with(times, &disk);
    tier.keep(b"a", &entry("x"));
    wait_until_written(&tier);
    turns(&tier, 3);
    let before = disk.operations();
    turns(&tier, 5);
    assert_eq!(disk.operations(), before);
    assert_eq!(tier.state.metrics.entries.get(), 1);
}

#[test]
fn a_change_survives_a_power_cut_after_a_flush_though_nothing_else_comes() {
    let (mut disk, clock) = (FaultyDisk::new(1), ManualClock::at(START));
    let changes: [fn(&DiskTier); 2] =
        [|tier| tier.keep(b"a", &entry("x")), |tier| tier.forget(b"a")];
    for (change, is_there) in changes.into_iter().zip([true, false]) {
        let tier = start(&disk, &clock);
        change(&tier);
        wait_until_written(&tier);
        turns(&tier, 3);
        disk = disk.crash();
        drop(tier);
        assert_eq!(find(&start(&disk, &clock), b"a").is_some(), is_there);
        disk = disk.kill();
    }
}

#[test]
fn changes_wait_for_their_flush_or_for_enough_of_them_and_the_end_writes_the_rest() {
    let disk = FaultyDisk::new(1);
    let flush_interval = testkit::FIXTURE_TIMEOUT;
    let times =
        DiskTimes { flush_interval, close_timeout: flush_interval, ..DiskTimes::for_tests() };
    let tier = start_with(times, &disk);
    tier.keep(b"a", &entry("a"));
    for _ in 0..20 {
        assert_eq!(tier.status().waiting, 1);
        std::thread::yield_now();
    }
    tier.keep(b"b", &entry(&"b".repeat(1 << 20)));
    wait_until_written(&tier);
    tier.keep(b"c", &entry("c"));
    assert_eq!(tier.status().waiting, 1);
    drop(tier);
    let tier = start(&disk, &ManualClock::at(START));
    assert!([b"a", b"b", b"c"].iter().all(|key| find(&tier, *key).is_some()));
}
