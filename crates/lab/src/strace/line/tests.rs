//! Claims about lines: each form of strace's `printf`s.

use super::*;

fn call(line: &str) -> (Option<u32>, Option<u64>, String, String, String, Option<u64>) {
    let parsed = parse(line.as_bytes());
    let (TraceEvent::Call(call) | TraceEvent::Resumed(call)) = parsed.event else {
        panic!("{line}: {parsed:?}");
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (name, args, result) = (text(call.name), text(call.args), text(call.result));
    (parsed.pid, parsed.time_us, name, args, result, call.took_ns)
}

#[test]
fn a_call_is_read_with_every_prefix() {
    let rest = "read(3, \"x\", 1) = 1 <0.000123>";
    for (prefix, pid, time_us) in [
        ("", None, None),
        ("28772 ", Some(28772), None),
        ("28772 1365603497.937123 ", Some(28772), Some(1_365_603_497_937_123)),
        ("[pid 28772] 1365603497.937123 ", Some(28772), Some(1_365_603_497_937_123)),
        ("[pid   772] ", Some(772), None),
        ("1365603497.937123 ", None, Some(1_365_603_497_937_123)),
        ("28772<nginx> 1365603497.937123 ", Some(28772), Some(1_365_603_497_937_123)),
        ("[pid 28772<ngi nx>] ", Some(28772), None),
        ("28772 14:03:17.937123 ", Some(28772), Some(50_597_937_123)),
        ("28772 14:03:17 ", Some(28772), Some(50_597_000_000)),
        ("7     1365603497.9 ", Some(7), Some(1_365_603_497_900_000)),
    ] {
        let line = format!("{prefix}{rest}");
        let expected = (pid, time_us, "read".into(), "3, \"x\", 1".into(), "1".into());
        let (pid, time_us, name, args, result, took) = call(&line);
        assert_eq!((pid, time_us, name, args, result), expected, "{line}");
        assert_eq!(took, Some(123_000), "{line}");
    }
}

#[test]
fn results_are_found_from_the_right() {
    for (line, args, result, took) in [
        ("write(1, \"a) = 5 <0.1>\", 9) = 9", "1, \"a) = 5 <0.1>\", 9", "9", None),
        (
            "write(1, \"a = b\", 5)                 = 5 <0.000010>",
            "1, \"a = b\", 5",
            "5",
            Some(10_000),
        ),
        (
            "openat(AT_FDCWD, \"/x\", O_RDONLY) = 3</tmp/a = b>",
            "AT_FDCWD, \"/x\", O_RDONLY",
            "3</tmp/a = b>",
            None,
        ),
        (
            "openat(AT_FDCWD, \"/x\", O_RDONLY) = 3</tmp/x> <0.000020>",
            "AT_FDCWD, \"/x\", O_RDONLY",
            "3</tmp/x>",
            Some(20_000),
        ),
        (
            "open(\"/x\", 0) = -1 ENOENT (No such file or directory) <1.000001>",
            "\"/x\", 0",
            "-1 ENOENT (No such file or directory)",
            Some(1_000_001_000),
        ),
        (
            "pread64(3, \"\", 1, 0) = 0 (DELAYED) <0.250123>",
            "3, \"\", 1, 0",
            "0 (DELAYED)",
            Some(250_123_000),
        ),
        ("exit_group(0)                    = ?", "0", "?", None),
        (
            "read(0, 0x7ff, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)",
            "0, 0x7ff, 1",
            "? ERESTARTSYS (To be restarted if SA_RESTART is set)",
            None,
        ),
        ("brk(NULL) = 0x55d0c0a3e000", "NULL", "0x55d0c0a3e000", None),
        (
            "poll([{fd=3, events=POLLIN}], 1, 250) = 0 (Timeout) <0.250250>",
            "[{fd=3, events=POLLIN}], 1, 250",
            "0 (Timeout)",
            Some(250_250_000),
        ),
        ("read(3, <unavailable>) = ? <unavailable>", "3, <unavailable>", "? <unavailable>", None),
    ] {
        let (.., found_args, found_result, found_took) = call(line);
        assert_eq!(
            (found_args.as_str(), found_result.as_str(), found_took),
            (args, result, took),
            "{line}"
        );
    }
}

#[test]
fn values_and_errors_are_read_from_results() {
    let of = |result: &'static str| TracedCall {
        name: b"x",
        args: b"",
        result: result.as_bytes(),
        took_ns: None,
    };
    let read = |result| {
        (of(result).value(), of(result).error().map(|it| String::from_utf8_lossy(it).into_owned()))
    };
    assert_eq!(read("1240"), (Some(1240), None));
    assert_eq!(read("3</x>"), (Some(3), None));
    assert_eq!(
        read("-1 EAGAIN (Resource temporarily unavailable)"),
        (Some(-1), Some("EAGAIN".into()))
    );
    assert_eq!(read("? ERESTART_RESTARTBLOCK (Interrupted)"), (None, Some("ERESTART".into())));
    assert_eq!(read("?"), (None, None));
    assert_eq!(read("99999999999999999999"), (None, None));
}

