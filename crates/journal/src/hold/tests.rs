//! Claims about the lock of a directory.

use stdx::{FaultyDisk, Lasting};

use super::*;

#[test]
fn a_disk_that_cannot_show_the_lock_stops_the_writer() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    let hold = Hold::take(Arc::new(disk.clone()), dir).unwrap();
    hold.expect_lock(dir).unwrap();
    disk.fail_nth(1, Lasting::Once);
    assert_eq!(hold.expect_lock(dir).unwrap_err().raw_os_error(), Some(5));
    disk.fail_nth(1, Lasting::Once);
    let error = hold.renew(dir, 0).unwrap_err();
    assert!(error.starts_with("take `/journal` again: "), "{error}");
    hold.renew(dir, 0).unwrap();
}
