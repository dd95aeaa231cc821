//! When lines become durable under `Sync::Interval`.

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn hourly(disk: &FaultyDisk) -> Journal {
    let options = Options {
        sync: Sync::Interval(HOUR),
        segment_age_max: Duration::MAX,
        segment_bytes_max: 50,
        ..options(disk)
    };
    Journal::open(options, shared(disk)).unwrap()
}

#[test]
fn lines_are_written_at_once_and_become_durable_after_the_interval_or_at_the_close() {
    let disk = FaultyDisk::new(1);
    let journal = hourly(&disk);
    let lane = journal.lane();
    for n in 1..=10 {
        put(&lane, "line");
        until(&journal, "the line is written", |stats| stats.offset == 5 * n);
    }
    until(&journal, "it has waited", |stats| !stats.unsynced_age.is_zero());
    assert_eq!(journal.stats().synced, 0);
    drop(journal);
    let disk = disk.crash();
    assert_eq!(read_all(&dir(), shared(&disk)), ["line"; 10]);
}

#[test]
fn a_segment_that_is_left_becomes_durable_at_once() {
    let disk = FaultyDisk::new(1);
    let journal = hourly(&disk);
    let lane = journal.lane();
    put(&lane, &"a".repeat(39));
    until(&journal, "the first segment is written", |stats| stats.offset == 40);
    put(&lane, &"b".repeat(39));
    until(&journal, "the first segment is durable", |stats| stats.synced == 40);
    until(&journal, "the second one is written", |stats| stats.offset == 80);
    assert_eq!(journal.stats().synced, 40);
}
