//! Claims about whole traces: what is counted, what requests paid, what is no cause.

use std::collections::BTreeMap;
use std::fmt::Write;

use screen::Style;
use stdx::Random;

use super::{StraceReport, read_trace};

fn report(text: &str) -> StraceReport {
    read_trace("trace", text.as_bytes(), |_| true).unwrap()
}

/// A save of an app that rewrites a growing file and runs a child, beside idle timers. Each line
/// has the thread, and the microseconds since the save began.
const SAVE: &str = include_str!("tests/save.txt");

/// Forty saves.
fn replica() -> String {
    saved(SAVE)
}

fn saved(template: &str) -> String {
    let mut out = String::new();
    for save in 0..40_u64 {
        let text = template.replace("BYTES", &(1000 * (save + 1)).to_string());
        for line in text.replace("CHILD", &(1000 + save).to_string()).lines() {
            let mut parts = line.splitn(3, ' ');
            let [pid, offset, text] = [(); 3].map(|()| parts.next().unwrap());
            let at = 1_365_603_497_000_000 + save * 600_000 + offset.parse::<u64>().unwrap();
            writeln!(out, "{pid} {}.{:06} {text}", at / 1_000_000, at % 1_000_000).unwrap();
        }
    }
    out
}

#[test]
fn the_writer_and_its_child_are_convicted_and_the_timers_cleared() {
    let report = report(&replica());
    let requests = report.requests.as_ref().unwrap();
    assert_eq!((requests.count, requests.bytes_in), (40, 40 * 44));
    assert!((requests.p50_ms / 95.4 - 1.0).abs() < 0.03, "{requests:?}");
    let paid: Vec<_> = report
        .on_path
        .iter()
        .take(3)
        .map(|it| (it.call.as_str(), it.target.as_str(), it.calls))
        .collect();
    assert_eq!(
        paid,
        [
            ("fsync", "/srv/page.txt,v", 40),
            ("write", "/srv/page.txt,v", 40),
            ("wait4", "child", 40)
        ]
    );
    let findings = report.findings().join("\n");
    for wanted in [
        "52 % of the requests' time is `fsync` on `/srv/page.txt,v`: 40 calls, 2.00 s in all.",
        "31 % of the requests' time is `write` on `/srv/page.txt,v`",
        "`futex` with a timeout of 500 ms is a timer: 40 of 40 waits ran out, in 1 thread; no \
         request waited for them, so their peak is no cause.",
        "`futex` with a timeout of 250 ms is a timer: 40 of 40 waits ran out",
        "Requests started `ci -l page.txt` 40 times; each lived 14.5 ms on average.",
        "For each byte that requests brought, 465.9 bytes were written to files (820,000 bytes \
         for 1,760).",
    ] {
        assert!(findings.contains(wanted), "{wanted}\n{findings}");
    }
    let file = &report.files[0];
    assert_eq!(
        (file.path.as_str(), file.opens, file.writes, file.syncs),
        ("/srv/page.txt,v", 40, 40, 40)
    );
    assert_eq!(file.bytes_written, 820_000);
    let futex = report.syscalls.iter().find(|it| it.name == "futex").unwrap();
    let peaks: Vec<u64> =
        futex.peaks.iter().map(|peak| (peak.ms / 10.0).round() as u64 * 10).collect();
    assert_eq!((futex.on_path_s, peaks), (0.0, vec![250, 500]));
}

#[test]
fn a_timer_is_not_cleared_where_requests_wait_for_another_thread() {
    // The thread of the request hands its work to one that looks each 250 ms.
    let waits = "10 95300 futex(0x7f2ba400beff, FUTEX_WAIT_PRIVATE, 0, NULL) = 0 <0.200000>\n10 ";
    let text = SAVE.replace("10 95400 ", &format!("{waits}295400 ")).replace(" 96000 ", " 300000 ");
    let findings = report(&saved(&text)).findings().join("\n");
    assert!(!findings.contains("no cause"), "{findings}");
    let wanted =
        "in 1 thread; requests waited 68 % of their time for other threads, perhaps these.";
    assert!(findings.contains(wanted), "{findings}");
}

#[test]
fn every_form_of_output_says_the_same() {
    let report = report(&replica());
    let text = report.to_text(&Style { width: 100, colour: false, ascii: false });
    assert!(text.contains("What requests waited for\ncall"), "{text}");
    assert!(text.contains("480 calls of 43 threads in 640 lines over 23.5 s"), "{text}");
    assert!(text.lines().all(|line| screen::width_of(line) <= 100), "{text}");
    let lines: Vec<serde_json::Value> =
        report.to_ndjson().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == *kind).count();
    assert_eq!((of("counts"), of("requests"), of("wait"), of("children")), (1, 1, 2, 1));
    let html = report.to_html("<trace>");
    assert!(html.contains("System calls of &lt;trace&gt;") && html.contains("Latency of futex"));
    assert!(!html.contains("<script") && html.ends_with("</html>\n"));
}

const NAMES: [&str; 5] = ["read", "write", "futex", "mmap", "epoll_wait"];

/// A trace of 64 threads, with what must be counted of it.
#[derive(Default)]
struct Oracle {
    text: String,
    calls: BTreeMap<&'static str, (u64, u64)>,
    /// The call that each thread is in the middle of.
    pending: BTreeMap<u64, &'static str>,
    abandoned: u64,
}

