//! Claims about `tidegate events`: who delivers when two could, and what is said of it.

use std::fs;
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{Server, TempDir, free_port};

use crate::running::{BINARY, run, until};

/// A log whose lines have ids, into SQLite.
pub(crate) const CONFIG: &str = r#"
node = "n"

[[source]]
name = "web"
files = ["access.log"]

[[rollup]]
name = "by_id"
by = ["query.id"]
sum = ["bytes_out"]

[[sink]]
name = "main"
url = "sqlite:sink.db"
flush = "20ms"
"#;

/// The line of an id.
fn line(id: u64) -> String {
    format!(
        "192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET /p?id={id} HTTP/1.1\" 200 {id} \"-\" \
         \"-\"\n"
    )
}

/// Appends the lines of these ids.
pub(crate) fn append(folder: &Path, ids: std::ops::Range<u64>) {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.create(true).append(true).open(folder.join("access.log")).unwrap();
    file.write_all(ids.map(line).collect::<String>().as_bytes()).unwrap();
}

/// Ids, and lines counted for them.
pub(crate) fn held(folder: &Path) -> (u64, u64) {
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    let sums = "SELECT COUNT(*), COALESCE(SUM(count), 0) FROM by_id";
    let sums = database.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (ids, lines): (i64, i64) = sums.unwrap_or_default();
    (ids.unsigned_abs(), lines.unsigned_abs())
}

fn document(address: SocketAddr) -> Option<Value> {
    let mut text = String::new();
    TcpStream::connect(address).ok()?.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// What the first pipeline says of itself.
pub(crate) fn first(address: SocketAddr) -> Value {
    document(address).map_or(Value::Null, |document| document["pipelines"][0].clone())
}

/// Starts it with a status port, which is its address.
pub(crate) fn start(folder: &Path, config: &str, name: &str) -> Server {
    spawn(folder, config, name, |program| Command::new(program))
}

/// Starts it by what `make` makes of the program.
pub(crate) fn spawn(
    folder: &Path,
    config: &str,
    name: &str,
    make: impl FnOnce(&str) -> Command,
) -> Server {
    let status = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let file = folder.join(name);
    let (config, more) = config.split_once("[events]\n").unwrap_or((config, ""));
    let config = format!("{config}\n[events]\nstatus = \"{status}\"\n{more}");
    std::fs::write(&file, config).unwrap();
    let mut command = make(BINARY);
    command.args(["events", "run", "-c"]).arg(&file);
    Server::spawn(command, status).unwrap()
}

#[test]
fn of_two_that_deliver_one_stands_by_and_takes_over() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..100);
    let servers = [start(folder, CONFIG, "a.toml"), start(folder, CONFIG, "b.toml")];
    let mut written = 100;
    let stands_by = |server: &Server| first(server.address())["stands_by"] == true;
    until("one to stand by", || {
        append(folder, written..written + 10);
        written += 10;
        servers.iter().any(stands_by)
    });
    let [a, b] = servers;
    let (active, waiting) = if stands_by(&a) { (b, a) } else { (a, b) };
    assert!(first(waiting.address())["fenced"].as_u64().unwrap() >= 1);
    let said = first(waiting.address())["last_error"].to_string();
    assert!(said.contains("another process"), "{said}");
    active.signal("KILL").unwrap();
    drop(active);
    append(folder, written..written + 50);
    written += 50;
    until("the other to take over", || held(folder) == (written, written));
    until("it to say so", || first(waiting.address())["stands_by"] == false);
}

#[test]
fn status_says_how_far_each_pipeline_is() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..50);
    let server = start(folder, CONFIG, "tidegate.toml");
    until("the delivery", || first(server.address())["rows"] == 50);
    let pipeline = first(server.address());
    assert_eq!(pipeline["source"], "web");
    assert_eq!(pipeline["sink"], "main");
    assert_eq!(pipeline["lines"], 50);
    assert_eq!(pipeline["bytes_behind"], 0);
    assert_eq!(pipeline["state"], "caught up");
    let (code, text, _) = run(&["events", "status"], folder);
    assert_eq!(code, 0);
    assert!(text.contains("web to main: caught up"), "{text}");
    let (_, json, _) = run(&["events", "status", "--json"], folder);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["node"], "n");
}

