//! Claims about what the engine holds, what it evicts, and how well it chooses.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::{FifoNode, S3Fifo, SPARED_MAX, SharedKey, bytes_each, ghosts, shard_of, table_bytes};

/// Numbers that look random, the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a rank below `end`; small ranks come far more often than large ones.
    fn skewed(&mut self, end: u64) -> u64 {
        let share = self.below(1 << 53) as f64 / (1u64 << 53) as f64;
        ((end as f64).powf(share) - 1.0) as u64
    }
}

fn hash(key: u64) -> u64 {
    FixedState::with_seed(7).hash_one(key)
}

fn bytes(key: u64) -> SharedKey {
    key.to_le_bytes().as_slice().into()
}

/// Returns an engine of one shard; values are numbers.
fn engine(weight_max: u64) -> S3Fifo<u64> {
    S3Fifo::new(weight_max, weight_max)
}

impl S3Fifo<u64> {
    /// Inserts a value of weight 1 that is its own key; returns the evicted keys.
    fn add(&self, key: u64) -> Vec<u64> {
        let (evicted, _) = self.insert(hash(key), bytes(key), key, 1);
        evicted.into_iter().map(|(_, _, value)| value).collect()
    }

    fn holds(&self, key: u64) -> bool {
        self.peek(hash(key), &bytes(key)).is_some()
    }

    fn uses(&self, key: u64) -> bool {
        self.get(hash(key), &bytes(key)).is_some()
    }

    fn ghosts(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().ghosts.len()).sum()
    }
}

#[test]
fn contents_number_and_weight_agree_with_a_map_whatever_is_done() {
    let mut random = Random(1);
    for (weight_max, shard_min) in [(300, 300), (4000, 500), (97, 1)] {
        let engine = S3Fifo::<u64>::new(weight_max, shard_min);
        let heaviest = weight_max / engine.shards() as u64;
        let mut model: HashMap<u64, (u64, u64)> = HashMap::new();
        for step in 0..20_000 {
            // The lower half of the hash keeps only one byte, so many keys agree in it.
            let key = random.skewed(500);
            let hash = hash(key) & 0xffff_ffff_0000_00ff;
            match random.below(10) {
                0 => {
                    let removed = engine.remove(hash, &bytes(key));
                    assert_eq!(removed, model.remove(&key).map(|(value, _)| value));
                }
                1..=4 => {
                    let weight =
                        random.below(heaviest / 3).max(1) + random.below(30) / 29 * heaviest;
                    model.insert(key, (step, weight));
                    for (_, evicted, value) in engine.insert(hash, bytes(key), step, weight).0 {
                        let evicted = u64::from_le_bytes((*evicted).try_into().unwrap());
                        assert_eq!(model.remove(&evicted).map(|(value, _)| value), Some(value));
                    }
                    assert_eq!(model.contains_key(&key), engine.peek(hash, &bytes(key)).is_some());
                    assert!(weight <= heaviest || !model.contains_key(&key));
                }
                _ => {
                    let found = engine.get(hash, &bytes(key));
                    assert_eq!(found, model.get(&key).map(|(value, _)| *value));
                }
            }
            let weight = model.values().map(|(_, weight)| weight).sum::<u64>();
            assert_eq!((engine.len(), engine.weight()), (model.len(), weight));
            assert!(weight <= weight_max && engine.ghosts() <= engine.len());
        }
        engine.clear();
        assert_eq!((engine.len(), engine.weight(), engine.ghosts()), (0, 0, 0));
    }
}

#[test]
fn a_value_too_heavy_for_a_part_is_refused_and_takes_only_its_forerunner_along() {
    let engine = engine(10);
    (0..9).for_each(|key| assert!(engine.add(key).is_empty()));
    let (refused, _) = engine.insert(hash(50), bytes(50), 50, 11);
    assert_eq!((refused.len(), engine.len()), (1, 9));
    let (refused, _) = engine.insert(hash(3), bytes(3), 33, 11);
    assert_eq!(refused[..], [(hash(3), bytes(3), 33)]);
    assert_eq!((engine.len(), engine.holds(3), engine.holds(4)), (8, false, true));
    assert_eq!(engine.insert(hash(60), bytes(60), 60, 10).0.len(), 8, "one that fits just so");
}

