//! Limits, batches, the cache, generations: jobs are run by hand, so each happens in its order.

pub(crate) mod by_hand;

use std::fs;
use std::time::Duration;

use super::*;

use by_hand::{RAW, Stand, alone, golden, put};

const WALKS: [&str; 3] = ["The dog walks.", "a cat runs home", "The dog walks home fast!"];

/// More tokens than a model of thirty takes.
fn long() -> String {
    "the dog walks ".repeat(20)
}

#[test]
fn vectors_are_the_embedders_alone_together_and_remembered() {
    for name in ["mean", "first", "most", "static", "shared"] {
        let stand = Stand::open(name, |_| ());
        for normalise in [false, true, false] {
            let wanted = alone(&golden(name), &WALKS, normalise);
            let wish = VectorOptions { normalise: Some(normalise), ..RAW };
            let (_, first) = stand.ask(&WALKS[1..], wish);
            let (_, all) = stand.ask(&WALKS, wish);
            stand.pool.run();
            assert_eq!(*all.lock(), wanted, "{name}");
            assert_eq!(*first.lock(), wanted[1..], "{name}");
        }
        let counts = stand.texts.status().counts;
        assert_eq!((counts.texts, counts.batches), (3, 1), "{name}");
        assert_eq!((counts.misses, counts.joined, counts.hits), (5, 2, 10), "{name}");
        assert_eq!((counts.cached, counts.requests_waiting), (3, 0), "{name}");
    }
}

#[test]
fn fewer_numbers_are_the_first_ones_made_as_long() {
    let stand = Stand::open("mean", |_| ());
    let (_, got) = stand.ask(&WALKS, VectorOptions { normalise: Some(true), dims: Some(7), ..RAW });
    let (_, raw) = stand.ask(&WALKS, VectorOptions { dims: Some(7), ..RAW });
    stand.pool.run();
    for ((got, raw), whole) in
        got.lock().iter().zip(&*raw.lock()).zip(alone(&golden("mean"), &WALKS, false))
    {
        assert_eq!(raw[..], whole[..7]);
        let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt();
        assert!(got.iter().zip(raw).all(|(got, raw)| (got - raw / length).abs() < 1e-6));
    }
    for dims in [0, 41] {
        let (asked, _) = stand.ask(&WALKS, VectorOptions { dims: Some(dims), ..RAW });
        assert_eq!(asked.status(), 400);
    }
}

#[test]
fn requests_that_come_before_the_drain_go_together() {
    let stand = Stand::open("mean", |_| ());
    let asked = WALKS.map(|text| stand.ask(&[text], RAW).0);
    assert_eq!(stand.pool.waiting(), 1, "one drain for all");
    assert_eq!(stand.texts.status().counts.requests_waiting, 3);
    stand.pool.step();
    assert!(asked.iter().all(|asked| asked.is_answered()));
    let counts = stand.texts.status().counts;
    assert_eq!((counts.batches, counts.texts), (1, 3));
    assert_eq!((stand.pool.waiting(), counts.requests_waiting), (0, 0));
}

#[test]
fn a_text_is_embedded_once_however_many_want_it() {
    let stand = Stand::open("mean", |_| ());
    let twice = [WALKS[0], WALKS[1], WALKS[0]];
    let gots = [stand.ask(&twice, RAW).1, stand.ask(&twice[1..], RAW).1, stand.ask(&[], RAW).1];
    stand.pool.run();
    let wanted = alone(&golden("mean"), &twice, false);
    assert_eq!(*gots[0].lock(), wanted);
    assert_eq!(*gots[1].lock(), wanted[1..]);
    assert!(gots[2].lock().is_empty());
    assert_eq!(stand.texts.status().counts.texts, 2);
}

#[test]
fn remembered_texts_are_answered_at_once() {
    let stand = Stand::open("mean", |plan| plan.queue_max = 1);
    stand.ask(&WALKS, RAW);
    stand.pool.run();
    stand.ask(&["cat"], RAW);
    let (asked, _) = stand.ask(&WALKS, RAW);
    assert!(asked.is_answered(), "though the queue is full");
}

