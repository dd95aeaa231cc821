//! `tidegate statsd` from outside: samples over real sockets, flushes at a carbon that is ours.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use testkit::{FIXTURE_TIMEOUT, Server, TempDir, free_port};

use crate::running::{BINARY, run, until};

/// Names with their values of one flush.
pub(crate) type Lines = BTreeMap<String, f64>;

/// Takes flushes, as Graphite's carbon does.
pub(crate) struct Carbon {
    pub port: u16,
    pub flushes: Receiver<Lines>,
}

impl Carbon {
    pub(crate) fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, flushes) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut text = String::new();
                if stream.unwrap().read_to_string(&mut text).is_ok()
                    && sender.send(lines(&text)).is_err()
                {
                    return;
                }
            }
        });
        Self { port, flushes }
    }

    /// The next flush in which all these names are.
    pub(crate) fn wait_for(&self, names: &[&str]) -> Lines {
        loop {
            let flush = self.flushes.recv_timeout(FIXTURE_TIMEOUT).expect("a flush");
            if names.iter().all(|name| flush.contains_key(*name)) {
                return flush;
            }
        }
    }
}

fn lines(text: &str) -> Lines {
    let line = |line: &str| {
        let [name, value, _] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("no line of Graphite: `{line}`");
        };
        (name.to_owned(), value.parse().unwrap())
    };
    text.lines().map(line).collect()
}

pub(crate) struct Statsd {
    pub server: Server,
    pub management: SocketAddr,
    pub folder: TempDir,
}

impl Statsd {
    /// Starts with the text of a file that is made of the management port.
    pub(crate) fn start(
        file: &str,
        arguments: &[&str],
        text: impl FnOnce(u16, &Path) -> String,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        Self::start_in(folder, file, arguments, text)
    }

    pub(crate) fn start_in(
        folder: TempDir,
        file: &str,
        arguments: &[&str],
        text: impl FnOnce(u16, &Path) -> String,
    ) -> Self {
        let management = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let path = folder.path().join(file);
        std::fs::write(&path, text(management.port(), folder.path())).unwrap();
        let mut command = Command::new(BINARY);
        command.arg("statsd").args(arguments).arg("--config").arg(path);
        let server = Server::spawn(command, management).unwrap();
        Self { server, management, folder }
    }

    /// Asks commands on one connection, and returns everything that was answered.
    pub(crate) fn ask(&self, commands: &str) -> String {
        let mut stream = TcpStream::connect(self.management).unwrap();
        stream.write_all(commands.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    pub(crate) fn stop(mut self) -> TempDir {
        self.server.signal("TERM").unwrap();
        assert!(self.server.wait().unwrap().success());
        self.folder
    }
}

pub(crate) fn send(port: u16, datagrams: &[&str]) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for datagram in datagrams {
        socket.send_to(datagram.as_bytes(), ("127.0.0.1", port)).unwrap();
    }
}

pub(crate) fn native(udp: u16, management: u16, more: &str) -> String {
    format!(
        "[statsd]\nlisten = [\"udp:127.0.0.1:{udp}\", \"tcp:127.0.0.1:{udp}\", \"unix:s.sock\", \
         \"unixgram:d.sock\"]\nmanagement = \"127.0.0.1:{management}\"\nflush = \"1s\"\n{more}"
    )
}

pub(crate) fn graphite(port: u16) -> String {
    format!("backend = [{{ kind = \"graphite\", to = \"127.0.0.1:{port}\" }}]\n")
}

#[test]
fn samples_of_every_input_are_added_up_and_flushed() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = Statsd::start("t.toml", &[], |port, _| native(udp, port, &graphite(carbon.port)));
    send(udp, &["a:1|c\nb:320|ms\nc:7|g", "a:2|c|@0.5|#k:v", "u:x|s\nu:y|s"]);
    let folder = statsd.folder.path();
    let mut tcp = TcpStream::connect(("127.0.0.1", udp)).unwrap();
    // A line in two pieces, and one without a line feed before the end.
    tcp.write_all(b"a:1").unwrap();
    tcp.write_all(b"0|c\nlast:1|c").unwrap();
    drop(tcp);
    UnixStream::connect(folder.join("s.sock")).unwrap().write_all(b"stream:5|c\n").unwrap();
    let datagram = UnixDatagram::unbound().unwrap();
    datagram.send_to(b"gram:6|c", folder.join("d.sock")).unwrap();
    // They may be spread over two flushes: counters are added up.
    let mut sums = Lines::new();
    let wanted = ["a", "last", "stream", "gram"].map(|n| format!("stats.counters.{n}.count"));
    while wanted.iter().any(|name| !sums.contains_key(name)) {
        for (name, value) in carbon.flushes.recv_timeout(FIXTURE_TIMEOUT).expect("a flush") {
            *sums.entry(name).or_default() += value;
        }
    }
    for (name, value) in [
        ("stats.counters.a.count", 11.0),
        ("stats.counters.a.count;k=v", 4.0),
        ("stats.counters.last.count", 1.0),
        ("stats.counters.stream.count", 5.0),
        ("stats.counters.gram.count", 6.0),
        ("stats.timers.b.upper_90", 320.0),
        ("stats.counters.statsd.bad_lines_seen.count", 0.0),
    ] {
        assert_eq!(sums.get(name), Some(&value), "{name}: {sums:?}");
    }
    let folder = statsd.stop();
    for file in ["s.sock", "d.sock"] {
        assert!(!folder.path().join(file).exists(), "`{file}` is left behind");
    }
}

