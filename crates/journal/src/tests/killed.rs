//! A real process on a real disk, killed while it writes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use stdx::RealDisk;

use super::*;

/// Names the journal to the process that is to be killed.
const ARGUMENT: &str = "journal-of-a-killed-writer=";

#[test]
fn acknowledged_lines_survive_kill_9() {
    let temp = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for life in 0..5 {
        let mut child = spawn(temp.path(), life);
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = output
            .lines()
            .map(Result::unwrap)
            .filter_map(|line| line.split_once("acknowledged ").map(|(_, line)| line.to_owned()));
        acknowledged.extend(lines.take(40 + life * 7));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(acknowledged.len() > 200);
    let journal =
        Journal::open(Options::new(temp.path().join("journal")), Arc::new(RealDisk)).unwrap();
    drop(journal);
    let found = read_all(temp.path(), Arc::new(RealDisk));
    for line in &acknowledged {
        assert_eq!(found.iter().filter(|own| *own == line).count(), 1, "{line}");
    }
    for line in &found {
        assert!(line.starts_with("life ") && line.ends_with(" end"), "torn line {line:?}");
    }
}

/// Starts this test executable again, with the test below alone.
fn spawn(dir: &Path, life: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::killed::writes_until_it_is_killed", "--nocapture"])
        // To the harness this is one more name of a test, which none has.
        .arg(format!("{ARGUMENT}{life}:{}", dir.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The process that is to be killed; without its argument it has nothing to do.
#[test]
fn writes_until_it_is_killed() {
    let argument = std::env::args().find_map(|text| Some(text.strip_prefix(ARGUMENT)?.to_owned()));
    let Some((life, dir)) = argument.as_deref().and_then(|text| text.split_once(':')) else {
        return;
    };
    let mut options = Options::new(dir);
    options.sync = Sync::Always;
    options.segment_bytes_max = 2000;
    let journal = Journal::open(options, Arc::new(RealDisk)).unwrap();
    let lane = journal.lane();
    // Bounded, so that it ends even if nobody kills it.
    for n in 0..100_000 {
        let line = format!("life {life} line {n} end");
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
        println!("acknowledged {line}");
    }
}