#[test]
fn a_long_request_is_cut_and_a_short_one_gets_its_turn() {
    // Texts of seven tokens, two to a turn of eight, four and one of four tokens to a batch.
    let stand = Stand::open("mean", |plan| plan.batch_tokens_max = 32);
    let words = ["dog", "cat", "home", "fast", "walk", "runs", "the", "a"];
    let many: Vec<String> =
        words.iter().map(|word| format!("{word} {word} {word} {word} !")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (long, got) = stand.ask(&many, RAW);
    let (short, _) = stand.ask(&["the cat"], RAW);
    stand.pool.step();
    assert!(short.is_answered() && !long.is_answered());
    assert_eq!(stand.pool.waiting(), 1, "what is left is at the back");
    stand.pool.run();
    assert!(long.is_answered());
    assert_eq!(*got.lock(), alone(&golden("mean"), &many, false));
    let counts = stand.texts.status().counts;
    assert_eq!((counts.batches, counts.texts_waiting, counts.tokens_waiting), (2, 0, 0));
}

#[test]
fn a_text_larger_than_a_batch_goes_alone() {
    let stand = Stand::open("mean", |plan| plan.batch_tokens_max = 1);
    let (asked, got) = stand.ask(&WALKS, RAW);
    stand.pool.run();
    assert!(asked.is_answered());
    assert_eq!(*got.lock(), alone(&golden("mean"), &WALKS, false));
    assert_eq!(stand.texts.status().counts.batches, 3);
}

#[test]
fn whoever_left_costs_nothing() {
    let stand = Stand::open("mean", |plan| plan.queue_max = 2);
    let (left, _) = stand.ask(&WALKS, RAW);
    let (stays, got) = stand.ask(&WALKS[1..2], RAW);
    left.leave();
    stand.pool.run();
    assert!(!left.is_answered() && stays.is_answered());
    assert_eq!(*got.lock(), alone(&golden("mean"), &WALKS[1..2], false));
    let counts = stand.texts.status().counts;
    assert_eq!((counts.texts, counts.abandoned, counts.requests_waiting), (1, 2, 0));

    let (left, _) = stand.ask(&["cat"], RAW);
    left.leave();
    stand.pool.run();
    let counts = stand.texts.status().counts;
    assert_eq!((counts.batches, counts.requests_waiting), (1, 0), "no batch of nothing");
    stand.ask(&["cat"], RAW);
    stand.pool.run();
    assert_eq!(stand.texts.status().counts.texts, 2, "what was left can be asked again");
}

#[test]
fn as_many_requests_wait_as_may() {
    let stand = Stand::open("mean", |plan| plan.queue_max = 2);
    let waiting = [stand.ask(&WALKS[..1], RAW).0, stand.ask(&WALKS[1..2], RAW).0];
    let (refused, _) = stand.ask(&WALKS[2..], RAW);
    assert_eq!(refused.status(), 429);
    stand.pool.run();
    assert!(waiting.iter().all(|asked| asked.is_answered()));
    let (asked, _) = stand.ask(&WALKS[2..], RAW);
    stand.pool.run();
    assert!(asked.is_answered());
    assert_eq!(stand.texts.status().counts.busy, 1);
}

#[test]
fn as_many_tokens_wait_as_may() {
    let stand = Stand::open("mean", |plan| plan.batch_tokens_max = 1);
    let many: Vec<String> = (0..64)
        .map(|n| ["dog", "cat", "fast", "home"][n % 4].to_owned() + &" a".repeat(n / 4))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (long, _) = stand.ask(&many, RAW);
    assert!(stand.texts.status().counts.tokens_waiting > 256);
    assert_eq!(stand.ask(&["runs"], RAW).0.status(), 429);
    stand.pool.run();
    assert!(long.is_answered());
    stand.ask(&["runs"], RAW);
    stand.pool.run();
    assert_eq!(stand.texts.status().counts.texts, 65);
}

#[test]
fn refused_texts_give_their_place_back() {
    let stand = Stand::open("mean", |plan| plan.queue_max = 1);
    for _ in 0..3 {
        let (asked, _) = stand.ask(&["dog", &long()], RAW);
        let refusal = asked.refusal();
        assert_eq!(refusal.status, 413);
        assert!(refusal.reason.starts_with("text 1 has "), "{refusal}");
    }
    assert_eq!(stand.texts.status().counts.requests_waiting, 0);
}

#[test]
fn too_many_texts_are_refused_before_anything_is_done() {
    let stand = Stand::open("mean", |plan| plan.texts_max = 2);
    let (asked, _) = stand.ask(&WALKS, RAW);
    assert_eq!(asked.status(), 413);
    assert_eq!(stand.texts.status().counts.misses, 0);
}

#[test]
fn a_cut_text_is_never_taken_for_a_whole_one() {
    let stand = Stand::open("mean", |_| ());
    let long = long();
    let (asked, got) = stand.ask(&[&long], VectorOptions { truncate: true, ..RAW });
    stand.pool.run();
    assert!(asked.is_answered());
    assert_eq!(*got.lock(), alone(&golden("mean"), &[&long], false));
    let (asked, _) = stand.ask(&[&long], RAW);
    assert_eq!(asked.status(), 413);
    let blank = format!("dog{}cat", " ".repeat(Embedder::TEXT_BYTES_MAX));
    stand.ask(&[&blank], VectorOptions { truncate: true, ..RAW });
    stand.pool.run();
    let (asked, _) = stand.ask(&[&blank], RAW);
    assert_eq!(asked.status(), 413, "few tokens, but of the beginning only");
}

#[test]
fn a_vector_is_shared_whether_its_text_may_be_cut_or_not() {
    for (name, text) in [("mean", "the dog"), ("static", &*long())] {
        let stand = Stand::open(name, |_| ());
        for truncate in [true, false, true] {
            let (asked, _) = stand.ask(&[text], VectorOptions { truncate, ..RAW });
            stand.pool.run();
            assert!(asked.is_answered());
        }
        assert_eq!(stand.texts.status().counts.texts, 1, "{name}");
    }
}

#[test]
fn a_full_pool_has_the_work_done_by_who_asks() {
    let stand = Stand::open("mean", |plan| plan.batch_tokens_max = 1);
    stand.pool.fill(true);
    let (asked, _) = stand.ask(&WALKS, RAW);
    assert!(asked.is_answered(), "all three batches");
    stand.pool.fill(false);
    let (before, _) = stand.ask(&["dog", "cat"], RAW);
    stand.pool.fill(true);
    stand.pool.step();
    assert!(before.is_answered(), "a drain that cannot come back stays");
}

#[test]
fn long_answers_are_written_apart() {
    let stand = Stand::open("static", |plan| plan.texts_max = 1000);
    let many = ["dog"; 300];
    let (long, got) = stand.ask(&many, RAW);
    let (short, _) = stand.ask(&["dog"], RAW);
    stand.pool.step();
    assert!(short.is_answered() && !long.is_answered());
    stand.pool.run();
    assert!(long.is_answered());
    assert_eq!(got.lock().len(), 300);
}

#[test]
fn texts_wait_for_others_until_a_batch_is_full() {
    let stand = Stand::open("mean", |plan| {
        plan.batch_timeout = Duration::from_secs(3600);
        plan.batch_tokens_max = 12;
    });
    let (first, _) = stand.ask(&WALKS[..1], RAW);
    stand.pool.step();
    assert!(!first.is_answered());
    assert_eq!(stand.pool.waiting(), 1, "the drain comes back");
    let (second, _) = stand.ask(&WALKS[1..2], RAW);
    assert_eq!(stand.pool.waiting(), 1, "one drain for both");
    stand.pool.step();
    assert!(first.is_answered() && !second.is_answered(), "a batch holds one of them");
}

#[test]
fn texts_that_waited_long_enough_go() {
    let stand = Stand::open("mean", |plan| plan.batch_timeout = Duration::from_nanos(1));
    let (asked, _) = stand.ask(&WALKS[..1], RAW);
    stand.pool.run();
    assert!(asked.is_answered());
}

#[test]
fn requests_end_with_the_generation_they_began_with() {
    let stand = Stand::open("mean", |_| ());
    let versions = || stand.texts.status().version.unwrap();
    let before = versions();
    let (_, old) = stand.ask(&WALKS, RAW);
    put(&golden("first"), stand.dir.path());
    stand.texts.poll();
    assert_ne!(versions(), before);
    let (_, new) = stand.ask(&WALKS, RAW);
    stand.pool.run();
    assert_eq!(*old.lock(), alone(&golden("mean"), &WALKS, false));
    assert_eq!(*new.lock(), alone(&golden("first"), &WALKS, false));
    let counts = stand.texts.status().counts;
    assert_eq!((counts.batches, counts.texts), (2, 6), "nothing is shared between them");
    let (asked, _) = stand.ask(&WALKS, RAW);
    assert!(asked.is_answered(), "the new one remembers its own");
}

#[test]
fn a_generation_that_fails_its_check_is_never_asked() {
    let dir = tempfile::tempdir().unwrap();
    let only_mean = |embedder: &Embedder| match embedder.about().dims {
        40 => Ok(()),
        dims => Err(format!("{dims} numbers")),
    };
    put(&golden("first"), dir.path());
    let stand = Stand::open_at(dir, |_| (), only_mean);
    assert_eq!(stand.ask(&WALKS, RAW).0.status(), 503);
    put(&golden("mean"), stand.dir.path());
    stand.texts.poll();
    assert!(stand.texts.loaded().is_some());
    put(&golden("static"), stand.dir.path());
    stand.texts.poll();
    let (_, got) = stand.ask(&WALKS, RAW);
    stand.pool.run();
    assert_eq!(*got.lock(), alone(&golden("mean"), &WALKS, false), "the last good one serves");
    let fault = stand.texts.status().file.problem.unwrap().message;
    assert!(fault.ends_with("12 numbers"), "{fault}");
}

#[test]
fn a_version_is_the_plans_or_tells_weights_apart() {
    let version = |name: &str| Stand::open(name, |_| ()).texts.status().version.unwrap();
    assert_eq!(version("mean"), version("mean"));
    assert_ne!(version("mean"), version("first"));
    assert_eq!(version("mean").len(), 16);
    let named = Stand::open("mean", |plan| plan.version = Some("7".to_owned()));
    assert_eq!(named.texts.status().version.unwrap(), "7");
}

#[test]
fn the_cache_stays_within_its_bytes() {
    let stand = Stand::open("static", |plan| plan.cache_bytes = 10_000);
    let texts: Vec<String> = (0..100).map(|n| format!("dog {}", "cat ".repeat(n))).collect();
    for text in &texts {
        stand.ask(&[text], RAW);
        stand.pool.run();
    }
    let counts = stand.texts.status().counts;
    assert!((10..100).contains(&counts.cached), "{counts:?}");
    assert!(counts.cached_bytes <= 10_000, "{counts:?}");

    let without = Stand::open("static", |plan| plan.cache_bytes = 0);
    for _ in 0..2 {
        without.ask(&WALKS, RAW);
        without.pool.run();
    }
    let counts = without.texts.status().counts;
    assert_eq!((counts.hits, counts.texts, counts.cached), (0, 6, 0));
}

#[test]
fn a_text_that_the_model_cannot_do_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    put(&golden("static"), dir.path());
    let weights = dir.path().join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let numbers = bytes.len() - 21 * 12 * 4;
    let dog = numbers + 6 * 12 * 4;
    bytes[dog..dog + 4].copy_from_slice(&3e38_f32.to_le_bytes());
    fs::write(&weights, bytes).unwrap();
    let stand = Stand::open_at(dir, |_| (), |_| Ok(()));
    let (bad, _) = stand.ask(&["the cat", "dog dog", "home"], RAW);
    let (good, got) = stand.ask(&["the cat", "home"], RAW);
    stand.pool.run();
    let refusal = bad.refusal();
    assert_eq!(refusal.status, 500);
    assert!(refusal.reason.contains("not finite"), "{refusal}");
    assert!(good.is_answered());
    assert_eq!(got.lock().len(), 2);
    let (again, _) = stand.ask(&["dog dog"], RAW);
    stand.pool.run();
    assert_eq!(again.status(), 500, "it is not waited for for ever");
}

