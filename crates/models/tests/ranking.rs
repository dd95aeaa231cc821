//! Rankers of trees beside the libraries that trained them, and graphs beside ONNX Runtime: models,
//! items, requests and answers are those of `golden/ranking.py`.
//!
//! Claim: sums of trees are theirs to the bit, so the order is theirs, however candidates are
//! named. The parts of a sum are theirs and those of the package `shap` within 1e-6, and scores of
//! graphs are ONNX Runtime's.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use models::{
    Candidates, FeatureSource, Items, Iterations, OnnxModel, RankModel, RankRequest, Ranked,
    Ranker, RequestError, RowModel, Scratch, TreeFormat, Trees,
};
use serde_json::{Map, Value};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/ranking")
}

/// What the library says of an item in a request.
struct Wanted {
    sum: f64,
    score: f64,
    /// None where the library explains nothing; the expected value is the last.
    parts: Vec<f64>,
}

struct Case {
    name: String,
    format: TreeFormat,
    /// What the library's parts are divided by to add up to the score.
    divisor: f64,
    ranker: Ranker,
    requests: Vec<Vec<f64>>,
    /// Of each request, of each item.
    wanted: Vec<Vec<Wanted>>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let trees = Trees::read_explained(&fs::read(path).unwrap(), Iterations::Best);
        let trees = Arc::new(trees.unwrap_or_else(|error| panic!("{name}: {error}")));
        let format = trees.about().format;
        // LightGBM's parts of a random forest are those of a sum, its score is of the mean.
        let divisor = if name == "lgb-forest" { trees.about().trees as f64 } else { 1.0 };
        let ranker = ranker(RowModel::of_trees(trees).unwrap());
        let requests = requests(&ranker);
        let wanted = wanted(path, ranker.len());
        Self { name, format, divisor, requests, wanted, ranker }
    }

    fn all() -> Vec<Self> {
        let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
        let mut paths: Vec<PathBuf> = files
            .filter(|path| {
                ["txt", "json", "ubj"].iter().any(|end| path.extension().unwrap() == *end)
            })
            .collect();
        paths.sort();
        assert!(paths.len() > 12, "{} models", paths.len());
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn rank(&self, slots: &[f64], candidates: Candidates<'_>) -> Vec<Ranked> {
        rank(&self.ranker, slots, candidates)
    }
}

fn rank(ranker: &Ranker, slots: &[f64], candidates: Candidates<'_>) -> Vec<Ranked> {
    let request = RankRequest {
        inputs: slots,
        candidates,
        excluded: &[],
        limit: ranker.len(),
        per_category_max: None,
    };
    let mut out = Vec::new();
    ranker.rank(&request, &mut Scratch::default(), &mut out).unwrap();
    out
}

fn ranker(model: RowModel) -> Ranker {
    let model = RankModel::Rows(model);
    let items = fs::read(folder().join("items.jsonl")).unwrap();
    let items = Items::parse(&items, &model.wanted()).unwrap();
    Ranker::new(model, items).unwrap()
}

/// What the library says, of each request, of each item.
fn wanted(path: &Path, items: usize) -> Vec<Vec<Wanted>> {
    let numbers = |text: &str| -> Vec<f64> {
        text.split_ascii_whitespace().map(|number| number.parse().unwrap()).collect()
    };
    let wanted_of = |line: &&str| {
        let (scored, parts) = line.split_once('|').unwrap();
        let scored = numbers(scored);
        Wanted { sum: scored[0], score: scored[1], parts: numbers(parts) }
    };
    let rows = fs::read_to_string(path.with_extension("rows")).unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    lines.chunks(items).map(|lines| lines.iter().map(wanted_of).collect()).collect()
}

/// The requests, as slots.
fn requests(ranker: &Ranker) -> Vec<Vec<f64>> {
    let lines = fs::read_to_string(folder().join("requests.jsonl")).unwrap();
    lines.lines().map(|line| slots(ranker, line)).collect()
}

