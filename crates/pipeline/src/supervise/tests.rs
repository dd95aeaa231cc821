//! Claims about pipelines that share threads and memory.

mod world;

use super::*;
use world::{CHUNK_LINES, Call, Fault, Log, World, until_all_ended};

/// The budget of most tests: never full.
const PLENTY: usize = 1 << 30;

type Logs = Vec<(String, Arc<Log>)>;

/// Runs a pipeline for each log.
fn run(world: &World, logs: &Logs) -> (Vec<PipelineHandle>, Vec<Arc<Status>>) {
    let setups = logs.iter().map(|(name, log)| world.setup(name, log));
    let (setups, statuses) = setups.unzip::<_, _, Vec<_>, Vec<_>>();
    (supervise(setups).unwrap(), statuses)
}

fn logs(count: usize, lines: u64) -> Logs {
    (0..count).map(|at| (format!("log{at}"), Log::new(lines, []))).collect()
}

fn restarts(status: &Status) -> u64 {
    status.restarts.load(Ordering::Relaxed)
}

#[test]
fn two_hundred_pipelines_deliver_each_line_once_with_a_thread_a_core() {
    let (world, logs) = (World::new(PLENTY, 200), logs(200, 5 * CHUNK_LINES + 3));
    let (handles, _) = run(&world, &logs);
    until_all_ended(&handles);
    assert!(world.has_each_line_once(&logs));
    let cores = std::thread::available_parallelism().unwrap().get();
    assert!(world.engine.readers.lock().len() <= cores);
    assert!(world.engine.deliverers.lock().len() <= cores);
}

#[test]
fn a_source_that_panics_or_fails_starts_again_alone() {
    for fault in [Fault::Panic, Fault::Fail] {
        let world = World::new(PLENTY, 3);
        let mut logs = logs(3, 10 * CHUNK_LINES);
        let faults = [0, 3 * CHUNK_LINES, 3 * CHUNK_LINES + 7].map(|at| (at, fault));
        logs[1].1 = Log::new(10 * CHUNK_LINES, faults);
        let (handles, statuses) = run(&world, &logs);
        until_all_ended(&handles);
        assert!(world.has_each_line_once(&logs));
        let restarts: Vec<u64> = statuses.iter().map(|status| restarts(status)).collect();
        assert_eq!(restarts, [0, 3, 0], "{fault:?}");
    }
}

#[test]
fn what_was_read_before_a_source_failed_is_delivered_first() {
    let world = World::new(PLENTY, 1);
    let log = Log::new(100, [(33, Fault::Fail)]);
    let logs = vec![("log".to_owned(), Arc::clone(&log))];
    let (handles, _) = run(&world, &logs);
    until_all_ended(&handles);
    assert_eq!(*log.resumed.lock(), [None, Some("33".to_owned())]);
    assert!(world.has_each_line_once(&logs));
}

/// Waits until no pipeline reads any more; returns the lines that were read.
fn until_reading_rests(statuses: &[Arc<Status>]) -> u64 {
    let lines = || statuses.iter().map(|one| one.lines.load(Ordering::Relaxed)).sum::<u64>();
    let (mut before, mut looks) = (0, 0);
    while before == 0 || looks < 1000 {
        std::thread::yield_now();
        let now = lines();
        looks = if now == before { looks + 1 } else { 0 };
        before = now;
    }
    before
}

#[test]
fn windows_of_all_pipelines_keep_to_one_budget_while_their_sink_hangs() {
    const MAX: usize = 100_000;
    const COUNT: usize = 10;
    const LINES: u64 = 2_000;
    // Bytes of the rows of a chunk, all of them new.
    const CHUNK_BYTES: usize = CHUNK_LINES as usize * 100;
    let (world, logs) = (World::new(MAX, COUNT), logs(COUNT, LINES));
    world.engine.shut(Call::Deliver);
    let (handles, statuses) = run(&world, &logs);
    // On a busy machine reading may rest long before.
    while world.budget.used() <= MAX {
        std::thread::yield_now();
    }
    let read = until_reading_rests(&statuses);
    assert!(read < LINES * COUNT as u64, "reading waits");
    world.engine.open();
    until_all_ended(&handles);
    let most = *world.engine.most_used.lock();
    assert!(most <= 3 * MAX + (COUNT + 1) * 2 * CHUNK_BYTES, "{most}");
    assert!(world.has_each_line_once(&logs));
    assert_eq!(world.budget.used(), 0);
}

#[test]
fn a_stop_before_the_sink_has_answered_still_has_what_is_there_delivered() {
    let (world, logs) = (World::new(PLENTY, 3), logs(3, CHUNK_LINES));
    world.engine.shut(Call::Prepare);
    let (handles, _) = run(&world, &logs);
    handles.iter().for_each(|handle| handle.stop().request());
    world.engine.open();
    until_all_ended(&handles);
    assert!(world.has_each_line_once(&logs));
}

