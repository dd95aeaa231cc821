//! Claims about what the files `synced` say, whole, torn or of an older version.

use stdx::{FaultyDisk, Lasting, RealDisk};

use super::*;

fn number(number: u64) -> String {
    format!("{number:020}\n")
}

/// Writes a text for the limit of a journal, and reads it in both ways.
fn read_back(text: &str) -> (u64, Testimony) {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    disk.create(&Limit::path(dir)).unwrap().append(text.as_bytes()).unwrap();
    (Limit::read(&disk, dir).unwrap(), Limit::new(Arc::new(disk), dir).look())
}

#[test]
fn a_limit_is_the_smaller_of_its_two_numbers_and_names_the_sessions_that_are_whole() {
    let offset = number(70) + &number(70);
    let says = |offset, sessions: &[u64]| (offset, Testimony::Says(offset, sessions.to_vec()));
    let cases = [
        (offset.clone(), says(70, &[])),
        (offset.clone() + &number(3) + &number(2), says(70, &[3, 2])),
        (number(80) + &number(70), says(70, &[])),
        (number(70) + &number(80), says(70, &[])),
        (offset.clone() + &number(3) + "0000000", says(70, &[3])),
        (offset.clone() + "garbage...garbage...\n" + &number(2), says(70, &[2])),
        (offset.clone() + &number(3).replace('\n', "?") + &number(2), says(70, &[2])),
        (offset + &(1..=20).map(number).collect::<String>(), says(70, &Vec::from_iter(1..=16))),
    ];
    for (text, expected) in cases {
        assert_eq!(read_back(&text), expected, "{text:?}");
    }
}

#[test]
fn where_the_file_is_short_or_no_number_there_is_no_limit_and_the_witness_is_broken() {
    for text in ["", "garbage", &number(70), &"?".repeat(42), &number(u64::MAX).repeat(2)] {
        assert_eq!(read_back(text), (u64::MAX, Testimony::Broken), "{text:?}");
    }
    // One number is enough to tell how far lines had been durable, at least.
    let torn = number(70) + &number(70)[..15];
    assert_eq!(read_back(&torn), (u64::MAX, Testimony::Says(70, vec![])));
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/journal")).unwrap();
    assert_eq!(Limit::read(&disk, Path::new("/journal")).unwrap(), u64::MAX);
    let limit = Limit::new(Arc::new(disk), Path::new("/journal"));
    assert_eq!(limit.look(), Testimony::Missing);
}

#[test]
fn a_limit_is_moved_in_the_name_of_its_session_and_keeps_those_before() {
    let disk = Arc::new(FaultyDisk::new(1));
    let dir = Path::new("/a/journal");
    disk.create_dir_all(dir).unwrap();
    let witness = Limit::witness(disk.clone(), dir).unwrap();
    witness.begin(50, &[3, 2]).unwrap();
    witness.set(60, 4).unwrap();
    assert_eq!(witness.look(), Testimony::Says(60, vec![4, 2]));
    witness.begin(60, &[5]).unwrap();
    assert_eq!(witness.look(), Testimony::Says(60, vec![5]), "nothing of the former is left");
    assert_eq!(disk.list(Path::new("/a")).unwrap(), ["journal.synced"]);
    assert!(Limit::witness(disk.clone(), Path::new("..")).is_none());
    disk.create_dir_all(Path::new("journal")).unwrap();
    // It is beside the directory also where that has no parent.
    Limit::witness(disk, Path::new("journal")).unwrap().begin(1, &[1]).unwrap();
}

#[test]
fn what_is_no_file_says_nothing_and_what_the_disk_refuses_counts_as_missing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(Limit::path(home.path())).unwrap();
    assert_eq!(Limit::new(Arc::new(RealDisk), home.path()).look(), Testimony::Broken);
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    let limit = Limit::new(Arc::new(disk.clone()), dir);
    limit.set(70, 3).unwrap();
    for nth in [1, 2] {
        disk.fail_nth(nth, Lasting::Once);
        assert_eq!(limit.look(), Testimony::Missing);
        disk.fail_nth(nth, Lasting::Once);
        assert!(Limit::read(&disk, dir).is_err(), "a reader tries again");
    }
    assert_eq!(limit.look(), Testimony::Says(70, vec![3]));
}
