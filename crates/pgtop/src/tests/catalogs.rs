//! Views of catalogs against `psql`: what stands there, and what was counted between two frames.

use super::*;
use crate::listing::ViewList;
use crate::value::SqlScalar;

/// How many sessions of `psql` there are. One hands its counts over when it ends, which `psql` does
/// not wait for.
const OTHER_CLIENTS: &str = "\
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND \
pid <> pg_backend_pid() AND application_name = 'psql'";

/// A server with `pg_stat_statements`, and texts of up to 1 MB.
fn server() -> Postgres {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    server.query(&url, "ALTER SYSTEM SET track_activity_query_size = '1MB'");
    server.kill();
    server.start_again();
    server.query(&url, "CREATE SCHEMA \"odd one\"");
    server.query(&url, "CREATE EXTENSION pg_stat_statements SCHEMA \"odd one\"");
    server
}

/// The number of a cell, in the row that has a text.
fn number(list: &ViewList, text: &str, title: &str) -> f64 {
    let row = list.rows.iter().find(|row| row.cells.iter().any(|it| it.text.contains(text)));
    let at = list.columns.iter().position(|column| column.title == title).unwrap();
    row.unwrap_or_else(|| panic!("no {text}: {list:?}")).cells[at].number.unwrap()
}

fn list(view: PgView, frame: &PgFrame, before: &PgFrame) -> ViewList {
    let frames = ViewedFrames { frame, before: Some(before), slow_threshold_s: 60.0 };
    view.listing(&frames, &SessionFilter::default(), view.order())
}

#[test]
fn statements_are_counted_between_two_frames_as_the_server_counts_them() {
    let server = server();
    let url = "postgres://x/t0";
    server.query(url, "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 100) g");
    let mut source = source(&format!("{}/t0", address(&server)));
    let wanted = request(&[PgView::Statements]);
    let mut session = server.session(url);
    let mut run = |times: usize| {
        (0..times).for_each(|id| drop(session.ask(&format!("SELECT id FROM t WHERE id < {id}"))));
    };
    run(3);
    let before = source.frame(&wanted).unwrap();
    assert_eq!(before.missing, Vec::<String>::new());
    run(40);
    let frame = source.frame(&wanted).unwrap();
    let list = list(PgView::Statements, &frame, &before);
    let seconds = (frame.time_us - before.time_us) as f64 / 1e6;
    let statement = "SELECT id FROM t WHERE id < $1";
    let calls = number(&list, statement, "calls/s") * seconds;
    assert!((calls - 40.0).abs() < 1e-6, "{calls}");
    // 0 and 1 find nothing, the others as many as their number less one.
    let rows = number(&list, statement, "rows/call") * 40.0;
    assert!((rows - 741.0).abs() < 1e-6, "{rows}");
    let oracle = server.query(
        url,
        "SELECT calls, rows FROM \"odd one\".pg_stat_statements WHERE query LIKE \
         'SELECT id FROM t WHERE id < $1%'",
    );
    assert_eq!(oracle, "43|742");
    let shares: f64 = list.rows.iter().filter_map(|row| row.cells[1].number).sum();
    assert!((shares - 100.0).abs() < 1e-6, "{shares}");
    // After a reset counters begin at 0, and what is shown is what was counted since.
    server.query(url, "SELECT \"odd one\".pg_stat_statements_reset()");
    run(5);
    let after = source.frame(&wanted).unwrap();
    let list = super::catalogs::list(PgView::Statements, &after, &frame);
    let seconds = (after.time_us - frame.time_us) as f64 / 1e6;
    let calls = number(&list, statement, "calls/s") * seconds;
    assert!((calls - 5.0).abs() < 1e-6, "{calls}");
    // Also where there are more by then than there were before.
    server.query(url, "SELECT \"odd one\".pg_stat_statements_reset()");
    run(8);
    let last = source.frame(&wanted).unwrap();
    let list = super::catalogs::list(PgView::Statements, &last, &after);
    let seconds = (last.time_us - after.time_us) as f64 / 1e6;
    let calls = number(&list, statement, "calls/s") * seconds;
    assert!((calls - 8.0).abs() < 1e-6, "{calls}");
}

