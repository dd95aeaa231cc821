//! Claims about which feedback belongs to which impression.

use std::collections::BTreeMap;

use exchange::{ExchangeRef, Filter, Impression};
use stdx::Random;

use super::{Join, JoinCounts};

const MINUTE: u64 = 60_000_000;

/// A journal that is being written.
#[derive(Default)]
struct Journal(Vec<u8>);

impl Journal {
    fn impression(&mut self, time: u64, ids: (u128, Option<u128>), user: &str, items: &[&str]) {
        let shown = Impression {
            model: "m".into(),
            version: "1".into(),
            propensity: 0.5,
            items: items.iter().copied().collect(),
        };
        let exchange = ExchangeRef {
            time_us: time,
            id: ids.0,
            ranked_by: ids.1,
            method: "GET",
            path: b"/r",
            status: 200,
            client_ip: Some("10.0.0.1".parse().unwrap()),
            user: (!user.is_empty()).then_some(user.as_bytes()),
            impression: Some(&shown),
            ..ExchangeRef::default()
        };
        exchange::encode(&exchange, &mut self.0);
    }

    /// Answered from the cache.
    fn hit(&mut self, time: u64, ids: (u128, u128), user: &str) {
        let exchange = ExchangeRef {
            time_us: time,
            id: ids.0,
            ranked_by: Some(ids.1),
            method: "GET",
            path: b"/r",
            status: 200,
            user: (!user.is_empty()).then_some(user.as_bytes()),
            ..ExchangeRef::default()
        };
        exchange::encode_brief(&exchange, &mut self.0);
    }

    fn feedback(&mut self, time: u64, ranking: u128, user: &str, item: &str) {
        let query = format!("item={item}&request={ranking:032x}");
        let exchange = ExchangeRef {
            time_us: time,
            id: u128::from(time),
            method: "POST",
            path: b"/read",
            query: Some(query.as_bytes()),
            status: 204,
            user: (!user.is_empty()).then_some(user.as_bytes()),
            ..ExchangeRef::default()
        };
        exchange::encode(&exchange, &mut self.0);
    }
}

/// Every example as time, position, item, feedback, the first feedback's time, and censored.
type Shown = Vec<(u64, usize, String, u64, Option<u64>, bool)>;

fn join() -> Join {
    Join {
        feedback: Filter::parse("path == \"/read\"").unwrap(),
        request: "query.request".parse().unwrap(),
        item: "query.item".parse().unwrap(),
        within_us: MINUTE,
        times: 0..u64::MAX,
    }
}

fn joined(join: &Join, journal: &Journal, memory: usize) -> (Shown, JoinCounts) {
    let dir = tempfile::tempdir().unwrap();
    let mut shown = Vec::new();
    let mut collector = join.clone().collect(dir.path(), memory);
    let lines = journal.0.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.for_each(|line| collector.add(line).unwrap());
    let joined = collector.finish(|example| {
        let (time, item) = (example.shown.time_us, example.item.to_owned());
        let (feedback, first) = (example.feedback, example.feedback_us);
        shown.push((time, example.position, item, feedback, first, example.is_censored));
        Ok(())
    });
    shown.sort();
    (shown, joined.unwrap())
}

#[test]
fn feedback_belongs_to_the_last_impression_that_showed_its_item_to_its_user() {
    let mut journal = Journal::default();
    journal.impression(1000, (1, None), "ann", &["a", "b"]);
    // From the cache: the same ranking, another user, and the first one again.
    journal.hit(2000, (2, 1), "bob");
    journal.hit(3000, (3, 1), "ann");
    // Its ranking is not in the log.
    journal.hit(3500, (4, 17), "ann");
    journal.feedback(4000, 1, "ann", "a");
    journal.feedback(5000, 1, "ann", "a");
    journal.feedback(2500, 1, "ann", "b");
    journal.feedback(6000, 1, "bob", "c");
    journal.feedback(6000, 1, "", "a");
    journal.feedback(6000, 7, "ann", "a");
    journal.feedback(500, 1, "ann", "a");
    let (shown, counts) = joined(&join(), &journal, 1 << 20);
    let row = |time, position, item: &str, feedback, first| {
        (time, position, item.to_owned(), feedback, first, true)
    };
    let wanted = vec![
        row(1000, 1, "a", 0, None),
        row(1000, 2, "b", 1, Some(2500)),
        row(2000, 1, "a", 0, None),
        row(2000, 2, "b", 0, None),
        row(3000, 1, "a", 2, Some(4000)),
        row(3000, 2, "b", 0, None),
    ];
    assert_eq!(shown, wanted);
    assert_eq!((counts.impressions, counts.examples, counts.with_feedback), (4, 6, 2));
    assert_eq!(counts.unranked, 1);
    assert_eq!((counts.feedback, counts.nameless, counts.unmatched), (7, 0, 4));
}

