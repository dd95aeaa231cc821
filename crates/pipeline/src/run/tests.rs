//! Claims about one run: what it reads, when it delivers, and what an operator is shown.

mod world;

use self::world::{A_DAY, Made, WAIT, lines, lines_at};
use super::*;
use crate::chunk::LogChunk;
use crate::error::SinkError;

/// Bytes of a line.
const LINE: u64 = 68;

fn checkpoint(node: &str, sequence: u64) -> Checkpoint {
    let (node, source) = (node.to_owned(), "s".to_owned());
    Checkpoint { source, sequence, position: format!("{node} at {sequence}"), node }
}

#[test]
fn it_goes_on_behind_its_checkpoint_and_the_source_learns_of_those_of_other_nodes() {
    let made = Made::of(vec![lines(1), lines(2)]);
    *made.outside.held.lock() = vec![checkpoint("m", 3), checkpoint("n", 7)];
    let mut world = Made { until_caught_up: true, ..made }.begin();
    world.until_ended();
    assert_eq!(*world.outside.resumed.lock(), [Some("n at 7".to_owned())]);
    let others = [vec![("m".to_owned(), "m at 3".to_owned())]];
    assert_eq!(*world.outside.others.lock(), others);
    assert_eq!(*world.outside.delivered.lock(), [(8, "after 2".to_owned(), 2)]);
    assert_eq!(*world.outside.committed.lock(), ["after 2"]);
    assert_eq!(world.outside.asked.load(Ordering::Relaxed), 1, "nothing was unfamiliar");
    let notes = Binlog::new(&world.folder.path().join("binlog")).last();
    assert_eq!((notes[0].sequence, notes[0].rows, notes[0].position.as_str()), (8, 1, "after 2"));
}

#[test]
fn behind_is_what_is_unread_in_the_window_and_in_the_batch_since_its_first_line() {
    let mut world = Made::of(vec![lines(2), lines(4), lines(7), lines(9)]).begin();
    assert_eq!(world.behind(), None, "the sink has not said what it has");
    world.until_reading();
    assert_eq!(world.behind(), Some(0));
    world.outside.unread.store(1_000, Ordering::Relaxed);
    (0..2).for_each(|_| assert_ne!(world.step(), NextStep::Ended));
    world.outside.shut();
    world.run.next_flush = Instant::now();
    world.step();
    assert_eq!((world.behind(), world.seconds_behind()), (Some(1_000 + 3 * LINE), 8.0));
    assert!(world.run.delivery.is_busy() && world.run.next_flush > Instant::now() + A_DAY / 2);
    (0..2).for_each(|_| assert_ne!(world.step(), NextStep::Ended));
    let read = (world.behind(), world.seconds_behind());
    assert_eq!(read, (Some(4 * LINE), 8.0), "reading goes on while a batch is on its way");
    world.outside.open();
    world.until(|world| !world.run.delivery.is_busy());
    world.step();
    assert_eq!((world.behind(), world.seconds_behind()), (Some(LINE), 1.0));
    assert_eq!(*world.outside.delivered.lock(), [(1, "after 3".to_owned(), 3)]);
}

#[test]
fn a_full_window_is_delivered_at_once_and_nothing_is_read_until_there_is_room() {
    // Up to so many wait for their rows, and are not in the window yet.
    let many = || lines_at(1, 64);
    let made = Made::of(vec![many(), many(), many()]);
    let mut world = Made { window_bytes_max: 1, ..made }.begin();
    world.until_reading();
    world.outside.shut();
    world.step();
    assert!(world.run.delivery.is_busy());
    world.step();
    let (before, waits) = (Instant::now(), world.step());
    let NextStep::At(due) = waits else { panic!("{waits:?}") };
    assert!(due >= before + OUTAGE_POLL);
    assert_eq!(world.status.report(0).lines, 128, "the window is full, and a batch on its way");
    world.outside.open();
    world.until(|world| world.outside.delivered.lock().len() == 2);
    let delivered = world.outside.delivered.lock();
    let lines: Vec<_> = delivered.iter().map(|(sequence, _, lines)| (*sequence, *lines)).collect();
    assert_eq!(lines, [(1, 64), (2, 128)]);
}