#[test]
fn a_statement_that_is_busy_only_now_is_seen_though_thousands_took_longer() {
    let server = server();
    let url = "postgres://x/t0";
    // Each has another number of columns, so each is a statement of its own, and runs five times.
    let many = "DO $$ BEGIN FOR i IN 1..1200 LOOP FOR j IN 1..5 LOOP EXECUTE 'SELECT ' || \
                repeat('j,', i) || 'j FROM generate_series(1, 2) j'; END LOOP; END LOOP; END $$";
    let mut session = server.session(url);
    session.ask("SET pg_stat_statements.track = 'all'").unwrap();
    session.ask(many).unwrap();
    let mut source = source(&format!("{}/t0", address(&server)));
    let wanted = request(&[PgView::Statements]);
    let before = source.frame(&wanted).unwrap();
    assert!(before.grids["statements"].rows.len() > 1200);
    assert_eq!(before.missing, Vec::<String>::new());
    server.query(url, "SELECT 1, 2, 3 AS the_new_one");
    let frame = source.frame(&wanted).unwrap();
    let list = list(PgView::Statements, &frame, &before);
    let seconds = (frame.time_us - before.time_us) as f64 / 1e6;
    let calls = number(&list, "AS the_new_one", "calls/s") * seconds;
    assert!((calls - 1.0).abs() < 1e-6, "{calls}");
}

#[test]
fn tables_and_indexes_and_databases_are_those_of_psql() {
    let server = Postgres::start();
    let url = server.database();
    server.query(
        &url,
        "CREATE TABLE t (id int PRIMARY KEY, v text) WITH (autovacuum_enabled = false)",
    );
    server.query(&url, "INSERT INTO t VALUES (0, 'x'); UPDATE t SET v = 'z'");
    until(&server, &url, OTHER_CLIENTS, "0");
    let mut source = source(&url);
    let wanted = request(&[PgView::Tables, PgView::Indexes, PgView::Databases]);
    let before = source.frame(&wanted).unwrap();
    server.query(&url, "INSERT INTO t SELECT g, 'x' FROM generate_series(1, 1000) g");
    server.query(&url, "UPDATE t SET id = -7 WHERE id = 7");
    server.query(&url, "DELETE FROM t WHERE id > 990");
    until(&server, &url, OTHER_CLIENTS, "0");
    let frame = source.frame(&wanted).unwrap();
    let values = |view: &str, columns: &[&str]| -> String {
        let grid = &frame.grids[view];
        let row = grid.rows.iter().find(|row| row.iter().any(|it| it.shown().contains("t0")));
        let row = row.unwrap_or(&grid.rows[0]);
        let shown = columns.iter().map(|column| grid.value(row, column).shown());
        shown.collect::<Vec<_>>().join("|")
    };
    let columns = ["seq_scans", "seq_rows", "index_scans", "inserted", "updated", "hot"];
    assert_eq!(
        values("tables", &columns),
        server.query(
            &url,
            "SELECT seq_scan, seq_tup_read, idx_scan, n_tup_ins, n_tup_upd, n_tup_hot_upd \
             FROM pg_stat_user_tables WHERE relname = 't'"
        )
    );
    assert_eq!(
        values("indexes", &["index", "scans", "entries", "fetched", "blocks_hit", "blocks_read"]),
        server.query(
            &url,
            "SELECT i.indexrelname, i.idx_scan, idx_tup_read, idx_tup_fetch, idx_blks_hit, \
             idx_blks_read FROM pg_stat_user_indexes i JOIN pg_statio_user_indexes USING \
             (indexrelid)"
        )
    );
    assert_eq!(
        values("databases", &["inserted", "updated", "deleted", "rollbacks"]),
        server.query(
            &url,
            "SELECT tup_inserted, tup_updated, tup_deleted, xact_rollback FROM pg_stat_database \
             WHERE datname = current_database()"
        )
    );
    let seconds = (frame.time_us - before.time_us) as f64 / 1e6;
    let tables = list(PgView::Tables, &frame, &before);
    for (title, wanted) in [("inserted/s", 1000.0), ("updated/s", 1.0), ("deleted/s", 10.0)] {
        let counted = number(&tables, "public.t", title) * seconds;
        assert!((counted - wanted).abs() < 1e-6, "{title}: {counted}");
    }
    // The update before left the key as it was, that between the frames did not.
    assert_eq!(number(&tables, "public.t", "hot%"), 0.0);
    let databases = list(PgView::Databases, &frame, &before);
    assert!(databases.rows.iter().all(|row| row.cells[12].number == Some(0.0)), "deadlocks");
    let header = crate::HeaderFigures::of(&frame, Some(&before), 60.0).rates.unwrap();
    let inserted = header.rows[1] * header.interval_s;
    assert!(inserted.round() >= 1000.0, "{inserted}");
}

