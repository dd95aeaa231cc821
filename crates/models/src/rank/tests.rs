//! Ranking against a plain f64 loop that knows nothing of plans, lanes and tables.

use std::fmt::Write as _;

use super::*;

/// xorshift64*: seeded, so a failure is replayed by its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// In -1..1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

const NUMBERS: usize = 12;
const CATEGORIES: [&str; 5] = ["b", "t", "e", "m", "=x"];

/// A value of a model file's optional key, or nothing.
fn maybe(random: &mut Random, key: &str, offset: f64) -> String {
    match random.below(3) {
        0 => String::new(),
        _ => format!(",\"{key}\":{}", random.unit() + offset),
    }
}

fn random_model(random: &mut Random) -> Linear {
    let mut names: Vec<String> = (0..NUMBERS).map(|n| format!("item.n{n}")).collect();
    names.extend(CATEGORIES.iter().map(|c| format!("item.category={c}")));
    names.extend(["de", "fr"].iter().map(|c| format!("item.country={c}")));
    names.extend((0..4).map(|n| format!("user.u{n}")));
    names.extend(["user.lang=a", "user.lang=b", "context.hour"].map(String::from));
    let mut text = String::from(r#"{"format":"tidegate-linear-1","name":"m","version":"1""#);
    let _ = write!(text, ",\"intercept\":{},\"features\":[", random.unit());
    let kept: Vec<&String> = names.iter().filter(|_| random.below(3) > 0).collect();
    for (index, name) in kept.iter().enumerate() {
        let gap = if index == 0 { "" } else { "," };
        let (mean, scale) = (maybe(random, "mean", 0.0), maybe(random, "scale", 2.5));
        let (missing, weight) = (maybe(random, "missing", 0.0), random.unit());
        let _ =
            write!(text, "{gap}{{\"name\":\"{name}\",\"weight\":{weight}{mean}{scale}{missing}}}");
    }
    text.push_str("],\"crosses\":[");
    let mut gap = "";
    for (left, left_name) in names.iter().enumerate() {
        for right_name in &names[left..] {
            if random.below(6) == 0 {
                let (mean, scale) = (maybe(random, "mean", 0.0), maybe(random, "scale", 2.5));
                let weight = random.unit();
                let _ = write!(
                    text,
                    "{gap}{{\"left\":\"{left_name}\",\"right\":\"{right_name}\",\
                     \"weight\":{weight}{mean}{scale}}}"
                );
                gap = ",";
            }
        }
    }
    text.push_str("]}");
    Linear::parse(text.as_bytes()).unwrap()
}

fn random_items(
    random: &mut Random,
    count: usize,
) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let item = |row: usize, random: &mut Random| {
        let mut item = serde_json::Map::new();
        item.insert("id".into(), format!("item{row}").into());
        if random.below(8) > 0 {
            let category = CATEGORIES[random.below(5) as usize];
            item.insert("category".into(), category.into());
        }
        if random.below(3) > 0 {
            item.insert("country".into(), ["de", "fr", "it"][random.below(3) as usize].into());
        }
        for number in 0..NUMBERS {
            if random.below(10) > 0 {
                // The last one is large with a small spread, as a timestamp is.
                let offset = if number == NUMBERS - 1 { 1_394_470.0 } else { 0.0 };
                item.insert(format!("n{number}"), (random.unit() + offset).into());
            }
        }
        item
    };
    (0..count).map(|row| item(row, random)).collect()
}

fn lines(items: &[serde_json::Map<String, serde_json::Value>]) -> String {
    items.iter().map(|item| serde_json::to_string(item).unwrap() + "\n").collect()
}

/// The format's definition, word by word. Returns the sum and the sum of magnitudes.
fn plain_score(
    model: &Linear,
    item: &serde_json::Map<String, serde_json::Value>,
    request: &serde_json::Map<String, serde_json::Value>,
) -> (f64, f64) {
    let raw = |name: &crate::FeatureName| {
        let found = match name.source {
            FeatureSource::Item => item.get(&name.field),
            source => request.get(&format!("{}.{}", source.prefix(), name.field)),
        };
        match (found, &name.equals) {
            (None, _) => model.missing(name),
            (Some(value), Some(text)) => f64::from(value.as_str() == Some(text)),
            (Some(value), None) => value.as_f64().unwrap(),
        }
    };
    let features = model.features.iter().map(|f| f.weight * (raw(&f.name) - f.mean) / f.scale);
    let crosses =
        model.crosses.iter().map(|c| c.weight * (raw(&c.left) * raw(&c.right) - c.mean) / c.scale);
    features
        .chain(crosses)
        .fold((model.intercept, model.intercept.abs()), |(sum, size), x| (sum + x, size + x.abs()))
}

