//! What frames show is what the server's own client shows.

use super::*;

/// Runs a statement in a thread, on a session of its own, until it ends.
fn busy(
    server: &'static Postgres,
    url: &str,
    sql: &'static str,
) -> std::thread::JoinHandle<Option<String>> {
    let url = url.to_owned();
    std::thread::spawn(move || server.session(&url).ask(sql))
}

#[test]
fn every_view_can_be_read_and_shown() {
    let server = Postgres::shared();
    let url = server.database();
    let mut source = source(&url);
    let request = request(&PgView::ALL);
    let before = source.frame(&request).unwrap();
    let frame = source.frame(&request).unwrap();
    assert_eq!(frame.missing.len(), 1, "{:?}", frame.missing);
    assert!(frame.missing[0].contains("CREATE EXTENSION pg_stat_statements"));
    for view in PgView::ALL {
        let text = text(view, &frame, Some(&before));
        assert!(!text.is_empty(), "{}", view.name());
    }
    let oracle = server.query(&url, "SELECT extract(epoch FROM pg_postmaster_start_time())*1e6");
    assert_eq!(frame.server.started_us.to_string(), oracle.split('.').next().unwrap());
}

#[test]
fn a_session_is_shown_as_the_server_knows_it() {
    let server = Postgres::shared();
    let url = server.database();
    let running = busy(server, &url, "SELECT pg_sleep(600) /* figures */");
    let own = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND \
               datname = current_database() AND query LIKE '%/* figures */%' AND \
               pid <> pg_backend_pid() AND wait_event = 'PgSleep' AND \
               clock_timestamp() - query_start > interval '100 ms'";
    until(server, &url, own, "1");
    let frame = source(&url).frame(&request(&[])).unwrap();
    let session = frame.sessions.iter().find(|it| it.query.contains("/* figures */")).unwrap();
    let oracle = server.query(
        &url,
        "SELECT pid, usename, datname, host(client_addr), application_name, state, \
         wait_event_type, wait_event, backend_type, query, \
         (extract(epoch FROM backend_start)*1e6)::int8, \
         (extract(epoch FROM query_start)*1e6)::int8 \
         FROM pg_stat_activity WHERE query LIKE '%/* figures */%' AND pid <> pg_backend_pid() \
         AND datname = current_database()",
    );
    let (identity, client) = (session.identity, &session.client);
    let (class, event) = session.wait.as_ref().unwrap();
    let ours = [
        identity.pid.to_string().as_str(),
        &client.user,
        &client.database,
        &client.address,
        &client.application,
        &session.state,
        class,
        event,
        &session.kind,
        &session.query,
        &identity.backend_start_us.to_string(),
        &identity.query_start_us.unwrap().to_string(),
    ]
    .join("|");
    assert_eq!(ours, oracle);
    let cancelled = source(&url).signal(crate::SignalKind::Cancel, identity).unwrap();
    assert_eq!(cancelled, crate::SignalOutcome::Signalled);
    assert_eq!(running.join().unwrap(), None, "psql stops at the error");
}

#[test]
fn a_role_without_rights_counts_the_sessions_and_is_told_the_grant() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE ROLE \"odd one\" LOGIN PASSWORD 's3cret/word'");
    let mut idle = server.session(&url);
    idle.ask("BEGIN").unwrap();
    let mut source = source(&url.replace("tidegate:", "odd%20one:"));
    let begun = std::time::Instant::now();
    let mut seen = || loop {
        let frame = source.frame(&request(&PgView::ALL)).unwrap();
        let counts = crate::HeaderFigures::of(&frame, None, 60.0).sessions;
        // The session of a `psql` that has ended may still be ending.
        if counts.total <= 1 {
            return (counts.total, counts.idle_in_transaction, frame.missing);
        }
        assert!(begun.elapsed() < testkit::FIXTURE_TIMEOUT, "{counts:?}");
    };
    let (total, idle_in_transaction, missing) = seen();
    assert_eq!((total, idle_in_transaction), (1, None));
    assert!(missing[0].ends_with("GRANT pg_monitor TO \"odd one\""), "{missing:?}");
    server.query(&url, "GRANT pg_monitor TO \"odd one\"");
    let (total, idle_in_transaction, missing) = seen();
    assert_eq!((total, idle_in_transaction), (1, Some(1)));
    assert!(!missing.iter().any(|text| text.contains("GRANT")), "{missing:?}");
    let oracle = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
                  AND pid <> pg_backend_pid() AND application_name <> 'tidegate pgtop'";
    until(&server, &url, oracle, "1");
}

#[test]
fn a_role_is_told_the_grants_for_signals_and_plans_until_it_has_them() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE ROLE watcher LOGIN PASSWORD 's3cret/word'");
    server.query(&url, "CREATE TABLE closed AS SELECT 1 AS id");
    let mut source = source(&url.replace("tidegate:", "watcher:"));
    let address = source.address().clone();
    let mut rights = || source.frame(&request(&[])).unwrap().server.rights;
    let both = "for k K X, e: GRANT pg_signal_backend, pg_read_all_data TO \"watcher\"";
    assert_eq!(rights(), both);
    let plan = || crate::explain(&address, "t0", "SELECT id FROM closed");
    let denied = plan().unwrap_err().to_string();
    let help = "GRANT SELECT on it, or GRANT pg_read_all_data TO \"watcher\" (42501)";
    assert!(denied.ends_with(help), "{denied}");
    server.query(&url, "GRANT pg_read_all_data TO watcher");
    assert_eq!(rights(), "for k K X: GRANT pg_signal_backend TO \"watcher\"");
    assert!(plan().is_ok());
    server.query(&url, "GRANT pg_signal_backend TO watcher");
    assert_eq!(rights(), "");
}

#[test]
fn what_holds_vacuum_back_without_a_snapshot_is_counted_and_so_is_what_is_prepared() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "ALTER SYSTEM SET max_prepared_transactions = 5");
    server.kill();
    server.start_again();
    let mut writer = server.session(&url);
    let pid = writer.ask("BEGIN; SELECT pg_backend_pid()").unwrap();
    writer.ask("SELECT pg_current_xact_id()").unwrap();
    let mut source = source(&url);
    for _ in 0..3 {
        server.query(&url, "SELECT pg_current_xact_id()");
    }
    let frame = source.frame(&request(&[])).unwrap();
    let session = frame.sessions.iter().find(|it| it.identity.pid.to_string() == pid).unwrap();
    assert!(session.xmin_age >= Some(3), "{session:?}");
    writer.ask("PREPARE TRANSACTION 'held'").unwrap();
    let frame = source.frame(&request(&[])).unwrap();
    let figures = crate::HeaderFigures::of(&frame, None, 60.0);
    assert!(figures.xmin_age >= Some(3), "{figures:?}");
    let oldest = frame.time_us - frame.server.prepared_us.unwrap();
    assert!(figures.oldest_transaction_s >= Some(oldest as f64 / 1e6), "{figures:?}");
}
