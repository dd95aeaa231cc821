//! Messages of the process connector, as bytes.

use super::{ACKNOWLEDGED_AT, ConnectorEvent, EVENT_AT, EXEC, EXIT, answers, event};

fn message(what: u32, thread: u32, group: u32) -> Vec<u8> {
    let mut bytes = vec![0; EVENT_AT];
    for word in [what, 0, 0, 0, thread, group] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

#[test]
fn the_end_of_a_thread_is_no_end_of_a_process() {
    assert_eq!(event(&message(EXEC, 7, 7)), Some(ConnectorEvent::Exec(7)));
    assert_eq!(event(&message(EXIT, 7, 7)), Some(ConnectorEvent::Exit(7)));
    assert_eq!(event(&message(EXIT, 8, 7)), None);
    assert_eq!(event(&message(EXEC, 7, 7)[..EVENT_AT + 8]), None);
}

#[test]
fn only_the_answer_to_our_own_subscription_counts() {
    let acknowledging = |what: u32, number: u32| {
        let mut bytes = message(what, 7, 7);
        bytes[ACKNOWLEDGED_AT..ACKNOWLEDGED_AT + 4].copy_from_slice(&number.to_ne_bytes());
        bytes
    };
    assert!(answers(&acknowledging(0, 43), 42));
    assert!(!answers(&acknowledging(0, 42), 42), "that of another program");
    assert!(!answers(&acknowledging(EXEC, 43), 42), "what another program subscribed to");
    assert!(!answers(&acknowledging(0, 43)[..EVENT_AT], 42));
}
