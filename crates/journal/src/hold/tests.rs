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

#[test]
fn a_directory_is_taken_for_new_lines_unless_lines_stand_beyond_the_offset() {
    for (offset, is_taken) in [(41, true), (40, true), (39, false), (30, false)] {
        let disk = FaultyDisk::new(1);
        let dir = Path::new("/journal");
        let hold = Hold::take(Arc::new(disk.clone()), dir).unwrap();
        // Another journal, whose sessions are not known.
        let file = disk.create(&segment::Segment::plain(30).path(dir)).unwrap();
        file.append(b"line 0001\ntorn").unwrap();
        let taken = hold.renew(dir, offset);
        assert_eq!(taken.is_ok(), is_taken, "{offset}: {taken:?}");
        let begun = sessions::read(&disk, dir).unwrap();
        let begun: Vec<_> = begun.iter().map(|session| (session.start, session.id)).collect();
        match taken {
            Ok(()) => assert_eq!(begun, [(offset, hold.session())]),
            Err(error) => {
                let said =
                    format!("holds another journal, of 40 bytes where this one has {offset}");
                assert!(error.contains(&said), "{error}");
                assert_eq!((begun, hold.session()), (vec![], 0));
            }
        }
    }
}

#[test]
fn a_session_that_is_noted_is_not_begun_again_and_readers_learn_of_one_that_is() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    let hold = Hold::take(Arc::new(disk.clone()), dir).unwrap();
    hold.begin(dir, &Extent { first: 0, end: 0, evidence: Evidence::default() }, 7);
    hold.renew(dir, 0).unwrap();
    assert_eq!(hold.session(), 7);
    disk.remove(&dir.join("sessions")).unwrap();
    hold.renew(dir, 50).unwrap();
    let session = hold.session();
    assert!(session > 7, "it is another one");
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    for file in [Some(Limit::new(shared.clone(), dir)), Limit::witness(shared, dir)] {
        let says = file.unwrap().look();
        assert_eq!((says.offset(), says.sessions()), (Some(50), &[session][..]));
    }
}
