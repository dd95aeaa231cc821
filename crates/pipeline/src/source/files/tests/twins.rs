//! Claims about logs that begin with the same lines: which are one log, and which are two.

use std::fs;
use std::time::Duration;

use super::world::{IDLE_TIMEOUT, World, gzip, lines, of_node};
use crate::source::LineSource;

const CHECKS: &str = "check check check check";

#[test]
fn two_live_logs_with_the_same_lines_count_twice() {
    for names in [["a.log", "b.log"], ["a/access.log", "b/access.log"]] {
        let world = World::new(&["*.log*", "*/*.log*"]);
        names.iter().for_each(|name| world.write(name, CHECKS));
        let mut tail = world.tail();
        assert_eq!(tail.drain().ids.len(), 8);
        for is_restarted in [false, true] {
            names.iter().for_each(|name| world.write(name, CHECKS));
            if is_restarted {
                tail = world.resume(&tail);
            }
            assert_eq!(tail.drain().ids.len(), 8);
        }
        for name in names {
            world.rename(name, &format!("{name}.1"));
            world.write(name, "new");
        }
        assert_eq!(tail.drain().ids, ["new", "new"]);
        assert!(world.resume(&tail).drain().is_empty());
    }
}

#[test]
fn two_logs_with_the_same_lines_count_twice_when_they_are_rotated_before_they_are_read() {
    let world = World::new(&["*.log*"]);
    for name in ["a.log", "b.log"] {
        world.write(name, CHECKS);
        world.rename(name, &format!("{name}.1"));
        world.write(name, "new");
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 10);
    assert!(world.resume(&tail).drain().is_empty());
}

#[test]
fn two_logs_with_the_same_lines_stay_two_through_packing_and_restarts() {
    let world = World::new(&["*/access.log*"]);
    for name in ["a", "b"] {
        world.write(&format!("{name}/access.log"), CHECKS);
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 8);
    for name in ["a", "b"] {
        world.write(&format!("{name}/access.log"), "late");
        world.rename(&format!("{name}/access.log"), &format!("{name}/access.log.1"));
        world.write(&format!("{name}/access.log"), "new");
        let packed = gzip(&fs::read(world.path(&format!("{name}/access.log.1"))).unwrap());
        fs::write(world.path(&format!("{name}/access.log.1.gz")), packed).unwrap();
        world.remove(&format!("{name}/access.log.1"));
    }
    let mut again = world.resume(&tail);
    let seen = again.drain();
    assert_eq!(seen.sorted(), ["late", "late", "new", "new"]);
    assert!(seen.lost.is_empty());
    for name in ["a", "b"] {
        world.rename(&format!("{name}/access.log.1.gz"), &format!("{name}/access.log.2.gz"));
    }
    let seen = world.resume(&again).drain();
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn a_file_whose_name_says_copy_counts_for_itself_once_it_grows() {
    let world = World::new(&["access-*.log"]);
    for name in ["access-1.log", "access-2.log"] {
        world.write(name, CHECKS);
    }
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 4);
    assert_eq!(tail.copies(), [("access-2.log".to_owned(), "access-1.log".to_owned())]);
    for name in ["access-1.log", "access-2.log"] {
        world.write(name, CHECKS);
    }
    assert_eq!(tail.drain().ids.len(), 12, "a copy does not grow: it is a log, and counts whole");
    assert!(tail.copies().is_empty());
    let mut again = world.resume(&tail);
    assert!(again.drain().is_empty());
    for name in ["access-1.log", "access-2.log"] {
        world.write(name, "more");
    }
    assert_eq!(world.resume(&again).drain().ids, ["more", "more"]);
    assert_eq!(again.drain().ids, ["more", "more"]);
}

#[test]
fn what_counts_as_a_copy_is_named_with_its_original() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", CHECKS);
    fs::copy(world.path("access.log"), world.path("access.log.backup")).unwrap();
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 4);
    assert_eq!(tail.copies(), [("access.log.backup".to_owned(), "access.log".to_owned())]);
    world.remove("access.log.backup");
    tail.drain();
    assert!(tail.copies().is_empty());
}

#[test]
fn logs_of_two_nodes_that_begin_alike_are_two() {
    let (one, two) = (World::new(&["*.log*"]), World::new(&["*.log*"]));
    one.write("access.log", CHECKS);
    let mut web1 = one.tail();
    assert_eq!(web1.drain().ids.len(), 4);
    two.write("access.log", &format!("{CHECKS} own"));
    let mut web2 = two.tail();
    web2.source.others(&[of_node("web1", &web1)]);
    assert_eq!(web2.drain().ids.len(), 5);
}

#[test]
fn a_log_of_a_node_that_has_another_name_now_is_not_read_again() {
    let world = World::new(&["access.log*"]);
    world.write("access.log", "a1 a2");
    world.write("access.log.1", "z1 z2");
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 4);
    world.clock.advance(IDLE_TIMEOUT * 2);
    tail.drain();
    world.write("access.log", "a3");
    let mut renamed = world.tail();
    renamed.source.others(&[of_node("before", &tail)]);
    assert_eq!(renamed.drain().ids, ["a3"]);
}

#[test]
fn a_position_of_an_older_version_counts_nothing_again() {
    let world = World::new(&["*.log*"]);
    world.write("a.log", "a1 a2");
    world.write("b.log.1", "b1 b2");
    fs::write(world.path("c.log.2.gz"), gzip(lines("c1 c2").as_bytes())).unwrap();
    let mut tail = world.tail();
    assert_eq!(tail.drain().ids.len(), 6);
    world.clock.advance(IDLE_TIMEOUT * 2 + Duration::from_secs(1));
    tail.drain();
    // It wrote `mark` or `mark|packed`.
    let mut position: serde_json::Value = serde_json::from_str(&tail.position()).unwrap();
    for done in position["done"].as_array_mut().unwrap() {
        let text = done.as_str().unwrap();
        let cut = text.rsplit_once('|').unwrap().0.trim_end_matches('|').to_owned();
        *done = cut.into();
    }
    world.write("a.log", "a3");
    let mut again = world.tail_from(Some(&position.to_string()));
    assert_eq!(again.drain().ids, ["a3"]);
}