#[test]
fn feedback_counts_within_its_span_and_an_impression_is_censored_until_it_is_over() {
    let mut journal = Journal::default();
    journal.impression(1000, (1, None), "u", &["a", "b"]);
    journal.feedback(1000 + MINUTE, 1, "u", "a");
    journal.feedback(1001 + MINUTE, 1, "u", "b");
    journal.impression(2000, (2, None), "u", &["a"]);
    let (shown, counts) = joined(&join(), &journal, 1 << 20);
    let row = |time, position, item: &str, feedback, first, censored| {
        (time, position, item.to_owned(), feedback, first, censored)
    };
    let wanted = vec![
        row(1000, 1, "a", 1, Some(1000 + MINUTE), false),
        row(1000, 2, "b", 0, None, false),
        row(2000, 1, "a", 0, None, true),
    ];
    assert_eq!(shown, wanted);
    assert_eq!(counts.unmatched, 1);
}

#[test]
fn a_ranking_that_nobody_waited_for_is_an_impression_only_of_who_was_shown_it_later() {
    let mut journal = Journal::default();
    journal.impression(1000, (1, Some(1)), "", &["a"]);
    let refresh = String::from_utf8(journal.0).unwrap();
    let refresh = refresh.replace(",\"client_ip\":\"10.0.0.1\"", "");
    let mut journal = Journal(refresh.into_bytes());
    journal.0.extend_from_slice(b"nonsense\n");
    journal.hit(2000, (2, 1), "u");
    let (shown, counts) = joined(&join(), &journal, 1 << 20);
    assert_eq!(shown, [(2000, 1, "a".to_owned(), 0, None, true)]);
    assert_eq!((counts.lines, counts.refused), (3, 1));
}

#[test]
fn impressions_of_some_times_have_all_their_feedback() {
    let mut journal = Journal::default();
    for time in [1000, 2000, 3000] {
        journal.impression(time, (time.into(), None), "u", &["a"]);
        journal.feedback(time + 5000, time.into(), "u", "a");
    }
    let join = Join { times: 2000..3000, ..join() };
    let (shown, _) = joined(&join, &journal, 1 << 20);
    assert_eq!(shown, [(2000, 1, "a".to_owned(), 1, Some(7000), true)]);
}

/// The same by holding everything and looking everywhere.
fn plainly(impressions: &[(u64, u128, &str)], feedback: &[(u64, u128, &str, &str)]) -> Shown {
    const ITEMS: [&str; 3] = ["a", "b", "c"];
    let mut taken: BTreeMap<(usize, &str), (u64, u64)> = BTreeMap::new();
    for (at, ranking, user, item) in feedback {
        let of = impressions.iter().enumerate().filter(|(_, (time, by, who))| {
            (by, who) == (ranking, user) && time < at && at - time <= MINUTE
        });
        let Some((index, _)) = of.max_by_key(|(_, (time, ..))| *time) else { continue };
        let (count, first) = taken.entry((index, item)).or_insert((0, *at));
        (*count, *first) = (*count + 1, (*first).min(*at));
    }
    let end = impressions.iter().map(|shown| shown.0).chain(feedback.iter().map(|given| given.0));
    let end = end.max().unwrap_or(0);
    let mut shown = Vec::new();
    for (index, (time, ..)) in impressions.iter().enumerate() {
        for (place, item) in ITEMS.iter().enumerate() {
            let (count, first) = taken.get(&(index, *item)).copied().unzip();
            let is_censored = time + MINUTE > end;
            let item = (*item).to_owned();
            shown.push((*time, place + 1, item, count.unwrap_or(0), first, is_censored));
        }
    }
    shown.sort();
    shown
}

#[test]
fn the_join_agrees_with_a_plain_one_whatever_fits_memory() {
    let mut random = Random::new(9);
    for turn in 0..60 {
        let mut journal = Journal::default();
        let (mut impressions, mut feedback) = (Vec::new(), Vec::new());
        for ranking in 1..=5_u128 {
            let time = u64::try_from(ranking).unwrap();
            journal.impression(time, (ranking, None), "x", &["a", "b", "c"]);
            impressions.push((time, ranking, "x"));
        }
        for step in 1..150_u64 {
            // No two at the same time: then it is open which is the last.
            let time = step * MINUTE / 20 + 1000;
            let ranking = u128::from(random.up_to(4)) + 1;
            let user = ["", "ann", "bob"][random.up_to(2) as usize];
            if random.up_to(2) == 0 {
                let item = ["a", "b", "c"][random.up_to(2) as usize];
                journal.feedback(time, ranking, user, item);
                feedback.push((time, ranking, user, item));
            } else {
                let id = u128::from(1000 + step);
                journal.hit(time, (id, ranking), user);
                impressions.push((time, ranking, user));
            }
        }
        let memory = if turn % 2 == 0 { 1 << 20 } else { 2000 };
        let (shown, counts) = joined(&join(), &journal, memory);
        assert_eq!(shown, plainly(&impressions, &feedback));
        let given: u64 = shown.iter().map(|example| example.3).sum();
        assert_eq!(given + counts.unmatched, feedback.len() as u64);
    }
}
