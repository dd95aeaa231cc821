//! Something else stands where a journal has its small files: it fills no memory, and nothing is
//! overwritten through it.

use std::fs;

use stdx::RealDisk;
use tempfile::tempdir;

use super::damage::write;
use super::*;

fn disk() -> Arc<dyn Disk> {
    Arc::new(RealDisk)
}

#[test]
fn of_a_file_of_sessions_without_end_only_a_bounded_part_is_read() {
    let home = tempdir().unwrap();
    let dir = home.path().join("journal");
    write(&dir, "a");
    let sessions = fs::File::options().write(true).open(dir.join("sessions")).unwrap();
    sessions.set_len(1 << 40).unwrap();
    write(&dir, "b");
    assert_eq!(read_all(&dir, disk()).len(), 20);
}

#[test]
fn a_link_in_the_place_of_the_witness_or_the_limit_costs_what_it_leads_to_nothing() {
    for name in ["synced", "../journal.synced"] {
        let home = tempdir().unwrap();
        let (dir, victim) = (home.path().join("journal"), home.path().join("victim"));
        write(&dir, "a");
        fs::write(&victim, "precious").unwrap();
        fs::remove_file(dir.join(name)).unwrap();
        std::os::unix::fs::symlink(&victim, dir.join(name)).unwrap();
        drop(Journal::open(Options::new(&dir), disk()));
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
    }
}
