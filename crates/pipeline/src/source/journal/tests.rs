//! Claims about the journal as a source, over real files.

use std::fs;
use std::path::Path;

use journal::{Journal, Options, Sync};
use stdx::RealDisk;
use tempfile::{TempDir, tempdir};

use super::*;

fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

/// A home for a journal, and the journal's directory in it.
fn home() -> (TempDir, PathBuf) {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    (home, dir)
}

/// Writes ten lines that begin with `name`, in a session of their own.
fn write(dir: &Path, name: &str) {
    let mut options = Options::new(dir);
    options.sync = Sync::Always;
    let journal = Journal::open(options, disk()).unwrap();
    let lane = journal.lane();
    for n in 0..10 {
        let line = format!("{name}{n} {}", "x".repeat(n * 30));
        lane.append_durable(|out| out.extend_from_slice(line.as_bytes())).wait().unwrap();
    }
}

/// What a source gives until it is caught up: lines by their first word, reports in capitals.
fn found(source: &mut JournalSource) -> Vec<String> {
    let (mut found, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match source.read(&mut buffer).unwrap() {
            ReadOutcome::Lines(chunk) => {
                let text = String::from_utf8_lossy(chunk.bytes).into_owned();
                let word = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
                found.extend(text.lines().map(word));
            }
            ReadOutcome::CaughtUp => return found,
            ReadOutcome::Lost { from, to, .. } => found.push(format!("LOST {from} {to}")),
            ReadOutcome::Displaced { displaced, .. } => found.push(format!("{displaced:?}")),
            other => panic!("{other:?}"),
        }
    }
}

fn lines_of(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| (0..10).map(move |n| format!("{name}{n}"))).collect()
}

fn newest_segment(dir: &Path) -> PathBuf {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.to_string_lossy().contains(".log")).max().unwrap()
}

#[test]
fn a_journal_that_was_cut_and_not_opened_since_is_named_as_a_file_that_cannot_be_read() {
    let (_home, dir) = home();
    write(&dir, "a");
    let mut source = JournalSource::onlooker(dir.clone(), disk());
    source.resume(None).unwrap();
    assert_eq!(found(&mut source), lines_of(&["a"]));
    assert_eq!(source.notices(), FileNotices::default());
    write(&dir, "b");
    fs::write(newest_segment(&dir), "").unwrap();
    assert_eq!(found(&mut source), [""; 0]);
    let notices = source.notices();
    assert!(notices.unreadable[FILE].contains("had been durable"), "{notices:?}");
    drop(Journal::open(Options::new(&dir), disk()).unwrap());
    assert!(found(&mut source)[0].starts_with("LOST "));
    assert_eq!(source.notices(), FileNotices::default(), "it is a loss by now");
}