fn random_request(random: &mut Random) -> serde_json::Map<String, serde_json::Value> {
    let mut request = serde_json::Map::new();
    for name in ["user.u0", "user.u1", "user.u2", "user.u3", "context.hour"] {
        if random.below(4) > 0 {
            request.insert(name.into(), random.unit().into());
        }
    }
    if random.below(2) > 0 {
        request.insert("user.lang".into(), ["a", "b", "c"][random.below(3) as usize].into());
    }
    request
}

fn slots(ranker: &Ranker, request: &serde_json::Map<String, serde_json::Value>) -> Vec<f64> {
    let mut slots = Vec::new();
    ranker.inputs().clear(&mut slots);
    for (name, value) in request {
        let (source, field) = name.split_once('.').unwrap();
        let source = if source == "user" { FeatureSource::User } else { FeatureSource::Context };
        match value.as_str() {
            Some(text) => ranker.inputs().set_text(source, field, text, &mut slots).unwrap(),
            None => {
                let value = value.as_f64().unwrap();
                ranker.inputs().set_number(source, field, value, &mut slots).unwrap();
            }
        }
    }
    slots
}

fn rank(ranker: &Ranker, request: &RankRequest<'_>) -> Vec<Ranked> {
    let mut out = Vec::new();
    ranker.rank(request, &mut Scratch::default(), &mut out).unwrap();
    out
}

fn all(inputs: &[f64], limit: usize) -> RankRequest<'_> {
    let candidates = Candidates::All;
    RankRequest { inputs, candidates, excluded: &[], limit, per_category_max: None }
}

fn ranker(model: Linear, lines: &str) -> Ranker {
    let model = RankModel::from(model);
    let items = Items::parse(lines.as_bytes(), &model.wanted()).unwrap();
    Ranker::new(model, items).unwrap()
}

#[test]
fn scores_equal_a_plain_f64_loop_within_a_millionth() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let model = random_model(&mut random);
        let items = random_items(&mut random, 150);
        let ranker = ranker(model.clone(), &lines(&items));
        for _ in 0..5 {
            let request = random_request(&mut random);
            let ranked = rank(&ranker, &all(&slots(&ranker, &request), 150));
            assert_eq!(ranked.len(), 150);
            for Ranked { row, score } in ranked {
                let (expected, size) = plain_score(&model, &items[row as usize], &request);
                // The large column brings its own rounding in the plain loop, hence `size`.
                let error = (score - expected).abs() / size.max(1.0);
                assert!(error < 1e-6, "seed {seed}, row {row}: {score} for {expected}");
            }
        }
    }
}

/// `golden/make.py` wrote these with scikit-learn: plain and one-hot features, crosses of users
/// with both, and a time in milliseconds crossed with the hour.
#[test]
fn scores_equal_those_of_scikit_learn_within_a_millionth() {
    let model = Linear::parse(include_bytes!("../../golden/model.json")).unwrap();
    let ranker = ranker(model, include_str!("../../golden/items.jsonl"));
    let mut compared = 0;
    for line in include_str!("../../golden/requests.jsonl").lines() {
        let request: serde_json::Value = serde_json::from_str(line).unwrap();
        let mut flat = serde_json::Map::new();
        for (category, share) in request["user"]["affinity"].as_object().unwrap() {
            flat.insert(format!("user.affinity.{category}"), share.clone());
        }
        flat.insert("user.reads".into(), request["user"]["reads"].clone());
        flat.insert("context.hour".into(), request["context"]["hour"].clone());
        for Ranked { row, score } in rank(&ranker, &all(&slots(&ranker, &flat), 1000)) {
            let expected = request["scores"][row as usize].as_f64().unwrap();
            let error = (score - expected).abs() / expected;
            assert!(error < 1e-6, "row {row}: {score} for {expected}");
            compared += 1;
        }
    }
    assert_eq!(compared, 6 * 60);
}

#[test]
fn contributions_sum_to_the_score() {
    for seed in 1..=30 {
        let mut random = Random(seed);
        let model = random_model(&mut random);
        let ranker = ranker(model, &lines(&random_items(&mut random, 50)));
        let slots = slots(&ranker, &random_request(&mut random));
        for Ranked { row, score } in rank(&ranker, &all(&slots, 50)) {
            let mut total = ranker.explains_from().unwrap().sum;
            let mut size = 1.0;
            ranker.explain((&slots, row), &mut Scratch::default(), |_, contribution| {
                total += contribution;
                size += contribution.abs();
            });
            assert!((total - score).abs() < 1e-9 * size, "seed {seed}: {total} for {score}");
        }
    }
}