#[test]
fn refused_lines_and_lines_without_a_key_are_counted_and_kept_where_the_configuration_says() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    let without = line(0).replace(" 200 ", " - ") + "nonsense\n" + &"nonsense ".repeat(200) + "\n";
    let more = "[[field]]\nname = \"n\"\nfrom = \"query.n\"\ntype = \"integer\"\n\
                [[rollup]]\nname = \"by_n\"\nby = [\"n\"]\n\
                [events]\nstatus = \"127.0.0.1:STATUS\"\n\
                quarantine = { dir = \"refused\", bytes_max = \"1KB\" }\n";
    let port = free_port();
    let config = format!("{CONFIG}{}", more.replace("STATUS", &port.to_string()));
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    let mut file =
        std::fs::OpenOptions::new().append(true).open(folder.join("access.log")).unwrap();
    std::io::Write::write_all(&mut file, without.as_bytes()).unwrap();
    let status = SocketAddr::from(([127, 0, 0, 1], port));
    let mut command = Command::new(BINARY);
    command.args(["events", "run"]).current_dir(folder);
    let server = Server::spawn(command, status).unwrap();
    until("the delivery", || first(server.address())["rows"] == 10);
    let pipeline = first(server.address());
    assert_eq!(pipeline["without_key"], 10);
    assert_eq!(pipeline["quarantined"], 3);
    assert_eq!(pipeline["quarantine_dropped"], 1);
    let kept = std::fs::read_to_string(folder.join("refused/web-main.ndjson")).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    let (_, text, _) = run(&["events", "status"], folder);
    assert!(text.contains("3 lines, kept in `"), "{text}");
    assert!(text.contains("refused/web-main.ndjson`, 1 of them not kept"), "{text}");
    assert!(text.contains("10 times a line lacked a number in `by`"), "{text}");
}

#[test]
fn a_checkpoint_that_goes_back_under_its_process_is_named_until_somebody_acknowledges_it() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    let server = start(folder, CONFIG, "tidegate.toml");
    until("the delivery", || held(folder) == (10, 10));
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    database.execute("DELETE FROM tidegate_checkpoints", []).unwrap();
    append(folder, 10..11);
    until("the second reading", || held(folder) == (11, 21));
    let (code, text, _) = run(&["events", "losses"], folder);
    assert_eq!(code, 0);
    assert!(text.contains("the checkpoint went back from batch"), "{text}");
    let (_, text, _) = run(&["events", "status"], folder);
    assert!(text.contains("open losses: 1"), "{text}");
    std::fs::write(folder.join("data/losses"), "{\"id\":5").unwrap();
    let (_, text, _) = run(&["events", "status"], folder);
    assert!(text.contains("it is not known what is lost"), "{text}");
    drop(server);
    assert_eq!(run(&["events", "losses", "--ack", "all"], folder).0, 1);
    let (code, _, said) = run(&["events", "losses"], folder);
    assert_eq!(code, 1);
    assert!(said.contains("1 line of `"), "{said}");
    std::fs::remove_file(folder.join("data/losses")).unwrap();
    let (code, text, _) = run(&["events", "losses"], folder);
    assert_eq!(code, 0);
    assert!(text.starts_with("no loss is noted: there is no `"), "{text}");
}

#[test]
fn a_sink_that_fails_is_named_until_it_is_well() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    // A folder stands where the database is to be.
    std::fs::create_dir(folder.join("sink.db")).unwrap();
    let server = start(folder, CONFIG, "tidegate.toml");
    let error = || first(server.address())["last_error"].as_str().map(str::to_owned);
    until("the error", || error().is_some_and(|error| error.contains("sink.db")));
    std::fs::remove_dir(folder.join("sink.db")).unwrap();
    until("the delivery", || held(folder) == (10, 10));
    until("the error to go", || error().is_none());
}

#[test]
fn status_of_a_process_that_is_gone_is_what_it_noted_last() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    let port = free_port();
    let config = format!("{CONFIG}\n[listen]\nadmin = \"127.0.0.1:{port}\"\n");
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    assert_eq!(code, 0, "{said}");
    let (code, text, said) = run(&["events", "status"], folder);
    assert_eq!(code, 1);
    assert!(
        text.contains(
            "web to main: no answer, and `[events] status` is not set, so it may run; batch 1 with"
        ),
        "{text}"
    );
    assert_eq!(said, "", "one note is enough");
    std::fs::remove_dir_all(folder.join("data")).unwrap();
    let (code, text, said) = run(&["events", "status"], folder);
    assert_eq!((code, text.as_str()), (1, ""));
    assert!(said.contains("hint: "), "{said}");
}