#[test]
fn a_stop_ends_a_pipeline_that_pauses() {
    let world = World::new(PLENTY, 1);
    let faults: Vec<_> = (0..10_000).map(|_| (0, Fault::Fail)).collect();
    let failing = vec![("failing".to_owned(), Log::new(10, faults))];
    let (handles, statuses) = run(&world, &failing);
    while restarts(&statuses[0]) < 2 {
        std::thread::yield_now();
    }
    handles[0].stop().request();
    until_all_ended(&handles);
}

/// Does something with a pipeline that no thread has.
fn with_pipeline(test: impl FnOnce(&mut SupervisedPipeline)) {
    let (world, logs) = (World::new(PLENTY, 1), logs(1, 1));
    let nobody = WorkerThreads::start("nobody", 0).unwrap();
    nobody.add(|waker| {
        let mut pipeline = SupervisedPipeline {
            setup: world.setup(&logs[0].0, &logs[0].1).0,
            stop: StopSignal::default(),
            threads: Arc::new(SinkThreads::start(0).unwrap()),
            waker,
            backoff: Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, 1),
            started: Instant::now(),
            state: PipelineState::Pausing(Instant::now()),
            end: EndGuard(Arc::default()),
        };
        test(&mut pipeline);
        pipeline
    });
}

#[test]
fn pauses_grow_and_begin_anew_after_a_run_that_was_well() {
    with_pipeline(|pipeline| {
        let mut pauses = Vec::new();
        for ran in [0, 0, 0, 0, 0, 31, 31] {
            pipeline.started = Instant::now().checked_sub(Duration::from_secs(ran)).unwrap();
            let before = Instant::now();
            assert_eq!(pipeline.fail("a reason"), NextStep::Ready);
            let PipelineState::Pausing(end) = pipeline.state else { panic!("it pauses") };
            assert!(end >= before + FIRST_PAUSE / 2);
            pauses.push(pipeline.backoff.clone().delay());
        }
        assert!(pauses[4] >= FIRST_PAUSE * 16, "{pauses:?}");
        assert!(pauses[5..].iter().all(|next| *next <= FIRST_PAUSE * 2), "{pauses:?}");
        assert_eq!(pipeline.setup.status.restarts.load(Ordering::Relaxed), 7);
    });
}

#[test]
fn a_pause_ends_at_its_instant_or_with_a_stop_and_then_the_pipeline_starts() {
    with_pipeline(|pipeline| {
        let far = Instant::now() + Duration::from_secs(86_400);
        pipeline.state = PipelineState::Pausing(far);
        assert_eq!(pipeline.advance(), NextStep::At(far));
        pipeline.state = PipelineState::Pausing(Instant::now());
        assert_eq!(pipeline.advance(), NextStep::Ready);
        assert!(matches!(pipeline.state, PipelineState::Running(_)));
        assert_eq!(pipeline.go_on(AfterClosing::Start), NextStep::Ready, "no stop is requested");
        pipeline.stop.request();
        pipeline.state = PipelineState::Pausing(far);
        assert_eq!(pipeline.advance(), NextStep::Ended);
        assert_eq!(pipeline.go_on(AfterClosing::Start), NextStep::Ended);
        assert_eq!(pipeline.go_on(AfterClosing::End), NextStep::Ended);
    });
}

#[test]
fn a_pipeline_that_is_fenced_off_stands_by_and_says_so_until_that_is_over() {
    with_pipeline(|pipeline| {
        let status = Arc::clone(&pipeline.setup.status);
        let fence = SinkError::Fenced { source_name: "s".to_owned(), stored: 3, expected: 2 };
        assert_eq!(pipeline.fence_off(&fence), NextStep::Ready);
        assert!(matches!(pipeline.state, PipelineState::StandingBy(_)));
        let report = status.report(0);
        assert_eq!((report.stands_by, report.fenced), (true, 1));
        assert_eq!(report.last_error, Some(fence.to_string()));
        assert_eq!(pipeline.advance(), NextStep::OnWake, "it looks what the other one does");
        pipeline.stop.request();
        pipeline.advance();
        assert!(matches!(pipeline.state, PipelineState::Closing(_, AfterClosing::Start)));
        assert_eq!(pipeline.advance(), NextStep::OnWake, "its sink is not gone yet");
        let report = status.report(0);
        assert_eq!((report.stands_by, report.fenced, report.last_error), (false, 1, None));
        pipeline.fence_off(&fence);
        pipeline.fail("it panicked");
        assert!(!status.report(0).stands_by);
    });
}
