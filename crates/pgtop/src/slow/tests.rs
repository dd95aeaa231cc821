//! Frames of invented sessions.

use super::*;
use crate::frame::PgSession;

fn frame(second: i64, starts: &[(i32, i64)], state: &str) -> PgFrame {
    let session = |(pid, start): &(i32, i64)| PgSession {
        identity: QueryIdentity {
            pid: *pid,
            backend_start_us: 0,
            query_start_us: Some(start * 1_000_000),
        },
        state: state.to_owned(),
        kind: "client backend".to_owned(),
        query: "SELECT\t1,\n 2".to_owned(),
        ..PgSession::default()
    };
    let sessions = starts.iter().map(session).collect();
    PgFrame { time_us: second * 1_000_000, sessions, ..PgFrame::default() }
}

#[test]
fn a_crossing_is_reported_once_also_for_a_query_first_seen_above_and_for_the_next_query() {
    let mut watch = SlowWatch::new(60.0);
    let mut pids = |frame: &PgFrame| -> Vec<(i32, i64)> {
        watch.crossings("db1", frame).iter().map(|it| (it.pid, it.seconds)).collect()
    };
    assert_eq!(pids(&frame(100, &[(7, 90), (8, 10)], "active")), [(8, 90)]);
    assert_eq!(pids(&frame(150, &[(7, 90), (8, 10)], "active")), []);
    assert_eq!(pids(&frame(151, &[(7, 90), (8, 10)], "active")), [(7, 61)]);
    assert_eq!(pids(&frame(152, &[(7, 90), (8, 10)], "active")), []);
    // The same session's next query.
    assert_eq!(pids(&frame(300, &[(7, 200)], "active")), [(7, 100)]);
    assert_eq!(pids(&frame(400, &[(9, 100)], "idle in transaction")), []);
}

#[test]
fn two_tabs_of_one_server_tell_a_query_once_and_two_servers_each_their_own() {
    let mut watch = SlowWatch::new(60.0);
    let of = |started_us: i64, mut frame: PgFrame| {
        frame.server.started_us = started_us;
        frame
    };
    let slow = [(7, 10)];
    let mut count = |host: &str, frame: PgFrame| watch.crossings(host, &frame).len();
    assert_eq!(count("db1", of(1, frame(100, &slow, "active"))), 1);
    assert_eq!(count("/run/pg", of(1, frame(101, &slow, "active"))), 0);
    assert_eq!(count("db2", of(2, frame(101, &slow, "active"))), 1);
    // The one tab has seen the end of it, and the other has a frame from before.
    assert_eq!(count("db1", of(1, frame(103, &[], "active"))), 0);
    assert_eq!(count("/run/pg", of(1, frame(102, &slow, "active"))), 0);
    // The time of one server lets nothing of another be forgotten.
    assert_eq!(count("db2", of(2, frame(500, &slow, "active"))), 0);
    assert_eq!(count("db1", of(1, frame(103, &slow, "active"))), 0);
    // It is remembered no longer than needed.
    assert_eq!(count("db1", of(1, frame(200, &[], "active"))), 0);
    assert_eq!(watch.reported.len(), 1);
}

#[test]
fn the_line_and_the_payload_are_pgtops() {
    let mut watch = SlowWatch::new(60.0);
    let mut query = watch.crossings("db1", &frame(100, &[(8, 10)], "active")).remove(0);
    (query.database, query.user) = ("shop".to_owned(), "ann".to_owned());
    let date = CivilDate { year: 2026, month: 11, day: 7 };
    let time = TimeOfDay { hour: 8, minute: 5, second: 9 };
    let line = "Sat Nov  7 08:05:09 2026\tdb1\tshop\tann\t8\t90\tSELECT 1, 2\n";
    assert_eq!(query.log_line((date, time)), line);
    let payload: serde_json::Value = serde_json::from_str(&query.payload()).unwrap();
    assert_eq!(
        payload["text"],
        "Slow postgres query on `db1` database `shop` for user `ann`\n\
         Query ID 8 (has been running for 90 s):\n\n```\nSELECT\t1,\n 2\n```\n"
    );
}

#[test]
fn a_query_cannot_leave_its_quotes_in_slack_nor_turn_the_log() {
    let mut watch = SlowWatch::new(60.0);
    let mut query = watch.crossings("db1", &frame(100, &[(8, 10)], "active")).remove(0);
    query.query = "SELECT 1 < 2 ``` <!channel> & \u{202e}x".to_owned();
    let payload: serde_json::Value = serde_json::from_str(&query.payload()).unwrap();
    let text = payload["text"].as_str().unwrap();
    assert!(text.contains("\nSELECT 1 &lt; 2 ''' &lt;!channel&gt; &amp; ?x\n"), "{text}");
    let date = CivilDate { year: 2026, month: 11, day: 7 };
    let time = TimeOfDay { hour: 8, minute: 5, second: 9 };
    assert!(query.log_line((date, time)).ends_with("<!channel> & ?x\n"));
}