#[test]
fn a_value_that_grows_in_its_place_has_others_make_room() {
    let engine = engine(100);
    (0..100).for_each(|key| assert!(engine.add(key).is_empty()));
    let (evicted, _) = engine.insert(hash(99), bytes(99), 1, 40);
    assert_eq!((evicted.len(), engine.len(), engine.weight()), (39, 61, 100));
    assert_eq!(engine.get(hash(99), &bytes(99)), Some(1));
    // The value that grows may be the one that is evicted.
    let (evicted, _) = engine.insert(hash(48), bytes(48), 1, 50);
    assert!(evicted.iter().any(|(_, key, _)| *key == bytes(48)));
    assert_eq!((engine.holds(48), engine.weight()), (false, 99));
}

#[test]
fn a_scan_does_not_flush_what_proved_itself() {
    let engine = engine(1000);
    (0..200).for_each(|key| drop(engine.add(key)));
    (0..200).for_each(|key| assert!(engine.uses(key) && engine.uses(key)));
    (10_000..110_000).for_each(|key| drop(engine.add(key)));
    assert_eq!((0..200).filter(|key| engine.holds(*key)).count(), 200);
    assert_eq!(engine.len(), 1000);
}

#[test]
fn one_use_is_no_proof_and_a_look_is_no_use() {
    let engine = engine(100);
    (0..100).for_each(|key| drop(engine.add(key)));
    // The first ten are in the small queue.
    (0..5).for_each(|key| assert!(engine.uses(key)));
    (0..10).for_each(|key| assert!(engine.holds(key) && engine.holds(key)));
    (1000..1100).for_each(|key| drop(engine.add(key)));
    assert_eq!((0..10).filter(|key| engine.holds(*key)).count(), 0);
}

#[test]
fn what_comes_before_the_first_has_to_leave_fills_the_main_queue() {
    let engine = engine(100);
    (0..100).for_each(|key| drop(engine.add(key)));
    (100..200).for_each(|key| drop(engine.add(key)));
    assert_eq!((10..100).filter(|key| engine.holds(*key)).count(), 90);
    assert_eq!((190..200).filter(|key| engine.holds(*key)).count(), 10);
}

#[test]
fn what_comes_back_while_remembered_outlives_newcomers_and_what_does_not_leaves_with_them() {
    let engine = engine(100);
    (0..150).for_each(|key| drop(engine.add(key)));
    assert!(!engine.holds(139));
    engine.add(139);
    (1000..1100).for_each(|key| drop(engine.add(key)));
    assert_eq!((engine.holds(139), engine.holds(149)), (true, false));
    assert!(engine.ghosts() <= 100, "{}", engine.ghosts());
    // Since key 0 was evicted, as many ghosts have followed as there are values.
    engine.add(0);
    (2000..2100).for_each(|key| drop(engine.add(key)));
    assert!(!engine.holds(0));
}

#[test]
fn a_newcomer_waits_for_a_bounded_number_of_others_to_be_judged() {
    let engine = engine(10_000);
    (0..10_000).for_each(|key| drop(engine.add(key)));
    for _ in 0..3 {
        (0..10_000).for_each(|key| assert!(engine.uses(key)));
    }
    assert_eq!(engine.add(10_000).len(), 1);
    let shard = engine.shards[0].read();
    let judged = shard.nodes.iter().filter(|node| {
        use std::sync::atomic::Ordering::Relaxed;
        node.content.is_some() && node.uses.load(Relaxed) < 3
    });
    // The new value is one of them.
    assert_eq!(judged.count(), SPARED_MAX + 1);
}

#[test]
fn keys_of_one_hash_are_two_keys() {
    let engine = engine(100);
    engine.insert(7, bytes(1), 1, 1);
    engine.insert(7, bytes(2), 2, 1);
    assert_eq!((engine.get(7, &bytes(1)), engine.get(7, &bytes(2))), (Some(1), Some(2)));
    assert_eq!(engine.remove(7, &bytes(1)), Some(1));
    assert_eq!((engine.get(7, &bytes(1)), engine.get(7, &bytes(2))), (None, Some(2)));
}

#[test]
fn what_makes_room_stands_in_the_same_part_as_what_comes() {
    let engine = S3Fifo::<u64>::new(1600, 100);
    assert_eq!(engine.shards(), 16);
    for key in 0..10_000 {
        for evicted in engine.add(key) {
            assert_eq!(shard_of(hash(evicted), 16), shard_of(hash(key), 16));
        }
    }
    assert!((1500..=1600).contains(&engine.weight()));
    assert_eq!(S3Fifo::<u64>::new(1600, 800).shards(), 2);
    assert_eq!(S3Fifo::<u64>::new(1600, 5000).shards(), 1);
}

