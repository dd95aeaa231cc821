//! A difference is found wherever it is.

use super::{first_difference, read};

#[test]
fn programs_differ_by_a_byte_or_by_their_length() {
    assert_eq!(first_difference(b"same", b"same"), None);
    assert_eq!(first_difference(b"same", b"some"), Some(1));
    assert_eq!(first_difference(b"same", b"same and more"), Some(4));
}

#[test]
fn the_release_build_of_tidegate_is_repeated_unless_something_else_is_named() {
    let what = read(&[]).unwrap();
    assert_eq!((what.package, what.profile), ("tidegate", "release"));
    assert_eq!(read(&["--package", "xtask", "--profile", "dev"]).unwrap().package, "xtask");
    assert!(read(&["--package"]).is_err());
}
