//! Claims about log files: each way in which they are rotated, cut, packed, copied and broken,
//! with real files.

mod bounds;
mod damaged;
mod machine;
mod races;
mod twins;
mod world;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stdx::{Disk, FaultyDisk, ManualClock};

use self::world::{IDLE_TIMEOUT, World, gzip, line, lines, of_node, zstd};
use super::open_files::OPEN_MAX;
use super::reader::CHUNK_BYTES;
use super::*;

#[test]
fn reads_files_of_many_folders_oldest_first() {
    let world = World::new(&["*/access.log*", "deep/**/b?.log"]);
    world.write("one/access.log", "b1 b2");
    world.write("two/access.log.1", "a1");
    world.write("deep/x/y/b1.log", "c1");
    world.write("deep/x/y/other.log", "never");
    world.write("access.log", "never");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1", "b1", "b2", "c1"]);
}

#[test]
fn goes_on_through_renames_with_what_old_workers_still_write() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    world.rename("access.log", "access.log.1");
    world.write("access.log", "b1");
    world.write("access.log.1", "a2");
    assert_eq!(tail.drain().sorted(), ["a2", "b1"]);
    world.write("access.log.1", "a3");
    world.write("access.log", "b2");
    assert_eq!(tail.drain().sorted(), ["a3", "b2"]);
    let mut again = world.resume(&tail);
    assert!(again.drain().is_empty());
}

#[test]
fn drains_a_renamed_file_that_leaves_the_pattern_and_a_deleted_one() {
    let world = World::new(&["access.log"]);
    for leave in [World::rename_away as fn(&World, &str), World::remove] {
        world.write("access.log", "a1");
        let mut tail = world.tail();
        assert_eq!(tail.drain().ids, ["a1"]);
        let mut worker = world.append("access.log");
        leave(&world, "access.log");
        world.write("access.log", "b1");
        worker.write_all(lines("a2 a3").as_bytes()).unwrap();
        assert_eq!(tail.drain().sorted(), ["a2", "a3", "b1"]);
        world.clock.advance(IDLE_TIMEOUT / 2);
        worker.write_all(lines("a4").as_bytes()).unwrap();
        assert_eq!(tail.drain().ids, ["a4"]);
        world.clock.advance(IDLE_TIMEOUT * 2);
        assert!(tail.drain().is_empty());
        tail.drain();
        assert_eq!(tail.known(), 1, "what is gone and read is dropped from the position");
        world.remove("access.log");
    }
}

#[test]
fn tells_files_with_the_same_first_line_apart() {
    let world = World::new(&["*.log"]);
    world.write("a.log", "same a1");
    world.write("b.log", "same b1");
    let mut tail = world.tail();
    assert_eq!(tail.drain().sorted(), ["a1", "b1", "same", "same"]);
    world.write("c.log", "same");
    assert_eq!(tail.drain().ids, ["same"], "its name is another log's");
    world.write("c.log", "c1");
    assert_eq!(tail.drain().ids, ["c1"]);
    let mut again = world.resume(&tail);
    assert!(again.drain().is_empty());
}

#[test]
fn an_inode_that_is_used_again_is_another_log() {
    let world = World::new(&["access.log"]);
    world.write("access.log", "a1 a2 a3");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 3);
    // As with a reused inode, device and inode are those of the file that was read.
    fs::write(world.path("access.log"), lines("b1 b2 b3 b4")).unwrap();
    let mut again = world.resume(&tail);
    assert_eq!(again.drain().ids, ["b1", "b2", "b3", "b4"]);
}

#[test]
fn reports_what_copytruncate_lost_to_the_byte() {
    let world = World::new(&["access.log"]);
    world.write("access.log", "a1");
    world.partial("access.log", b"incomplete");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    let read = line("a1").len() as u64;
    world.truncate("access.log", 0);
    world.write("access.log", "b1");
    let seen = tail.drain();
    assert_eq!(seen.ids, ["b1"]);
    assert_eq!(seen.lost, [(read, read + 10)]);
}

#[test]
fn a_truncated_file_that_grew_beyond_the_offset_is_noticed() {
    let world = World::new(&["access.log"]);
    world.write("access.log", "a1");
    let mut tail = world.tail();
    tail.drain();
    world.truncate("access.log", 0);
    world.write("access.log", "b1 b2 b3 b4");
    let seen = tail.drain();
    assert_eq!(seen.ids, ["b1", "b2", "b3", "b4"]);
    assert!(seen.lost.is_empty());
}

