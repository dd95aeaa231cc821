//! Claims about losses: each is an alarm once, until it is acknowledged.

use std::fs;

use tempfile::tempdir;

use journal::{Change, Displaced};

use super::{KNOWN_MAX, LogLoss, LossBook, displacement};

fn loss(what: &str) -> LogLoss {
    LogLoss {
        id: String::new(),
        time_us: stdx::unix_micros(),
        node: "web1".to_owned(),
        source: "journal".to_owned(),
        sink: "main".to_owned(),
        what: what.to_owned(),
        bytes: Some(7),
        batch: Some(3),
    }
}

fn open(book: &LossBook) -> Vec<String> {
    book.open().losses.into_iter().map(|loss| loss.what).collect()
}

#[test]
fn a_loss_stands_over_restarts_until_it_is_acknowledged_and_is_noted_once() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("data/losses");
    for _ in 0..3 {
        let book = LossBook::new(&path);
        assert!(book.note(loss("a"), 3) && book.note(loss("b"), 3) && book.note(loss("a"), 3));
        assert_eq!(open(&book), ["a", "b"]);
    }
    let book = LossBook::new(&path);
    let ids = [book.open().losses[0].id.clone(), "unknown".to_owned()];
    assert_eq!(book.acknowledge(Some(&ids)).unwrap().len(), 1);
    assert_eq!(open(&book), ["b"]);
    assert!(book.note(loss("a"), 3), "what is found again after a restart stays acknowledged");
    assert_eq!(open(&LossBook::new(&path)), ["b"]);
    assert_eq!(book.acknowledge(None).unwrap().len(), 1);
    assert_eq!(open(&book), [""; 0]);
}

#[test]
fn the_same_words_are_another_loss_once_the_batch_behind_the_first_is_committed() {
    let dir = tempdir().unwrap();
    let book = LossBook::new(&dir.path().join("losses"));
    assert!(book.note(loss("a"), 2) && book.note(loss("a"), 3));
    assert_eq!(open(&book), ["a"]);
    book.acknowledge(None).unwrap();
    let later = LogLoss { batch: Some(9), time_us: loss("a").time_us + 1, ..loss("a") };
    assert!(book.note(later.clone(), 4) && book.note(later, 9));
    assert_eq!(open(&book), ["a"], "an alarm again, and once");
}

#[test]
fn losses_of_older_versions_are_known_by_their_words() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("losses");
    let mut noted = serde_json::to_value(loss("a")).unwrap();
    noted.as_object_mut().unwrap().remove("batch");
    fs::write(&path, noted.to_string()).unwrap();
    let book = LossBook::new(&path);
    assert!(book.note(loss("a"), 4));
    assert_eq!(book.open().losses.len(), 1);
}

#[test]
fn torn_and_foreign_lines_cost_nothing_and_a_file_that_takes_nothing_says_so() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("losses");
    fs::write(&path, "garbage\n{\"id\":\"x\"").unwrap();
    let book = LossBook::new(&path);
    assert!(book.note(loss("a"), 3));
    assert_eq!(open(&LossBook::new(&path)), ["a"]);
    fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    assert!(!LossBook::new(&path).note(loss("b"), 3));
    let nowhere = dir.path().join("losses/below");
    assert!(!LossBook::new(&nowhere).note(loss("b"), 3));
}

#[test]
fn a_broken_line_is_counted_so_that_nobody_takes_the_file_for_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("losses");
    let book = LossBook::new(&file);
    let open = book.open();
    assert_eq!((open.has_file, open.broken_lines), (false, 0));
    std::fs::write(&file, b"\n{\"id\":5\"\n\n").unwrap();
    let open = book.open();
    assert_eq!((open.has_file, open.broken_lines, open.losses.len()), (true, 1, 0));
}

#[test]
fn a_file_without_end_in_its_place_is_an_error_at_once() {
    let folder = tempdir().unwrap();
    let sparse = folder.path().join("sparse");
    fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
    let device = folder.path().join("device");
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    for path in [sparse, device] {
        let book = LossBook::new(&path);
        assert!(
            book.open().problem.is_some() && book.acknowledge(None).is_err(),
            "{}",
            path.display()
        );
        assert!(!book.note(loss("a"), 3));
    }
}