#[test]
fn everyone_is_answered_whatever_threads_do() {
    let stand = Stand::open("mean", |plan| {
        plan.batch_tokens_max = 64;
        plan.cache_bytes = 4000;
        plan.queue_max = 1000;
    });
    let words = ["dog", "cat", "home", "fast", "walk", "runs", "the", "a"];
    let pairs: Vec<String> =
        (0..64).map(|n| format!("{} {}", words[n % 8], words[n / 8])).collect();
    let pairs: Vec<&str> = pairs.iter().map(String::as_str).collect();
    let wanted = alone(&golden("mean"), &pairs, false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (stand, pairs, wanted) = (&stand, &pairs, &wanted);
            scope.spawn(move || {
                let mut asked = Vec::new();
                for round in 0..40 {
                    let start = (round * 7 + thread * 5) % 60;
                    let span = start..(start + 1 + round % 5).min(64);
                    let (one, got) = stand.ask(&pairs[span.clone()], RAW);
                    if round % 9 == 0 {
                        one.leave();
                    }
                    asked.push((one, got, span));
                    stand.pool.run();
                }
                for (round, (one, got, span)) in asked.into_iter().enumerate() {
                    // What another thread took off the queue may still be on its way.
                    while round % 9 > 0 && !one.is_answered() {
                        std::thread::yield_now();
                    }
                    assert!(!one.is_answered() || *got.lock() == wanted[span]);
                }
            });
        }
    });
    let counts = stand.texts.status().counts;
    let waiting = (counts.requests_waiting, counts.texts_waiting, counts.tokens_waiting);
    assert_eq!(waiting, (0, 0, 0));
}

#[test]
fn batches_of_an_encoder_are_long_jobs_and_those_of_static_embeddings_short_ones() {
    for (name, is_long) in [("mean", true), ("static", false)] {
        let stand = Stand::open(name, |_| {});
        stand.ask(&["the dog"], RAW);
        stand.pool.run();
        assert_eq!(stand.pool.groups(), [("texts".to_owned(), is_long)]);
    }
}