#[test]
fn socket_files_that_a_killed_server_left_are_no_obstacle() {
    let config = |port, _: &Path| native(free_port(), port, "");
    let mut statsd = Statsd::start("t.toml", &[], config);
    statsd.server.signal("KILL").unwrap();
    statsd.server.wait().unwrap();
    assert!(statsd.folder.path().join("d.sock").exists());
    Statsd::start_in(statsd.folder, "t.toml", &[], config).stop();
}

#[test]
fn what_came_last_is_delivered_before_the_end_where_no_snapshot_keeps_it() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = Statsd::start("t.toml", &[], |port, _| {
        let text = native(udp, port, &graphite(carbon.port));
        text.replace("\"1s\"", "\"1h\"\nsnapshot = \"off\"")
    });
    send(udp, &["a:42|c"]);
    statsd.stop();
    let flush = carbon.wait_for(&["stats.counters.a.count"]);
    assert_eq!(flush["stats.counters.a.count"], 42.0);
}

#[test]
fn a_client_that_does_not_stop_keeps_no_server_from_ending() {
    let udp = free_port();
    let statsd = Statsd::start("t.toml", &[], |port, _| native(udp, port, ""));
    let goes_on = Arc::new(AtomicBool::new(true));
    let senders: Vec<_> = [true, false]
        .into_iter()
        .map(|is_udp| {
            let goes_on = Arc::clone(&goes_on);
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut stream = TcpStream::connect(("127.0.0.1", udp)).unwrap();
            std::thread::spawn(move || {
                while goes_on.load(Ordering::Relaxed) {
                    // Nobody takes it any more once the server has ended.
                    if is_udp {
                        let _ = socket.send_to(b"a:1|c", ("127.0.0.1", udp));
                    } else {
                        let _ = stream.write_all(b"a:1|c\n");
                    }
                }
            })
        })
        .collect();
    while !statsd.ask("counters\n").contains("\"a\"") {}
    statsd.stop();
    goes_on.store(false, Ordering::Relaxed);
    senders.into_iter().for_each(|sender| sender.join().unwrap());
}

#[test]
fn a_port_that_another_server_has_is_not_shared_with_it() {
    let udp = free_port();
    let first = Statsd::start("t.toml", &[], |port, _| {
        native(udp, port, "").replace("[statsd]", "[statsd]\nreceivers = 2")
    });
    let text = format!("[statsd]\nlisten = [\"udp:127.0.0.1:{udp}\"]\nreceivers = 2\n");
    let path = first.folder.path().join("second.toml");
    std::fs::write(&path, text).unwrap();
    let output = Command::new(BINARY).arg("statsd").arg("-c").arg(path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&format!("listen on `udp:127.0.0.1:{udp}`: Address already")), "{text}");
    first.stop();
}

