//! Claims about when the syncer gets work, without a syncer.

use stdx::{Disk, FaultyDisk};

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// A segment from each of these offsets on.
fn files<const N: usize>(starts: [u64; N]) -> [(Arc<dyn DiskFile>, u64); N] {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all("/".as_ref()).unwrap();
    starts.map(|start| (disk.create(format!("/{start}").as_ref()).unwrap(), start))
}

/// Writes up to an offset; returns a ticket for the last line.
fn wrote(durable: &Durable, (file, start): &(Arc<dyn DiskFile>, u64), end: u64) -> crate::Ticket {
    let (promise, ticket) = Promise::with_ticket();
    durable.wrote(&Written { file, start: *start, end }, [(end, promise)].into_iter());
    ticket
}

#[test]
fn a_pause_lasts_as_long_as_it_is_to_or_until_the_close() {
    let durable = Durable::new(Sync::Always, 0);
    let (began, short) = (Instant::now(), Duration::from_millis(2));
    durable.pause(short);
    assert!(began.elapsed() >= short);
    durable.close();
    durable.pause(LONG);
    assert!(began.elapsed() < LONG);
}

#[test]
fn segments_are_synced_in_their_order_and_one_that_failed_never_again() {
    let durable = Durable::new(Sync::Interval(LONG), 0);
    let [one, two, three] = files([0, 50, 90]);
    // Nothing is due for long, so only leaving a segment makes it so.
    let tickets = [wrote(&durable, &one, 10), wrote(&durable, &one, 50)];
    durable.sealed();
    let first = durable.next_job().unwrap();
    assert_eq!((first.start, first.end, first.named), (0, 50, false));
    let behind = wrote(&durable, &two, 70);
    durable.succeeded(&first);
    assert_eq!(tickets.map(crate::Ticket::wait), [Ok(10), Ok(50)]);
    assert_eq!((durable.synced(), durable.take_given_up()), (50, false));
    durable.sealed();
    let second = durable.next_job().unwrap();
    durable.failed(&second);
    assert_eq!(behind.wait(), Err(Unrecorded::NotSynced));
    assert_eq!((durable.take_given_up(), durable.take_given_up()), (true, false));
    let last = wrote(&durable, &three, 100);
    durable.close();
    let third = durable.next_job().unwrap();
    assert_eq!((third.start, third.end), (90, 100));
    durable.succeeded(&third);
    assert_eq!((last.wait(), durable.synced()), (Ok(100), 100));
    assert!(durable.next_job().is_none() && durable.waiting().is_zero());
}

#[test]
fn lines_that_come_to_a_segment_after_its_sync_failed_are_not_promised() {
    let durable = Durable::new(Sync::Always, 0);
    let [one, two] = files([0, 50]);
    let before = wrote(&durable, &one, 10);
    let job = durable.next_job().unwrap();
    let meanwhile = wrote(&durable, &one, 20);
    durable.failed(&job);
    let after = wrote(&durable, &one, 50);
    durable.sealed();
    let kept = wrote(&durable, &two, 60);
    let job = durable.next_job().unwrap();
    assert_eq!((job.start, job.end, job.named), (50, 60, false));
    durable.succeeded(&job);
    let kept_too = wrote(&durable, &two, 65);
    let job = durable.next_job().unwrap();
    assert!(job.named, "its name is durable");
    durable.succeeded(&job);
    let lost = [before, meanwhile, after].map(crate::Ticket::wait);
    assert_eq!(lost, [Err(Unrecorded::NotSynced); 3]);
    assert_eq!([kept, kept_too].map(crate::Ticket::wait), [Ok(60), Ok(65)]);
}

#[test]
fn a_sync_is_due_an_interval_after_the_oldest_line_or_at_once_for_what_was_left_or_at_the_close() {
    let [one, two] = files([0, 50]);
    let rest = |durable: &Durable, sync| {
        let state = durable.state.lock();
        state.due(sync).map(|at| at.duration_since(state.waiting_since.unwrap()))
    };
    let both = |durable: &Durable| [Sync::Always, Sync::Interval(LONG)].map(|it| rest(durable, it));
    let durable = Durable::new(Sync::Interval(LONG), 0);
    assert_eq!(both(&durable), [None; 2]);
    let _ticket = wrote(&durable, &one, 10);
    assert_eq!(both(&durable), [Some(Duration::ZERO), Some(LONG)]);
    durable.sealed();
    let _other = wrote(&durable, &two, 60);
    assert_eq!(both(&durable), [Some(Duration::ZERO); 2]);
    let job = durable.next_job().unwrap();
    durable.succeeded(&job);
    assert_eq!(both(&durable), [Some(Duration::ZERO), Some(LONG)]);
    durable.close();
    assert_eq!(both(&durable), [Some(Duration::ZERO); 2]);
}