/// Returns the hits of a cache that evicts the least recently used.
fn hits_by_age(keys: &[u64], entries: usize) -> usize {
    let (mut used, mut order, mut hits) = (HashMap::new(), BTreeMap::new(), 0);
    for (now, key) in keys.iter().enumerate() {
        if let Some(before) = used.insert(*key, now) {
            order.remove(&before);
            hits += 1;
        }
        order.insert(now, *key);
        if order.len() > entries
            && let Some((_, oldest)) = order.pop_first()
        {
            used.remove(&oldest);
        }
    }
    hits
}

fn hits(keys: &[u64], entries: usize) -> usize {
    let engine = engine(entries as u64);
    let hit = |key: &&u64| {
        let found = engine.uses(**key);
        if !found {
            engine.add(**key);
        }
        found
    };
    keys.iter().filter(hit).count()
}

#[test]
fn more_is_found_than_by_age_on_skewed_drifting_and_scanning_loads() {
    let mut random = Random(2);
    let skewed: Vec<u64> = (0..80_000).map(|_| random.skewed(20_000)).collect();
    let drifting: Vec<u64> =
        (0..80_000).map(|turn| random.skewed(20_000) + turn / 1000 * 5).collect();
    let scanned: Vec<u64> = (0..80_000)
        .map(|turn| match turn % 10_000 {
            0..3000 => 1_000_000 + turn,
            _ => random.skewed(20_000),
        })
        .collect();
    for (name, keys) in [("skewed", skewed), ("drifting", drifting), ("scanned", scanned)] {
        for entries in [100, 1000, 4000] {
            let (ours, by_age) = (hits(&keys, entries), hits_by_age(&keys, entries));
            assert!(ours > by_age, "{name}, {entries} entries: {ours} hits, by age {by_age}");
        }
    }
}

#[test]
fn a_value_is_charged_what_its_place_takes_on_average_while_the_engine_grows() {
    let engine = engine(100_000);
    let mut taken = 0.0;
    for key in 0..20_000_u64 {
        engine.add(key);
        taken += match key {
            // Small lists have more room to spare.
            0..10_000 => 0.0,
            _ => engine.shards[0].read().nodes.capacity() as f64 / (key + 1) as f64,
        };
    }
    let node = taken / 10_000.0 * size_of::<FifoNode<u64>>() as f64;
    let others = table_bytes(size_of::<u32>()) + ghosts::BYTES_EACH;
    let charged = bytes_each::<u64>() as f64 - others as f64;
    assert!((charged - node).abs() < 1.0, "{charged} charged, {node} taken");
    // The list grows by an eighth only, and takes freed places before it grows.
    let before = engine.shards[0].read().nodes.len();
    (0..20_000).for_each(|key| _ = engine.remove(hash(key), &bytes(key)));
    (0..20_000).for_each(|key| drop(engine.add(key)));
    assert_eq!(engine.shards[0].read().nodes.len(), before);
}

#[test]
fn a_heavy_value_finds_room_whichever_queue_is_empty() {
    for left in [10, 0] {
        let engine = engine(100);
        // Ten fill the small queue, so the last one stands in the main queue.
        (0..11).for_each(|key| drop(engine.add(key)));
        (0..11).filter(|key| *key != left).for_each(|key| {
            assert_eq!(engine.remove(hash(key), &bytes(key)), Some(key));
        });
        let (evicted, _) = engine.insert(hash(30), bytes(30), 30, 100);
        assert_eq!((evicted.len(), engine.holds(left), engine.holds(30)), (1, false, true));
        assert_eq!((engine.len(), engine.weight()), (1, 100));
    }
}

#[test]
fn more_than_three_uses_keep_a_value_no_longer_than_three() {
    let engine = engine(3);
    // One fills the small queue, so the others stand in the main queue.
    (0..3).for_each(|key| drop(engine.add(key)));
    engine.remove(hash(0), &bytes(0));
    (0..10).for_each(|_| assert!(engine.uses(1)));
    (0..3).for_each(|_| assert!(engine.uses(2)));
    let (evicted, _) = engine.insert(hash(9), bytes(9), 9, 2);
    assert_eq!(evicted[..], [(hash(1), bytes(1), 1)], "they are judged in their order");
}