impl Oracle {
    /// Adds a line of a thread.
    fn line(&mut self, pid: u64, time: &str, random: &mut Random) {
        let micros = random.up_to(3_000_000);
        let took = format!("<{}.{:06}>", micros / 1_000_000, micros % 1_000_000);
        let name = NAMES[random.up_to(4) as usize];
        let (out, kind) = (&mut self.text, random.up_to(19));
        write!(out, "{pid} {time} ").unwrap();
        let returned = match (self.pending.remove(&pid), kind) {
            // It is killed within the call, and its number comes again.
            (Some(_), 0) => {
                self.abandoned += 1;
                writeln!(out, "+++ killed by SIGKILL +++").unwrap();
                return;
            }
            (Some(name), _) => {
                let end = if kind % 2 == 0 { " )     " } else { ")" };
                writeln!(out, "<... {name} resumed>{end} = 0 {took}").unwrap();
                name
            }
            (None, 0..=5) => {
                writeln!(out, "{name}(3, \"<unfinished ...> = 1\" <unfinished ...>").unwrap();
                self.pending.insert(pid, name);
                return;
            }
            (None, 6) => return writeln!(out, "--- SIGUSR1 {{si_signo=SIGUSR1}} ---").unwrap(),
            (None, _) => {
                writeln!(out, "{name}(3, \"a) = 9 <0.5>\", 4) = -1 EAGAIN (Again) {took}").unwrap();
                name
            }
        };
        let totals = self.calls.entry(returned).or_default();
        *totals = (totals.0 + 1, totals.1 + micros);
    }
}

#[test]
fn calls_of_interleaved_threads_are_counted_to_the_microsecond() {
    let (mut random, mut oracle) = (Random::new(12), Oracle::default());
    let mut at = 1_000_000_000_000_u64;
    for _ in 0..50_000 {
        at += random.up_to(50);
        let time = format!("{}.{:06}", at / 1_000_000, at % 1_000_000);
        let pid = 100 + random.up_to(63);
        oracle.line(pid, &time, &mut random);
    }
    let report = report(&oracle.text);
    for totals in &report.syscalls {
        let (calls, micros) = oracle.calls[totals.name.as_str()];
        assert_eq!(totals.calls, calls, "{}", totals.name);
        assert!((totals.total_s.unwrap() - micros as f64 / 1e6).abs() < 1e-7, "{}", totals.name);
    }
    let counts = &report.counts;
    let calls = oracle.calls.values().map(|it| it.0).sum();
    assert_eq!((report.syscalls.len(), counts.lines, counts.calls), (5, 50_000, calls));
    let left = oracle.pending.len() as u64;
    assert_eq!((counts.abandoned, counts.unfinished), (oracle.abandoned, left));
    assert_eq!((counts.strays, counts.unread), (0, 0));
    assert!(oracle.abandoned > 10 && left > 5);
}

#[test]
fn lines_of_a_terminal_belong_to_the_process_that_is_named_later() {
    let text = "\
read(4, \"GET / HTTP/1.1\\r\\n\", 9) = 16 <0.000010>
clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD <unfinished ...>
strace: Process 12 attached
[pid    12] openat(AT_FDCWD, \"/x\", O_WRONLY) = 7 <0.000010>
[pid    11] <... clone resumed>, tls=0x7f) = 12 <0.000300>
[pid    11] write(7, \"abc\", 3) = 3 <0.001000>
[pid    11] write(4, \"HTTP/1.1 200 OK\", 15) = 15 <0.000010>
";
    let report = report(text);
    assert_eq!((report.counts.threads, report.counts.strays, report.counts.unread), (2, 0, 0));
    assert_eq!(report.requests.as_ref().unwrap().count, 1);
    // The thread shares its descriptors.
    assert_eq!((report.files[0].path.as_str(), report.files[0].bytes_written), ("/x", 3));
}

#[test]
fn stacks_are_added_up_for_long_calls() {
    let call = "7 1.0 fsync(3) = 0 <0.020000>\n > /lib/libc.so(fsync+0x17) [0x1]\n \
                > /bin/app(save+0x2) [0x2]\n";
    let short = "7 1.1 getpid() = 7 <0.000001>\n > /bin/app(main+0x2) [0x3]\n";
    let report = report(&[call, short, call].concat());
    assert_eq!(report.stacks.len(), 1);
    let stack = &report.stacks[0];
    assert_eq!((stack.call.as_str(), stack.calls, stack.total_s), ("fsync", 2, 0.04));
    assert_eq!(stack.frames, ["/lib/libc.so(fsync+0x17)", "/bin/app(save+0x2)"]);
}

#[test]
fn what_is_no_line_is_counted_and_what_is_no_trace_an_error() {
    let long = format!("7 1.0 write(1, \"{}\", 9) = 9 <0.1>\n", "x".repeat(3 << 20));
    let text = [
        "7 1.0 getpid() = 7 <0.000001>\r\n",
        &long,
        "\u{0}\u{1}garbage\n",
        "7 1.1 close(3) = 0\n7 1.2 clo",
    ];
    let report = report(&text.concat());
    assert_eq!((report.counts.calls, report.counts.too_long, report.counts.unread), (2, 1, 2));
    let text = report.counts.to_string();
    assert_eq!(text, "2 lines of no known form, 1 lines longer than 1 MiB");
    for nothing in ["", "hello\nworld\n"] {
        let error = read_trace("x", nothing.as_bytes(), |_| true).unwrap_err().to_string();
        assert!(error.contains("is a call of strace or perf trace"), "{error}");
    }
}

#[test]
fn a_trace_without_requests_convicts_nobody() {
    let report = report("7 1.0 fsync(3) = 0 <9.0>\n");
    let findings = report.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("No request of HTTP/1 was recognised"), "{findings:?}");
}
