//! Claims about what is known of the record process.

use super::*;

const PID: u32 = 7;

fn after(seconds: u64, begun: Instant) -> Instant {
    begun + Duration::from_secs(seconds)
}

#[test]
fn only_the_process_that_runs_is_believed() {
    let status = RecordStatus::default();
    let documents = "{\"pid\":6,\"n\":1}\nno JSON\n{\"pid\":7,\"n\":2}\n{\"n\":3}\n";
    status.follow(documents.as_bytes());
    assert!(status.status()["document"].is_null(), "nothing runs yet");
    status.started(PID);
    status.follow(documents.as_bytes());
    assert_eq!(status.status()["document"]["n"], 2);
    status.stopped();
    assert!(status.status()["document"].is_null() && status.status()["running"] == false);
}

#[test]
fn a_document_that_is_too_long_is_passed_over() {
    let status = RecordStatus::default();
    status.started(PID);
    let long = "x".repeat(DOCUMENT_BYTES_MAX as usize + 1);
    status.follow(format!("\"{long}\"\n{{\"pid\":7,\"n\":2}}\n").as_bytes());
    assert_eq!(status.status()["document"]["n"], 2);
}

#[test]
fn an_end_is_an_alarm_for_a_minute_once_it_runs_again() {
    let begun = Instant::now();
    let end = Some(("signal: 9".to_owned(), begun));
    let mut state = RecordState { restarts: 1, end, ..RecordState::default() };
    let gone = "the record process ended by signal: 9, and is not running";
    assert_eq!(state.alarms(after(3600, begun)), [gone]);
    state.pid = Some(PID);
    let back = "the record process ended by signal: 9, and runs again";
    assert_eq!(state.alarms(after(59, begun)), [back]);
    assert!(state.alarms(after(60, begun)).is_empty());
    assert_eq!(state.status(after(60, begun))["last_end_s_ago"], 60);
}

#[test]
fn lines_that_were_gone_unread_are_an_alarm_for_a_day() {
    let begun = Instant::now();
    let alarms_of = |bytes: u64, unmeasured: u64, lost_s_ago: Value| {
        let mut state = RecordState { pid: Some(PID), ..RecordState::default() };
        let pipeline = json!({
            "source": "journal", "sink": "main", "lost_bytes": bytes,
            "unmeasured_losses": unmeasured, "lost_s_ago": lost_s_ago,
        });
        state.take(json!({ "pid": PID, "pipelines": [pipeline] }), begun);
        state.alarms(begun)
    };
    let alarms = |lost_s_ago| alarms_of(7, 0, lost_s_ago);
    assert_eq!(alarms(json!(60.0)), ["journal to main: 7 bytes were gone before they were read"]);
    assert_eq!(alarms(json!(86_401.0)), [""; 0]);
    assert_eq!(alarms(Value::Null), [""; 0]);
    for (bytes, says) in [(0, "bytes whose number is not known"), (7, "more than 7 bytes")] {
        let said = format!("journal to main: {says} were gone before they were read");
        assert_eq!(alarms_of(bytes, 1, json!(60.0)), [said]);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_alarm_while_it_is_there() {
    let begun = Instant::now();
    let mut state = RecordState { pid: Some(PID), ..RecordState::default() };
    let unreadable = json!({ "a.log.1.gz": "it is damaged" });
    let pipeline = json!({ "source": "web", "sink": "main", "unreadable": unreadable });
    state.take(json!({ "pid": PID, "pipelines": [pipeline] }), begun);
    assert_eq!(state.alarms(begun), ["web to main: `a.log.1.gz`: it is damaged"]);
}

#[test]
fn silence_and_pipelines_that_fail_are_alarms() {
    let begun = Instant::now();
    let mut state = RecordState { pid: Some(PID), ..RecordState::default() };
    assert!(state.alarms(after(3600, begun)).is_empty(), "it has said nothing yet");
    let document = json!({
        "pid": PID,
        "pipelines": [
            { "source": "web", "sink": "main", "last_error": "the disk is full" },
            { "source": "web", "sink": "spare", "last_error": null },
        ],
    });
    state.take(document, begun);
    let failing = "web to main: the disk is full";
    assert_eq!(state.alarms(after(10, begun)), [failing]);
    let silent = "the record process has said nothing for 11 s";
    assert_eq!(state.alarms(after(11, begun)), [silent, failing]);
}

#[test]
fn losses_that_a_process_could_not_write_outlive_it() {
    let status = RecordStatus::default();
    let loss = json!({
        "id": "a", "time_us": 1, "node": "n", "source": "s", "sink": "m", "what": "w", "bytes": 5,
    });
    status.started(PID);
    status.follow(format!("{}\n", json!({ "pid": PID, "unkept_losses": [loss] })).as_bytes());
    status.stopped();
    status.started(PID + 1);
    status.follow(format!("{}\n", json!({ "pid": PID + 1, "unkept_losses": [] })).as_bytes());
    let taken = status.take_unkept_losses();
    assert_eq!(taken.iter().map(|loss| &loss.id).collect::<Vec<_>>(), ["a"]);
    assert!(status.take_unkept_losses().is_empty());
}
