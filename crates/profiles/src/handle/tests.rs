//! The handle through the life of its file.

use super::*;

#[test]
fn missing_file_is_no_generation_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let profiles = Profiles::open(&folder.path().join("absent.db"), FileOptions::default());
    assert_eq!(profiles.lookup(b"ann"), Lookup::NoGeneration);
    assert_eq!(profiles.data(b"ann"), None);
    let status = profiles.status();
    assert!(status.file.is_none() && status.watched.fault.is_some());
}
