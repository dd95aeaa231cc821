//! Claims about the calls of sinks on shared threads.

mod again;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// A sink whose deliveries do what a closure says; it says when it is dropped.
struct ScriptedSink<F> {
    deliver: F,
    is_dropped: Arc<AtomicBool>,
}

impl<F: FnMut() -> Result<(), SinkError> + Send> Sink for ScriptedSink<F> {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        Ok(())
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        Ok(Vec::new())
    }

    fn deliver(&mut self, _: &Batch) -> Result<(), SinkError> {
        (self.deliver)()
    }
}

impl<F> Drop for ScriptedSink<F> {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::SeqCst);
    }
}

/// What a pipeline is to its sink: it is woken.
struct Woken(Sender<()>);

impl Task for Woken {
    fn step(&mut self) -> NextStep {
        let _ = self.0.send(());
        NextStep::OnWake
    }
}

/// One pipeline's side.
struct Side {
    delivery: Delivery,
    wakes: Receiver<()>,
    status: Arc<Status>,
    is_dropped: Arc<AtomicBool>,
    _line: WorkerThreads,
}

impl Side {
    fn new(
        threads: &SinkThreads,
        deliver: impl FnMut() -> Result<(), SinkError> + Send + 'static,
    ) -> Self {
        let line = WorkerThreads::start("line", 1).unwrap();
        let (sender, wakes) = channel();
        let waker = line.add(|_| Woken(sender));
        let (status, is_dropped) = (Arc::<Status>::default(), Arc::<AtomicBool>::default());
        let sink = Box::new(ScriptedSink { deliver, is_dropped: Arc::clone(&is_dropped) });
        let delivery = Delivery::start(threads, sink, Vec::new(), Arc::clone(&status), waker);
        Self { delivery, wakes, status, is_dropped, _line: line }
    }

    fn hand_over(&mut self, sequence: u64) {
        let (node, source) = ("n".to_owned(), "s".to_owned());
        let checkpoint = Checkpoint { node, source, sequence, position: sequence.to_string() };
        let batch = Batch { checkpoint, rows: Vec::new() };
        self.delivery.hand_over(DeliveryTask::Deliver(batch, Vec::new()));
    }

    /// The outcome, when it comes.
    fn outcome(&mut self) -> Result<DeliveryOutcome, SinkError> {
        loop {
            if let Some(outcome) = self.delivery.poll()? {
                return Ok(outcome);
            }
            self.wakes.recv().unwrap();
        }
    }

    fn is_delivered(&mut self) -> bool {
        matches!(self.outcome(), Ok(DeliveryOutcome::Delivered(Ok(_))))
    }

    fn until_closed(&self) {
        while !self.delivery.is_closed() {
            self.wakes.recv().unwrap();
        }
    }

    fn until_error(&self) -> String {
        loop {
            if let Some(error) = self.status.last_error.lock().clone() {
                return error;
            }
            self.wakes.recv().unwrap();
        }
    }
}

fn unreachable() -> Result<(), SinkError> {
    let (place, reason) = ("place".to_owned(), "it is down".to_owned());
    Err(SinkError::Unreachable { engine: "test", place, reason })
}

#[test]
fn a_batch_that_fails_for_ever_holds_no_thread() {
    let threads = SinkThreads::start(1).unwrap();
    let mut failing = Side::new(&threads, unreachable);
    failing.hand_over(1);
    assert!(failing.until_error().contains("it is down"));
    let mut well = Side::new(&threads, || Ok(()));
    for sequence in 1..20 {
        well.hand_over(sequence);
        assert!(well.is_delivered());
    }
    assert!(failing.delivery.is_busy());
    assert!(failing.delivery.poll().unwrap().is_none());
}

#[test]
fn a_batch_is_tried_until_the_sink_has_it() {
    let threads = SinkThreads::start(1).unwrap();
    let mut failures = 2;
    let mut side = Side::new(&threads, move || {
        if failures == 0 {
            return Ok(());
        }
        failures -= 1;
        unreachable()
    });
    side.hand_over(1);
    assert!(side.is_delivered());
    assert_eq!(*side.status.last_error.lock(), None);
}

#[test]
fn a_sink_that_hangs_delays_no_other_sink() {
    let (hanging, well) = (SinkThreads::start(1).unwrap(), SinkThreads::start(1).unwrap());
    let (begun, begins) = channel();
    let (open, gate) = channel::<()>();
    let mut stuck = Side::new(&hanging, move || {
        begun.send(()).unwrap();
        let _ = gate.recv();
        Ok(())
    });
    stuck.hand_over(1);
    begins.recv().unwrap();
    let mut other = Side::new(&well, || Ok(()));
    for sequence in 1..20 {
        other.hand_over(sequence);
        assert!(other.is_delivered());
    }
    assert!(stuck.delivery.poll().unwrap().is_none());
    drop(open);
    assert!(stuck.is_delivered());
}

#[test]
fn a_sink_is_gone_when_its_delivery_is_closed_and_a_pause_is_cut_short() {
    let threads = SinkThreads::start(1).unwrap();
    let mut side = Side::new(&threads, unreachable);
    side.hand_over(1);
    side.until_error();
    assert!(!side.is_dropped.load(Ordering::SeqCst));
    side.delivery.close();
    side.until_closed();
    assert!(side.is_dropped.load(Ordering::SeqCst));
}

#[test]
fn a_sink_that_is_closed_in_a_call_is_gone_after_that_call() {
    let threads = SinkThreads::start(1).unwrap();
    let (begun, begins) = channel();
    let (open, gate) = channel::<()>();
    let mut side = Side::new(&threads, move || {
        begun.send(()).unwrap();
        let _ = gate.recv();
        Ok(())
    });
    side.hand_over(1);
    begins.recv().unwrap();
    side.delivery.close();
    assert!(!side.delivery.is_closed());
    drop(open);
    side.until_closed();
    assert!(side.is_dropped.load(Ordering::SeqCst));
}

#[test]
fn a_panic_of_a_sink_is_an_error_of_its_pipeline_alone() {
    let threads = SinkThreads::start(1).unwrap();
    let mut broken = Side::new(&threads, || panic!("a sink that is to panic"));
    broken.hand_over(1);
    let error = broken.outcome().err().unwrap();
    assert!(error.to_string().contains("panic"), "{error}");
    assert!(broken.is_dropped.load(Ordering::SeqCst));
    let mut well = Side::new(&threads, || Ok(()));
    well.hand_over(1);
    assert!(well.is_delivered());
}

#[test]
fn what_waits_behind_a_sink_that_cannot_be_reached_knows_the_reason_until_it_can() {
    let threads = SinkThreads::start(1).unwrap();
    let (begun, begins) = channel();
    let (open, gate) = channel::<()>();
    let mut tries = 0;
    let mut first = Side::new(&threads, move || {
        tries += 1;
        if tries == 1 {
            return unreachable();
        }
        begun.send(()).unwrap();
        gate.recv().unwrap();
        Ok(())
    });
    first.hand_over(1);
    first.until_error();
    begins.recv().unwrap();
    let mut second = Side::new(&threads, || Ok(()));
    second.hand_over(1);
    assert!(second.delivery.outage().unwrap().contains("it is down"));
    assert_eq!(first.delivery.outage(), None, "it is being tried");
    open.send(()).unwrap();
    assert!(first.is_delivered());
    assert!(second.is_delivered());
    assert_eq!(*threads.outage.0.lock(), None);
}