#[test]
fn a_source_that_is_caught_up_is_left_alone_ever_longer_and_never_beyond_a_flush() {
    let mut world = Made::of(vec![lines(1)]).begin();
    world.until_reading();
    assert_eq!(world.step(), NextStep::Ready, "there may be more");
    let pause = |world: &mut world::World| {
        let (before, next) = (Instant::now(), world.step());
        let NextStep::At(due) = next else { panic!("{next:?}") };
        due.saturating_duration_since(before).as_millis()
    };
    let pauses: Vec<_> = (0..5).map(|_| pause(&mut world)).collect();
    let longest = [50, 100, 200, 400, 400];
    assert!(pauses.iter().zip(longest).all(|(pause, least)| *pause >= least), "{pauses:?}");
    assert_eq!(world.run.poll, LONGEST_POLL);
    let soon = Instant::now() + Duration::from_millis(1);
    world.run.next_flush = soon + A_DAY / 2;
    world.run.ask_others = Some(world.run.next_flush - A_DAY / 4);
    world.run.poll = A_DAY;
    let rests = world.run.rest();
    assert_eq!(rests, NextStep::At(soon + A_DAY / 4), "it asks others again then");
    world.run.ask_others = None;
    world.run.poll = A_DAY;
    assert_eq!(world.run.rest(), NextStep::At(soon + A_DAY / 2));
}

#[test]
fn a_file_that_another_node_may_have_read_waits_for_its_position_however_long_that_takes() {
    let made = Made::of(vec![ReadOutcome::Unfamiliar, WAIT, lines(1)]);
    made.outside.held.lock().push(checkpoint("n", 2));
    let mut world = Made { until_caught_up: true, ..made }.begin();
    world.until_reading();
    world.outside.is_down.store(true, Ordering::Relaxed);
    world.outside.held.lock().push(checkpoint("m", 3));
    world.outside.unread.store(500, Ordering::Relaxed);
    let before = Instant::now();
    world.until(|world| world.status.last_error.lock().is_some());
    assert!(world.run.ask_others.unwrap() >= before + ASK_AGAIN, "it is asked again later");
    assert!(!world.run.delivery.is_busy());
    world.step();
    assert_eq!(world.behind(), Some(500), "what waits is behind");
    world.outside.is_down.store(false, Ordering::Relaxed);
    world.run.ask_others = Some(before);
    world.until_ended();
    let of_another = vec![("m".to_owned(), "m at 3".to_owned())];
    assert_eq!(*world.outside.others.lock(), [Vec::new(), of_another]);
    assert_eq!(*world.outside.delivered.lock(), [(3, "after 3".to_owned(), 1)]);
    assert_eq!(*world.status.last_error.lock(), None);
}

#[test]
fn what_is_lost_is_noted_with_the_bytes_that_are_known_to_be_lost() {
    let file = "a.log";
    let displaced = journal::Displaced {
        read_to: 10,
        goes_on: 40,
        lost_to: Some(30),
        change: journal::Change::Replaced,
    };
    let mut world = Made::of(vec![
        ReadOutcome::Lost { file, from: 5, to: 12 },
        ReadOutcome::Receded { file, from: 20, to: 30 },
        ReadOutcome::Changed { file, from: 40, to: 50 },
        ReadOutcome::Displaced { file, displaced },
        ReadOutcome::Unreadable { file, reason: "denied" },
    ])
    .begin();
    world.until_reading();
    (0..5).for_each(|_| assert_eq!(world.step(), NextStep::Ready));
    let lost = world.lost();
    let words = ["from 5 to 12 were lost", "from 30 to 20 bytes", "from 40 on", "read to 10"];
    assert_eq!(lost.iter().map(|loss| loss.1).collect::<Vec<_>>(), [Some(7), None, None, Some(20)]);
    assert!(lost.iter().zip(words).all(|(loss, words)| loss.0.contains(words)), "{lost:?}");
    let report = world.status.report(0).lost;
    assert_eq!((report.lost_bytes, report.losses, report.unmeasured_losses), (27, 4, 2));
}

#[test]
fn a_checkpoint_that_went_back_is_a_loss_and_any_other_is_none() {
    for (committed, held, is_loss) in [(9, 7, true), (7, 7, false), (5, 7, false), (1, 0, true)] {
        let made = Made { committed, ..Made::of(Vec::new()) };
        let checkpoints = (held > 0).then(|| checkpoint("n", held));
        made.outside.held.lock().extend(checkpoints);
        let mut world = made.begin();
        world.until_reading();
        let lost = world.lost();
        assert_eq!(lost.len(), usize::from(is_loss), "{committed} {held}");
        let words = format!("went back from batch {committed} to {held}");
        assert!(lost.iter().all(|loss| loss.0.contains(&words) && loss.1 == Some(0)), "{lost:?}");
        assert_eq!(world.status.committed.lock().sequence, held);
    }
}