#[test]
fn rows_read_are_those_that_scans_of_tables_and_of_indexes_return() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 5000) g");
    server.query(&url, "VACUUM ANALYZE t");
    let mut source = source(&url);
    let wanted = request(&[PgView::Databases]);
    let before = source.frame(&wanted).unwrap();
    server.query(&url, "SELECT count(*) FROM t");
    let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND \
                  pid <> pg_backend_pid() AND application_name = 'psql'";
    until(&server, &url, others, "0");
    let frame = source.frame(&wanted).unwrap();
    let header = crate::HeaderFigures::of(&frame, Some(&before), 60.0).rates.unwrap();
    let read = header.rows[0] * header.interval_s;
    // A scan of the whole table, and what reading frames looks up in catalogs.
    assert!((5000.0..25_000.0).contains(&read.round()), "{read}");
    let sum = "SELECT sum(tup_returned) >= {} FROM pg_stat_database";
    let sum = sum.replace("{}", &frame.server.totals.rows_returned.to_string());
    assert_eq!(server.query(&url, &sum), "t");
    let grid = &frame.grids["databases"];
    let row = grid.rows.iter().find(|row| grid.value(row, "database").shown() == "t0").unwrap();
    assert!(grid.value(row, "returned").number() >= Some(5000.0));
    let fetched = grid.value(row, "fetched").number().unwrap();
    assert!(fetched < 5000.0, "no index was used: {fetched}");
}

#[test]
fn a_catalog_is_filtered_by_the_fields_it_has_and_names_those_it_lacks() {
    let server = Postgres::shared();
    let mut source = source(&server.database());
    let frame = source.frame(&request(&[PgView::Databases])).unwrap();
    let filter = crate::SessionFilter {
        user: crate::FieldMatch::parse("nobody").unwrap(),
        database: crate::FieldMatch::parse("/^template/").unwrap(),
        ..SessionFilter::default()
    };
    let frames = ViewedFrames { frame: &frame, before: None, slow_threshold_s: 60.0 };
    let shown = PgView::Databases.listing(&frames, &filter, PgView::Databases.order());
    let mut names: Vec<&str> = shown.rows.iter().map(|row| row.cells[0].text.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["template0", "template1"]);
    assert_eq!(PgView::Databases.unanswered(&filter), ["user"]);
    assert_eq!(PgView::Locks.unanswered(&filter), ["user", "database"]);
    assert!(PgView::Running.unanswered(&filter).is_empty());
}

#[test]
fn a_query_of_a_megabyte_costs_what_its_beginning_costs() {
    let server = server();
    let mut session = server.session("postgres://x/t0");
    let long = format!("SELECT pg_sleep(600), '{}'", "ä".repeat(400_000));
    let asking = std::thread::spawn(move || session.ask(&long));
    let url = format!("{}/t0", address(&server));
    let seen = "SELECT max(octet_length(query)) > 800000 FROM pg_stat_activity \
                WHERE wait_event = 'PgSleep'";
    until(&server, "postgres://x/t0", seen, "t");
    let mut source = source(&url);
    let frame = source.frame(&request(&[])).unwrap();
    let session = frame.sessions.iter().find(|it| it.query.starts_with("SELECT pg_sleep")).unwrap();
    assert!((999..=1000).contains(&session.query.len()), "{}", session.query.len());
    assert!(!session.query.contains('\u{fffd}'));
    let whole = source.whole_text(session.identity).unwrap().unwrap();
    assert!(whole.text.len() > 800_000 && !whole.is_cut && whole.database == "t0");
    source.signal(crate::SignalKind::Terminate, session.identity).unwrap();
    assert_eq!(asking.join().unwrap(), None);
}

