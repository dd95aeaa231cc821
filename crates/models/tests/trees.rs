//! Trees beside the libraries that trained them, and what scoring allocates. Models and rows are
//! those of `golden/trees.py`: a small set kept here, and a larger one made anew.
//!
//! Claim: margins are theirs to the bit, for any number of rows at once; scores differ by what two
//! mathematical libraries may differ in.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use models::{AboutTrees, TreeFormat, TreeScratch, Trees};
use testkit::{CountingAllocator, TempDir, allocated, skip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A model with rows, and what its library makes of them.
struct Case {
    name: String,
    model: Trees,
    rows: Vec<f64>,
    margins: Vec<f64>,
    scores: Vec<f64>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let model = Trees::read(&fs::read(path).unwrap());
        let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
        let (mut rows, mut margins, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for line in fs::read_to_string(path.with_extension("rows")).unwrap().lines() {
            let mut parts = line.split('|');
            for into in [&mut rows, &mut margins, &mut scores] {
                let numbers = parts.next().unwrap().split_ascii_whitespace();
                into.extend(numbers.map(|number| number.parse::<f64>().unwrap()));
            }
        }
        Self { name, model, rows, margins, scores }
    }

    fn all_of(folder: &Path) -> Vec<Self> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending != "rows"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn about(&self) -> &AboutTrees {
        self.model.about()
    }

    /// Scores so many rows at once.
    fn check(&self, at_once: usize, scratch: &mut TreeScratch) {
        let AboutTrees { features, margins, scores, .. } = *self.about();
        let mut got_margins = vec![f64::NAN; self.margins.len()];
        let mut got_scores = vec![f64::NAN; self.scores.len()];
        let rows = self.rows.chunks(at_once * features);
        for (rows, out) in rows.clone().zip(got_margins.chunks_mut(at_once * margins)) {
            self.model.margins(rows, scratch, out).unwrap();
        }
        for (rows, out) in rows.zip(got_scores.chunks_mut(at_once * scores)) {
            self.model.score(rows, scratch, out).unwrap();
        }
        let Self { name, .. } = self;
        for (index, (got, wanted)) in got_margins.iter().zip(&self.margins).enumerate() {
            let row = index / margins;
            let is_same = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
            assert!(is_same, "{name}, row {row}: {got} not {wanted}");
        }
        let error_max = match self.about().format {
            TreeFormat::LightGbm => 1e-12,
            _ => 4e-7,
        };
        for (index, (got, wanted)) in got_scores.iter().zip(&self.scores).enumerate() {
            let is_no_number = got.is_nan() && wanted.is_nan();
            let close =
                is_no_number || (got - wanted).abs() <= error_max * got.abs().max(wanted.abs());
            assert!(close, "{name}, row {}: {got} not {wanted}", index / scores);
        }
    }
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The Python of the set-up, where it has both libraries.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python");
    // Importing them takes a second, looking for them does not.
    let find = "import sys; from importlib.util import find_spec; \
                sys.exit(not all(map(find_spec, sys.argv[1:])))";
    let found = Command::new(&python).args(["-c", find]).args(["lightgbm", "xgboost"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip("lightgbm and xgboost are not there; `cargo xtask setup --test` installs them");
    None
}

#[test]
fn models_of_every_kind_score_as_their_libraries_do() {
    let cases = Case::all_of(&golden().join("trees"));
    assert!(cases.len() > 50, "{} models", cases.len());
    // One scratch for all: nothing of a model is left in it for the next.
    let mut scratch = TreeScratch::default();
    for case in &cases {
        for at_once in [1, 3, 13, case.rows.len()] {
            case.check(at_once, &mut scratch);
        }
    }
}

#[test]
fn models_trained_anew_score_as_their_libraries_do() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let mut maker = Command::new(python);
    maker.args(["-W", "ignore"]).arg(golden().join("trees.py")).arg(folder.path());
    maker.args(["--rows", "300", "--rounds", "8", "--leaves", "12"]);
    // Threads of OpenMP that wait for each other cost more than the training.
    maker.env("OMP_NUM_THREADS", "1");
    let made = maker.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let cases = Case::all_of(folder.path());
    assert!(cases.len() > 50, "{} models", cases.len());
    let mut scratch = TreeScratch::default();
    cases.iter().for_each(|case| case.check(case.rows.len(), &mut scratch));
}

#[test]
fn floats_score_as_the_doubles_they_are() {
    let case = Case::read(&golden().join("trees/lgb-regression.txt"));
    let floats: Vec<f32> = case.rows.iter().map(|number| *number as f32).collect();
    let doubles: Vec<f64> = floats.iter().map(|number| f64::from(*number)).collect();
    let mut scratch = TreeScratch::default();
    let (mut of_floats, mut of_doubles) = (case.scores.clone(), case.scores.clone());
    case.model.score(&floats, &mut scratch, &mut of_floats).unwrap();
    case.model.score(&doubles, &mut scratch, &mut of_doubles).unwrap();
    assert_eq!(of_floats, of_doubles);
}

#[test]
fn a_warm_thread_scores_without_allocating() {
    for name in ["lgb-multiclass.txt", "lgb-large.txt", "xgb-dart.json", "xgb-softmax.ubj"] {
        let case = Case::read(&golden().join("trees").join(name));
        let mut scratch = TreeScratch::default();
        let mut out = case.scores.clone();
        let (features, scores) = (case.about().features, case.about().scores);
        let mut score = || {
            case.model.score(&case.rows, &mut scratch, &mut out).unwrap();
            case.model.score(&case.rows[..features], &mut scratch, &mut out[..scores]).unwrap();
        };
        score();
        let before = allocated();
        score();
        assert_eq!(allocated() - before, 0, "{name}");
    }
}
