//! The screen of `tidegate pgtop` on a pseudo-terminal: views, signals, faults, recordings.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use testkit::{Origin, OriginReply, Postgres, TempDir};

use crate::pgtop::{at_home, begin, end_all, without_password};
use crate::pseudo_terminal::PseudoTerminal;
use crate::running::{BINARY, run, until};

fn screen(arguments: &[&str], size: (u16, u16), home: &Path) -> PseudoTerminal {
    let all = [&[BINARY, "pgtop", "-s", "0.2"], arguments].concat();
    PseudoTerminal::start(&all, size, |command| at_home(command, home))
}

#[test]
fn a_query_is_cancelled_from_the_screen_and_its_session_ended_only_after_that() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let audit = "[audit]\nsyslog = \"off\"\ndir = \"trail\"\n";
    fs::write(home.path().join("audit.toml"), audit).unwrap();
    let sleeping = begin(&server, &url, "SELECT pg_sleep(600)");
    let mut asking = server.session(&url);
    let query = "SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600);'";
    let pid = asking.ask(query).unwrap();
    let arguments = ["--audit-config", "audit.toml", "--noidle", &without_password(&url)];
    let mut screen = screen(&arguments, (110, 14), home.path());
    screen.wait_for(&[&format!("{pid} tidegate"), "Timeout:PgSleep", "SELECT pg_sleep(600);"]);
    screen.press("X");
    screen.wait_for(&["cancel it first"]);
    screen.press("\x1b");
    screen.wait_for(&["nothing is done"]);
    screen.press("e");
    screen.wait_for(&["plan of", "Result  (cost="]);
    screen.press(" f");
    screen.wait_for(&[&format!("query of {pid}")]);
    screen.press(" k\r");
    screen.wait_for(&[&format!("{pid} cancelled")]);
    sleeping.join().unwrap();

    // A session that is idle in a transaction runs nothing that could be cancelled.
    let mut idle = server.session(&url);
    let pid = idle.ask("BEGIN; SELECT pg_backend_pid()").unwrap();
    screen.wait_for(&[&format!("{pid} tidegate"), "Idle xact"]);
    screen.press("k\r");
    screen.wait_for(&["no query runs there; X ends the session"]);
    screen.press("X");
    screen.wait_for(&[&format!("end session {pid}? type yes: _")]);
    screen.press("no\r");
    screen.wait_for(&["not ended"]);
    let alive = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
    assert_eq!(asking.ask(&alive).as_deref(), Some("1"));
    screen.press("Xyes\r");
    screen.wait_for(&[&format!("{pid} terminated")]);
    assert_eq!(idle.ask("SELECT 8"), None);
    screen.press("q");
    assert!(screen.end().0.success());

    let (_, out, _) = run(&["audit", "--dir", "trail", "--format", "json"], home.path());
    let trail: Value = serde_json::from_str(&out).unwrap();
    let actions = trail["actions"].as_array().unwrap();
    let of = |at: usize, name: &str| actions[at][name].as_str().unwrap().to_owned();
    assert_eq!(actions.len(), 2, "{out}");
    assert_eq!((of(0, "action"), of(0, "result")), ("pgtop cancel".into(), "signalled".into()));
    assert!(of(0, "what").contains("backend_start 20") && of(0, "what").contains(" query "));
    assert!(!out.contains("pg_sleep"), "the text of a query is in the trail: {out}");
    let last = (of(1, "action"), of(1, "result"));
    assert_eq!(last, ("pgtop terminate".into(), "terminated".into()));
}

