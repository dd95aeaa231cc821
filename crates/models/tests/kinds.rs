//! The table in docs/MODELS.md of what is evaluated in this process and what elsewhere.
//!
//! Claim: every row stands for model files that are tried here. Those of this process are read, the
//! others are refused with what to do. `python/tests/test_onnx.py` shows that ONNX Runtime in a
//! worker answers with them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use models::{OnnxModel, Trees};

/// Where a kind of model is evaluated.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    Process,
    /// By ONNX Runtime, in the app that Tidegate has.
    Worker,
    /// By an app of the user.
    UserApp,
}

const PROCESS: Home = Home::Process;

/// Kinds by library, with files of each; a name's first letters stand for all files with them.
const KINDS: &[(&str, &str, Home, &[&str])] = &[
    ("LightGBM", "trees of any objective, `rf`, `dart`", PROCESS, &["trees/lgb-"]),
    ("", "`linear_tree`", PROCESS, &["trees/lgb-linear"]),
    ("XGBoost", "`gbtree`, `dart`, early stopping", PROCESS, &["trees/xgb-"]),
    ("", "`multi_output_tree`", PROCESS, &["trees/xgb-vectors"]),
    ("", "`gblinear`", PROCESS, &["trees/xgb-linear"]),
    (
        "scikit-learn, by skl2onnx",
        "linear models, their classes and probabilities",
        PROCESS,
        &["onnx/logistic", "onnx/ridge", "onnx/sgd", "onnx/poisson", "onnx/svc-linear"],
    ),
    ("", "support vector machines", PROCESS, &["onnx/svc-", "onnx/svr-", "onnx/svm-"]),
    ("", "nearest neighbours, outliers by them", PROCESS, &["onnx/near"]),
    (
        "",
        "naive Bayes, mixtures, Gaussian processes",
        PROCESS,
        &["onnx/bayes", "onnx/mixture", "onnx/process"],
    ),
    (
        "",
        "trees, forests, boosting, AdaBoost",
        PROCESS,
        &["onnx/tree", "onnx/forest", "onnx/extra", "onnx/boosting", "onnx/hist", "onnx/ada"],
    ),
    ("", "multi-layer perceptrons", PROCESS, &["onnx/network"]),
    ("", "calibrated, one class against one", PROCESS, &["onnx/calibrated", "onnx/one-by-one"]),
    (
        "",
        "scalers, imputers, polynomials, quantiles",
        PROCESS,
        &["onnx/pipeline", "onnx/quantiles"],
    ),
    (
        "",
        "one-hot, ordinal and target encoders, of texts too",
        PROCESS,
        &["onnx/texts", "onnx/integers"],
    ),
    ("", "`TfidfVectorizer`, `CountVectorizer`", Home::Worker, &["elsewhere/words"]),
    ("", "`KNNImputer`", Home::Worker, &["elsewhere/neighbours-imputed"]),
    ("", "`MultiOutputClassifier`", Home::Worker, &["elsewhere/several-labels"]),
    ("LightGBM, XGBoost, by onnxmltools", "trees", PROCESS, &["onnx/lightgbm", "onnx/xgboost"]),
    ("PyTorch, TensorFlow, as ONNX", "convolutions", Home::Worker, &["elsewhere/convolution"]),
    ("", "recurrent networks", Home::Worker, &["elsewhere/recurrent"]),
    ("", "half floats", Home::Worker, &["elsewhere/half"]),
    ("CatBoost", "JSON", Home::UserApp, &["elsewhere/catboost"]),
];

impl Home {
    fn words(self) -> &'static str {
        match self {
            Self::Process => "this process",
            Self::Worker => "a worker, `tidegate.onnx:app`",
            Self::UserApp => "a worker, your app",
        }
    }

    /// What a refusal says to do.
    fn hint(self) -> &'static str {
        match self {
            Self::Process => "",
            Self::Worker => "`python = \"tidegate.onnx:app\"` (docs/MODELS.md)",
            Self::UserApp => "call it in a worker app (docs/WORKERS.md)",
        }
    }
}

fn files(start: &str) -> Vec<PathBuf> {
    let start = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(start);
    let name = start.file_name().unwrap().to_string_lossy().into_owned();
    let all = fs::read_dir(start.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    let is_one = |path: &PathBuf| {
        path.file_name().unwrap().to_string_lossy().starts_with(&name)
            && path.extension().is_none_or(|ending| ending != "rows")
    };
    all.filter(is_one).collect()
}

/// Reads a model as the server does: an ONNX file by its first byte, any other as trees.
fn read(path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).unwrap();
    let read = match bytes.first() {
        Some(8) => OnnxModel::read(&bytes).map(drop),
        _ => Trees::read(&bytes).map(drop),
    };
    read.map_err(|error| error.to_string())
}

#[test]
fn every_kind_is_read_here_or_refused_with_what_to_do() {
    for (_, kind, home, starts) in KINDS {
        for start in *starts {
            let files = files(start);
            assert!(!files.is_empty(), "no file begins with {start}");
            for file in files {
                match (read(&file), home) {
                    (Ok(()), Home::Process) => {}
                    (Err(error), Home::Worker | Home::UserApp) => {
                        assert!(error.ends_with(home.hint()), "{kind}: {error}");
                    }
                    (found, _) => panic!("{kind}, {}: {found:?}", file.display()),
                }
            }
        }
    }
}

#[test]
fn the_documentation_has_the_table() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MODELS.md");
    let mut table = String::from("| library | models | evaluated in |\n|---|---|---|\n");
    for (library, kind, home, _) in KINDS {
        table.push_str(&format!("| {library} | {kind} | {} |\n", home.words()));
    }
    let text = fs::read_to_string(docs).unwrap();
    assert!(text.contains(&table), "docs/MODELS.md must have this table:\n\n{table}");
}
