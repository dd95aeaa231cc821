//! What the kernel tells of real programs.

use std::process::Command;
use std::time::Duration;

use super::{EndedThreads, ProcessUsage, ProgramEvent, ProgramEvents, TaskExit, listen};

const PATIENCE: Duration = Duration::from_secs(60);

/// What is heard here; nothing where the kernel does not allow it, which a note must say.
fn heard() -> Option<(ProgramEvents, bool)> {
    let mut notes = Vec::new();
    let Some(heard) = listen(&mut notes) else {
        assert!(notes[0].contains("process connector"), "{notes:?}");
        println!("not allowed here: {}", notes[0]);
        return None;
    };
    if let Some(note) = notes.first() {
        assert!(note.contains("taskstats"), "{notes:?}");
        println!("without taskstats: {note}");
    }
    Some((heard, notes.is_empty()))
}

fn exit(task: u32, is_last: bool, name: &str, cpu_ms: f64) -> TaskExit {
    // No process has so great a number.
    let process = u32::MAX - 8;
    let usage = ProcessUsage { cpu_ms, ..ProcessUsage::default() };
    TaskExit { task: process + task, process, is_last, name: name.to_owned(), usage }
}

#[test]
fn each_program_that_lives_for_a_moment_is_told_with_what_it_used() {
    let Some((heard, has_taskstats)) = heard() else { return };
    if !has_taskstats {
        return;
    }
    const RUNS: usize = 50;
    // Some 20 ms of a core, and the parent collects at once.
    let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let mut pids = Vec::new();
    for _ in 0..RUNS {
        let mut child = Command::new("sh").args(["-c", script]).spawn().expect("sh starts");
        pids.push(child.id());
        assert!(child.wait().expect("sh ends").success());
    }
    let (mut started, mut used) = (0, 0);
    while started < RUNS || !pids.is_empty() {
        match heard.events.recv_timeout(PATIENCE).expect("the kernel tells of each") {
            ProgramEvent::Started { name } => started += usize::from(name.plain == "sh"),
            ProgramEvent::Ended { pid, usage } => {
                let Some(place) = pids.iter().position(|known| *known == pid) else { continue };
                pids.remove(place);
                let (name, usage) = usage.expect("what it used");
                assert_eq!(name.plain, "sh");
                used += usize::from(usage.cpu_ms > 0.0);
            }
        }
    }
    assert!(used > RUNS / 2, "{used} of {RUNS} used a processor");
}

#[test]
fn threads_that_end_are_added_to_their_process_under_its_name() {
    let mut ended = EndedThreads::default();
    assert!(ended.process_exit(exit(1, false, "helper", 3.0)).is_none());
    assert!(ended.process_exit(exit(0, false, "program", 4.0)).is_none());
    let (_, name, usage) = ended.process_exit(exit(2, true, "helper", 5.0)).expect("its end");
    assert_eq!((name.plain.as_str(), usage.cpu_ms), ("program", 12.0));
    let (_, name, usage) = ended.process_exit(exit(3, true, "alone", 1.0)).expect("its end");
    assert_eq!((name.plain.as_str(), usage.cpu_ms), ("alone", 1.0), "nothing is counted twice");
}
