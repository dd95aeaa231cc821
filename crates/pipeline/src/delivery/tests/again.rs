//! Claims about what is tried again, when, and what is durable before it.

use std::path::Path;
use std::time::Duration;

use stdx::{Disk, FaultyDisk};

use super::{Woken, unreachable};
use crate::delivery::*;

/// What a test has a sink do, and the calls that came.
#[derive(Default)]
struct Script {
    calls: Vec<&'static str>,
    /// Deliveries that fail yet.
    failures: usize,
    held: Vec<Checkpoint>,
}

struct HoldingSink(Arc<Mutex<Script>>);

impl Sink for HoldingSink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        self.0.lock().calls.push("prepare");
        Ok(())
    }

    fn claim(&mut self, _: &str, _: &str) -> Result<(), SinkError> {
        self.0.lock().calls.push("claim");
        Ok(())
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        self.0.lock().calls.push("checkpoints");
        Ok(self.0.lock().held.clone())
    }

    fn deliver(&mut self, _: &Batch) -> Result<(), SinkError> {
        let mut script = self.0.lock();
        script.calls.push("deliver");
        if script.failures == 0 {
            return Ok(());
        }
        script.failures -= 1;
        unreachable()
    }
}

fn checkpoint(node: &str, sequence: u64, position: &str) -> Checkpoint {
    let (node, source, position) = (node.to_owned(), "s".to_owned(), position.to_owned());
    Checkpoint { node, source, sequence, position }
}

/// A worker that no thread has yet.
fn worker(sink: impl Sink + 'static) -> DeliveryWorker {
    let nobody = WorkerThreads::start("nobody", 0).unwrap();
    let pipeline = nobody.add(|_| Woken(std::sync::mpsc::channel().0));
    DeliveryWorker {
        sink: Box::new(sink),
        tables: Vec::new(),
        status: Arc::default(),
        outage: SinkOutage::default(),
        attempt: None,
        to_wake: WakeGuard { mailbox: Arc::default(), pipeline },
    }
}

fn hand_over(worker: &DeliveryWorker, sequence: u64, to_sync: Vec<Arc<dyn DiskFile>>) {
    let checkpoint = checkpoint("n", sequence, &sequence.to_string());
    let batch = Batch { checkpoint, rows: Vec::new() };
    *worker.to_wake.mailbox.task.lock() = Some(DeliveryTask::Deliver(batch, to_sync));
}

/// What became of the batch, if that is known.
fn outcome(worker: &DeliveryWorker) -> Option<Result<u64, String>> {
    match worker.to_wake.mailbox.outcome.lock().take()? {
        DeliveryOutcome::Delivered(Ok(batch)) => Some(Ok(batch.checkpoint.sequence)),
        DeliveryOutcome::Delivered(Err(error)) => Some(Err(error.to_string())),
        DeliveryOutcome::Checkpoints(_) => panic!("nobody asked for them"),
    }
}

/// Tries a batch that fails once, where the sink holds `held` by then; returns what came of it and
/// how often it was delivered.
fn tried_again(sequence: u64, held: &[Checkpoint]) -> (Result<u64, String>, usize) {
    let script =
        Arc::new(Mutex::new(Script { failures: 1, held: held.to_vec(), ..Script::default() }));
    let mut worker = worker(HoldingSink(Arc::clone(&script)));
    hand_over(&worker, sequence, Vec::new());
    assert!(matches!(worker.step(), NextStep::At(_)));
    assert_eq!(outcome(&worker), None);
    worker.attempt.as_mut().unwrap().due = Instant::now();
    assert_eq!(worker.step(), NextStep::OnWake);
    let calls = std::mem::take(&mut script.lock().calls);
    assert_eq!(calls[1..4], ["prepare", "claim", "checkpoints"], "it is claimed again");
    let delivered = calls.iter().filter(|call| **call == "deliver").count();
    (outcome(&worker).unwrap(), delivered)
}

#[test]
fn a_batch_is_delivered_again_only_where_the_sink_has_the_checkpoint_before_it() {
    let of_another = checkpoint("m", 4, "4");
    for (sequence, held) in [
        (5, vec![of_another.clone(), checkpoint("n", 4, "4")]),
        (1, Vec::new()),
        (1, vec![of_another.clone()]),
    ] {
        assert_eq!(tried_again(sequence, &held), (Ok(sequence), 2), "{held:?}");
    }
    let committed = [of_another.clone(), checkpoint("n", 5, "5")];
    assert_eq!(tried_again(5, &committed), (Ok(5), 1), "it was committed all the same");
    for (sequence, held, stored) in [
        (5, vec![checkpoint("n", 3, "3")], 3),
        (5, vec![checkpoint("n", 6, "6")], 6),
        (5, vec![checkpoint("n", 5, "another")], 5),
        (5, vec![of_another], 0),
        (2, Vec::new(), 0),
    ] {
        let fence = SinkError::Fenced { source_name: "s".into(), stored, expected: sequence - 1 };
        assert_eq!(tried_again(sequence, &held), (Err(fence.to_string()), 1), "{held:?}");
    }
}

#[test]
fn a_batch_that_failed_is_left_alone_for_its_pause_and_nothing_else() {
    let script = Arc::new(Mutex::new(Script { failures: 2, ..Script::default() }));
    let mut worker = worker(HoldingSink(Arc::clone(&script)));
    hand_over(&worker, 1, Vec::new());
    let before = Instant::now();
    let NextStep::At(due) = worker.step() else { panic!("it failed") };
    assert!(due >= before + FIRST_PAUSE / 2, "pauses begin at 50 ms");
    let far = before + Duration::from_secs(86_400);
    worker.attempt.as_mut().unwrap().due = far;
    assert_eq!(worker.step(), NextStep::At(far), "a wake cuts no pause short");
    assert_eq!(script.lock().calls, ["deliver"]);
    worker.attempt.as_mut().unwrap().due = before;
    assert!(matches!(worker.step(), NextStep::At(_)));
    assert_eq!(script.lock().failures, 0);
    worker.to_wake.mailbox.gives_up.store(true, Ordering::Relaxed);
    assert_eq!(worker.step(), NextStep::Ended);
}

/// A sink that looks at the disk as it would be after a power cut.
struct LookingSink(FaultyDisk, Arc<Mutex<Vec<u64>>>);

impl Sink for LookingSink {
    fn prepare(&mut self, _: &[Arc<Table>]) -> Result<(), SinkError> {
        Ok(())
    }

    fn checkpoints(&mut self, _: &str) -> Result<Vec<Checkpoint>, SinkError> {
        Ok(Vec::new())
    }

    fn deliver(&mut self, _: &Batch) -> Result<(), SinkError> {
        let file = self.0.crash().open_read(Path::new("/d/log"));
        self.1.lock().push(file.unwrap().len().unwrap());
        Ok(())
    }
}

#[test]
fn what_a_batch_was_read_from_is_durable_before_the_sink_is_asked() {
    for seed in 0..20 {
        let (disk, lengths) = (FaultyDisk::new(seed), Arc::<Mutex<Vec<u64>>>::default());
        disk.create_dir_all(Path::new("/d")).unwrap();
        let file = disk.create(Path::new("/d/log")).unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        file.append(&[b'x'; 1000]).unwrap();
        let mut worker = worker(LookingSink(disk.clone(), Arc::clone(&lengths)));
        hand_over(&worker, 1, vec![file]);
        worker.step();
        assert_eq!(outcome(&worker), Some(Ok(1)));
        assert_eq!(*lengths.lock(), [1000], "{seed}");
    }
}