#[test]
fn goes_on_in_the_copy_that_copytruncate_made() {
    for is_restarted in [false, true] {
        let world = World::new(&["access.log*"]);
        world.write("access.log", "a1 a2 a3");
        let mut tail = world.tail();
        tail.drain();
        world.write("access.log", "a4 a5");
        fs::copy(world.path("access.log"), world.path("access.log.1")).unwrap();
        world.truncate("access.log", 0);
        world.write("access.log", "b1");
        if is_restarted {
            tail = world.resume(&tail);
        }
        let seen = tail.drain();
        assert_eq!(seen.sorted(), ["a4", "a5", "b1"]);
        assert!(seen.lost.is_empty());
        assert!(world.resume(&tail).drain().is_empty());
    }
}

#[test]
fn a_copy_of_a_log_that_goes_on_is_left_alone() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1 a2 a3");
    fs::copy(world.path("access.log"), world.path("access.log.backup")).unwrap();
    world.write("access.log", "a4");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1", "a2", "a3", "a4"]);
    world.write("access.log", "a5");
    assert_eq!(tail.drain().ids, ["a5"]);
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn strict_refuses_a_log_that_was_emptied() {
    let mut world = World::new(&["access.log"]);
    world.options.strict = true;
    world.write("access.log", "a1 a2");
    let mut tail = world.tail();
    tail.drain();
    world.truncate("access.log", 0);
    world.write("access.log", "b1");
    for _ in 0..3 {
        assert!(tail.fails().contains("was emptied or changed"));
    }
    let mut again = world.resume(&tail);
    assert!(again.fails().contains("access.log"));
}

#[test]
fn strict_counts_nothing_twice_of_a_log_that_comes_back_after_it_was_emptied() {
    let mut world = World::new(&["access.log"]);
    world.options.strict = true;
    world.write("access.log", "a1 a2");
    let mut tail = world.tail();
    tail.drain();
    let whole = fs::read(world.path("access.log")).unwrap();
    let xz = b"\xfd7zXZ\0\0\x04".as_slice();
    let damaged = [&gzip(b"")[..10], &[0xff; 20]].concat();
    for instead in [b"".as_slice(), xz, &damaged] {
        fs::write(world.path("access.log"), instead).unwrap();
        let mut again = world.resume(&tail);
        for reader in [&mut tail, &mut again] {
            assert!(reader.fails().contains("was emptied or changed"), "{instead:?}");
            assert!(reader.fails().contains("was emptied or changed"), "{instead:?}");
        }
        fs::write(world.path("access.log"), &whole).unwrap();
        assert!(again.drain().is_empty(), "{instead:?}");
    }
    world.write("access.log", "a3");
    assert_eq!(world.resume(&tail).drain().ids, ["a3"]);
    assert_eq!(tail.drain().ids, ["a3"]);
}

#[test]
fn a_file_packed_after_it_was_read_in_part_goes_on_where_it_was() {
    for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd] {
        let world = World::new(&["access.log*"]);
        world.write("access.log", "a1 a2");
        let mut tail = world.tail();
        tail.drain();
        world.write("access.log", "a3 a4");
        let plain = fs::read(world.path("access.log")).unwrap();
        fs::write(world.path("access.log.1.packed"), pack(&plain)).unwrap();
        world.remove("access.log");
        let mut again = world.resume(&tail);
        assert_eq!(again.drain().ids, ["a3", "a4"]);
        assert!(again.drain().is_empty());
        assert!(world.resume(&again).drain().is_empty());
    }
}

