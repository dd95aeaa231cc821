//! Claims about `batch`: a robot is bounded, memory is estimated, a table holds what was added.

use super::*;
use crate::table::Table;

#[test]
fn a_robot_is_bounded_to_the_latest_items() {
    let folder = tempfile::tempdir().unwrap();
    let mut batch = Batch::default();
    for number in 0..10 * USER_ITEMS_MAX {
        let item = number.to_string();
        batch.add(b"robot", ItemRead { unix_ms: number as u64, item: &item });
        assert!(batch.users[&b"robot"[..]].reads.len() < 2 * USER_ITEMS_MAX);
    }
    batch.write(&folder.path().join("table")).unwrap();
    assert!(batch.is_empty() && batch.bytes() == 0);
    let table = Table::open(&folder.path().join("table")).unwrap();
    let mut cursor = table.cursor();
    assert!(cursor.next().unwrap() && cursor.key() == b"robot");
    let mut found = Vec::new();
    reads::decode(cursor.value(), &mut found).unwrap();
    let oldest = found.iter().map(|read| read.unix_ms).min().unwrap();
    assert_eq!((found.len(), oldest as usize), (USER_ITEMS_MAX, 9 * USER_ITEMS_MAX));
}

/// Each user reads each item once.
fn batch(users: usize, user_bytes: usize, items: usize, item_bytes: usize) -> Batch {
    let mut batch = Batch::default();
    let items: Vec<String> = (0..items).map(|item| format!("{item:0item_bytes$}")).collect();
    for user in 0..users {
        let user = format!("{user:0user_bytes$}");
        for item in &items {
            batch.add(user.as_bytes(), ItemRead { unix_ms: 1, item });
        }
    }
    batch
}

#[test]
fn memory_is_estimated_for_users_items_and_reads() {
    for (users, user_bytes, items, item_bytes) in
        [(500, 4, 1, 1), (500, 100, 1, 1), (1, 1, 500, 4), (1, 1, 500, 200), (100, 4, 100, 4)]
    {
        let bytes = batch(users, user_bytes, items, item_bytes).bytes();
        // An item's name stands twice: to find its number, and to write it.
        let (names, letters) = (users + 2 * items, users * user_bytes + 2 * items * item_bytes);
        // A list that doubles when it is full has room for half as much again as it holds.
        let least = letters + users * items * size_of::<NumberedRead>() * 3 / 2;
        // A name also takes a place in a map that is half full, and an allocation or two.
        let (least, most) = (least + 60 * names, least + 180 * names);
        assert!((least..most).contains(&bytes), "{bytes} bytes, {least} to {most}");
    }
}

#[test]
fn reads_of_known_items_again_and_again_take_no_more_memory() {
    let mut batch = batch(1, 1, 3, 1);
    let room = |batch: &Batch| {
        let reads: usize = batch.users.values().map(|history| history.reads.len()).sum();
        reads * size_of::<NumberedRead>() * 3 / 2
    };
    let names = batch.bytes() - room(&batch);
    for number in 0..1_000 {
        batch.add(b"0", ItemRead { unix_ms: number, item: ["0", "1", "2"][number as usize % 3] });
        assert_eq!(batch.bytes(), names + room(&batch));
        assert!(batch.bytes() < names + 500, "{} bytes", batch.bytes());
    }
}
