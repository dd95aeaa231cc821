//! Claims about `scheduler`: when it builds, and what it says of the last build.

use std::sync::mpsc::{SyncSender, sync_channel};

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const BUILT: BuildSummary =
    BuildSummary { rows: 3, users: 5, items: Some(7), skipped: 0, bytes: 4096, lines: 9 };

fn query_failed() -> ProfilesError {
    ProfilesError::Query { source: "the engine is down".into() }
}

/// A build that says when it is under way, and fails or not as `fails` says.
fn build(
    begun: SyncSender<()>,
    fails: bool,
) -> impl Fn() -> Result<BuildSummary, ProfilesError> + Send {
    move || {
        begun.send(()).unwrap();
        if fails { Err(query_failed()) } else { Ok(BUILT) }
    }
}

#[test]
fn an_engine_that_gave_no_rows_is_asked_again_within_a_minute() {
    assert_eq!(next_wait(HOUR, &Ok(BUILT)), HOUR);
    assert_eq!(next_wait(HOUR, &Err(query_failed())), QUERY_RETRY_INTERVAL);
    let short = Duration::from_secs(1);
    assert_eq!(next_wait(short, &Err(query_failed())), short);
    let unfit = ProfilesError::Row { reason: "no time".to_owned() };
    assert_eq!(next_wait(HOUR, &Err(unfit)), HOUR, "only the engine is asked sooner");
}

#[test]
fn the_first_build_comes_at_once_where_there_is_no_file() {
    let (begun, begins) = sync_channel(0);
    let scheduler = BuildScheduler::start(HOUR, false, build(begun, false)).unwrap();
    let last = scheduler.last_build();
    begins.recv().unwrap();
    scheduler.stop();
    let outcome = last.outcome().expect("it was waited for");
    assert_eq!((outcome.profiles, outcome.error), (Some(3), None));
}

#[test]
fn a_file_that_is_there_is_not_built_before_its_time() {
    let (begun, begins) = sync_channel(1);
    let scheduler = BuildScheduler::start(HOUR, true, build(begun, false)).unwrap();
    let last = scheduler.last_build();
    scheduler.stop();
    assert!(begins.try_recv().is_err() && last.outcome().is_none());
}

#[test]
fn a_failure_is_told_with_its_reasons() {
    let (begun, begins) = sync_channel(0);
    let scheduler = BuildScheduler::start(HOUR, false, build(begun, true)).unwrap();
    let last = scheduler.last_build();
    begins.recv().unwrap();
    scheduler.stop();
    let outcome = last.outcome().unwrap();
    assert_eq!(outcome.profiles, None);
    assert_eq!(outcome.error.unwrap(), "run the `query` of [profiles]: the engine is down");
    let begun = Instant::now();
    last.keep(begun, Ok(BUILT));
    assert_eq!(last.outcome().unwrap().error, None, "the next build takes its place");
}

#[test]
fn a_build_that_panics_has_failed_and_the_next_one_comes() {
    let (begun, begins) = sync_channel(0);
    let scheduler = BuildScheduler::start(Duration::from_millis(1), false, move || {
        begun.send(()).unwrap();
        panic!("a defect, made by a test")
    })
    .unwrap();
    let last = scheduler.last_build();
    begins.recv().unwrap();
    begins.recv().unwrap();
    let outcome = last.outcome().expect("the first has ended");
    assert_eq!(outcome.error.as_deref(), Some("a defect ended the build; the log has it"));
    drop(begins);
    scheduler.stop();
}

#[test]
fn a_build_without_an_end_is_told_and_does_not_hold_up_a_stop() {
    let (begun, begins) = sync_channel(0);
    let (_never, never) = std::sync::mpsc::channel::<()>();
    let scheduler = BuildScheduler::start(HOUR, false, move || {
        begun.send(()).unwrap();
        let _ = never.recv();
        Ok(BUILT)
    })
    .unwrap();
    let last = scheduler.last_build();
    begins.recv().unwrap();
    assert_eq!(last.outcome(), None, "it has not taken long");
    last.under_way.lock().as_mut().unwrap().1 = Duration::ZERO;
    let error = last.outcome().unwrap().error.unwrap();
    assert!(error.starts_with("one has been under way for 0 s"), "{error}");
    scheduler.stop();
}