#[test]
fn flushes_wait_on_disk_while_graphite_is_away_and_over_a_restart() {
    let (udp, away) = (free_port(), free_port());
    let config = |port, _: &Path| native(udp, port, &graphite(away));
    let statsd = Statsd::start("t.toml", &[], config);
    send(udp, &["a:42|c"]);
    let spool = statsd.folder.path().join("data/statsd-spool/graphite");
    until("a flush with it to wait", || {
        let files = std::fs::read_dir(&spool).into_iter().flatten();
        let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()));
        texts.flatten().any(|text| text.contains("stats.counters.a.count 42 "))
    });
    let folder = statsd.stop();
    let carbon = Carbon::start(away);
    let statsd = Statsd::start_in(folder, "t.toml", &[], config);
    let mut sum = 0.0;
    while sum < 42.0 {
        sum += carbon.wait_for(&["stats.counters.a.count"])["stats.counters.a.count"];
    }
    assert_eq!(sum, 42.0);
    until("all that waits to be delivered", || std::fs::read_dir(&spool).unwrap().count() == 0);
    statsd.stop();
}

#[test]
fn malformed_lines_are_counted_and_hurt_nobody() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = Statsd::start("t.toml", &[], |port, _| native(udp, port, &graphite(carbon.port)));
    let huge = "x".repeat(60_000);
    send(
        udp,
        &[
            "a:1|c|@ 1",
            "constructor:1|ms",
            "a:1|c|@0",
            "a:NaN|c",
            "a:Infinity|g",
            "a:-1|ms",
            "\0\u{1}:1|c",
            "",
            "\n\n",
            ":::|||@@@###",
            &huge,
            "good:1|c",
        ],
    );
    let flush = carbon.wait_for(&["stats.counters.good.count"]);
    assert_eq!(flush["stats.counters.statsd.bad_lines_seen.count"], 8.0);
    assert_eq!(flush["stats.timers.constructor.count"], 1.0);
    assert!(flush.values().all(|value| value.is_finite()));
    statsd.stop();
}

#[test]
fn the_management_port_answers_as_statsd_does() {
    let carbon = Carbon::start(0);
    let udp = free_port();
    let statsd = Statsd::start("localConfig.js", &["--compat", "statsd"], |port, _| {
        format!(
            "{{ port: {udp}, mgmt_port: {port}, flushInterval: 3600000 // an hour\n\
             , graphiteHost: '127.0.0.1', graphitePort: {} }}",
            carbon.port
        )
    });
    until("the words that statsd starts with", || statsd.server.stdout().contains("server is up"));
    send(udp, &["a.b:1|c\na.c:2|c\nz:3|g\nt:4|ms"]);
    let answer = |command: &str, has: &str| loop {
        let answer = statsd.ask(&format!("{command}\n"));
        if answer.contains(has) {
            return answer;
        }
    };
    assert!(answer("counters", "a.c").contains("\"a.b\": 1, \"a.c\": 2"));
    assert_eq!(statsd.ask("gauges\n"), "{\"z\": 3}\nEND\n\n");
    assert_eq!(statsd.ask("timers\n"), "{\"t\": [4]}\nEND\n\n");
    assert_eq!(
        statsd.ask("delcounters a.* x\n"),
        "deleted: a.b\ndeleted: a.c\nmetric x not found\nEND\n\n"
    );
    assert_eq!(statsd.ask("health"), "health: up\n");
    assert_eq!(statsd.ask("health down\nhealth\n"), "health: down\nhealth: down\n");
    assert_eq!(statsd.ask("nonsense\n"), "ERROR\n");
    let stats = statsd.ask("stats\nquit\n");
    assert!(stats.starts_with("uptime: ") && stats.ends_with("END\n\n"), "{stats}");
    assert!(stats.contains("graphite.last_exception: "), "{stats}");
    assert!(statsd.ask("config\n").contains(&format!("port: {udp}\n")));
    statsd.stop();
}