#[test]
fn lines_that_are_none_are_counted_with_all_of_their_bytes() {
    let torn = LogChunk { file: "a.log", bytes: b"torn", start: 0 };
    let beginning = LogChunk { file: "a.log", bytes: b"long", start: 4 };
    let outcomes =
        vec![ReadOutcome::Torn(torn), ReadOutcome::Oversized { beginning, length: 1 << 20 }];
    let mut world = Made { until_caught_up: true, ..Made::of(outcomes) }.begin();
    world.until_ended();
    let report = world.status.report(0);
    assert_eq!((report.lines, report.bytes, report.quarantined), (2, 4 + (1 << 20), 2));
    assert_eq!(*world.outside.delivered.lock(), [(1, "after 2".to_owned(), 0)]);
    let kept = std::fs::read_to_string(world.folder.path().join("quarantine")).unwrap();
    assert!(kept.contains("has 1048576 bytes") && kept.lines().count() == 2, "{kept}");
}

#[test]
fn a_stop_has_what_was_read_delivered_unless_the_sink_is_down() {
    let mut world = Made::of(vec![lines(1), lines(2)]).begin();
    world.until_reading();
    world.step();
    assert_eq!(*world.outside.delivered.lock(), [], "it is not due yet");
    world.stop.request();
    world.until_ended();
    assert_eq!(*world.outside.delivered.lock(), [(1, "after 2".to_owned(), 2)]);
    for (is_down, is_stopped) in [(true, false), (false, true), (true, true)] {
        let made = Made::of(Vec::new());
        made.outside.shut();
        let mut world = made.begin();
        *world.status.last_error.lock() = is_down.then(|| "it is down".to_owned());
        if is_stopped {
            world.stop.request();
        }
        assert_eq!(world.step() == NextStep::Ended, is_down && is_stopped);
        world.outside.open();
    }
}

#[test]
fn an_outage_that_others_met_is_shown_while_it_waits_and_no_longer() {
    let made = Made::of(Vec::new());
    made.outside.shut();
    let mut world = made.begin();
    let shown = Some("it is down".to_owned());
    for (last_error, left) in [
        (shown.clone(), None),
        (Some("another".to_owned()), Some("another".to_owned())),
        (None, None),
    ] {
        world.run.shown_outage.clone_from(&shown);
        *world.status.last_error.lock() = last_error;
        world.step();
        assert_eq!(*world.status.last_error.lock(), left);
        assert_eq!(world.run.shown_outage, None);
    }
    *world.status.last_error.lock() = shown.clone();
    world.step();
    assert_eq!(*world.status.last_error.lock(), shown, "this one met it itself");
    world.outside.open();
}

/// A sink that fails at first, and hangs when it is tried again.
struct FailingSink {
    is_first: bool,
    begun: std::sync::mpsc::Sender<()>,
    gate: std::sync::mpsc::Receiver<()>,
}

impl Sink for FailingSink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        self.begun.send(()).unwrap();
        let _ = self.gate.recv();
        Ok(())
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        Ok(Vec::new())
    }

    fn deliver(&mut self, _: &Batch) -> Result<(), SinkError> {
        if !std::mem::take(&mut self.is_first) {
            return Ok(());
        }
        let (engine, place, reason) = ("test", "place".to_owned(), "it is down".to_owned());
        Err(SinkError::Unreachable { engine, place, reason })
    }
}

#[test]
fn a_run_that_waits_behind_others_says_why_they_wait() {
    let mut world = Made::of(vec![lines(1)]).begin();
    world.until_reading();
    let (begun, begins) = std::sync::mpsc::channel();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let sink = Box::new(FailingSink { is_first: true, begun, gate });
    let status = Arc::<Status>::default();
    let mut other = Delivery::start(&world.sinks, sink, Vec::new(), status, world.waker.clone());
    let batch = Batch { checkpoint: checkpoint("n", 1), rows: Vec::new() };
    other.hand_over(DeliveryTask::Deliver(batch, Vec::new()));
    begins.recv().unwrap();
    world.step();
    world.run.next_flush = Instant::now();
    (0..2).for_each(|_| assert_ne!(world.step(), NextStep::Ended));
    let shown = world.status.last_error.lock().clone();
    assert!(shown.is_some_and(|shown| shown.contains("it is down")));
    drop(open);
    world.until(|world| !world.run.delivery.is_busy());
    assert_eq!(world.outside.delivered.lock().len(), 1);
    assert_eq!(*world.status.last_error.lock(), None);
}
