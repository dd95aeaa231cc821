//! Claims about `expiry`: keys come out sorted, once each, however little memory they may take.

use super::*;

/// Sorts keys of 12 bytes in no order, each of them twice. Returns how many parts that took.
fn sort(path: &Path, keys: u32, bytes_max: usize) -> usize {
    let mut sorter = KeySorter { bytes_max, ..KeySorter::new(path.to_owned()) };
    let mut added = Vec::new();
    for number in (0..keys).chain(0..keys) {
        let number = number * 7 % keys;
        key(u64::from(number / 10), &number.to_be_bytes(), &mut added);
        sorter.add(&added).unwrap();
        let bytes = sorter.keys.len() + sorter.ends.len() * size_of::<usize>();
        assert!(bytes < bytes_max, "{bytes} bytes");
    }
    let parts = sorter.parts.len();
    sorter.finish().unwrap();
    parts
}

#[test]
fn keys_that_do_not_fit_into_memory_are_sorted_through_tables() {
    for (keys, bytes_max, parts) in [(0, 1_000, 0), (24, 1_000, 0), (25, 1_000, 1), (100, 200, 20)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.expiry");
        assert_eq!(sort(&path, keys, bytes_max), parts, "{keys} keys");
        let table = Table::open(&path).unwrap();
        let mut cursor = table.cursor();
        for number in 0..keys {
            assert!(cursor.next().unwrap());
            assert_eq!(cursor.key()[..TIME_BYTES], u64::from(number / 10).to_be_bytes());
            assert_eq!(user(cursor.key()), number.to_be_bytes());
        }
        assert!(!cursor.next().unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "parts are removed");
    }
}

#[test]
fn a_merge_leaves_out_the_times_before_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    sort(&path("1.expiry"), 100, 10_000);
    merge(&[Table::open(&path("1.expiry")).unwrap()], 7, &path("2.expiry")).unwrap();
    let table = Table::open(&path("2.expiry")).unwrap();
    let mut cursor = table.cursor();
    assert!(cursor.next().unwrap());
    assert_eq!((table.entries(), user(cursor.key())), (30, &70_u32.to_be_bytes()[..]));
}

#[test]
fn a_user_is_looked_at_when_the_oldest_read_leaves_the_window() {
    let read = |unix_ms| ItemRead { unix_ms, item: "1" };
    assert_eq!(time_of(&[read(90), read(50), read(20)], 10, 100), 20);
    assert_eq!(time_of(&[read(100)], 10, 100), 100, "read at the time of the build");
    assert_eq!(time_of(&[read(101), read(20)], 10, 100), 10, "a read from the future");
}
