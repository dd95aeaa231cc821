//! Claims about what a process cost.

use std::process::Command;

use super::{parse, wait};

#[test]
fn time_of_a_process_and_of_its_children_is_counted() {
    let stat = "7 (a) b) R 1 1 1 0 -1 0 1 2 3 4 100 20 3 1 20 0 1 0";
    assert_eq!(parse(stat), Some(1.24));
    assert_eq!(parse(""), None);
}

#[test]
fn the_status_is_that_of_the_process() {
    let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
    let (status, seconds) = wait(&mut child).unwrap();
    assert_eq!(status.code(), Some(3));
    assert!(seconds < 60.0);
}