#[test]
fn bytes_that_are_no_utf_8_break_no_frame_from_wherever_they_come() {
    let server = server();
    let url = "postgres://x/t0";
    server.query(url, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
    server.query(
        url,
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
    );
    // `psql` sends the bytes of UTF-8, which the server makes those of LATIN1.
    let sql = "SELECT pg_sleep(600), 'caf\u{e9}'";
    let sessions = ["ascii", "latin"].map(|name| {
        let mut session = server.session(&format!("postgres://x/{name}"));
        session.ask("SET client_encoding = 'UTF8'").unwrap();
        std::thread::spawn(move || session.ask(sql))
    });
    let seen = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    until(&server, url, seen, "2");
    for name in ["t0", "ascii", "latin"] {
        let mut source = source(&format!("{}/{name}", address(&server)));
        let frame = source.frame(&request(&PgView::ALL)).unwrap();
        let query = |database: &str| {
            let found = frame
                .sessions
                .iter()
                .find(|it| it.client.database == database && it.query.contains("caf"));
            found.unwrap().query.clone()
        };
        assert_eq!(query("ascii"), "SELECT pg_sleep(600), 'caf\u{e9}';", "from {name}");
        assert_eq!(query("latin"), "SELECT pg_sleep(600), 'caf\u{fffd}';", "from {name}");
    }
    let mut source = source(&format!("{}/t0", address(&server)));
    let frame = source.frame(&request(&[])).unwrap();
    for session in frame.sessions.iter().filter(|it| it.query.contains("caf")) {
        source.signal(crate::SignalKind::Terminate, session.identity).unwrap();
    }
    sessions.into_iter().for_each(|session| assert_eq!(session.join().unwrap(), None));
}

#[test]
fn a_query_with_values_that_nobody_knows_has_a_generic_plan_in_its_own_database() {
    let server = Postgres::shared();
    let url = server.database();
    server.query(&url, "CREATE TABLE only_here AS SELECT g AS id FROM generate_series(1, 9) g");
    let other = source(&server.database()).address().clone();
    let name = url.rsplit_once('/').unwrap().1;
    let plan = |text: &str| crate::explain(&other, name, text);
    let whole = plan("SELECT id FROM only_here").unwrap();
    let first = "search_path: pg_catalog, \"$user\", public\nSeq Scan on only_here";
    assert!(whole.starts_with(first), "{whole}");
    let generic = plan("SELECT id FROM only_here WHERE id = $1 AND id < $2").unwrap();
    assert!(generic.contains("Filter: ((id < $2) AND (id = $1))"), "{generic}");
    // Neither a second statement nor ANALYZE gets through.
    for text in [
        "SELECT 1; DROP TABLE only_here",
        "SELECT $1; DROP TABLE only_here",
        "ANALYZE DELETE FROM only_here",
        "/* x */ ANALYZE DELETE FROM only_here",
        "ANALYZE SELECT $1",
    ] {
        assert!(plan(text).unwrap_err().to_string().contains("(42601)"), "{text}");
    }
    assert_eq!(server.query(&url, "SELECT count(*) FROM only_here"), "9");
}

#[test]
fn what_a_database_puts_in_the_way_of_names_does_not_run() {
    let server = Postgres::shared();
    let url = server.database();
    let name = url.rsplit_once('/').unwrap().1;
    for sql in [
        "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 9) g",
        "CREATE INDEX ON t (id)",
        "CREATE SCHEMA shadow",
        "CREATE FUNCTION public.met(name, name) RETURNS text LANGUAGE plpgsql AS \
         $f$ BEGIN RAISE 'met'; END $f$",
        "CREATE VIEW shadow.pg_stat_activity AS SELECT a.* FROM pg_catalog.pg_stat_activity a \
         WHERE public.met('a', 'b') = ''",
        "CREATE OPERATOR public.|| (LEFTARG = name, RIGHTARG = name, FUNCTION = public.met)",
    ] {
        server.query(&url, sql);
    }
    let path = format!("ALTER DATABASE {name} SET search_path = shadow, public, pg_catalog");
    server.query(&url, &path);
    // It does stand in the way of others.
    assert_eq!(server.session(&url).ask("SELECT count(*) FROM pg_stat_activity"), None);
    let mut source = source(&url);
    let frame = source.frame(&request(&PgView::ALL)).unwrap();
    assert!(!frame.missing.iter().any(|text| text.contains("met")), "{:?}", frame.missing);
    assert_eq!(frame.grids["tables"].rows.len(), 1);
    let plan = crate::explain(source.address(), name, "SELECT * FROM pg_stat_activity").unwrap();
    let first = "search_path: pg_catalog, shadow, public, pg_catalog\n";
    assert!(plan.starts_with(first) && !plan.contains("met"), "{plan}");
}

#[test]
fn progress_of_a_command_is_shown_as_the_server_knows_it() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 1000) g");
    // COPY from a program that does not end stands still in the middle.
    let mut session = server.session(&url);
    let copying = std::thread::spawn(move || {
        session.ask("COPY t FROM PROGRAM 'seq 1 100000; exec sleep 600'")
    });
    // It reads 64 KB at once, and waits for the rest of the ninth piece.
    let oracle = "SELECT bytes_processed = 524288 FROM pg_stat_progress_copy";
    until(&server, &url, oracle, "t");
    let mut source = source(&url);
    let frame = source.frame(&request(&[PgView::Progress])).unwrap();
    let grid = &frame.grids["progress"];
    let row: Vec<String> = ["command", "relation", "phase", "done", "unit"]
        .iter()
        .map(|column| grid.value(&grid.rows[0], column).shown())
        .collect();
    let psql = "SELECT command || ' PROGRAM', 'public.' || relid::regclass, \
                tuples_processed || ' rows', bytes_processed, 'bytes' FROM pg_stat_progress_copy";
    assert_eq!(row.join("|"), server.query(&url, psql));
    assert_eq!(grid.value(&grid.rows[0], "whole"), SqlScalar::Null, "a program has no size");
    let pid = grid.value(&grid.rows[0], "pid");
    let seen = frame.sessions.iter().find(|it| SqlScalar::Whole(it.identity.pid.into()) == pid);
    source.signal(crate::SignalKind::Terminate, seen.unwrap().identity).unwrap();
    assert_eq!(copying.join().unwrap(), None);
}

