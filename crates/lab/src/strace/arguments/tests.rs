//! Claims about arguments.

use super::*;

#[test]
fn descriptors_have_what_strace_says_of_them() {
    let of = |text: &'static str| {
        let found = descriptor(text.as_bytes())?;
        let target = found.target.map(|it| String::from_utf8_lossy(it).into_owned());
        Some((found.number, target.unwrap_or_default()))
    };
    assert_eq!(of("3, \"x\", 1"), Some((3, String::new())));
    assert_eq!(of("3</var/log/x>, \"a\", 1"), Some((3, "/var/log/x".into())));
    assert_eq!(
        of("4<TCP:[127.0.0.1:80->127.0.0.1:5000]>, \"a\", 1"),
        Some((4, "TCP:[127.0.0.1:80->127.0.0.1:5000]".into()))
    );
    assert_eq!(of("5</x>"), Some((5, "/x".into())));
    assert_eq!(of("AT_FDCWD, \"x\""), None);
}

#[test]
fn timeouts_are_lengths_in_both_spellings_or_times_of_a_clock() {
    use CallTimeout::{After, At, AtOther};
    use TimeoutForm::{Clock, Futex, Micros, Millis, Nanos};
    for (form, args, expected) in [
        (Futex, "0x7f, FUTEX_WAIT_PRIVATE, 0, {tv_sec=0, tv_nsec=250000000}", Some(After(250_000))),
        (Futex, "0x7f, FUTEX_WAIT_PRIVATE, 1, {0, 249999848}", Some(After(249_999))),
        (Futex, "0x7f, FUTEX_WAIT_PRIVATE, 0, NULL", None),
        (Futex, "0x7f, FUTEX_WAKE_PRIVATE, 1", None),
        (
            Futex,
            "0x7f, FUTEX_WAIT_BITSET_PRIVATE, 0, {tv_sec=9, tv_nsec=1000}, 0xff",
            Some(AtOther),
        ),
        (
            Futex,
            "0x7f, FUTEX_WAIT_BITSET|FUTEX_CLOCK_REALTIME, 0, {tv_sec=9, tv_nsec=1000}, 0xff",
            Some(At(9_000_001)),
        ),
        (Clock(2), "CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=9, tv_nsec=0}, NULL", Some(AtOther)),
        (
            Clock(2),
            "CLOCK_REALTIME, TIMER_ABSTIME, {tv_sec=9, tv_nsec=0}, NULL",
            Some(At(9_000_000)),
        ),
        (Millis(2), "[{fd=3, events=POLLIN}, {fd=4, events=POLLIN}], 2, 500", Some(After(500_000))),
        (Millis(2), "[{fd=3, events=POLLIN}], 1, -1", None),
        (Millis(3), "4, [{EPOLLIN, {u32=1, u64=1}}], 32, 1000", Some(After(1_000_000))),
        (Micros(4), "4, [3], NULL, NULL, {tv_sec=1, tv_usec=500000}", Some(After(1_500_000))),
        (Micros(4), "4, [3], NULL, NULL, NULL", None),
        (Nanos(0), "{tv_sec=0, tv_nsec=1000000}, NULL", Some(After(1000))),
        (Clock(2), "CLOCK_REALTIME, 0, {tv_sec=2, tv_nsec=0}, 0x7ffc", Some(After(2_000_000))),
    ] {
        assert_eq!(timeout(form, args.as_bytes()), expected, "{args}");
    }
}

#[test]
fn arguments_are_split_outside_of_texts_and_brackets() {
    let parts = split(b"AT_FDCWD, \"a, \\\"b\", {x=1, y=[2, 3]}, 0644", 9);
    assert_eq!(parts, [&b"AT_FDCWD"[..], b"\"a, \\\"b\"", b"{x=1, y=[2, 3]}", b"0644"]);
    assert_eq!(split(b"a, b, c", 2), [&b"a"[..], b"b, c"]);
    assert_eq!(texts(b"[\"ci\", \"-l\", \"a b,v\"]", 9), [&b"ci"[..], b"-l", b"a b,v"]);
    assert_eq!(unescaped(b"/a\\303\\274\\\"\\\\\\n"), "/aü\"\\\n".as_bytes());
}