/// A file of losses that takes none: a directory has its place.
fn taken(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("losses");
    fs::create_dir(&path).unwrap();
    path
}

#[test]
fn what_the_file_does_not_take_stays_open_and_is_written_once_it_can_be() {
    let folder = tempdir().unwrap();
    let path = taken(&folder);
    let book = LossBook::new(&path);
    assert!(!book.note(loss("a"), 3) && !book.note(loss("a"), 3));
    assert_eq!((open(&book), book.keep().len()), (vec!["a".to_owned()], 1));
    assert!(LossBook::new(&path).open().problem.is_some(), "also after a restart");
    fs::remove_dir(&path).unwrap();
    assert_eq!(book.keep(), []);
    assert_eq!(open(&LossBook::new(&path)), ["a"], "now it is in the file");
    assert!(book.open().is_whole());
    assert_eq!(LossBook::new(&path).acknowledge(None).unwrap().len(), 1);
    assert_eq!((open(&book), book.keep()), (Vec::new(), Vec::new()));
}

#[test]
fn a_file_at_its_bound_is_a_problem_and_what_it_lacks_stays_open() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("losses");
    fs::write(&path, "\n".repeat(1 << 20)).unwrap();
    let book = LossBook::new(&path);
    assert!(!book.open().is_whole() && !book.note(loss("a"), 3));
    let found = book.open();
    assert!(found.problem.unwrap().contains("lacks 1"));
    assert_eq!(found.losses.len(), 1);
}

#[test]
fn a_file_that_is_removed_takes_no_loss_with_it() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("losses");
    let (noting, looking) = (LossBook::new(&path), LossBook::new(&path));
    assert!(noting.note(loss("a"), 3));
    assert_eq!(open(&looking), ["a"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(open(&looking), ["a"]);
    assert_eq!(open(&LossBook::new(&path)), ["a"], "it is in the file again");
    assert_eq!(noting.keep(), []);
    looking.acknowledge(None).unwrap();
    assert_eq!([open(&looking), open(&noting)], [[""; 0]; 2], "only that ends it");
}

#[test]
fn where_nothing_was_lost_there_is_no_problem() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data/losses");
    assert!(LossBook::new(&path).open().is_whole(), "nothing is there yet");
    fs::create_dir(path.parent().unwrap()).unwrap();
    assert!(LossBook::new(&path).open().is_whole());
    assert!(LossBook::new(std::path::Path::new("no-such-file-of-losses")).open().is_whole());
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn what_no_file_takes_is_kept_in_memory_up_to_a_bound() {
    let folder = tempdir().unwrap();
    let book = LossBook::new(&taken(&folder));
    let many = (0..=KNOWN_MAX).map(|n| LogLoss { id: n.to_string(), ..loss("a") });
    book.adopt(many.clone().take(2).collect());
    book.adopt(many.clone().take(2).collect());
    assert_eq!(book.open().losses.len(), 2, "each once");
    book.adopt(many.collect());
    assert_eq!((book.open().losses.len(), book.keep().len()), (KNOWN_MAX, KNOWN_MAX));
}

#[test]
fn what_became_of_a_log_is_said_with_the_bytes_that_are_lost_unread() {
    for (change, lost_to, words, bytes) in [
        (Change::Damaged, Some(30), "is damaged at 10", Some(20)),
        (Change::Shorter, Some(5), "from 10 to 40, where reading goes on", Some(0)),
        (Change::Replaced, None, "is not the log that was read to 10", None),
        (Change::Unwitnessed, None, "behind 10 may be lost", None),
    ] {
        let (what, lost) =
            displacement("journal", Displaced { read_to: 10, goes_on: 40, lost_to, change });
        assert!(what.contains(words) && what.contains("`journal`"), "{what}");
        assert_eq!(lost, bytes, "{what}");
    }
}
