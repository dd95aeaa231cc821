//! What is missing is named with the command that installs it.

use super::{NEEDS, Stage, advice, missing, need, succeeds};

#[test]
fn a_probe_tells_what_is_there_from_what_is_not() {
    assert!(succeeds("command -v sh"));
    assert!(!succeeds("command -v no-such-program-anywhere"));
}

#[test]
fn each_missing_piece_is_one_line_with_its_command() {
    let nginx = need("nginx", "false", "nginx", Stage::Test);
    let expected = "nginx is missing; install it with: sudo apt-get install -y nginx";
    assert_eq!(advice(&nginx, true), expected);
    assert_eq!(advice(&nginx, false).lines().count(), 1);
}

#[test]
fn testing_needs_no_more_than_measuring() {
    assert!(missing(Stage::Test).len() <= missing(Stage::Bench).len());
    assert!(NEEDS.iter().filter(|need| need.stage == Stage::Test).count() < NEEDS.len());
}
