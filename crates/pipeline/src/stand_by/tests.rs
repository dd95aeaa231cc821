//! Claims about a pipeline that leaves its source to another process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::batch::{Batch, Checkpoint, Table};
use crate::delivery::SinkThreads;
use crate::error::SinkError;
use crate::sink::Sink;
use crate::worker_threads::{Task, WorkerThreads};

/// Longer than any test.
const A_DAY: Duration = Duration::from_secs(86_400);

/// A sink that holds the checkpoint of batch 5.
struct StillSink;

impl Sink for StillSink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        panic!("whoever stands by makes no table")
    }

    fn claim(&mut self, _: &str, _: &str) -> Result<(), SinkError> {
        panic!("whoever stands by claims nothing")
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        Ok(vec![checkpoint("n", 5)])
    }

    fn deliver(&mut self, _: &Batch) -> Result<(), SinkError> {
        panic!("whoever stands by delivers nothing")
    }
}

struct Woken(Sender<()>);

impl Task for Woken {
    fn step(&mut self) -> NextStep {
        let _ = self.0.send(());
        NextStep::OnWake
    }
}

fn checkpoint(node: &str, sequence: u64) -> Checkpoint {
    let (node, source, position) = (node.to_owned(), "s".to_owned(), String::new());
    Checkpoint { node, source, sequence, position }
}

/// One that stands by, its threads, and what wakes it.
struct Watch {
    stand_by: StandBy,
    wakes: Receiver<()>,
    _threads: (WorkerThreads, SinkThreads),
}

fn watch(flush: Duration) -> Watch {
    let (line, sinks) = (WorkerThreads::start("line", 1).unwrap(), SinkThreads::start(1).unwrap());
    let (sender, wakes) = channel();
    let waker = line.add(|_| Woken(sender));
    let delivery = Delivery::start(&sinks, Box::new(StillSink), Vec::new(), Arc::default(), waker);
    let stand_by = StandBy::new(delivery, "n".to_owned(), "s".to_owned(), flush);
    Watch { stand_by, wakes, _threads: (line, sinks) }
}

#[test]
fn the_time_begins_anew_whenever_the_checkpoint_has_moved_or_is_not_known() {
    let mut watch = watch(Duration::ZERO).stand_by;
    let begun = watch.since;
    let held = |checkpoints: &[Checkpoint]| DeliveryOutcome::Checkpoints(Ok(checkpoints.to_vec()));
    let down = || {
        let (engine, place, reason) = ("test", String::new(), String::new());
        DeliveryOutcome::Checkpoints(Err(SinkError::Unreachable { engine, place, reason }))
    };
    let of_another = checkpoint("m", 9);
    for (second, outcome, since) in [
        (1, held(&[of_another.clone(), checkpoint("n", 5)]), 1),
        (2, held(&[checkpoint("n", 5)]), 1),
        (3, held(&[checkpoint("n", 5), checkpoint("m", 10)]), 1),
        (4, held(&[checkpoint("n", 6)]), 4),
        (5, held(std::slice::from_ref(&of_another)), 5),
        (6, held(&[]), 5),
        (7, down(), 7),
        (8, held(&[of_another]), 7),
    ] {
        watch.note(outcome, begun + Duration::from_secs(second));
        assert_eq!(watch.since, begun + Duration::from_secs(since), "at {second}");
    }
}

#[test]
fn it_looks_now_and_then_and_ends_when_the_checkpoint_stood_still_or_a_stop_is_requested() {
    let (mut one, stop) = (watch(Duration::ZERO), StopSignal::default());
    let before = Instant::now();
    assert_eq!(one.stand_by.step(&stop), NextStep::OnWake, "it looks at once");
    let next = loop {
        one.wakes.recv().unwrap();
        match one.stand_by.step(&stop) {
            NextStep::OnWake => {}
            next => break next,
        }
    };
    let NextStep::At(next_look) = next else { panic!("{next:?}") };
    assert!(next_look >= before + LOOK_INTERVAL);
    one.stand_by.next_look = before + A_DAY;
    assert_eq!(one.stand_by.step(&stop), NextStep::At(before + A_DAY), "it was not idle for long");
    one.stand_by.next_look = before;
    assert_eq!(one.stand_by.step(&stop), NextStep::OnWake);
    stop.request();
    assert_eq!(one.stand_by.step(&stop), NextStep::Ended);
    let mut quiet = watch(Duration::ZERO);
    quiet.stand_by.quiet = Duration::ZERO;
    assert_eq!(quiet.stand_by.step(&StopSignal::default()), NextStep::Ended);
}

#[test]
fn another_process_has_three_seconds_or_three_flushes() {
    assert_eq!(watch(Duration::from_millis(10)).stand_by.quiet, Duration::from_secs(3));
    assert_eq!(watch(Duration::from_secs(20)).stand_by.quiet, Duration::from_secs(60));
}