#[test]
fn a_packed_copy_of_what_was_delivered_is_not_delivered_again() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1 a2 a3");
    let mut tail = world.tail();
    tail.drain();
    world.rename("access.log", "access.log.1");
    world.write("access.log", "b1");
    tail.drain();
    let plain = fs::read(world.path("access.log.1")).unwrap();
    let packed = gzip(&plain);
    fs::write(world.path("access.log.1.gz"), &packed[..packed.len() / 2]).unwrap();
    assert!(tail.drain().is_empty(), "half of it is there");
    fs::write(world.path("access.log.1.gz"), &packed).unwrap();
    assert!(tail.drain().is_empty(), "both are there");
    world.remove("access.log.1");
    assert!(tail.drain().is_empty());
    world.clock.advance(IDLE_TIMEOUT * 2);
    assert!(tail.drain().is_empty());
    assert!(tail.drain().is_empty());
    assert!(world.resume(&tail).drain().is_empty());
    world.rename("access.log.1.gz", "access.log.2.gz");
    assert!(tail.drain().is_empty());
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn fills_in_from_packed_files_oldest_first() {
    let mut world = World::new(&["*.log*"]);
    // The file system's times say the opposite of the lines.
    world.options.time_of = Some(Arc::new(|line| Some(u64::from(line[3]))));
    world.write("a.log", "c1");
    fs::write(world.path("a.log.1.zst"), zstd(lines("b1 b2").as_bytes())).unwrap();
    let two = [gzip(lines("a1").as_bytes()), gzip(lines("a2").as_bytes())].concat();
    fs::write(world.path("a.log.2.gz"), two).unwrap();
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1", "a2", "b1", "b2", "c1"]);
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn the_last_line_waits_until_the_file_is_rotated_and_quiet() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1");
    world.partial("access.log", b"id=torn");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    world.clock.advance(IDLE_TIMEOUT * 2);
    assert!(tail.drain().torn.is_empty(), "it may be completed as long as it is written to");
    world.rename("access.log", "access.log.1");
    assert!(tail.drain().torn.is_empty(), "the writer may still have it");
    world.clock.advance(IDLE_TIMEOUT * 2);
    assert_eq!(tail.drain().torn, [b"id=torn".to_vec()]);
    assert!(tail.drain().is_empty());
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn every_rotated_file_gives_up_its_last_line_and_is_closed() {
    let world = World::new(&["*.log*"]);
    for name in ["a", "b", "c"] {
        world.write(&format!("{name}.log"), &format!("{name}1"));
        world.partial(&format!("{name}.log"), format!("id={name}").as_bytes());
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 3);
    for name in ["a", "b", "c"] {
        world.rename(&format!("{name}.log"), &format!("{name}.log.1"));
    }
    assert!(tail.drain().torn.is_empty());
    world.clock.advance(IDLE_TIMEOUT * 2);
    let mut torn = tail.drain().torn;
    torn.extend(tail.drain().torn);
    torn.sort();
    assert_eq!(torn, ["id=a", "id=b", "id=c"].map(|text| text.as_bytes().to_vec()));
}

#[test]
fn a_clock_that_is_set_back_hides_no_new_file_and_no_rest() {
    let world = World::new(&["*.log*"]);
    world.write("a.log", "a1");
    world.partial("a.log", b"id=torn");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    world.rename("a.log", "a.log.1");
    assert!(tail.drain().torn.is_empty());
    world.clock.set_back(Duration::from_secs(100 * 24 * 60 * 60));
    world.write("b.log", "b1");
    assert_eq!(tail.drain().ids, ["b1"], "it is looked for after a second, not after 100 days");
    world.clock.advance(IDLE_TIMEOUT * 2);
    assert_eq!(tail.drain().torn, [b"id=torn".to_vec()], "it was silent long enough");
}

#[test]
fn a_packed_file_from_the_future_is_read_once_it_is_whole() {
    let world = World::new(&["*.log*"]);
    world.clock.set_back(Duration::from_secs(900_000_000));
    let packed = gzip(lines("a1").as_bytes());
    fs::write(world.path("a.log.gz"), &packed[..packed.len() - 4]).unwrap();
    let mut tail = world.tail();
    assert!(tail.drain().ids.is_empty(), "it is not whole");
    fs::write(world.path("a.log.gz"), &packed).unwrap();
    assert_eq!(tail.drain().ids, ["a1"], "its date says nothing");
}

#[test]
fn a_log_that_came_back_shorter_is_reported_and_goes_on_at_its_end() {
    let world = World::new(&["access.log"]);
    let ids: Vec<String> = (0..100).map(|n| format!("a{n}")).collect();
    world.write("access.log", &ids.join(" "));
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 100);
    let full = world.len("access.log");
    world.truncate("access.log", full - 150);
    let mut again = world.resume(&tail);
    let seen = again.drain();
    assert_eq!(seen.receded, [(full - 150, full)]);
    assert!(seen.ids.is_empty() && seen.lost.is_empty());
    world.write("access.log", "b1 b2");
    assert_eq!(again.drain().ids, ["b1", "b2"]);
}

