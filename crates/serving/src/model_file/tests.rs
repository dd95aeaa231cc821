//! What stands in the place of a file neither stops the thread that watches nor fills memory.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use generation::{Polled, Watched};
use models::Iterations;
use tempfile::TempDir;

use super::*;
use crate::config::{GoldenPlan, PredictorPlan};
use crate::predicting;
use crate::ranking::LoadedRanker;
use crate::tests as fixture;

/// A way to put something else in the place of a file, and what the error has.
type Stranger = (fn(&Path), &'static str);

const STRANGERS: [Stranger; 4] = [
    (fifo, "it is no regular file"),
    (|path| symlink("/dev/zero", path).unwrap(), "it is no regular file"),
    (|path| fs::create_dir(path).unwrap(), "it is no regular file"),
    (|path| File::create(path).unwrap().set_len(1 << 40).unwrap(), "it has more than the "),
];

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn plan(dir: &TempDir) -> PredictorPlan {
    let file = dir.path().join("model.json");
    fixture::replace(&file, fixture::MODEL);
    PredictorPlan {
        name: "m".to_owned(),
        file,
        version: None,
        golden: None,
        iterations: Iterations::Best,
        rows_max: 10,
        concurrency: 1,
        queue_max: 0,
    }
}

#[test]
fn a_model_serves_on_while_its_file_is_none() {
    for (put, wanted) in STRANGERS {
        let dir = TempDir::new().unwrap();
        let plan = plan(&dir);
        let file = plan.file.clone();
        let watched = Watched::open(&file, move |_: &Path| predicting::load(&plan));
        let good = watched.current().unwrap().number;
        fs::remove_file(&file).unwrap();
        put(&file);
        assert_eq!(watched.poll(), Polled::Refused);
        let problem = watched.status().problem.unwrap().message;
        assert!(problem.contains("model.json") && problem.contains(wanted), "{problem}");
        assert_eq!(watched.current().unwrap().number, good);
    }
}

/// An error with its causes.
fn whole(error: LoadError) -> String {
    stdx::Chain(&error).to_string()
}

#[test]
fn items_and_golden_inputs_that_are_no_files_are_refused_by_name() {
    for (put, wanted) in STRANGERS {
        let dir = fixture::dir(3);
        let ranking = fixture::plan(dir.path());
        fs::remove_file(&ranking.items).unwrap();
        put(&ranking.items);
        let error = whole(LoadedRanker::load(&ranking).unwrap_err());
        assert!(error.contains("items.jsonl") && error.contains(wanted), "{error}");
        let file = dir.path().join("golden.json");
        put(&file);
        let golden = Some(GoldenPlan { file, tolerance: 0.0 });
        let error = predicting::load(&PredictorPlan { golden, ..plan(&dir) }).unwrap_err();
        let error = whole(error);
        assert!(error.contains("golden.json") && error.contains(wanted), "{error}");
    }
}
