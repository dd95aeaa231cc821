//! Claims about where one rule ends and the next begins, and about what is told of the logs.

use std::path::Path;

use stdx::{Disk, FaultyDisk};

use super::super::sync_list::SyncList;
use super::super::unpack::{OpenLog, Packing};
use super::world::{IDLE_TIMEOUT, World, gzip, line, lines};
use super::*;

#[test]
fn a_log_of_which_256_bytes_are_left_was_shortened_and_with_fewer_it_was_emptied() {
    for (left, is_shortened) in [(255, false), (256, true)] {
        let world = World::new(&["access.log"]);
        let ids: Vec<String> = (0..100).map(|n| format!("a{n}")).collect();
        world.write("access.log", &ids.join(" "));
        let mut tail = world.tail();
        assert_eq!(tail.drain().ids.len(), 100);
        let full = world.len("access.log");
        world.truncate("access.log", left);
        let seen = tail.drain();
        assert_eq!(seen.receded, [(left, full)][..usize::from(is_shortened)], "{left}");
        assert_eq!(seen.ids.is_empty(), is_shortened, "{left}");
    }
}

#[test]
fn extents_say_how_far_each_log_was_handed_out_and_which_file_has_it() {
    let world = World::new(&["*.log"]);
    world.write("a.log", "a1 a2");
    world.partial("a.log", b"id=torn");
    let mut tail = world.tail();
    let extent = |end| Extent { file: Some(world.path("a.log")), end };
    assert_eq!(tail.source.extents().unwrap(), [extent(0)]);
    tail.drain();
    let read = lines("a1 a2").len() as u64;
    assert_eq!(tail.source.extents().unwrap(), [extent(read)]);
}

#[test]
fn behind_are_the_bytes_of_all_logs_and_of_files_that_are_not_known_yet() {
    let world = World::new(&["*.log"]);
    world.write("a.log", "a1");
    let mut tail = world.tail();
    tail.drain();
    assert_eq!(tail.source.bytes_behind(), 0);
    world.write("a.log", "a2 a3");
    assert_eq!(tail.source.bytes_behind(), 2 * line("a2").len() as u64);
    world.partial("a.log", b"id=torn");
    let behind = 2 * line("a2").len() as u64 + 7;
    assert_eq!(tail.source.bytes_behind(), behind);
    world.write("b.log", "b1");
    tail.source.extents().unwrap();
    assert_eq!(tail.source.bytes_behind(), behind + world.len("b.log"));
    tail.drain();
    assert_eq!(tail.source.bytes_behind(), 7);
}

#[test]
fn a_log_that_rests_takes_one_short_string_without_its_name() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1");
    let mut tail = world.tail();
    tail.drain();
    world.rename("access.log", "access.log.1");
    fs::write(world.path("access.log.2.gz"), gzip(lines("z1").as_bytes())).unwrap();
    world.write("access.log", "b1");
    assert_eq!(tail.drain().ids.len(), 2);
    world.clock.advance(IDLE_TIMEOUT * 2);
    (0..2).for_each(|_| assert!(tail.drain().is_empty()));
    let position: serde_json::Value = serde_json::from_str(&tail.position()).unwrap();
    let count = |key: &str| position[key].as_array().unwrap().len();
    assert_eq!((count("logs"), count("done")), (1, 2), "{position}");
    assert!(position["logs"][0]["name"].as_str().unwrap().ends_with("/access.log"));
    assert!(position["logs"][0].get("seen").is_none(), "it is read to its end");
    world.partial("access.log", b"id=torn");
    tail.source.bytes_behind();
    let position: serde_json::Value = serde_json::from_str(&tail.position()).unwrap();
    assert_eq!(position["logs"][0]["seen"], world.len("access.log"));
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn of_more_files_than_the_list_takes_each_further_one_is_synced_at_once() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/d")).unwrap();
    let files: Vec<_> =
        (0..258).map(|n| disk.create(Path::new(&format!("/d/{n}"))).unwrap()).collect();
    disk.sync_dir(Path::new("/d")).unwrap();
    let mut list = SyncList::default();
    for _ in 0..2 {
        for (id, file) in files.iter().enumerate() {
            file.append(b"x").unwrap();
            list.note(id as u64, &OpenLog::new(file, Packing::Plain).unwrap());
        }
    }
    assert_eq!(list.take().len(), 256, "each once");
    assert!(list.take().is_empty());
    let after = disk.crash();
    let durable = |n: usize| after.open_read(Path::new(&format!("/d/{n}"))).unwrap().len().unwrap();
    assert_eq!([256, 257].map(durable), [2, 2]);
}

#[test]
fn directories_are_gone_down_so_far_and_no_further() {
    let world = World::new(&["**/a.log"]);
    let below = |depth: usize| format!("{}a.log", "d/".repeat(depth));
    for (at, depth) in [0, 1, 16, 17].into_iter().enumerate() {
        world.write(&below(depth), &format!("a{at}"));
    }
    world.write("e/f/a.log", "e0");
    assert_eq!(world.tail().drain().sorted(), ["a0", "a1", "a2", "e0"]);
}

#[test]
fn the_last_line_of_a_packed_file_is_given_up_at_once_since_nobody_completes_it() {
    let world = World::new(&["*.log*"]);
    let torn = [lines("a1").as_bytes(), b"id=torn"].concat();
    fs::write(world.path("a.log.1.gz"), gzip(&torn)).unwrap();
    let mut tail = world.tail();
    let seen = tail.drain();
    assert_eq!((seen.ids, seen.torn), (vec!["a1".to_owned()], vec![b"id=torn".to_vec()]));
    assert!(tail.drain().is_empty() && world.resume(&tail).drain().is_empty());
}

#[test]
fn a_packed_file_that_was_packed_anew_in_its_place_goes_on_with_what_is_new() {
    let world = World::new(&["*.log*"]);
    let path = world.path("a.log.1.gz");
    fs::write(&path, gzip(lines("a1").as_bytes())).unwrap();
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    assert!(tail.drain().is_empty());
    fs::write(&path, gzip(lines("a1 a2").as_bytes())).unwrap();
    assert_eq!(tail.drain().ids, ["a2"]);
    assert!(world.resume(&tail).drain().is_empty());
}
