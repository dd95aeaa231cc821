//! Claims about where logs are found.

use super::*;

/// A log of which these bytes were read.
fn log(read: &[u8]) -> Log {
    let mut mark = Mark::default();
    mark.advance(read);
    Log::new(mark)
}

#[test]
fn a_log_is_found_by_its_beginning_as_long_as_it_is_there() {
    let mut logs = Logs::default();
    let bytes: Vec<u8> = (0..3_000_u32).flat_map(u32::to_le_bytes).collect();
    let (tiny, short, long) =
        (logs.add(log(&bytes[..40])), logs.add(log(&bytes[..100])), logs.add(log(&bytes[..5_000])));
    let nothing = logs.add(log(b""));
    assert_eq!([tiny, short, long, nothing], [1, 2, 3, 4]);
    let like = |logs: &Logs, bytes: &[u8]| {
        let mut found = logs.like(bytes);
        found.sort_unstable();
        found
    };
    assert_eq!(like(&logs, &bytes[..WINDOW]), [tiny, short, long]);
    assert_eq!(like(&logs, &bytes[..200]), [tiny, short, long], "it may have been shortened");
    assert_eq!(like(&logs, &bytes[..63]), [tiny]);
    assert_eq!(like(&logs, &bytes[..39]), [0; 0]);
    assert_eq!(like(&logs, &bytes[1..WINDOW]), [0; 0]);
    logs.change(tiny, |log| log.mark.advance(&bytes[..70]));
    assert_eq!(like(&logs, &bytes[..63]), [0; 0], "more of it was read");
    assert_eq!(like(&logs, &bytes[..WINDOW]), [tiny, short, long]);
    assert!(logs.remove(short).is_some() && logs.remove(short).is_none());
    assert_eq!(like(&logs, &bytes[..WINDOW]), [tiny, long]);
    assert!(logs.change(short, |_| ()).is_none());
    assert_eq!(logs.add(log(&bytes[..100])), 5, "numbers are not used again");
}

#[test]
fn a_packed_file_leads_to_the_log_that_it_carries_now() {
    let mut logs = Logs::default();
    let (one, other) = ((100, 1), (200, 2));
    let first = logs.add(Log { packed: Some(one), ..log(b"first") });
    let second = logs.add(log(b"second"));
    assert_eq!((logs.find_packed(one), logs.find_packed(other)), (Some(first), None));
    logs.packed(first, other);
    assert_eq!((logs.find_packed(one), logs.find_packed(other)), (None, Some(first)));
    // Both have the same content: the one that came last is found.
    logs.packed(second, other);
    logs.packed(first, one);
    assert_eq!((logs.find_packed(one), logs.find_packed(other)), (Some(first), Some(second)));
    logs.packed(first, other);
    logs.remove(second);
    assert_eq!(logs.find_packed(other), Some(first));
    logs.repacked(first);
    assert_eq!((logs.find_packed(other), logs.get(first).unwrap().packed), (None, None));
    logs.packed(first, one);
    logs.remove(first);
    assert_eq!(logs.find_packed(one), None);
}