#[test]
fn all_slow_queries_are_really_cancelled_and_writers_only_after_a_yes() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE TABLE t AS SELECT 1 AS v");
    let readers = ["SELECT pg_sleep(601)", "SELECT pg_sleep(602)"];
    let mut threads: Vec<_> = readers.into_iter().map(|sql| begin(&server, &url, sql)).collect();
    let writer = begin(&server, &url, "UPDATE t SET v = 2 WHERE pg_sleep(603) IS NOT NULL");
    let mut screen = screen(&[&without_password(&url)], (110, 20), home.path());
    screen.wait_for(&["pg_sleep(601)", "pg_sleep(602)", "pg_sleep(603)"]);
    // The floor is 30 s, and the queries have to be that old. Each try has a number of its own.
    let mut asking = server.session(&url);
    let old = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60%' AND \
               pid <> pg_backend_pid() AND clock_timestamp() - query_start > interval '35 s'";
    until("old queries", || asking.ask(old).as_deref() == Some("3"));
    let mut tries = 0;
    while !screen.text().contains("to be cancelled: 3") {
        tries += 1;
        let seconds = format!("30.{tries:03}");
        screen.press(&format!("K\x15{seconds}\r"));
        let none = format!("no query takes longer than {}", seconds.trim_end_matches('0'));
        until("an answer", || {
            [&none, "to be cancelled"].iter().any(|it| screen.text().contains(&**it))
        });
        // On a busy machine the frame may be some seconds old, and have fewer of them.
        if screen.text().contains("to be cancelled") && !screen.text().contains("cancelled: 3") {
            screen.press("\x1b");
            screen.wait_for(&["nothing is done"]);
        }
    }
    screen.wait_for(&["WRITES UPDATE t SET v = 2", "type 3 to cancel these queries: _"]);
    screen.press("3\r");
    screen.wait_for(&["1 may write. Cancel them, too? yes, no: _"]);
    screen.press("no\r");
    screen.wait_for(&["signalled", " cancelled"]);
    threads.drain(..).for_each(|thread| thread.join().unwrap());
    let writes = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UPDATE t %' AND \
                  state = 'active'";
    assert_eq!(asking.ask(writes).as_deref(), Some("1"));
    // The next plan is made of a frame without those that were cancelled.
    screen.press(" ");
    until("a frame without them", || {
        let text = screen.text();
        let is_list = text.contains("active: 1 ") && text.contains("pg_sleep(603)");
        is_list && !readers.iter().any(|query| text.contains(query))
    });
    screen.press("K\x1530\r");
    screen.wait_for(&["type 1 to cancel these queries: _"]);
    screen.press("1\ryes\r");
    writer.join().unwrap();
    assert_eq!(asking.ask("SELECT v FROM t").as_deref(), Some("1"));
    screen.press("q");
    screen.end();
}

#[test]
fn four_sessions_that_wait_for_each_other_are_a_tree() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE TABLE l AS SELECT g AS id, 0 AS v FROM generate_series(1, 4) g");
    let mut sessions: Vec<_> = (0..4).map(|_| server.session(&url)).collect();
    let mut pids = Vec::new();
    for (at, session) in sessions.iter_mut().enumerate() {
        pids.push(session.ask("BEGIN; SELECT pg_backend_pid()").unwrap());
        session.ask(&format!("UPDATE l SET v = 1 WHERE id = {}", at + 1)).unwrap();
    }
    let mut asking = server.session(&url);
    let waiting: Vec<_> = sessions
        .drain(1..)
        .enumerate()
        .map(|(at, mut session)| {
            let thread = std::thread::spawn(move || {
                session.ask(&format!("UPDATE l SET v = 2 WHERE id = {}", at + 1))
            });
            let count = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            until("a waiter", || asking.ask(count) == Some((at + 1).to_string()));
            thread
        })
        .collect();
    let mut screen = screen(&["--view", "locks", &without_password(&url)], (110, 14), home.path());
    let tree: Vec<String> = pids
        .iter()
        .enumerate()
        .map(|(depth, pid)| match depth {
            0 => format!("\n{pid} "),
            _ => format!("\n{}└ {pid} ", "  ".repeat(depth - 1)),
        })
        .collect();
    screen.wait_for(&tree.iter().map(|line| &**line).collect::<Vec<_>>());
    // `psql` as the oracle: who blocks whom.
    for pair in pids.windows(2) {
        let blockers = format!("SELECT array_to_string(pg_blocking_pids({}), ' ')", pair[1]);
        assert_eq!(asking.ask(&blockers).unwrap(), pair[0]);
    }
    screen.press("2");
    screen.wait_for(&["Blocked by", &format!(" {} ", pids[2])]);
    screen.press("3");
    screen.wait_for(&["Blocks", "Idle xact"]);
    screen.press("q");
    screen.end();
    end_all(&mut asking);
    waiting.into_iter().for_each(|thread| drop(thread.join()));
}

#[test]
fn a_server_that_restarts_is_said_to_be_gone_and_watched_again() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let mut screen = screen(&[&without_password(&url)], (110, 12), home.path());
    screen.wait_for(&["PgSQL on", "Sessions: "]);
    server.kill();
    screen.wait_for(&["GONE since ", "; figures are of ", "connecting again in"]);
    server.start_again();
    until("no GONE", || !screen.text().contains("GONE"));
    screen.resize(20, 6);
    screen.wait_for(&["[1 running]"]);
    screen.press("=");
    screen.wait_for(&["[= indexes]"]);
    screen.resize(110, 12);
    screen.wait_for(&["nothing to show"]);
    screen.press("q");
    assert!(screen.end().1);
}

