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

#[test]
fn a_text_that_may_write_is_told_from_one_that_only_reads() {
    let reads = [
        "select 1",
        "  -- update\n select 1",
        "/* a /* nested */ comment */ (select 1)",
        "((SELECT 1) UNION (SELECT 2));",
        "select 'a; update', \"delete\", $$; insert$$, $t$ into $t$",
        "SELECT E'it\\'s; update' ;",
        "with x as (select 1) select * from x",
        "copy t to stdout",
        "COPY (SELECT a FROM t) TO STDOUT",
        "explain update t set a = 1",
        "values (1)",
        "select substring(a for 3) from t",
        "select a from t where b = $1 and c = $2",
        "/* é */ show all",
    ];
    let writes = [
        "explain analyze select 1",
        "EXPLAIN (ANALYZE, BUFFERS) SELECT 1",
        "select 1; delete from t",
        "select 1 /* ; */; /* x */ select 2",
        "select * from t for update",
        "select * from t for no key update",
        "SELECT * FROM t FOR SHARE",
        "select * into u from t",
        "with x as (delete from t returning *) select * from x",
        "with x as (select 1) insert into t select * from x",
        "with x as (select 1) update t set a = 1",
        "copy t from stdin",
        "copy (delete from t returning *) to stdout",
        "call f()",
        "do $$ begin end $$",
        "select 'open",
        "",
        "/* open",
    ];
    for text in reads {
        assert!(sql::only_reads(text), "{text}");
    }
    for text in writes.into_iter().filter(|text| *text != "select 'open") {
        assert!(!sql::only_reads(text), "{text}");
    }
}