#[test]
fn a_process_whose_stdin_ends_delivers_and_ends() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    std::fs::write(folder.join("tidegate.toml"), CONFIG).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["events", "run", "--supervised"]).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    until("the delivery", || held(folder) == (10, 10));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn inspect_shows_the_rows_that_a_line_counts_in() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let config = CONFIG.replace("sum = [", "unique = [\"client_ip\"]\nsum = [");
    std::fs::write(folder.join("tidegate.toml"), config).unwrap();
    append(folder, 7..8);
    std::fs::write(folder.join("bad.log"), "nonsense\n").unwrap();
    let (code, text, said) = run(&["events", "inspect", "access.log"], folder);
    assert_eq!(code, 0, "{said}");
    let shown: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(shown["fields"]["path"], "/p");
    let row = serde_json::json!({
        "query_id": "7", "count": 1, "sum_bytes_out": 7, "unique_client_ip": "192.0.2.7",
    });
    assert_eq!(shown["counts"]["by_id"], row);
    let (_, text, _) = run(&["events", "inspect", "bad.log"], folder);
    assert!(text.contains("refused"), "{text}");
    let (code, _, said) = run(&["events", "inspect", "--source", "x", "bad.log"], folder);
    assert_eq!(code, 1);
    assert!(said.contains("no source `x`; there are: web"), "{said}");
    let (_, _, said) = run(&["events", "inspect", "."], folder);
    assert!(said.contains("read `.`: Is a directory"), "{said}");
}

#[test]
fn a_query_fits_its_terminal_and_says_what_is_wrong_in_its_own_words() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    append(folder, 0..10);
    let config =
        CONFIG.replace("sum = [", "unique = [\"user\"]\nquantiles = [\"bytes_out\"]\nsum = [");
    std::fs::write(folder.join("tidegate.toml"), &config).unwrap();
    let ask = |more: &[&str]| run(&[&["events", "query"], more].concat(), folder);
    let (_, _, said) = ask(&["by_id"]);
    assert!(said.contains("nothing was delivered"), "{said}");
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    assert_eq!(code, 0, "{said}");
    let shown = ["by_id", "--order", "sum_bytes_out:desc", "--limit", "2"];
    let (code, text, said) = ask(&[&shown[..], &["--columns", "query_id,sum_bytes_out"]].concat());
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        text,
        "query_id  sum_bytes_out B\n9                       9\n8                       8\n"
    );
    let mut command = Command::new(BINARY);
    command.args(["events", "query", "by_id"]).current_dir(folder).env("COLUMNS", "60");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    // Of a log without users it says why nobody is counted.
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("note: none of the lines counted here has a `user`; "), "{said}");
    for (more, expected) in [
        (&["by_ip"][..], "there is no rollup `by_ip`; did you mean `by_id`?"),
        (&["by_id", "--by", "query_ix"], "has no column `query_ix`; did you mean `query_id`?"),
        (&["by_id", "--order", "cuont"], "has no column `cuont`; did you mean `count`?"),
        (
            &["by_id", "--where", "pth = 1"],
            "no column `pth`; text stands in single quotes: 'pth'; a condition on `by_id` names \
             `query_id`",
        ),
    ] {
        let (code, _, said) = ask(more);
        assert_eq!(code, 1, "{more:?}");
        assert!(said.contains(expected) && said.len() < 200, "{said}");
    }
    assert_eq!(ask(&["by_id", "--order", "count:down"]).0, 2);
    let elsewhere = config.replace("sqlite:sink.db", "postgres://a:b@127.0.0.1:9/x");
    std::fs::write(folder.join("tidegate.toml"), elsewhere).unwrap();
    for more in [&["by_id"][..], &["--sql", "SELECT 1"]] {
        let (_, _, said) = ask(more);
        assert!(
            said.contains("sink `main`: ") && said.contains("\nhint: the engine must "),
            "{said}"
        );
    }
}

#[test]
fn a_command_that_is_interrupted_leaves_no_copy_of_rows_behind() {
    // The system accepts connections for it, and nobody answers them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let config = format!(
        "[journal]\n[[rollup]]\nname = \"hits\"\nby = [\"status\"]\nsink = \"silent\"\n\
         [[sink]]\nname = \"silent\"\nurl = \"postgres://u:p@{address}/d\"\n"
    );
    for command in [&["events", "query", "hits"][..], &["events", "verify"]] {
        for (name, signal) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let (folder, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
            fs::write(folder.path().join("tidegate.toml"), &config).unwrap();
            // Where tests run under nohup, HUP would be ignored, and stay so.
            let mut child = Command::new("env")
                .args(["--default-signal", BINARY])
                .args(command)
                .current_dir(folder.path())
                .env("TMPDIR", scratch.path())
                .spawn()
                .unwrap();
            // It has made its copy, and asks.
            let connection = silent.accept().unwrap();
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "{command:?}");
            let id = child.id().to_string();
            let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
            assert!(sent.success());
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), Some(signal), "{command:?} {name}: {status:?}");
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "{command:?} {name}");
            drop(connection);
        }
    }
}
