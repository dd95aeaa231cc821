//! Messages of the process connector, as bytes.

use super::{EVENT_AT, EXEC, EXIT, ProgramEvent, event, listen};

fn message(what: u32, thread: u32, group: u32) -> Vec<u8> {
    let mut bytes = vec![0; EVENT_AT];
    for word in [what, 0, 0, 0, thread, group] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

#[test]
fn an_exec_is_named_and_the_end_of_a_thread_is_no_end() {
    let ours = std::process::id();
    let started = event(&message(EXEC, ours, ours));
    assert!(matches!(started, Some(ProgramEvent::Started { name }) if !name.is_empty()));
    let ended = event(&message(EXIT, ours, ours));
    assert!(matches!(ended, Some(ProgramEvent::Ended { usage: Some(_), pid }) if pid == ours));
    assert!(event(&message(EXIT, ours + 1, ours)).is_none());
    assert!(event(&message(EXEC, ours, ours)[..EVENT_AT + 8]).is_none());
}

#[test]
fn a_program_that_lives_for_a_moment_is_heard_or_a_note_says_why_not() {
    let mut notes = Vec::new();
    let Some(heard) = listen(&mut notes) else {
        assert!(notes[0].contains("CAP_NET_ADMIN"), "{notes:?}");
        println!("not allowed here: {}", notes[0]);
        return;
    };
    let ended = std::process::Command::new("true").status().expect("true runs");
    assert!(ended.success());
    let name = loop {
        let event = heard.events.recv_timeout(std::time::Duration::from_secs(60));
        match event.expect("the kernel tells of `true`") {
            ProgramEvent::Started { name } if name == "true" => break name,
            _ => {}
        }
    };
    assert_eq!(name, "true");
}
