//! Claims about `batch`: a robot is bounded, and a table holds what was added.

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
    assert!(batch.is_empty());
    let table = Table::open(&folder.path().join("table")).unwrap();
    let mut cursor = table.cursor();
    assert!(cursor.next().unwrap() && cursor.key() == b"robot");
    let mut found = Vec::new();
    reads::decode(cursor.value(), &mut found).unwrap();
    let oldest = found.iter().map(|read| read.unix_ms).min().unwrap();
    assert_eq!((found.len(), oldest as usize), (USER_ITEMS_MAX, 9 * USER_ITEMS_MAX));
}

#[test]
fn a_batch_of_many_users_is_full_in_time() {
    let mut batch = Batch::default();
    let mut users = 0_u64;
    while !batch.is_full() {
        batch.add(format!("user-{users}").as_bytes(), ItemRead { unix_ms: 1, item: "1" });
        users += 1;
    }
    assert!((500_000..1_000_000).contains(&users), "{users}");
}