#[test]
fn a_slow_query_is_logged_counted_and_posted_once_though_the_webhook_fails_first() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let statsd = UdpSocket::bind("127.0.0.1:0").unwrap();
    let statsd_address = statsd.local_addr().unwrap().to_string();
    statsd.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let sink = Origin::start(|request| match request.nth {
        0 => OriginReply::ok("").close_before_head(),
        1 => OriginReply::status(500),
        2 => OriginReply::ok("").stall(),
        _ => OriginReply::ok("ok"),
    });
    // First seen above the threshold: it runs before pgtop does.
    let sleeping = begin(&server, &url, "SELECT pg_sleep(601)");
    let webhook = format!("http://{}/services/T0/B0/secret", sink.address());
    let arguments = [
        "--slow_threshold",
        "0.1",
        "--slack_webhook",
        &webhook,
        "--statsd",
        &statsd_address,
        &without_password(&url),
        // A second tab of the server tells nothing again.
        &without_password(&server.database()),
    ];
    let mut screen = screen(&arguments, (110, 20), home.path());
    screen.wait_for(&["SELECT pg_sleep(601);", "Slow: 1"]);
    sink.wait_for("/services/T0/B0/secret", 3);
    // The webhook says nothing now, and the screen goes on.
    screen.press("2");
    screen.wait_for(&["[2 waiting]", "the webhook answers 500"]);
    screen.press("1");
    sink.wait_for("/services/T0/B0/secret", 4);
    let mut datagram = [0; 2000];
    // What made the databases may still be there at first.
    let (mut is_active, mut is_slow) = (false, false);
    until("counts of active sessions and of slow queries", || {
        let length = statsd.recv(&mut datagram).unwrap();
        let text = String::from_utf8_lossy(&datagram[..length]).into_owned();
        is_active |= text.contains(".sessions.active:1|g");
        is_slow |= text.contains(".slow_queries:1|c");
        is_active && is_slow
    });
    // The next slow query is another crossing.
    let mut asking = server.session(&url);
    screen.press("k\r");
    screen.wait_for(&["cancelled"]);
    sleeping.join().unwrap();
    let sleeping = begin(&server, &url, "SELECT pg_sleep(602)");
    sink.wait_for("/services/T0/B0/secret", 5);
    screen.press("D");
    screen.wait_for(&["slack_webhook   set"]);
    screen.press("q");
    screen.press("q");
    screen.end();
    end_all(&mut asking);
    sleeping.join().unwrap();
    let log = fs::read_to_string(home.path().join("pgtop.log")).unwrap();
    // Which server of the machine it is, its port says.
    let place = url.rsplit_once('@').unwrap().1.strip_suffix("/t0").unwrap();
    expect_told(&bodies(&sink), &log, place);
}

/// Looks whether both queries were told, of the server at `place`.
fn expect_told(bodies: &[String], log: &str, place: &str) {
    assert_eq!(bodies.len(), 5, "{bodies:?}");
    let payload: Value = serde_json::from_str(&bodies[3]).unwrap();
    let text = payload["text"].as_str().unwrap();
    let who = format!("Slow postgres query on `{place}` database `t0` for user `tidegate`");
    assert!(text.starts_with(&who), "{text}");
    assert!(text.ends_with(" s):\n\n```\nSELECT pg_sleep(601);\n```\n"), "{text}");
    assert!(bodies[4].contains("pg_sleep(602)"));
    let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert_eq!(lines[0][1..4], [place, "t0", "tidegate"]);
    assert_eq!(lines[0][6], "SELECT pg_sleep(601);");
}

/// What was posted, in order.
fn bodies(sink: &Origin) -> Vec<String> {
    let requests = sink.requests();
    requests.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect()
}