#[test]
fn an_index_that_waits_for_sessions_says_for_how_many_and_for_which() {
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 10) g");
    // The first of two writers ends, and the index still waits for the second.
    let mut writers = [(); 2].map(|()| server.session(&url));
    let mut pids = Vec::new();
    for writer in &mut writers {
        pids.push(writer.ask("BEGIN; SELECT pg_backend_pid()").unwrap());
        writer.ask("UPDATE t SET id = id WHERE id = 0").unwrap();
    }
    let mut session = server.session(&url);
    let building = std::thread::spawn(move || session.ask("CREATE INDEX CONCURRENTLY ON t (id)"));
    let waits = "SELECT phase, lockers_done, lockers_total FROM pg_stat_progress_create_index";
    until(&server, &url, waits, "waiting for writers before build|0|2");
    let first = "SELECT current_locker_pid FROM pg_stat_progress_create_index";
    let first = server.query(&url, first);
    let at = pids.iter().position(|pid| *pid == first).unwrap();
    writers[at].ask("COMMIT").unwrap();
    until(&server, &url, waits, "waiting for writers before build|1|2");
    let mut source = source(&url);
    let frame = source.frame(&request(&[PgView::Progress])).unwrap();
    let list = list(PgView::Progress, &frame, &frame);
    let row: Vec<&str> = list.rows[0].cells.iter().skip(1).map(|it| it.text.as_str()).collect();
    let phase = format!("waiting for writers before build: pid {}", pids[1 - at]);
    assert_eq!(
        row,
        ["CREATE INDEX CONCURRENTLY", "t0", "public.t", &phase, "50.0", "1", "2", "sessions"]
    );
    writers[1 - at].ask("COMMIT").unwrap();
    assert!(building.join().unwrap().is_some());
}

/// Where a server is, for databases by name.
fn address(server: &Postgres) -> String {
    let url = server.database();
    url.rsplit_once('/').unwrap().0.to_owned()
}

