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

/// A source of the journal under another name of the node, where these nodes have committed.
fn resumed(dir: &Path, position: Option<&str>, others: &[&str]) -> JournalSource {
    let mut source = JournalSource::onlooker(dir.to_owned(), disk());
    let node = |position: &&str| NodePosition {
        node: "web1".to_owned(),
        position: (*position).to_owned(),
    };
    source.others(&others.iter().map(node).collect::<Vec<_>>());
    source.resume(position).unwrap();
    source
}

/// Reads on, and returns what was found, and the position.
fn read(mut source: JournalSource) -> (Vec<String>, String) {
    (found(&mut source), source.position())
}

#[test]
fn a_node_with_a_new_name_goes_on_in_the_journal_where_the_old_name_had_read_to() {
    let (_home, dir) = home();
    write(&dir, "a");
    let (_, web1) = read(resumed(&dir, None, &[]));
    assert_eq!(read(resumed(&dir, None, &[&web1])).0, [""; 0]);
    write(&dir, "b");
    let (lines, web2) = read(resumed(&dir, None, &[&web1]));
    assert_eq!(lines, lines_of(&["b"]));
    // It gets its first name back, under which it had read less.
    write(&dir, "c");
    let (lines, again) = read(resumed(&dir, Some(&web1), &[&web2]));
    assert_eq!(lines, lines_of(&["c"]));
    assert_eq!(read(resumed(&dir, Some(&again), &[&web2, &web1])).0, [""; 0]);
}

#[test]
fn a_new_name_goes_on_also_where_the_file_of_sessions_is_gone() {
    let (_home, dir) = home();
    write(&dir, "a");
    let (_, web1) = read(resumed(&dir, None, &[]));
    fs::remove_file(dir.join("sessions")).unwrap();
    write(&dir, "b");
    assert_eq!(read(resumed(&dir, None, &[&web1])).0, lines_of(&["b"]));
}

#[test]
fn a_new_name_learns_what_was_lost_of_the_journal_that_the_old_name_had_read() {
    let (_home, dir) = home();
    write(&dir, "a");
    let (_, web1) = read(resumed(&dir, None, &[]));
    fs::write(newest_segment(&dir), "").unwrap();
    write(&dir, "b");
    let (lines, _) = read(resumed(&dir, None, &[&web1]));
    assert!(lines[0].contains("change: Shorter"), "{lines:?}");
    assert_eq!(lines[1..], lines_of(&["b"]));
}

#[test]
fn what_another_machine_has_read_of_its_journal_says_nothing_of_this_one() {
    let (_home, dir) = home();
    let (_other_home, other) = home();
    ["x", "y", "z"].iter().for_each(|name| write(&other, name));
    let (_, far) = read(resumed(&other, None, &[]));
    write(&dir, "a");
    let (_, near) = read(resumed(&dir, None, &[]));
    // Both were opened in the same microsecond.
    let session = near.split('-').nth(1).unwrap();
    let mut parts: Vec<_> = far.split('-').collect();
    parts[1] = session;
    let alike = parts.join("-");
    for foreign in [far.as_str(), &alike, "77", "no place", "5-0-0-0"] {
        assert_eq!(read(resumed(&dir, None, &[foreign])).0, lines_of(&["a"]), "{foreign}");
        assert_eq!(read(resumed(&dir, Some(&near), &[foreign])), (Vec::new(), near.clone()));
    }
}

#[test]
fn behind_are_the_bytes_from_where_it_reads_to_the_end() {
    let (_home, dir) = home();
    assert_eq!(resumed(&dir, None, &[]).bytes_behind(), 0, "there is no journal yet");
    write(&dir, "a");
    let mut source = resumed(&dir, None, &[]);
    let all = source.bytes_behind();
    assert!(all > 10 * 45, "{all}");
    found(&mut source);
    assert_eq!(source.bytes_behind(), 0);
    write(&dir, "b");
    assert!(source.bytes_behind() > 10 * 45);
}

#[test]
fn what_a_consumer_has_not_committed_is_held_back_and_nothing_for_who_only_looks() {
    let (_home, dir) = home();
    write(&dir, "a");
    let held_back = || fs::read_to_string(dir.join("consumers/events-main")).ok();
    let mut onlooker = resumed(&dir, None, &[]);
    found(&mut onlooker);
    onlooker.committed(&onlooker.position()).unwrap();
    assert_eq!(held_back(), None);
    let mut source = JournalSource::new(dir.clone(), "events-main", disk());
    assert_eq!(source.position(), "0");
    source.resume(None).unwrap();
    assert_eq!(held_back(), Some(format!("{:020}\n", 0)));
    found(&mut source);
    assert_eq!(held_back(), Some(format!("{:020}\n", 0)), "it was read and not committed");
    source.committed(&source.position()).unwrap();
    assert_eq!(held_back(), Some(format!("{:020}\n", source.offset)));
    source.committed("no place").unwrap();
    assert_eq!(held_back(), Some(format!("{:020}\n", source.offset)));
}
