//! Messages of the process connector, as bytes.

use super::{ConnectorEvent, EVENT_AT, EXEC, EXIT, event};

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
