//! Signals reach the query that was seen, or nothing.

use super::*;
use crate::{QueryIdentity, SignalKind, SignalOutcome};

#[test]
fn nothing_is_signalled_when_any_part_of_the_identity_differs() {
    let server = Postgres::shared();
    let url = server.database();
    let mut victim = server.session(&url);
    let pid: i32 = victim.ask("SELECT pg_backend_pid()").unwrap().parse().unwrap();
    let mut source = source(&url);
    let frame = source.frame(&request(&[])).unwrap();
    let seen = frame.sessions.iter().find(|it| it.identity.pid == pid).unwrap().identity;
    let mut ended = |identity: QueryIdentity| {
        for kind in [SignalKind::Cancel, SignalKind::Terminate] {
            assert_eq!(source.signal(kind, identity).unwrap(), SignalOutcome::Ended);
        }
    };
    // The query that was seen is over: the session is idle.
    ended(seen);
    ended(QueryIdentity { backend_start_us: seen.backend_start_us + 1, ..seen });
    ended(QueryIdentity { query_start_us: seen.query_start_us.map(|it| it - 1), ..seen });
    ended(QueryIdentity { query_start_us: None, ..seen });
    assert_eq!(victim.ask("SELECT 1").as_deref(), Some("1"));
}
