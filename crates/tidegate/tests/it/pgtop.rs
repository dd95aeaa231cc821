//! `tidegate pgtop` against a real PostgreSQL: one frame, files of settings, and its outputs.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testkit::{Postgres, Session, TempDir};

use crate::running::{BINARY, until};

/// What `server.database()` returns, without the password.
pub(crate) fn without_password(url: &str) -> String {
    let (start, rest) = url.split_once("//").unwrap();
    let (login, place) = rest.split_once('@').unwrap();
    let (user, _) = login.split_once(':').unwrap();
    format!("{start}//{user}@{place}")
}

/// Prepares a command whose files are in a folder, with the password in its `.pgpass`.
pub(crate) fn at_home(command: &mut Command, home: &Path) {
    let file = home.join(".pgpass");
    fs::write(&file, "*:*:*:*:s3cret/word\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&file, mode).unwrap();
    command.env("HOME", home).current_dir(home);
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSERVICE"] {
        command.env_remove(name);
    }
}

fn run(arguments: &[&str], home: &Path) -> (i32, String, String) {
    let mut command = Command::new(BINARY);
    at_home(command.arg("pgtop").args(arguments), home);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str], home: &Path) -> Value {
    let (code, out, err) =
        run(&[&["-b", "--format", "json", "-s", "0.3"], arguments].concat(), home);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

/// Begins a statement that does not end by itself, and waits until the server has run it
/// for 0.1 s: younger ones are not cancelled.
pub(crate) fn begin(
    server: &Postgres,
    url: &str,
    sql: &'static str,
) -> std::thread::JoinHandle<()> {
    let mut session = server.session(url);
    let thread = std::thread::spawn(move || {
        let _ = session.ask(sql);
    });
    let mut asking = server.session(url);
    let count = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND \
         state = 'active' AND query = $q${sql};$q$ AND wait_event IS NOT NULL AND \
         clock_timestamp() - query_start > interval '100 ms'"
    );
    until("the statement", || asking.ask(&count).as_deref() == Some("1"));
    thread
}

pub(crate) fn end_all(asking: &mut Session) {
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE \
               pid <> pg_backend_pid() AND backend_type = 'client backend'";
    asking.ask(sql);
}

#[test]
fn a_printed_frame_has_the_figures_of_psql() {
    let home = TempDir::new().unwrap();
    let server = Postgres::start();
    let url = server.database();
    let sleeping = begin(&server, &url, "SELECT pg_sleep(600)");
    let mut idle = server.session(&url);
    idle.ask("BEGIN").unwrap();
    let mut asking = server.session(&url);
    // The session that looked for the statement may still be ending.
    let clients = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    until("three sessions", || asking.ask(clients).as_deref() == Some("3"));
    let frame = json(&[&without_password(&url)], home.path());
    // Its own session may still be ending, too.
    until("three sessions again", || asking.ask(clients).as_deref() == Some("3"));
    let sessions = &frame["header"]["sessions"];
    let oracle = asking
        .ask(
            "SELECT count(*), \
             count(*) FILTER (WHERE state = 'active' AND pid <> pg_backend_pid()), \
             count(*) FILTER (WHERE state = 'idle in transaction'), \
             count(*) FILTER (WHERE state = 'idle' OR pid = pg_backend_pid()), \
             current_setting('max_connections') FROM pg_stat_activity \
             WHERE backend_type = 'client backend'",
        )
        .unwrap();
    let ours = ["total", "active", "idle_in_transaction", "idle", "max"];
    let ours: Vec<String> = ours.iter().map(|name| sessions[name].to_string()).collect();
    assert_eq!(ours.join("|"), oracle);
    let started = "SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8";
    assert_eq!(frame["server"]["started_us"].to_string(), asking.ask(started).unwrap());
    let row = &frame["rows"][0];
    let pid = "SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600);'";
    assert_eq!(row["Id"].to_string(), asking.ask(pid).unwrap());
    assert_eq!(row["Wait"], "Timeout:PgSleep");
    assert_eq!(row["Query or State"], "SELECT pg_sleep(600);");

    let (code, text, err) = run(&["-b", "--noheader", &without_password(&url)], home.path());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(text.contains("Query or State") && !text.contains("PgSQL on"), "{text}");
    end_all(&mut asking);
    sleeping.join().unwrap();
}