#[test]
fn naming_candidates_differently_changes_no_bit_of_a_score() {
    let mut random = Random(7);
    let model = random_model(&mut random);
    let ranker = ranker(model, &lines(&random_items(&mut random, 700)));
    let slots = slots(&ranker, &random_request(&mut random));
    let everything = rank(&ranker, &all(&slots, 700));
    let mut rows: Vec<u32> = (0..700).collect();
    for index in (1..rows.len()).rev() {
        rows.swap(index, random.below(index as u64 + 1) as usize);
    }
    let candidates = Candidates::Rows(&rows);
    let shuffled = rank(&ranker, &RankRequest { candidates, ..all(&slots, 700) });
    assert_eq!(everything, shuffled);
    for count in [700, 699, 257, 9, 8, 1] {
        let set = ranker.pack(rows[..count].to_vec());
        let listed = Candidates::Rows(&rows[..count]);
        let listed = rank(&ranker, &RankRequest { candidates: listed, ..all(&slots, 700) });
        let candidates = Candidates::Packed(&set);
        let packed = rank(&ranker, &RankRequest { candidates, ..all(&slots, 700) });
        assert_eq!(listed, packed, "{count} rows");
    }
}

#[test]
fn excluded_rows_are_never_returned() {
    let mut random = Random(3);
    let model = random_model(&mut random);
    let ranker = ranker(model, &lines(&random_items(&mut random, 400)));
    let slots = slots(&ranker, &random_request(&mut random));
    let best = rank(&ranker, &all(&slots, 20));
    let excluded: Vec<u32> = best[..5].iter().map(|ranked| ranked.row).collect();
    let rest = rank(&ranker, &RankRequest { excluded: &excluded, ..all(&slots, 15) });
    assert_eq!(rest, best[5..]);
}

#[test]
fn a_category_cap_equals_the_greedy_walk() {
    let mut random = Random(11);
    let model = random_model(&mut random);
    let ranker = ranker(model, &lines(&random_items(&mut random, 500)));
    let slots = slots(&ranker, &random_request(&mut random));
    let everything = rank(&ranker, &all(&slots, 500));
    let codes = ranker.items().text("category").unwrap().rows();
    for (max, limit) in [(0, 10), (1, 10), (3, 10), (3, 40), (100, 500)] {
        let mut counts = [0; 5];
        let mut expected = Vec::new();
        for ranked in &everything {
            let code = codes[ranked.row as usize];
            let count = counts.get_mut(code as usize);
            if expected.len() < limit && count.as_ref().is_none_or(|count| **count < max) {
                expected.push(*ranked);
                count.into_iter().for_each(|count| *count += 1);
            }
        }
        let request = RankRequest { per_category_max: Some(max), ..all(&slots, limit) };
        assert_eq!(rank(&ranker, &request), expected, "{max} of {limit}");
    }
}

#[test]
fn equal_scores_are_ordered_by_row() {
    let model = Linear::parse(br#"{"format":"tidegate-linear-1","name":"m","version":"1"}"#);
    let ranker = ranker(model.unwrap(), "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
    let candidates = Candidates::Rows(&[2, 0, 1]);
    let ranked = rank(&ranker, &RankRequest { candidates, ..all(&[], 2) });
    assert_eq!(ranked.iter().map(|ranked| ranked.row).collect::<Vec<_>>(), [0, 1]);
    assert!(rank(&ranker, &all(&[], 0)).is_empty(), "limit 0 returns none");
}

#[test]
fn the_link_is_applied_to_what_is_returned() {
    let model = br#"{"format":"tidegate-linear-1","name":"m","version":"1","link":"logistic",
        "features":[{"name":"item.x","weight":1}]}"#;
    let ranker = ranker(Linear::parse(model).unwrap(), "{\"id\":\"a\",\"x\":0}\n");
    assert_eq!(rank(&ranker, &all(&[], 1))[0].score, 0.5);
}

#[test]
fn features_that_could_overflow_a_score_are_refused() {
    let model = br#"{"format":"tidegate-linear-1","name":"m","version":"1",
        "crosses":[{"left":"user.a","right":"item.x","weight":1e10},
                   {"left":"user.a","right":"item.category=b","weight":1e10}]}"#;
    let ranker =
        ranker(Linear::parse(model).unwrap(), "{\"id\":\"a\",\"x\":1}\n{\"id\":\"b\",\"x\":2}\n");
    let mut out = Vec::new();
    let slots = [1e305];
    let refused = ranker.rank(&all(&slots, 1), &mut Scratch::default(), &mut out);
    assert_eq!(refused, Err(RequestError::Overflow));
}

#[test]
fn items_without_a_finite_score_do_not_join() {
    let model = br#"{"format":"tidegate-linear-1","name":"m","version":"1",
        "features":[{"name":"item.x","weight":1e300,"scale":1e-30}]}"#;
    let model = RankModel::from(Linear::parse(model).unwrap());
    let items = Items::parse(b"{\"id\":\"a\",\"x\":1}", &model.wanted()).unwrap();
    let error = Ranker::new(model, items).unwrap_err().to_string();
    assert_eq!(error, "join model and items: item `a` has no finite score");
}