#[test]
fn a_log_that_is_shortened_while_it_is_read_is_not_read_again() {
    for kept in [300, 5_000] {
        let world = World::new(&["access.log"]);
        let ids: Vec<String> = (0..1000).map(|n| format!("a{n:04}")).collect();
        world.write("access.log", &ids.join(" "));
        let mut tail = world.tail();
        assert_eq!(tail.drain().ids.len(), 1000);
        let (full, line) = (world.len("access.log"), line("a0000").len() as u64);
        let kept = kept / line * line;
        world.truncate("access.log", kept);
        let seen = tail.drain();
        assert_eq!((&seen.receded[..], &seen.ids[..]), (&[(kept, full)][..], &[][..]));
        world.write("access.log", "b1 b2");
        assert_eq!(tail.drain().ids, ["b1", "b2"]);
        world.truncate("access.log", 0);
        world.write("access.log", "c1 c2");
        assert_eq!(tail.drain().ids, ["c1", "c2"], "it was emptied, and begun anew");
    }
}

#[test]
fn a_log_that_changed_near_its_end_is_never_counted_twice() {
    let world = World::new(&["access.log"]);
    let ids: Vec<String> = (0..9000).map(|n| format!("a{n}")).collect();
    let mut tail = world.tail();
    for ids in ids.chunks(1500) {
        world.write("access.log", &ids.join(" "));
        tail.drain();
    }
    let full = world.len("access.log");
    let shorter = full - 10 * line("a8999").len() as u64;
    world.truncate("access.log", shorter);
    let more: Vec<String> = (0..20).map(|n| format!("b{n:04}")).collect();
    world.write("access.log", &more.join(" "));
    let mut again = world.resume(&tail);
    let seen = again.drain();
    assert_eq!(seen.ids, more[10..], "those in place of counted lines are in the reported range");
    let [(from, to)] = seen.changed[..] else { panic!("{:?}", seen.changed) };
    assert!(from <= shorter && from > full / 2 && to == full, "{from} {shorter} {to} {full}");
    assert!(seen.lost.is_empty(), "what was read is not lost");
}

#[test]
fn a_log_that_was_moved_from_another_machine_goes_on_there() {
    let world = World::new(&["a/*.log"]);
    world.write("a/access.log", "a1 a2");
    let mut tail = world.tail();
    tail.drain();
    world.write("a/access.log", "a3");
    let mut other = World::new(&["b/*.log"]);
    other.options.moved_from = vec!["web1".to_owned()];
    other.write("b/own.log", "o1");
    let mut there = other.tail();
    assert_eq!(there.drain().ids, ["o1"]);
    there.others = vec![of_node("web1", &tail)];
    fs::copy(world.path("a/access.log"), other.path("b/copied.log")).unwrap();
    assert_eq!(there.drain().ids, ["a3"]);
    let position = there.position();
    let mut again = other.resume(&there);
    assert!(again.drain().is_empty(), "{position}");
}

#[test]
fn a_line_of_any_length_takes_one_chunk_of_memory() {
    let world = World::new(&["access.log"]);
    world.write("access.log", "a1");
    let long = vec![b'x'; 3 * CHUNK_BYTES + 17];
    world.partial("access.log", &long);
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids, ["a1"]);
    world.partial("access.log", b"\n");
    world.write("access.log", "a2");
    let seen = tail.drain();
    assert_eq!(seen.oversized, [(line("a1").len() as u64, long.len() as u64 + 1)]);
    assert_eq!(seen.ids, ["a2"]);
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_said_once_and_stops_no_other() {
    let world = World::new(&["*.log"]);
    world.write("good.log", "g1");
    fs::write(world.path("packed.log"), b"BZh91AY&SY").unwrap();
    fs::create_dir_all(world.path("loop")).unwrap();
    let mut tail = world.tail();
    let seen = tail.drain();
    assert_eq!(seen.ids, ["g1"]);
    assert_eq!(seen.unreadable, [world.path("packed.log").display().to_string()]);
    assert!(tail.drain().is_empty());
}

