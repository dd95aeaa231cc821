//! What workers print, however they print it.

use super::*;

fn lines(pieces: &[&[u8]]) -> LineLogger {
    let printer = Printer { pool: "test".into(), process: "worker 1".into(), pid: 1 };
    let mut lines = LineLogger::new(printer, Rc::default());
    let now = lines.refilled;
    pieces.iter().for_each(|piece| lines.take(piece, now));
    lines
}

#[test]
fn lines_are_whole_whatever_the_pieces() {
    let mut lines = lines(&[b"on", b"e\ntwo\nthr", b"ee"]);
    assert_eq!(lines.tail.lines(), ["one", "two"]);
    lines.end(lines.refilled);
    assert_eq!(lines.tail.lines(), ["one", "two", "three"]);
}

#[test]
fn a_line_is_cut_and_says_so() {
    let lines = lines(&[&[b'x'; 10_000], b"\nnext\n"]);
    let kept = lines.tail.lines();
    assert!(kept[0].ends_with("x … (1808 bytes more)"));
    assert_eq!(kept[1], "next");
}

#[test]
fn what_a_terminal_would_obey_is_made_visible() {
    assert_eq!(harmless(b"a\x1b[2J\x00\xffb\tc\r"), "a\u{fffd}[2J\u{fffd}\u{fffd}b\tc");
}

#[test]
fn where_a_process_hangs_is_told_without_our_own_code() {
    let frames = concat!(
        "Current thread 0x1 (most recent call first):\n",
        "  File \"/app/app.py\", line 3 in act\n",
        "  File \"/pool/tidegate.pyz/tidegate/workers/asgi.py\", line 67 in run\n",
        "  File \"<frozen runpy>\", line 88 in _run_code\n",
    );
    let kept = lines(&[frames.as_bytes()]).tail.lines();
    assert_eq!(kept.len(), 2);
    assert!(kept[1].ends_with("line 3 in act"));
}

#[test]
fn of_a_deep_stack_the_inner_frames_are_kept_for_they_are_the_apps() {
    let frames: String =
        (0..40).map(|line| format!("  File \"/f.py\", line {line} in f\n")).collect();
    let dump = format!("Thread 0x1:\n{frames}\nCurrent thread 0x2:\n{frames}");
    let kept = lines(&[dump.as_bytes()]).tail.lines();
    assert_eq!(kept[0], "Thread 0x1:");
    assert!(kept[1].ends_with("line 0 in f"), "{kept:?}");
    let second = kept.iter().position(|line| line.starts_with("Current")).unwrap();
    assert!(kept[second + 1].ends_with("line 0 in f"), "{kept:?}");
}

#[test]
fn the_last_lines_are_kept_and_a_flood_is_counted() {
    let flood: String = (0..10_000).map(|number| format!("{number}\n")).collect();
    let lines = lines(&[flood.as_bytes()]);
    assert_eq!(lines.dropped, 9_500);
    let kept = lines.tail.lines();
    assert_eq!((kept.len(), kept[19].as_str()), (20, "9999"));
}