fn slots(ranker: &Ranker, line: &str) -> Vec<f64> {
    fn set(ranker: &Ranker, from: (FeatureSource, &str), value: &Value, slots: &mut Vec<f64>) {
        let (source, path) = from;
        match value {
            Value::Object(inner) => inner.iter().for_each(|(name, value)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                set(ranker, (source, &path), value, slots);
            }),
            Value::String(text) => ranker.inputs().set_text(source, path, text, slots).unwrap(),
            number => {
                let number = number.as_f64().unwrap();
                ranker.inputs().set_number(source, path, number, slots).unwrap();
            }
        }
    }
    let request: Map<String, Value> = serde_json::from_str(line).unwrap();
    let mut slots = Vec::new();
    ranker.inputs().clear(&mut slots);
    set(ranker, (FeatureSource::User, ""), &request["user"], &mut slots);
    set(ranker, (FeatureSource::Context, ""), &request["context"], &mut slots);
    slots
}

#[test]
fn items_are_ranked_by_the_sums_of_the_library_and_shown_with_its_scores() {
    for case in Case::all() {
        let error_max = if case.format == TreeFormat::LightGbm { 1e-12 } else { 4e-7 };
        for (slots, wanted) in case.requests.iter().zip(&case.wanted) {
            let mut order: Vec<usize> = (0..wanted.len()).collect();
            order.sort_by(|a, b| wanted[*b].sum.total_cmp(&wanted[*a].sum).then(a.cmp(b)));
            let ranked = case.rank(slots, Candidates::All);
            let found: Vec<usize> = ranked.iter().map(|one| one.row as usize).collect();
            assert_eq!(found, order, "{}", case.name);
            for Ranked { row, score } in ranked {
                let Wanted { sum, score: wanted, .. } = wanted[row as usize];
                let same = (score - wanted).abs() <= error_max * wanted.abs();
                assert!(same, "{}, item {row}: {score} not {wanted}", case.name);
                if sum == wanted {
                    assert_eq!(score.to_bits(), sum.to_bits(), "{}, item {row}", case.name);
                }
            }
        }
    }
}

#[test]
fn a_score_does_not_depend_on_how_its_candidate_is_named() {
    for case in Case::all() {
        let mut rows: Vec<u32> = (0..case.ranker.len() as u32).rev().collect();
        rows.swap(3, 40);
        for slots in &case.requests {
            let all = case.rank(slots, Candidates::All);
            for count in [1, 3, 8, 9, 64, 65, rows.len()] {
                let rows = &rows[..count];
                let wanted: Vec<Ranked> =
                    all.iter().copied().filter(|one| rows.contains(&one.row)).collect();
                let set = case.ranker.pack(rows.to_vec());
                for candidates in [Candidates::Rows(rows), Candidates::Packed(&set)] {
                    assert_eq!(case.rank(slots, candidates), wanted, "{}, {count}", case.name);
                }
            }
        }
    }
}

