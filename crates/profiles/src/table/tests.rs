//! Claims about tables: what went in comes out in order, and damage is an error.

use std::fs;

use super::*;

fn key(number: u32) -> Vec<u8> {
    format!("user-{number:06}").into_bytes()
}

fn write(path: &Path, numbers: impl IntoIterator<Item = u32>, value: &str) {
    let mut writer = TableWriter::create(path).unwrap();
    for number in numbers {
        writer.add(&key(number), value.as_bytes()).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), fs::metadata(path).unwrap().len());
}

#[test]
fn a_cursor_gives_each_entry_in_order_and_finds_any_key_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    write(&path, (0..20_000).step_by(2), "value");
    let table = Table::open(&path).unwrap();
    assert!(table.blocks.len() > 10 && table.entries() == 10_000);
    let mut cursor = table.cursor();
    for number in (0..20_000).step_by(2) {
        assert!(cursor.next().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&key(number)[..], &b"value"[..]));
    }
    assert!(!cursor.next().unwrap() && cursor.key().is_empty());
    let mut cursor = table.cursor();
    for number in [0, 1, 7, 8, 5_001, 5_001, 19_998] {
        assert!(cursor.seek(&key(number)).unwrap());
        assert_eq!(cursor.key(), key(number.next_multiple_of(2)));
    }
    assert!(!cursor.seek(&key(19_999)).unwrap());
}

#[test]
fn a_merge_gives_each_key_once_with_its_values_from_old_to_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    write(&path("old"), [1, 2, 4], "old");
    write(&path("none"), [], "");
    write(&path("new"), [2, 3], "newer");
    let tables = ["old", "none", "new"].map(|name| Table::open(&path(name)).unwrap());
    let mut merge = Merge::new(&tables).unwrap();
    for (number, values, newest) in
        [(1, "old", "old"), (2, "oldnewer", "newer"), (3, "newer", "newer"), (4, "old", "old")]
    {
        assert!(merge.next().unwrap());
        let found = (merge.key(), merge.values(), merge.newest());
        assert_eq!(found, (&key(number)[..], values.as_bytes(), newest.as_bytes()));
    }
    assert!(!merge.next().unwrap());
}

#[test]
fn no_changed_or_missing_byte_goes_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    write(&path, 0..300, "value");
    let whole = fs::read(&path).unwrap();
    let all = |path: &Path| -> io::Result<Vec<Vec<u8>>> {
        let table = Table::open(path)?;
        let (mut cursor, mut keys) = (table.cursor(), Vec::new());
        while cursor.next()? {
            keys.push([cursor.key(), cursor.value()].concat());
        }
        Ok(keys)
    };
    let right = all(&path).unwrap();
    // The first eight bytes name the form, which the footer does again. The footer's number of
    // entries is a hint.
    let entries = whole.len() - 24..whole.len() - 16;
    for at in (8..whole.len()).filter(|at| !entries.contains(at)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        assert!(all(&path).is_err(), "byte {at}");
    }
    for length in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(all(&path).is_err(), "cut to {length}");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(all(&path).unwrap(), right);
}

#[test]
fn keys_and_values_of_any_length_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let lengths = [0, 1, 127, 128, 129, 255, 16_383, 16_384, 2_097_151, 2_097_152];
    let value = |length: usize| vec![length as u8 | 1; length];
    let mut writer = TableWriter::create(&path).unwrap();
    for (at, length) in lengths.into_iter().enumerate() {
        let key = [&[at as u8 + 1][..], &value(length.min(20_000))].concat();
        writer.add(&key, &value(length)).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), fs::metadata(&path).unwrap().len());
    let table = Table::open(&path).unwrap();
    assert_eq!((table.entries(), table.bytes()), (10, fs::metadata(&path).unwrap().len()));
    let mut cursor = table.cursor();
    for (at, length) in lengths.into_iter().enumerate() {
        assert!(cursor.next().unwrap());
        assert!(cursor.key()[0] == at as u8 + 1 && cursor.key()[1..] == value(length.min(20_000)));
        assert!(cursor.value() == value(length), "{length}");
    }
    assert!(!cursor.next().unwrap());
}

#[test]
fn a_cursor_goes_ahead_to_any_key_from_any_other_and_never_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    write(&path, (0..2_000).step_by(2), "value");
    let table = Table::open(&path).unwrap();
    assert!((4..8).contains(&table.blocks.len()), "{} blocks", table.blocks.len());
    let expected = |number: u32| (number <= 1_998).then(|| key(number.next_multiple_of(2)));
    for from in (0..2_001).step_by(41) {
        for to in (0..2_001).step_by(37) {
            let mut cursor = table.cursor();
            for (sought, found) in [(from, expected(from)), (to, expected(from.max(to)))] {
                assert_eq!(cursor.seek(&key(sought)).unwrap(), found.is_some());
                assert_eq!(cursor.key(), found.unwrap_or_default(), "from {from} to {to}");
            }
        }
    }
    let mut before = table.cursor();
    assert!(before.seek(b"a").unwrap() && before.key() == key(0));
}

#[test]
fn a_cursor_reads_no_block_that_it_goes_past() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    write(&path, 0..2_000, "value");
    let mut bytes = fs::read(&path).unwrap();
    let blocks = Table::open(&path).unwrap().blocks;
    let damaged = &blocks[1..blocks.len() - 1];
    damaged.iter().for_each(|block| bytes[block.at as usize + BLOCK_HEAD_BYTES] ^= 1);
    fs::write(&path, bytes).unwrap();
    let table = Table::open(&path).unwrap();
    let mut cursor = table.cursor();
    assert!(cursor.seek(&key(3)).unwrap() && cursor.seek(&key(1_990)).unwrap());
    assert_eq!(cursor.key(), key(1_990));
    assert!(table.cursor().seek(&key(1_000)).is_err(), "it is damaged there");
}
