//! Messages of taskstats, as bytes.

use super::{LAST, OF_TASK, STATS, TaskExit, attribute, request, task_exit};

/// The end of a task, as version 12 of the kernel's structure tells it.
fn message(version: u16, flags: u8) -> Vec<u8> {
    let mut stats = vec![0; 400];
    let mut put = |at: usize, bytes: &[u8]| stats[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &version.to_ne_bytes());
    put(8, &[flags]);
    put(24, &2_000_000_u64.to_ne_bytes());
    put(80, b"rcs\0rest");
    put(128, &42_u32.to_ne_bytes());
    put(152, &1_500_u64.to_ne_bytes());
    put(160, &500_u64.to_ne_bytes());
    put(176, &3_u64.to_ne_bytes());
    put(248, &4_096_u64.to_ne_bytes());
    put(256, &8_192_u64.to_ne_bytes());
    put(368, &40_u32.to_ne_bytes());
    let mut of_task = attribute(1, &42_u32.to_ne_bytes());
    of_task.extend(attribute(STATS, &stats));
    request(31, 2, 0, &attribute(OF_TASK, &of_task))
}

#[test]
fn a_task_is_told_with_its_process_and_all_it_used() {
    let exit = task_exit(&message(12, LAST)).expect("a task");
    let TaskExit { task, process, is_last, name, usage } = exit;
    assert_eq!((task, process, is_last, name.as_str()), (42, 40, true, "rcs"));
    assert_eq!((usage.cpu_ms, usage.waited_ms, usage.paged_in), (2.0, 2.0, 3.0));
    assert_eq!((usage.read_bytes, usage.written_bytes), (4_096.0, 8_192.0));
    assert!(!task_exit(&message(12, 0)).expect("a thread").is_last);
}

#[test]
fn an_older_or_cut_message_tells_nothing() {
    assert_eq!(task_exit(&message(11, LAST)), None);
    let whole = message(12, LAST);
    for end in 0..whole.len() {
        assert_eq!(task_exit(&whole[..end]), None, "{end}");
    }
}
