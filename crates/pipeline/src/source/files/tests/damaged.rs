//! Claims about packed files that are damaged, cut off or not written to their end yet.

use std::fs;
use std::time::Duration;

use super::world::{IDLE_TIMEOUT, World, gzip, lines, zstd};

/// Lines that pack to several blocks.
fn many(count: usize) -> Vec<u8> {
    let mut random = stdx::Random::new(7);
    let ids: Vec<String> = (0..count).map(|n| format!("a{n}-{}", random.up_to(1 << 40))).collect();
    lines(&ids.join(" ")).into_bytes()
}

/// `packed` with one bit of the byte at `at` changed.
fn flipped(packed: &[u8], at: usize) -> Vec<u8> {
    let mut damaged = packed.to_vec();
    damaged[at] ^= 1;
    damaged
}

#[test]
fn nothing_is_handed_out_of_a_packed_file_with_one_flipped_bit() {
    let content = many(2000);
    let packed = gzip(&content);
    for part in [20, 40, 60, 80, 99] {
        let world = World::new(&["*.log*"]);
        let path = world.path("a.log.1.gz");
        fs::write(&path, flipped(&packed, packed.len() * part / 100)).unwrap();
        world.write("a.log", "b1");
        let mut tail = world.tail();
        let mut seen = tail.drain();
        world.clock.advance(IDLE_TIMEOUT * 2);
        let later = tail.drain();
        seen.ids.extend(later.ids);
        seen.unreadable.extend(later.unreadable);
        assert_eq!(seen.ids, ["b1"], "the others go on");
        assert!(seen.torn.is_empty() && later.torn.is_empty());
        assert_eq!(seen.unreadable, [path.display().to_string()], "it is said once");
        assert_eq!(tail.unreadable(), [path.display().to_string()], "and stays known");
        fs::write(&path, &packed).unwrap();
        assert_eq!(tail.drain().ids.len(), 2000, "a good copy in its place is read whole");
        assert!(tail.unreadable().is_empty());
        assert!(world.resume(&tail).drain().is_empty());
    }
}

#[test]
fn a_packed_file_that_is_cut_off_is_named_at_once_and_after_a_restart() {
    for packed in [gzip(&many(300)), zstd(&many(300))] {
        let world = World::new(&["*.log*"]);
        let path = world.path("a.log.1.packed");
        fs::write(&path, &packed[..packed.len() / 2]).unwrap();
        let mut tail = world.tail();
        for _ in 0..2 {
            assert!(tail.drain().ids.is_empty());
            assert_eq!(tail.unreadable(), [path.display().to_string()]);
            tail = world.resume(&tail);
        }
        assert!(tail.drain().ids.is_empty());
        fs::write(&path, &packed).unwrap();
        assert_eq!(tail.drain().ids.len(), 300);
        assert!(tail.unreadable().is_empty());
    }
}

#[test]
fn a_log_read_in_part_and_packed_with_damage_goes_on_when_the_pack_is_good() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1 a2");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1", "a2"]);
    world.write("access.log", "a3 a4");
    let packed = gzip(&fs::read(world.path("access.log")).unwrap());
    fs::write(world.path("access.log.1.gz"), &packed[..packed.len() - 3]).unwrap();
    world.remove("access.log");
    let mut again = world.resume(&tail);
    assert!(again.drain().ids.is_empty());
    world.clock.advance(IDLE_TIMEOUT * 2);
    assert!(again.drain().ids.is_empty());
    fs::write(world.path("access.log.1.gz"), &packed).unwrap();
    assert_eq!(again.drain().ids, ["a3", "a4"]);
    assert!(world.resume(&again).drain().is_empty());
}

#[test]
fn a_packed_file_of_many_mebibytes_is_checked_in_parts_and_read_once_and_whole() {
    let content = many(120_000);
    assert!(content.len() > 8 << 20, "more than is kept of it, or checked at once");
    let world = World::new(&["*.log*"]);
    fs::write(world.path("a.log.1.gz"), gzip(&content)).unwrap();
    let old = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    world.append("a.log.1.gz").set_modified(old).unwrap();
    world.write("b.log", "b1");
    let mut tail = world.tail();
    let seen = tail.drain();
    assert_eq!((seen.ids.len(), seen.unfinished), (120_001, content.len() / (4 << 20)));
    assert_ne!(seen.ids[0], "b1", "a newer log waits while it is checked");
    assert!(tail.drain().is_empty());
}

#[test]
fn a_log_whose_pack_is_damaged_is_not_counted_again_when_that_is_mended() {
    let content = many(200);
    let packed = gzip(&content);
    for at in [10, 11, 12, 15, 20, 40, packed.len() / 2, packed.len() - 1] {
        let world = World::new(&["*.log*"]);
        fs::write(world.path("a.log"), &content).unwrap();
        world.write("b.log", "b1");
        let mut tail = world.tail();
        assert_eq!(tail.drain().ids.len(), 201);
        world.remove("a.log");
        fs::write(world.path("a.log.1.gz"), flipped(&packed, at)).unwrap();
        let mut again = world.resume(&tail);
        let seen = again.drain();
        assert!(seen.ids.is_empty() && seen.lost.is_empty(), "{at}: {seen:?}");
        assert_eq!(again.unreadable().len(), 1, "{at}");
        fs::write(world.path("a.log.1.gz"), &packed).unwrap();
        let seen = world.resume(&again).drain();
        assert!(seen.is_empty(), "{at}: {seen:?}");
    }
}

#[test]
fn of_three_packed_logs_that_begin_alike_each_goes_on_when_a_damaged_pack_is_mended() {
    let world = World::new(&["*.log*", "*/*.log*"]);
    let alike = vec!["same"; 30].join(" ");
    let logs = ["b.log", "c/access.log", "a.log"];
    let pack = |log: &str, content: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let packed = content(gzip(&fs::read(world.path(log)).unwrap()));
        fs::write(world.path(&format!("{log}.1.gz")), packed).unwrap();
    };
    let mut tail = world.tail();
    for log in logs {
        world.write(log, &alike);
        assert_eq!(tail.drain().ids.len(), 30);
    }
    pack("a.log", &|packed| packed);
    world.remove("a.log");
    let mut tail = world.resume(&tail);
    assert!(tail.drain().is_empty());
    for log in &logs[..2] {
        world.write(log, &alike);
    }
    pack("b.log", &|packed| flipped(&packed, packed.len() - 6));
    pack("c/access.log", &|packed| packed);
    let good = gzip(&fs::read(world.path("b.log")).unwrap());
    world.remove("b.log");
    world.remove("c/access.log");
    let mut again = world.resume(&tail);
    assert_eq!(again.drain().ids.len(), 30);
    fs::write(world.path("b.log.1.gz"), good).unwrap();
    let mut last = world.resume(&again);
    assert_eq!(last.drain().ids.len(), 30);
    assert!(world.resume(&last).drain().is_empty());
}