#[test]
fn the_perl_flavour_is_started_and_answers_as_the_port_is() {
    let folder = TempDir::new().unwrap();
    let (udp, port) = (free_port(), free_port());
    let path = folder.path().join("localConfig.js");
    let config = format!(
        "{{ # relaxed JSON\n \"port\": {udp}, \"mgmt_port\": {port}, \"flushInterval\": 3600000,\n \
         \"backends\": [ \"File\", ], \"file\": {{ \"name\": \"{}\" }}, }}",
        folder.path().join("out.tsv").display()
    );
    std::fs::write(&path, config).unwrap();
    let mut command = Command::new(BINARY);
    // With the argument behind the file that the port's own tests give it.
    command.args(["statsd", "--compat=perl"]).arg(&path).arg("2>&1 1>/dev/null");
    let management = SocketAddr::from(([127, 0, 0, 1], port));
    let server = Server::spawn(command, management).unwrap();
    let statsd = Statsd { server, management, folder };
    send(udp, &["k,tag=x:0|c\ng:+5|g\ns:b|s\ns:a|s"]);
    while !statsd.ask("gauges\n").contains('g') {}
    assert_eq!(statsd.ask("gauges\n"), "{\"g\": 5}\nEND\n\n");
    assert_eq!(statsd.ask("sets\n"), "{\"s\": [\"a\", \"b\"]}\nEND\n\n");
    assert_eq!(statsd.ask("health\n"), "ERROR\n");
    let folder = statsd.stop();
    let text = std::fs::read_to_string(folder.path().join("out.tsv")).unwrap();
    assert_eq!(text, "c\tk,tag=x\t1\ng\tg\t5.000000\ns\ts\ta;b\n");
}

#[test]
fn a_repeater_hands_on_what_came() {
    let carbon = Carbon::start(0);
    let (first, second) = (free_port(), free_port());
    let end = Statsd::start("t.toml", &[], |port, _| native(second, port, &graphite(carbon.port)));
    let begin = Statsd::start("t.toml", &[], |port, _| {
        let to = format!("backend = [{{ kind = \"repeater\", to = \"127.0.0.1:{second}\" }}]\n");
        native(first, port, &to)
    });
    send(first, &["a:1|c\na:2|c", "b:3|c"]);
    let flush = carbon.wait_for(&["stats.counters.a.count", "stats.counters.b.count"]);
    assert_eq!(flush["stats.counters.a.count"], 3.0);
    begin.stop();
    end.stop();
}

#[test]
fn without_a_configuration_nothing_is_received_and_the_missing_file_is_named() {
    let folder = TempDir::new().unwrap();
    for (arguments, file) in [
        (&["statsd"][..], "tidegate.toml"),
        (&["statsd", "--compat", "statsd"], "localConfig.js"),
        (&["statsd", "-c", "absent.js"], "absent.js"),
    ] {
        let (code, out, err) = run(arguments, folder.path());
        assert_eq!((code, out.as_str()), (78, ""), "{arguments:?}: {err}");
        assert!(err.contains(&format!("read the configuration `{file}`: No such")), "{err}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    let run_by = |file: &str, text: &str| {
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        let output = Command::new(BINARY).arg("statsd").arg("-c").arg(path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) =
        run_by("a.js", "{\n  port: 8125,\n  prefixStats: require('os').hostname()\n}");
    assert_eq!(code, Some(78));
    assert!(text.contains("line 3: `require('os').hostname()`"), "{text}");
    let (code, text) = run_by("b.toml", "[statsd]\nflush = \"soon\"\nlisten = [\"8125\"]\n");
    assert_eq!(code, Some(78));
    assert!(text.contains("line 2: `statsd.flush`") && text.contains("`statsd.listen`"), "{text}");
    let (code, text) = run_by("c.toml", "[journal]\n");
    assert_eq!(code, Some(78));
    assert!(text.contains("`statsd`: statsd wants this section"), "{text}");
}
