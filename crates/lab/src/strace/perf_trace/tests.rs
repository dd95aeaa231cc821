//! Claims about lines of `perf trace`.

use super::super::line::{StraceLine, TraceEvent};
use super::parse;

#[test]
fn calls_and_their_halves_are_read() {
    let call = |line: &'static str| {
        let StraceLine { pid, time_us, event } = parse(line.as_bytes()).unwrap();
        let (TraceEvent::Call(call) | TraceEvent::Resumed(call)) = event else {
            panic!("{line}: {event:?}");
        };
        let texts = [call.name, call.args, call.result].map(|it| String::from_utf8_lossy(it));
        (pid.unwrap(), time_us.unwrap(), texts, call.took_ns)
    };
    assert_eq!(
        call("     0.453 ( 0.002 ms): cat/8139 openat(dfd: CWD, filename: 0xabc) = 3"),
        (8139, 453, ["openat", "dfd: CWD, filename: 0xabc", "3"].map(Into::into), Some(2000))
    );
    assert_eq!(
        call("  1000.700 (1000.123 ms): my prog/81  ... [continued]: nanosleep()) = 0"),
        (81, 1_000_700, ["nanosleep", "", "0"].map(Into::into), Some(1_000_123_000))
    );
    let begun = parse(b"     0.577 (         ): sleep/81 nanosleep(rqtp: 0x7ffd) ...").unwrap();
    assert!(matches!(begun.event, TraceEvent::Unfinished { name: b"nanosleep", .. }), "{begun:?}");
}

#[test]
fn no_bytes_are_a_panic() {
    let seed = b"     0.453 ( 0.002 ms): cat/8139 ... [continued]: openat(dfd: CWD) = 3";
    for end in 0..=seed.len() {
        let mut bytes = seed[..end].to_vec();
        for at in 0..bytes.len() {
            let before = bytes[at];
            for other in *b"\0<>=\"(){}, \xff9." {
                bytes[at] = other;
                parse(&bytes);
            }
            bytes[at] = before;
        }
    }
}