#[test]
fn parts_of_sums_are_those_of_the_library() {
    let mut compared = 0;
    for case in Case::all() {
        let mut scratch = Scratch::default();
        let start = match case.ranker.explains_from() {
            Ok(start) => start,
            Err(reason) => {
                assert!(reason.contains("linear_tree"), "{}: {reason}", case.name);
                assert!(case.wanted[0][0].parts.is_empty(), "{}", case.name);
                continue;
            }
        };
        for (slots, wanted) in case.requests.iter().zip(&case.wanted) {
            for (row, wanted) in wanted.iter().enumerate() {
                let mut found = Vec::new();
                case.ranker.explain((slots, row as u32), &mut scratch, |name, part| {
                    found.push((name.to_owned(), part));
                });
                found.push((start.name.to_owned(), start.sum));
                assert_eq!(found.len(), wanted.parts.len(), "{}", case.name);
                for ((name, found), wanted) in found.iter().zip(&wanted.parts) {
                    let wanted = wanted / case.divisor;
                    let same = (found - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
                    assert!(same, "{}, item {row}, `{name}`: {found} not {wanted}", case.name);
                    compared += 1;
                }
                let sum: f64 = found.iter().map(|(_, part)| part).sum();
                let wanted = wanted.sum / case.divisor;
                let same = (sum - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
                assert!(same, "{}, item {row}: parts sum to {sum}, not {wanted}", case.name);
            }
        }
    }
    assert!(compared > 30_000, "{compared}");
}

/// The package's own code read these trees, and not the library (`golden/ranking_shap.py`).
#[test]
fn parts_of_sums_are_those_of_the_package_shap() {
    let mut compared = 0;
    for case in Case::all() {
        let Ok(text) = fs::read_to_string(folder().join(&case.name).with_extension("shap")) else {
            continue;
        };
        let mut lines = text.lines();
        for slots in &case.requests {
            for row in 0..case.ranker.len() as u32 {
                let mut wanted = lines.next().unwrap().split(' ');
                case.ranker.explain((slots, row), &mut Scratch::default(), |name, part| {
                    let wanted: f64 = wanted.next().unwrap().parse().unwrap();
                    let wanted = wanted / case.divisor;
                    let same = (part - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
                    assert!(same, "{}, item {row}, `{name}`: {part} not {wanted}", case.name);
                    compared += 1;
                });
                assert_eq!(wanted.next(), None, "{}", case.name);
            }
        }
        assert_eq!(lines.next(), None, "{}", case.name);
    }
    assert!(compared > 15_000, "{compared}");
}

fn graph(name: &str) -> (PathBuf, Ranker) {
    let path = folder().join(name);
    let model = OnnxModel::read(&fs::read(&path).unwrap()).unwrap();
    (path, ranker(RowModel::of_onnx(Arc::new(model)).unwrap()))
}

#[test]
fn graphs_score_items_as_onnx_runtime_does() {
    for name in ["onnx-forest.onnx", "onnx-classes.onnx", "onnx-texts.onnx", "onnx-kinds.onnx"] {
        let (path, ranker) = graph(name);
        let wanted = wanted(&path, ranker.len());
        for (slots, wanted) in requests(&ranker).iter().zip(&wanted) {
            let ranked = rank(&ranker, slots, Candidates::All);
            assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score), "{name}");
            for Ranked { row, score } in &ranked {
                let wanted = wanted[*row as usize].score;
                let same = (score - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
                assert!(same, "{name}, item {row}: {score} not {wanted}");
            }
            let rows: Vec<u32> = ranked.iter().map(|one| one.row).step_by(3).collect();
            let set = ranker.pack(rows.clone());
            let some: Vec<Ranked> = ranked.iter().copied().step_by(3).collect();
            for candidates in [Candidates::Rows(&rows), Candidates::Packed(&set)] {
                assert_eq!(rank(&ranker, slots, candidates), some, "{name}");
            }
        }
        let reason = ranker.explains_from().unwrap_err();
        assert!(reason.starts_with("a graph in ONNX is not parted"), "{reason}");
    }
}

#[test]
fn whole_numbers_and_texts_of_a_graph_are_asked_of_requests() {
    let (_, kinds) = graph("onnx-kinds.onnx");
    let (_, texts) = graph("onnx-texts.onnx");
    let set = |ranker: &Ranker, source, name: &str, value: Result<f64, &str>| {
        let mut slots = Vec::new();
        ranker.inputs().clear(&mut slots);
        match value {
            Ok(number) => ranker.inputs().set_number(source, name, number, &mut slots),
            Err(text) => ranker.inputs().set_text(source, name, text, &mut slots),
        }
    };
    let (user, context) = (FeatureSource::User, FeatureSource::Context);
    assert_eq!(set(&kinds, user, "reads", Ok(3.0)), Ok(()));
    assert_eq!(set(&kinds, user, "reads", Ok(0.5)), Err(RequestError::WantsWhole));
    assert_eq!(set(&kinds, user, "reads", Ok(1e300)), Err(RequestError::WantsWhole));
    assert_eq!(set(&kinds, user, "reads", Err("3")), Err(RequestError::WantsNumber));
    assert_eq!(set(&texts, context, "device", Err("unheard")), Ok(()));
    assert_eq!(set(&texts, context, "device", Ok(1.0)), Err(RequestError::WantsText));
}

#[test]
fn graphs_that_do_not_rank_say_why() {
    let onnx = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/onnx");
    let problem = |name: &str| {
        let model = OnnxModel::read(&fs::read(onnx.join(name)).unwrap()).unwrap();
        RowModel::of_onnx(Arc::new(model)).unwrap_err().to_string()
    };
    let unnamed = problem("elastic.onnx");
    assert!(unnamed.contains("columns: have no names; name each column `item.FIELD`"), "{unnamed}");
    let classes = problem("forest-three.onnx");
    let wanted = "a ranking needs one float, or the probabilities of two";
    assert!(classes.contains(wanted), "{classes}");
}