#[test]
fn a_statement_in_another_encoding_leaves_the_figures_without_texts() {
    let server = server();
    server.query(
        "postgres://x/t0",
        "CREATE DATABASE raw ENCODING 'SQL_ASCII' \
         LOCALE 'C' TEMPLATE template0",
    );
    let place = address(&server);
    let mut raw = server.session(&format!("{place}/raw"));
    raw.ask("SET pg_stat_statements.track = 'all'").unwrap();
    // A comment with the byte 0xff.
    let text = "'\\x53454c4543542031202f2aff2a2f202b2031'";
    raw.ask(&format!("DO $$ BEGIN EXECUTE convert_from({text}, 'SQL_ASCII'); END $$")).unwrap();
    let mut source = source(&format!("{place}/t0"));
    let frame = source.frame(&request(&[PgView::Statements])).unwrap();
    assert!(frame.missing[0].starts_with("statements: texts are missing: "), "{:?}", frame.missing);
    assert!(!frame.grids["statements"].rows.is_empty());
    assert_eq!(frame.grids["statements"].columns.last().unwrap(), "query");
}

#[test]
fn checkpoints_buffers_and_wal_are_those_of_psql_and_one_reset_is_not_that_of_the_others() {
    let server = Postgres::start();
    let url = server.database();
    let mut source = source(&url);
    let wanted = request(&[PgView::Writes]);
    let before = source.frame(&wanted).unwrap();
    assert_eq!(before.missing, Vec::<String>::new());
    let requested = "SELECT checkpoints_req FROM pg_stat_bgwriter";
    let begun: i64 = server.query(&url, requested).parse().unwrap();
    server.query(&url, "CREATE TABLE t (v int)");
    for _ in 0..3 {
        server.query(&url, "INSERT INTO t SELECT generate_series(1, 10000)");
        server.query(&url, "CHECKPOINT");
    }
    until(&server, &url, requested, &(begun + 3).to_string());
    until(&server, &url, OTHER_CLIENTS, "0");
    let wal_bytes =
        || -> f64 { server.query(&url, "SELECT wal_bytes FROM pg_stat_wal").parse().unwrap() };
    let least = wal_bytes();
    let frame = source.frame(&wanted).unwrap();
    let most = wal_bytes();
    let listed = list(PgView::Writes, &frame, &before);
    let cell = |what, title| number(&listed, what, title);
    assert_eq!(cell("checkpoints on request", "count"), 3.0);
    assert_eq!(cell("checkpoints by time", "count"), 0.0);
    let seconds = (frame.time_us - before.time_us) as f64 / 1e6;
    assert!((cell("checkpoints on request", "count/s") * seconds - 3.0).abs() < 1e-6);
    let buffers = server.query(&url, "SELECT buffers_checkpoint FROM pg_stat_bgwriter");
    assert_eq!(cell("buffers by checkpoints", "count in all").to_string(), buffers);
    let written = cell("buffers by checkpoints", "count");
    assert!(written >= 3.0, "{listed:?}");
    assert_eq!(cell("buffers by checkpoints", "bytes"), written * 8192.0);
    let counted = cell("WAL records", "bytes in all");
    assert!(least <= counted && counted <= most, "{least} <= {counted} <= {most}");
    // 30,000 rows of 28 bytes are in it, too.
    assert!(cell("WAL records", "bytes") > 840_000.0, "{listed:?}");

    server.query(&url, "SELECT pg_stat_reset_shared('wal')");
    let after = source.frame(&wanted).unwrap();
    let listed = list(PgView::Writes, &after, &frame);
    assert_eq!(number(&listed, "checkpoints on request", "count"), 0.0);
    assert!(number(&listed, "WAL records", "bytes in all") < counted, "{listed:?}");
}

#[test]
fn of_more_rows_than_the_bound_those_with_the_most_are_read_and_the_frame_says_so() {
    let server = Postgres::start();
    let url = server.database();
    let many = "DO $$ BEGIN FOR g IN 1..1001 LOOP EXECUTE format('CREATE TABLE t%s (v int)', g); \
                END LOOP; END $$";
    server.query(&url, many);
    server.query(&url, "INSERT INTO t1001 VALUES (1)");
    until(&server, &url, OTHER_CLIENTS, "0");
    let mut source = source(&url);
    let frame = source.frame(&request(&[PgView::Tables])).unwrap();
    assert_eq!(frame.missing, ["tables: only 1000 rows are read"]);
    let grid = &frame.grids["tables"];
    assert_eq!(grid.rows.len(), 1000);
    assert_eq!(grid.value(&grid.rows[0], "table").shown(), "public.t1001");
}
