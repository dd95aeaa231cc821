//! Readers of a journal in whose place another one came: where they go on, and what they say.

use std::fs;

use tempfile::tempdir;

use super::damage::{disk, found_by, lines_of, read, segments, write};
use super::*;
use crate::{Change, Displaced};

#[test]
fn of_a_journal_that_gave_way_to_a_longer_one_no_loss_is_made_up() {
    let home = tempdir().unwrap();
    let (dir, longer) = (home.path().join("journal"), home.path().join("longer"));
    ["x", "y"].iter().for_each(|name| write(&longer, name));
    write(&dir, "a");
    let (_, place, _) = read(&dir, None);
    fs::remove_dir_all(&dir).unwrap();
    fs::rename(&longer, &dir).unwrap();
    let (_, end, _) = read(&dir, None);
    write(&dir, "c");
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    let (read_to, goes_on) = (place.offset, end.offset);
    let expected = Displaced { read_to, goes_on, lost_to: None, change: Change::Replaced };
    assert_eq!(displaced, Some(expected));
    assert_eq!(found_by(&mut reader).0, lines_of("c"));
}

#[test]
fn of_a_journal_that_has_lost_its_first_lines_reading_goes_on_at_the_first_one_left() {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    ["a", "b"].iter().for_each(|name| write(&dir, name));
    let (_, place, _) = read(&dir, None);
    fs::remove_dir_all(&dir).unwrap();
    write(&dir, "x");
    let (_, end, _) = read(&dir, None);
    write(&dir, "y");
    fs::remove_file(&segments(&dir)[0]).unwrap();
    let (mut reader, displaced) = Reader::open(&dir, disk()).unwrap().resume(place).unwrap();
    let displaced = displaced.unwrap();
    assert_eq!((displaced.change, displaced.goes_on), (Change::Replaced, end.offset));
    assert_eq!(found_by(&mut reader).0, lines_of("y"));
}