#[test]
fn halves_of_calls_are_told_apart() {
    let begun = parse(b"28772 1.5 select(4, [3], NULL, NULL, NULL <unfinished ...>");
    assert_eq!(
        begun.event,
        TraceEvent::Unfinished { name: b"select", args: b"4, [3], NULL, NULL, NULL" }
    );
    for line in [
        "28772 1.5 <... select resumed> )      = 1 (in [3]) <0.075222>",
        "28772 1.5 <... select resumed>)       = 1 (in [3]) <0.075222>",
    ] {
        let (pid, time, name, args, result, took) = call(line);
        assert_eq!(
            (pid, time, name.as_str(), args.as_str()),
            (Some(28772), Some(1_500_000), "select", "")
        );
        assert_eq!((result.as_str(), took), ("1 (in [3])", Some(75_222_000)));
    }
    let (.., args, result, _) = call("7 <... read resumed>\"GET / HTTP/1.1\\r\\n\", 8192) = 16");
    assert_eq!((args.as_str(), result.as_str()), ("\"GET / HTTP/1.1\\r\\n\", 8192", "16"));
    let cut = parse(b"7 <... read resumed> <detached ...>");
    assert!(matches!(cut.event, TraceEvent::Resumed(call) if call.result == b"?"));
}

#[test]
fn signals_ends_and_frames_are_no_calls() {
    for (line, expected) in [
        ("7 1.0 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---", TraceEvent::Signal),
        ("[pid 7] --- stopped by SIGSTOP ---", TraceEvent::Signal),
        ("7 1.0 +++ exited with 0 +++", TraceEvent::Ended),
        ("7 1.0 +++ killed by SIGKILL (core dumped) +++", TraceEvent::Ended),
        ("7 1.0 +++ superseded by execve in pid 9 +++", TraceEvent::Superseded { by: 9 }),
        (
            " > /lib/x86_64-linux-gnu/libc.so.6(read+0xe) [0xf7a0e]",
            TraceEvent::Frame(b"/lib/x86_64-linux-gnu/libc.so.6(read+0xe) [0xf7a0e]"),
        ),
        ("strace: Process 28774 attached", TraceEvent::Attached(28774)),
        ("strace: Process 28774 attached with 3 threads", TraceEvent::Attached(28774)),
        ("strace: exec: No such file or directory", TraceEvent::Other),
        ("28772 1.0 rea", TraceEvent::Other),
        ("", TraceEvent::Other),
    ] {
        assert_eq!(parse(line.as_bytes()).event, expected, "{line}");
    }
}

#[test]
fn no_bytes_are_a_panic() {
    let seeds: [&[u8]; 3] = [
        b"28772 1365603497.937123 select(4, [3], NULL, NULL, NULL <unfinished ...>",
        b"[pid 28772] 12:34:56.5 <... select resumed> ) = 1 (in [3]) <0.075222>",
        b"7 openat(AT_FDCWD, \"/x\\\"\\303\", O_RDONLY) = 3</tmp/a = b> <0.1>",
    ];
    for seed in seeds {
        for end in 0..=seed.len() {
            let mut bytes = seed[..end].to_vec();
            parse(&bytes);
            for at in 0..bytes.len() {
                let before = bytes[at];
                for other in *b"\0<>=\"(){}, \xff9" {
                    bytes[at] = other;
                    parse(&bytes);
                }
                bytes[at] = before;
            }
        }
    }
}