#[test]
fn an_error_of_the_disk_loses_and_doubles_nothing() {
    for nth in 1..60 {
        let disk = FaultyDisk::new(nth);
        disk.create_dir_all(Path::new("/d")).unwrap();
        let file = disk.create(Path::new("/d/access.log")).unwrap();
        file.append(lines("a1 a2").as_bytes()).unwrap();
        let world = World::on(Arc::new(disk.clone()), disk.clock(), &["/d/access.log*"]);
        let mut tail = world.tail();
        disk.fail_nth(nth, stdx::Lasting::Once);
        let mut ids = tail.drain_in_spite_of_errors().ids;
        disk.rename(Path::new("/d/access.log"), Path::new("/d/access.log.1")).ok();
        file.append(lines("a3").as_bytes()).ok();
        disk.heal();
        ids.extend(tail.drain_in_spite_of_errors().ids);
        ids.extend(tail.drain_in_spite_of_errors().ids);
        let all = ["a1", "a2", "a3"];
        assert!(all.starts_with(&ids.iter().map(String::as_str).collect::<Vec<_>>()), "{nth}");
        assert!(ids.len() >= 2, "{nth}: {ids:?}");
    }
}

#[test]
fn what_was_synced_before_its_commit_is_there_after_a_power_cut() {
    for seed in 0..50 {
        let disk = FaultyDisk::new(seed);
        disk.create_dir_all(Path::new("/d")).unwrap();
        let file = disk.create(Path::new("/d/access.log")).unwrap();
        disk.sync_dir(Path::new("/d")).unwrap();
        let mut world = World::on(Arc::new(disk.clone()), disk.clock(), &["/d/access.log"]);
        world.options.sync = true;
        let mut tail = world.tail();
        file.append(lines("a1 a2 a3").as_bytes()).unwrap();
        assert_eq!(tail.drain().ids.len(), 3);
        let position = tail.position();
        let to_sync = tail.source.to_sync();
        assert_eq!(to_sync.len(), 1);
        disk.hold_syncs();
        let stalled = std::thread::spawn(move || to_sync.iter().try_for_each(|file| file.sync()));
        file.append(lines("a4").as_bytes()).unwrap();
        assert_eq!(tail.drain().ids, ["a4"], "a stalled sync stops no reading");
        disk.release_syncs();
        stalled.join().unwrap().unwrap();
        let disk = disk.crash();
        let world = World::on(Arc::new(disk.clone()), disk.clock(), &["/d/access.log"]);
        let mut again = world.tail_from(Some(&position));
        let seen = again.drain();
        assert!(seen.receded.is_empty() && seen.lost.is_empty());
        assert!(seen.ids.is_empty() || seen.ids == ["a4"]);
    }
}

#[test]
fn the_position_forgets_what_is_gone_and_stays_small() {
    let world = World::new(&["access.log*"]);
    let mut tail = world.tail();
    for day in 0..40 {
        world.write("access.log", &format!("a{day} b{day}"));
        assert_eq!(tail.drain().ids.len(), 2);
        world.rename("access.log", &format!("access.log.{day}"));
        if day >= 3 {
            world.remove(&format!("access.log.{}", day - 3));
        }
        tail.drain();
        world.clock.advance(IDLE_TIMEOUT * 2);
        tail.drain();
        tail.drain();
    }
    assert!(tail.position().len() < 1000, "{}", tail.position());
}

#[test]
fn a_folder_that_is_not_there_forgets_nothing() {
    let world = World::new(&["mount/access.log"]);
    world.write("mount/access.log", "a1");
    let mut tail = world.tail();
    tail.drain();
    fs::rename(world.path("mount"), world.path("away")).unwrap();
    let mut again = world.resume(&tail);
    again.drain();
    fs::rename(world.path("away"), world.path("mount")).unwrap();
    assert!(again.drain().is_empty());
}

#[test]
fn a_folder_of_many_files_is_read_within_few_open_files() {
    let world = World::new(&["*.log"]);
    for n in 0..400 {
        world.write(&format!("{n}.log"), &format!("a{n}"));
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 400);
    for n in 0..400 {
        world.write(&format!("{n}.log"), &format!("b{n}"));
    }
    assert_eq!(tail.drain().ids.len(), 400);
    assert!(tail.source.catalogue.open.len() <= OPEN_MAX);
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn garbage_in_the_sink_is_an_error_and_no_panic() {
    let world = World::new(&["*.log"]);
    for text in ["", "7", "{\"done\":[\"zz\"]}", "{\"logs\":[{}]}", "{\"done\":[\"1/2/3\"]}"] {
        let clock: Arc<ManualClock> = Arc::new(world.clock.clone());
        let mut source = FileSource::new("x", world.options.clone(), world.disk.clone(), clock);
        assert!(source.resume(Some(text)).is_err(), "{text}");
    }
}
