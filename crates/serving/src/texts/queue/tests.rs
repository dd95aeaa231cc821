//! Claims about how many batches are computed at once, and how large they are.

use std::sync::Arc;

use super::{CompleteRequest, DrainStep, Enqueued, KnownVector, TextQueue, VectorRequest};
use crate::queued::json;
use crate::texts::tests::by_hand::{Asked, RAW, Stand};

/// Puts a text in line.
fn add(stand: &Stand, queue: &TextQueue, text: &str) -> Enqueued {
    let (rows, lacking) = stand.texts.prepare(&[text.to_owned()], RAW).unwrap();
    let (missing, permit) = lacking.expect("nothing is remembered");
    let make_answer = Box::new(|_| Ok(json("[]")));
    let request = VectorRequest::new(rows, Asked::default().sender(), make_answer, permit);
    queue.add(missing, &Arc::new(request))
}

/// Whether there is a batch, and whether a drain must be scheduled.
fn taken(step: &DrainStep) -> (bool, bool) {
    (step.batch.is_some(), step.next.is_some())
}

#[test]
fn as_many_batches_are_computed_at_once_as_may() {
    let stand = Stand::open("mean", |plan| plan.batch_tokens_max = 1);
    let (queue, plan) = (TextQueue::new(2), stand.texts.plan());
    let scheduled: Vec<bool> = ["dog", "cat", "home", "fast"]
        .map(|text| add(&stand, &queue, text).next.is_some())
        .to_vec();
    assert_eq!(scheduled, [true, false, false, false]);
    assert_eq!(taken(&queue.take(plan)), (true, true));
    assert_eq!(taken(&queue.take(plan)), (true, false), "two are computed");
    assert_eq!(taken(&queue.take(plan)), (false, false), "a third may not begin");
    assert!(add(&stand, &queue, "walk").next.is_none(), "nor is a drain scheduled for it");
    assert!(queue.finish().is_some(), "the end of one lets the next begin");
    assert_eq!(taken(&queue.take(plan)), (true, false));
    assert!(queue.finish().is_some());
    assert_eq!(taken(&queue.take(plan)), (true, false));
    assert!(queue.finish().is_some());
    assert_eq!(taken(&queue.take(plan)), (true, false));
    assert!(queue.finish().is_none(), "nothing waits");
}

#[test]
fn a_batch_of_an_encoder_is_small_and_one_of_static_embeddings_as_large_as_the_plan_says() {
    let batches = |name: &str| {
        let stand = Stand::open(name, |plan| {
            plan.batch_tokens_max = 4000;
            plan.queue_max = 100;
        });
        let (queue, plan) = (TextQueue::new(usize::MAX), stand.texts.plan());
        for number in 0..30 {
            add(&stand, &queue, &format!("{number} {}", "dog ".repeat(20)));
        }
        let mut sizes = Vec::new();
        while let Some(batch) = queue.take(plan).batch {
            sizes.push(batch.tokens.total());
        }
        sizes
    };
    let small = batches("mean");
    assert!(small.len() > 1 && small.iter().all(|tokens| *tokens <= 256), "{small:?}");
    assert_eq!(batches("static").len(), 1);
}

#[test]
fn large_requests_are_done_one_after_the_other_and_a_small_one_before_them() {
    let stand = Stand::open("mean", |plan| {
        plan.batch_tokens_max = 4000;
        plan.queue_max = 100;
    });
    let (queue, plan) = (TextQueue::new(usize::MAX), stand.texts.plan());
    let add = |name: &str, count: usize| {
        let texts: Vec<String> =
            (0..count).map(|number| format!("{name} {number} {}", "dog ".repeat(15))).collect();
        let (rows, lacking) = stand.texts.prepare(&texts, RAW).unwrap();
        let (missing, permit) = lacking.expect("nothing is remembered");
        let asked = Asked::default();
        let make_answer = Box::new(|_| Ok(json("[]")));
        let request = VectorRequest::new(rows, asked.sender(), make_answer, permit);
        queue.add(missing, &Arc::new(request));
        asked
    };
    let step = || {
        let batch = queue.take(plan).batch.expect("texts wait");
        assert!(batch.tokens.total() <= 256);
        let known = KnownVector { numbers: vec![0.0; 8].into(), tokens: 1 };
        let outcomes: Vec<_> = batch.keys.iter().map(|_| Ok(known.clone())).collect();
        queue.hand_out(&batch.keys, &outcomes).into_iter().for_each(CompleteRequest::answer);
    };
    let large = [add("cat", 40), add("home", 40)];
    step();
    let small = add("walk", 1);
    step();
    assert!(small.is_answered(), "it has a share of the next batch");
    while !large[0].is_answered() {
        step();
    }
    assert!(!large[1].is_answered());
    let (_, texts, _) = queue.lengths();
    assert!(texts > 20, "{texts} texts of the second wait while the first is done");
}
