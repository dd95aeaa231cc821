//! Frames of invented sessions.

use super::*;
use crate::frame::QueryIdentity;

fn session(pid: i32, start: i64, query: &str, xid: Option<i64>) -> PgSession {
    PgSession {
        identity: QueryIdentity {
            pid,
            backend_start_us: 0,
            query_start_us: Some(start * 1_000_000),
        },
        state: "active".to_owned(),
        kind: "client backend".to_owned(),
        query: query.to_owned(),
        xid,
        ..PgSession::default()
    }
}

#[test]
fn a_plan_has_what_is_older_and_tells_writers_apart() {
    let mut worker = session(6, 0, "autovacuum: VACUUM t (to prevent wraparound)", Some(9));
    worker.kind = "autovacuum worker".to_owned();
    let sessions = vec![
        session(1, 59, "SELECT 1", None),
        session(2, 61, "select 2", None),
        session(3, 10, "SELECT f()", Some(77)),
        session(4, 20, "UPDATE t SET a = 1", None),
        session(5, 30, "WITH x AS (DELETE FROM t RETURNING *) SELECT 1", None),
        worker,
    ];
    let frame = PgFrame { time_us: 100_000_000, sessions, ..PgFrame::default() };
    let all = SessionFilter::default();
    let plan = GroupPlan::of(&frame, &all, 40.0).unwrap();
    let pids = |victims: &[Victim]| victims.iter().map(|it| it.identity.pid).collect::<Vec<_>>();
    assert_eq!((pids(&plan.readers), pids(&plan.writers)), (vec![1], vec![3, 4, 5]));
    assert!(GroupPlan::of(&frame, &all, 29.9).unwrap_err().contains("at least 30"));
    assert!(GroupPlan::of(&frame, &all, f64::NAN).is_err());
    assert!(GroupPlan::of(&frame, &all, 95.0).unwrap_err().contains("no query"));
}
