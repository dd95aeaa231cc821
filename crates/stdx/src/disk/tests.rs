//! Claims about `disk`.

use std::io;
use std::path::{Path, PathBuf};

use super::*;

fn dir() -> PathBuf {
    PathBuf::from("/d")
}

fn faulty(seed: u64) -> FaultyDisk {
    let disk = FaultyDisk::new(seed);
    disk.create_dir_all(&dir()).unwrap();
    disk
}

fn contents(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open_read(path)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[test]
fn a_crash_keeps_what_was_synced_and_at_most_a_torn_part_of_the_rest() {
    for seed in 0..200 {
        let disk = faulty(seed);
        let path = dir().join("a");
        let file = disk.create(&path).unwrap();
        file.append(b"synced").unwrap();
        file.sync().unwrap();
        disk.sync_dir(&dir()).unwrap();
        file.append(b"unsynced").unwrap();
        let disk = disk.crash();
        let left = contents(&disk, &path).unwrap();
        let rest = left.strip_prefix(b"synced").unwrap();
        let text = rest.iter().take_while(|byte| **byte != 0).count();
        assert!(b"unsynced".starts_with(&rest[..text]), "seed {seed}: {left:?}");
        assert!(rest[text..].iter().all(|byte| *byte == 0), "seed {seed}: {left:?}");
        assert!(file.append(b"x").is_err(), "a handle from before the crash is dead");
    }
}

#[test]
fn a_name_that_was_not_synced_may_be_gone_but_never_both_of_a_rename() {
    let mut gone = 0;
    for seed in 0..200 {
        let disk = faulty(seed);
        disk.create(&dir().join("old")).unwrap();
        disk.sync_dir(&dir()).unwrap();
        disk.create(&dir().join("new")).unwrap();
        disk.rename(&dir().join("old"), &dir().join("renamed")).unwrap();
        let disk = disk.crash();
        let names = disk.list(&dir()).unwrap();
        let count = |name: &str| names.iter().filter(|found| *found == name).count();
        assert_eq!(count("old") + count("renamed"), 1, "seed {seed}: {names:?}");
        gone += 1 - count("new");
    }
    assert!((1..200).contains(&gone));
}

#[test]
fn a_failed_sync_loses_data_even_if_the_next_one_succeeds() {
    let disk = faulty(1);
    let path = dir().join("a");
    let file = disk.create(&path).unwrap();
    disk.sync_dir(&dir()).unwrap();
    file.append(b"lost").unwrap();
    disk.fail_next_sync();
    assert!(file.sync().is_err());
    assert_eq!(contents(&disk, &path).unwrap(), b"lost");
    file.append(b"kept").unwrap();
    file.sync().unwrap();
    let disk = disk.crash();
    assert_eq!(contents(&disk, &path).unwrap(), b"\0\0\0\0kept");
}

#[test]
fn a_kill_keeps_what_was_not_synced_and_frees_the_locks() {
    let disk = faulty(1);
    let _lock = disk.lock(&dir().join("lock")).unwrap();
    let file = disk.create(&dir().join("a")).unwrap();
    file.append(b"cached").unwrap();
    let next = disk.kill();
    assert_eq!(contents(&next, &dir().join("a")).unwrap(), b"cached");
    assert!(next.lock(&dir().join("lock")).is_ok());
    assert!(file.append(b"x").is_err() && disk.list(&dir()).is_err());
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = faulty(1);
    disk.set_capacity(Some(6));
    let file = disk.create(&dir().join("a")).unwrap();
    assert_eq!(file.append(b"12345678").unwrap(), 6);
    assert_eq!(file.append(b"9").unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.truncate(2).unwrap();
    assert_eq!(file.append(b"9").unwrap(), 1);
}

#[test]
fn a_lasting_fault_ends_only_when_healed() {
    let disk = faulty(1);
    disk.fail_nth(2, Lasting::Forever);
    let tries: Vec<_> = (0..4).map(|_| disk.list(&dir()).is_ok()).collect();
    assert_eq!(tries, [true, false, false, false]);
    disk.heal();
    assert!(disk.list(&dir()).is_ok());
}

#[track_caller]
fn check_basics(disk: &dyn Disk, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    disk.create_dir_all(dir).unwrap();
    let file = disk.create(&a).unwrap();
    assert_eq!(disk.create(&a).err().map(|e| e.kind()), Some(io::ErrorKind::AlreadyExists));
    assert_eq!(file.append(b"12345").unwrap(), 5);
    file.truncate(3).unwrap();
    assert_eq!(disk.open_append(&a).unwrap().append(b"x").unwrap(), 1);
    let before = disk.metadata(&a).unwrap();
    disk.rename(&a, &b).unwrap();
    assert_eq!(disk.metadata(&b).unwrap().identity, before.identity);
    assert_eq!((disk.list(dir).unwrap(), before.len), (vec!["b".to_owned()], 4));
    assert_eq!(contents(disk, &b).unwrap(), b"123x");
    disk.sync_dir(dir).unwrap();
    disk.remove(&b).unwrap();
    assert_eq!(contents(disk, &b).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(file.len().unwrap(), 4, "an open handle outlives the name");
    let lock = disk.lock(&a).unwrap();
    assert_eq!(disk.lock(&a).err().map(|e| e.kind()), Some(io::ErrorKind::WouldBlock));
    drop(lock);
    drop(disk.lock(&a).unwrap());
    let word = disk.open_write(&b).unwrap();
    word.write_at(b"one", 0).unwrap();
    word.write_at(b"u", 0).unwrap();
    assert_eq!(contents(disk, &b).unwrap(), b"une");
}

#[test]
fn the_real_and_the_faulty_disk_agree() {
    check_basics(&FaultyDisk::new(1), Path::new("/d/e"));
    let temp = tempfile::tempdir().unwrap();
    check_basics(&RealDisk, &temp.path().join("e"));
}
