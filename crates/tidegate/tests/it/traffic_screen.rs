//! `tidegate traffic --screen` on a pseudo-terminal, and `--report`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use testkit::{Absent, Origin, OriginReply, TempDir, require};

use crate::pseudo_terminal::PseudoTerminal;
use crate::running::{BINARY, run};

/// Lines of a journal: every tenth is an error, and every hundredth slow.
fn journal(count: u64) -> String {
    let mut text = String::new();
    for number in 0..count {
        let status = if number % 10 == 3 { 503 } else { 200 };
        let total = if number % 100 == 7 { 1_200_000 } else { 900 + number };
        let (second, minute) = (number % 60, number / 60 % 60);
        write!(
            text,
            r#"{{"time":"2026-11-21T03:{minute:02}:{second:02}.000000Z","id":"{number:032x}","#
        )
        .unwrap();
        write!(text, r#""method":"GET","host":"a.example","path":"/item/{number}","#).unwrap();
        write!(text, r#""version":"1.1","status":{status},"bytes_in":0,"bytes_out":512,"#).unwrap();
        text += r#""client_ip":"192.0.2.24","route":"/item/{id}","decision":"generic","#;
        text += r#""cache":"miss","upstream":"origin","phases":{"lookup":5,"fetch":800},"#;
        writeln!(text, r#""total_us":{total}}}"#).unwrap();
    }
    text
}

fn file(folder: &Path, count: u64) -> String {
    let file = folder.join("exchanges.log");
    std::fs::write(&file, journal(count)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_file_is_looked_through_by_keys_in_any_size() {
    let folder = TempDir::new().unwrap();
    let file = file(folder.path(), 250);
    let size = (100, 12);
    let mut screen = PseudoTerminal::start(&[BINARY, "traffic", "--screen", &file], size, |_| {});
    screen.wait_for(&[
        "ENDED  250 exchanges  250 shown",
        "  03:04:09.000 192.0.2.24      GET    /item/249          200    miss      generic",
        "the source has ended; q quits",
    ]);

    screen.press("/status >= 500\r");
    screen.wait_for(&["25 shown", "filter", "/item/243          503"]);
    screen.press("\x1b[H\r");
    screen.wait_for(&["GET /item/3 HTTP/1.1", "status        503 Service Unavailable"]);
    screen.resize(60, 30);
    screen.wait_for(&["lookup          0.005 ms", "89 %", "Host: a.example"]);
    screen.press("\x1b[B");
    screen.wait_for(&["GET /item/13 HTTP/1.1"]);

    screen.press("3\x1b[C");
    screen.wait_for(&["by  route [status]", "\n503"]);
    screen.press("1/");
    screen.press(&"\x7f".repeat(20));
    screen.press("\r4");
    screen.wait_for(&["(all)                      250", "1.19 s", "▲"]);
    screen.press("5");
    screen.wait_for(&["03:00:00 to 03:04:12, a column is 6.00 s"]);
    screen.resize(20, 5);
    screen.press("1");
    screen.wait_for(&["[1 list] 2 detail  …", "/item/"]);
    screen.press("q");
    let (status, is_as_before) = screen.end();
    assert!(status.success() && is_as_before, "{status}");
}

#[test]
fn keys_come_from_the_terminal_while_exchanges_come_from_a_pipe() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("exec '{BINARY}' traffic --screen < '{}'", pipe.display());
    let mut screen = PseudoTerminal::start(&["sh", "-c", &script], (80, 10), |command| {
        command.env("LANG", "C").env("NO_COLOR", "1");
    });
    let mut pipe = File::options().write(true).open(&pipe).unwrap();
    pipe.write_all(journal(30).as_bytes()).unwrap();
    screen.wait_for(&["standard input  30 exchanges  30 shown", "/item/29"]);
    assert!(screen.text().is_ascii(), "{}", screen.text());
    screen.press(" ");
    screen.wait_for(&["PAUSED"]);
    pipe.write_all(journal(5).as_bytes()).unwrap();
    screen.wait_for(&["35 exchanges  30 shown"]);
    screen.press("?");
    screen.wait_for(&["Tab, 1 to 5"]);
    screen.press("\x03");
    let (status, is_as_before) = screen.end();
    assert!(status.success() && is_as_before, "{status}");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let folder = TempDir::new().unwrap();
    let file = file(folder.path(), 30);
    for signal in [Signal::TERM, Signal::INT] {
        let arguments = [BINARY, "traffic", "--screen", &file, "--follow", "--from-start"];
        let mut screen = PseudoTerminal::start(&arguments, (80, 10), |_| {});
        screen.wait_for(&["30 shown"]);
        screen.signal(signal);
        let (status, is_as_before) = screen.end();
        assert!(status.success() && is_as_before, "{status}");
    }
}

/// Runs a program on a terminal whose hang-up does not end it. When it shows something, the
/// terminal is let go. Then its exit code is printed.
const HANG_UP: &str = "
import fcntl, os, pty, signal, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while b'shown' not in seen:
    seen += os.read(terminal, 4096)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[test]
fn a_terminal_that_has_gone_ends_it() {
    let Some(python) = require("python3", Absent::Skip) else { return };
    let folder = TempDir::new().unwrap();
    let file = file(folder.path(), 30);
    let mut command = Command::new(python);
    command.args(["-c", HANG_UP, BINARY, "traffic", "--screen", &file, "--follow"]);
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
}

#[test]
fn a_request_is_copied_as_curl_and_replayed_elsewhere() {
    let folder = TempDir::new().unwrap();
    let file = file(folder.path(), 1);
    let origin = Origin::start(|request| match request.path() {
        "/item/0" => OriginReply::status(418).body("x"),
        _ => OriginReply::status(500),
    });
    let size = (100, 24);
    let mut screen = PseudoTerminal::start(&[BINARY, "traffic", "--screen", &file], size, |_| {});
    screen.wait_for(&["ENDED"]);
    screen.press("c");
    screen.wait_for(&["curl -i --globoff --path-as-is 'http://a.example/item/0'"]);
    screen.press("xr");
    screen.wait_for(&["replay to HOST:PORT: _"]);
    screen.press(&format!("{}\r", origin.address()));
    screen.wait_for(&["answered 418 in"]);
    screen.press("\r");
    screen.wait_for(&["replay        418 in", "before 200 in 0.900 ms"]);
    screen.press("q");
    assert!(screen.end().1);
}

#[test]
fn what_is_no_log_is_said_on_the_screen_and_after_it() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("none");
    std::fs::write(&file, "nothing\n".repeat(10)).unwrap();
    let arguments = [BINARY, "traffic", "--screen", file.to_str().unwrap()];
    let mut screen = PseudoTerminal::start(&arguments, (120, 10), |_| {});
    screen.wait_for(&["the source broke: no line of 10 is of a known format"]);
    screen.press("q");
    let (status, is_as_before) = screen.end();
    assert!(status.code() == Some(1) && is_as_before, "{status}");
    screen.wait_for(&["error: read ", "no line of 10"]);
    let (code, _, err) = run(&["traffic", "--screen", "none"], folder.path());
    assert!(code == 1 && err.contains("stdout is no terminal"), "{code} {err}");
}

#[test]
fn a_page_reports_what_was_seen() {
    let folder = TempDir::new().unwrap();
    file(folder.path(), 1000);
    let arguments = ["traffic", "exchanges.log", "--only-status", "^5", "--report", "page.html"];
    let (code, out, err) = run(&arguments, folder.path());
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("100 exchanges of 1,000 requests in 1,000 lines"), "{page}");
    assert!(page.contains("/item/{id}") && page.contains("<svg") && !page.contains("<script"));
}

/// What the next test hands to the one after it.
const ON_A_TERMINAL: &str = "on-a-terminal-of-its-own";

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back() {
    let program = std::env::current_exe().unwrap();
    let name = "traffic_screen::panics_where_the_test_before_has_started_it";
    let arguments = [program.to_str().unwrap(), "--exact", name, "--skip", ON_A_TERMINAL];
    let mut screen = PseudoTerminal::start(&arguments, (80, 40), |command| {
        command.env("RUST_BACKTRACE", "0");
    });
    let (status, is_as_before) = screen.end();
    assert!(!status.success() && is_as_before, "{status}");
    screen.wait_for(&["a thread has panicked", "the terminal was given back"]);
}

#[test]
fn panics_where_the_test_before_has_started_it() {
    if !std::env::args().any(|argument| argument == ON_A_TERMINAL) {
        return;
    }
    let mut terminal = screen::Terminal::take().unwrap();
    terminal.draw(screen::Style::default(), |_| {}).unwrap();
    let thread = std::thread::spawn(|| panic!("a thread has panicked"));
    assert!(thread.join().is_err());
    terminal.draw(screen::Style::default(), |_| {}).unwrap();
}
