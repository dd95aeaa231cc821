//! Claims about `scratch`.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn two_stand_beside_each_other_and_go_with_their_values() {
    let parent = testkit::TempDir::new().unwrap();
    let first = ScratchDir::make_in(parent.path(), "copy").unwrap();
    let second = ScratchDir::make_in(parent.path(), "copy").unwrap();
    assert_ne!(first.0, second.0);
    let mode = std::fs::metadata(&first.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "nobody else looks into it: {mode:o}");
    std::fs::write(first.0.join("file"), "x").unwrap();
    drop((first, second));
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    assert!(ScratchDir::make_in(&parent.path().join("absent"), "copy").is_err());
}