#[test]
fn a_recording_shows_any_past_moment_and_what_sessions_waited_for() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let sleeping = begin(&server, &url, "SELECT pg_sleep(600)");
    let address = without_password(&url);
    let mut first = screen(&["--record", "day.pgtop", &address], (110, 20), home.path());
    first.wait_for(&["SELECT pg_sleep(600);"]);
    first.press("k\r");
    first.wait_for(&["cancelled"]);
    sleeping.join().unwrap();
    until("the end of the query", || !first.text().contains("Timeout:PgSleep"));
    first.press("q");
    first.end();

    let mut second = screen(&["--replay", "day.pgtop"], (110, 20), home.path());
    second.wait_for(&["REPLAY"]);
    assert!(!second.text().contains("Timeout:PgSleep"), "{}", second.text());
    second.press("{");
    second.wait_for(&["REPLAY 1 of", "Timeout:PgSleep", "SELECT pg_sleep(600);"]);
    second.press("k");
    second.wait_for(&["nothing is signalled from a recording"]);
    second.press("0");
    second.wait_for(&["[0 databases]", "t0"]);
    second.press("6");
    second.wait_for(&["active sessions, 104 s to ", "by class", "T Timeout", "100 % Timeout"]);
    second.press("\x1b[C");
    second.wait_for(&["by event of Timeout", "100 % PgSleep"]);
    second.press("\x1b[C");
    second.wait_for(&["by query of Timeout > PgSleep", "100 % SELECT pg_sleep(?);"]);
    second.press("\x1b[C");
    second.wait_for(&["by user", "100 % tidegate"]);
    second.press("\x1b[D<");
    second.wait_for(&["by query of Timeout > PgSleep", "▲"]);
    second.press("q");
    assert!(second.end().0.success());
}

#[test]
fn addresses_are_shown_by_their_names_where_that_is_wanted() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let mut idle = server.session(&url);
    idle.ask("BEGIN").unwrap();
    let mut screen = screen(&["-r", &without_password(&url)], (110, 12), home.path());
    screen.wait_for(&[" localhost ", "Idle xact"]);
    // Both are what a filter may say.
    for host in ["localhost", "127.0.0.1"] {
        screen.press(&format!("h\x15{host}\r"));
        screen.wait_for(&[&format!("filter: host={host}"), "Idle xact"]);
    }
    screen.press("h\x15elsewhere\r");
    screen.wait_for(&["filter: host=elsewhere", "nothing to show"]);
    screen.press("q");
    screen.end();
}

#[test]
fn a_recording_of_two_databases_has_both_as_tabs_at_the_same_moment() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let urls = [(); 2].map(|()| without_password(&server.database()));
    let arguments = ["--record", "day.pgtop", "--view", "databases", &urls[0], &urls[1]];
    let mut first = screen(&arguments, (110, 20), home.path());
    first.wait_for(&["/t0 [1/2]", "returned/s"]);
    first.press("]");
    first.wait_for(&["/t1 [2/2]", "returned/s"]);
    first.press("q");
    first.end();

    let replay = ["--replay", "day.pgtop", "--view", "tables"];
    let mut second = screen(&replay, (110, 20), home.path());
    second.wait_for(&["[1/2]", "REPLAY"]);
    let name = |text: &str| text.lines().nth(1).unwrap().split(' ').nth(2).unwrap().to_owned();
    let one = name(&second.text());
    second.press("]");
    second.wait_for(&["[2/2]", "REPLAY"]);
    let mut names = [one, name(&second.text())];
    names.sort();
    assert!(names[0].ends_with("/t0") && names[1].ends_with("/t1"), "{names:?}");
    // Its own frames are counted, and stepped through.
    second.press("{");
    second.wait_for(&["[2/2]", "REPLAY 1 of"]);
    second.press("[");
    second.wait_for(&["[1/2]", "REPLAY"]);
    second.press("q");
    assert!(second.end().0.success());
}

#[test]
fn a_role_without_rights_is_told_the_grants_and_two_servers_are_two_tabs() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    server.query(&url, "CREATE ROLE watcher LOGIN PASSWORD 's3cret/word'");
    let sleeping = begin(&server, &url, "SELECT pg_sleep(600)");
    let watcher = without_password(&url).replace("tidegate@", "watcher@");
    let other = without_password(&server.database());
    let mut screen = screen(&[&watcher, &other], (130, 12), home.path());
    screen.wait_for(&["[1/2]", "hidden: GRANT pg_monitor TO \"watcher\""]);
    // What `k` and `e` need is said before they are tried.
    let both = "GRANT pg_signal_backend, pg_read_all_data TO \"watcher\"";
    screen.wait_for(&[&format!("\n for k K X, e: {both}")]);
    screen.press("]");
    screen.wait_for(&["/t1 [2/2]", "SELECT pg_sleep(600);"]);
    assert!(!screen.text().contains("for k K X"), "a superuser may signal");
    screen.press("[");
    server.query(&url, "GRANT pg_monitor TO watcher");
    screen.wait_for(&["[1/2]", "SELECT pg_sleep(600);"]);
    // The selection stays with its session, wherever that stands; the first row is the query.
    screen.press("\x1b[H");
    screen.press("k\r");
    screen.wait_for(&["not signalled", "GRANT pg_signal_backend TO \"watcher\""]);
    screen.press("q");
    screen.end();
    end_all(&mut server.session(&url));
    sleeping.join().unwrap();
}