#[test]
fn the_command_line_wins_over_the_file_whose_bad_lines_are_named_at_once() {
    let home = TempDir::new().unwrap();
    let server = Postgres::shared();
    let url = server.database();
    let name = url.rsplit_once('/').unwrap().1;
    let port = server.port();
    let text = format!("host = 127.0.0.1:{port}\nuser=tidegate\ndb=absent\nqueries = 1\n");
    fs::write(home.path().join(".pgtop"), text).unwrap();
    let (code, out, err) = run(&["-b"], home.path());
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("database \"absent\" does not exist"), "{err}");
    assert!(err.contains(".pgtop:4: `queries` is unknown; passed over"), "{err}");
    let (code, out, _) = run(&["-b", "--db", name], home.path());
    assert_eq!(code, 0);
    assert!(out.starts_with(&format!("PgSQL on 127.0.0.1:{port}/{name} (15")), "{out}");

    fs::write(home.path().join("rc"), "port = x\nnonsense\n").unwrap();
    let (code, out, err) = run(&["-b", "--config", "rc"], home.path());
    assert_eq!((code, out.as_str()), (78, ""));
    assert_eq!(err, "rc:1: `port` is 1 to 65535\nrc:2: expected `key = value`\n");
}

#[test]
fn the_environment_service_files_and_tls_lead_to_a_server() {
    let home = TempDir::new().unwrap();
    let server = Postgres::shared();
    let url = server.database();
    let name = url.rsplit_once('/').unwrap().1;
    let authority = server.authority().display().to_string();
    let services = format!(
        "[shop]\nhost=127.0.0.1\nport={}\ndbname={name}\nuser=tidegate\nsslmode=verify-full\n\
         sslrootcert={authority}\n",
        server.port()
    );
    fs::write(home.path().join(".pg_service.conf"), services).unwrap();
    let frame = json(&["service=shop"], home.path());
    assert_eq!(frame["server"]["database"], name);
    let mut command = Command::new(BINARY);
    at_home(command.args(["pgtop", "-b", "--noheader"]), home.path());
    // A service wins over a variable, as libpq has it.
    let output = command.env("PGSERVICE", "shop").env("PGPORT", "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");

    fs::write(home.path().join("other.pem"), BROKEN_CERTIFICATE).unwrap();
    let (code, _, err) = run(&["-b", "service=shop sslrootcert=other.pem"], home.path());
    assert_eq!(code, 1);
    assert!(err.contains("certificate"), "{err}");
}

/// No certificate of an authority.
const BROKEN_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

#[test]
fn a_password_is_in_no_output_and_not_in_the_list_of_processes() {
    let home = TempDir::new().unwrap();
    let server = Postgres::shared();
    let url = server.database();
    let address = without_password(&url);
    let wrong = ["-b", "-p", "geheim-1", &address];
    let (code, out, err) = run(&wrong, home.path());
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("28P01") && !err.contains("geheim"), "{err}");
    let mut command = Command::new(BINARY);
    at_home(command.args(["pgtop", "-b", "--password=s3cret/word", &url]), home.path());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let file = format!("/proc/{}/cmdline", child.id());
    let arguments = || String::from_utf8(fs::read(&file).unwrap()).unwrap();
    until("hidden arguments", || arguments().contains("--password=***"));
    assert!(!arguments().contains("s3cret"), "{}", arguments());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = TempDir::new().unwrap();
    let free = testkit::free_port();
    let (code, out, err) = run(&["-b", &format!("127.0.0.1:{free}")], home.path());
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains(&format!("read `127.0.0.1:{free}/test`")), "{err}");
}

#[test]
fn options_that_do_not_go_together_are_wrong_usage_and_no_secret_is_repeated() {
    let home = TempDir::new().unwrap();
    let here = "127.0.0.1:1";
    let cases: [(&[&str], &str); 11] = [
        (&["-b", "--record", "f", here], "`--record` needs the screen"),
        (&["-b", "--slow-log", "f", here], "`--slow-log` needs the screen"),
        (&["-b", "--slack_webhook", "http://h/s3cret", here], "`--slack_webhook` needs the screen"),
        (&["-b", "--replay", "f"], "`--replay` shows a screen"),
        (&["--format", "json", here], "use `-b`"),
        (&["-b", "--view", "waits", here], "waits are sampled over time"),
        (&["--delay", "-1", here], "a delay is 0.2 to 86400 seconds, not `-1`"),
        (&["-s", "0.1", here], "a delay is 0.2 to 86400 seconds, not `0.1`"),
        (&["--slow_threshold", "nan", here], "`--slow_threshold` is a number"),
        (&["--slack_webhook", "s3cret", here], "`slack_webhook` is no URL"),
        (&["postgres://ann:s3cret/PW@h"], "`postgres://…` is no URL"),
    ];
    for (arguments, wanted) in cases {
        let (code, out, err) = run(arguments, home.path());
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(wanted) && !err.contains("s3cret"), "{arguments:?}: {err}");
    }
    assert!(!home.path().join("pgtop.log").exists());
}
