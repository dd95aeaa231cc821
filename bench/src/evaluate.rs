//! Our side of the contests about models: a program around `crates/models`, driven by the protocol
//! of `bench/peers/models/contest.py`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use models::{
    Candidates, Clustering, EmbedOptions, EmbedScratch, Embedder, FeatureSource, Items, Iterations,
    OnnxModel, OnnxScratch, OnnxValues, Precision, RankModel, RankRequest, Ranked, Ranker,
    RowModel, Scratch, TreeScratch, Trees,
};
use rustix::time::ClockId;
use serde_json::{Value, json};

/// Something that can be done again and again.
trait Contest {
    /// Does a task once and returns how many units it was.
    fn run(&mut self, task: &str) -> Result<usize>;
    /// Returns results, to be compared.
    fn results(&mut self, what: &str) -> Result<Vec<u8>>;
}

/// Takes part until its input ends: `trees MODEL ROWS`, `rank MODEL ITEMS REQUESTS`,
/// `onnx MODEL ROWS`, or `texts FOLDER PRECISION TEXTS`.
pub(crate) fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut contest: Box<dyn Contest> = match words[..] {
        ["trees", model, rows] => Box::new(TreeContest::read(model, rows)?),
        ["rank", model, items, requests] => Box::new(RankContest::read(model, items, requests)?),
        ["onnx", model, rows] => Box::new(OnnxContest::read(model, rows)?),
        ["texts", dir, precision, texts] => Box::new(TextContest::read(dir, precision, texts)?),
        _ => bail!(
            "usage: bench --evaluate trees|onnx MODEL ROWS | rank MODEL ITEMS REQUESTS | \
             texts FOLDER PRECISION TEXTS"
        ),
    };
    answer("{}")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["run", task, seconds] => {
                let limit: f64 = seconds.parse()?;
                let (started, mut units, mut used) = (cpu_seconds(), 0, 0.0);
                while units == 0 || used < limit {
                    units += contest.run(task)?;
                    used = cpu_seconds() - started;
                }
                answer(&json!({ "units": units, "cpu_seconds": used }).to_string())?;
            }
            ["write", what, file] => {
                fs::write(file, contest.results(what)?)?;
                answer("{}")?;
            }
            _ => bail!("`{line}` is nothing to do"),
        }
    }
    Ok(())
}

fn answer(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

struct TreeContest {
    model: Trees,
    rows: Vec<f64>,
    scores: Vec<f64>,
    scratch: TreeScratch,
}

impl TreeContest {
    fn read(model: &str, rows: &str) -> Result<Self> {
        let model = Trees::read(&fs::read(model)?)?;
        let rows = doubles(rows)?;
        let scores = vec![0.0; rows.len() / model.about().features];
        Ok(Self { model, rows, scores, scratch: TreeScratch::default() })
    }
}

impl Contest for TreeContest {
    fn run(&mut self, task: &str) -> Result<usize> {
        let features = self.model.about().features;
        let together = if task == "alone" { 1 } else { self.scores.len() };
        let rows = self.rows.chunks_exact(together * features);
        for (rows, scores) in rows.zip(self.scores.chunks_exact_mut(together)) {
            self.model.score(rows, &mut self.scratch, scores)?;
        }
        Ok(self.scores.len())
    }

    fn results(&mut self, _: &str) -> Result<Vec<u8>> {
        self.run("together")?;
        Ok(self.scores.iter().flat_map(|score| score.to_le_bytes()).collect())
    }
}

/// Items in the best of a list.
const BEST: usize = 10;

/// Items, ranked for one request after the other.
struct RankContest {
    ranker: Ranker,
    /// The features of each request, by name.
    requests: Vec<Vec<(FeatureSource, String, f64)>>,
    slots: Vec<f64>,
    scratch: Scratch,
    best: Vec<Ranked>,
}

impl RankContest {
    fn read(model: &str, items: &str, requests: &str) -> Result<Self> {
        let trees = Trees::read_explained(&fs::read(model)?, Iterations::Best)?;
        let model = RankModel::Rows(RowModel::of_trees(Arc::new(trees))?);
        let items = Items::parse(&fs::read(items)?, &model.wanted())?;
        let ranker = Ranker::new(model, items)?;
        let text = fs::read_to_string(requests)?;
        let requests = text.lines().map(|line| {
            let request: Value = serde_json::from_str(line)?;
            let mut features = Vec::new();
            for source in [FeatureSource::User, FeatureSource::Context] {
                let of_source = &request[source.prefix()];
                flatten(of_source, &mut String::new(), &mut |path, number| {
                    features.push((source, path.to_owned(), number));
                });
            }
            Ok(features)
        });
        let requests = requests.collect::<Result<_>>()?;
        let (slots, scratch, best) = (Vec::new(), Scratch::default(), Vec::new());
        Ok(Self { ranker, requests, slots, scratch, best })
    }

    fn rank(&mut self, request: usize) -> Result<()> {
        let inputs = self.ranker.inputs();
        inputs.clear(&mut self.slots);
        for (source, name, number) in &self.requests[request] {
            inputs.set_number(*source, name, *number, &mut self.slots)?;
        }
        let request = RankRequest {
            inputs: &self.slots,
            candidates: Candidates::All,
            excluded: &[],
            limit: BEST,
            per_category_max: None,
        };
        Ok(self.ranker.rank(&request, &mut self.scratch, &mut self.best)?)
    }
}

impl Contest for RankContest {
    fn run(&mut self, _: &str) -> Result<usize> {
        (0..self.requests.len()).try_for_each(|request| self.rank(request))?;
        Ok(self.requests.len())
    }

    fn results(&mut self, _: &str) -> Result<Vec<u8>> {
        let mut lists = Vec::new();
        for request in 0..self.requests.len() {
            self.rank(request)?;
            lists.extend(self.best.iter().flat_map(|one| f64::from(one.row).to_le_bytes()));
        }
        Ok(lists)
    }
}

/// Hands over each number with its dotted name.
fn flatten(value: &Value, path: &mut String, visit: &mut dyn FnMut(&str, f64)) {
    let length = path.len();
    for (name, value) in value.as_object().into_iter().flatten() {
        path.push_str(if length > 0 { "." } else { "" });
        path.push_str(name);
        match value.as_f64() {
            Some(number) => visit(path, number),
            None => flatten(value, path, visit),
        }
        path.truncate(length);
    }
}

/// A graph whose second output has a score in its second column.
struct OnnxContest {
    model: OnnxModel,
    rows: Vec<f32>,
    scratch: OnnxScratch,
}

impl OnnxContest {
    fn read(model: &str, rows: &str) -> Result<Self> {
        let model = OnnxModel::read(&fs::read(model)?)?;
        let rows = doubles(rows)?.into_iter().map(|number| number as f32).collect();
        Ok(Self { model, rows, scratch: OnnxScratch::default() })
    }
}

impl Contest for OnnxContest {
    fn run(&mut self, task: &str) -> Result<usize> {
        let features = self.model.about().features;
        let together = if task == "alone" { features } else { self.rows.len() };
        for rows in self.rows.chunks_exact(together) {
            self.model.run(rows, &mut self.scratch)?;
        }
        Ok(self.rows.len() / features)
    }

    fn results(&mut self, _: &str) -> Result<Vec<u8>> {
        let width = self.model.about().outputs[1].width;
        let answer = self.model.run(&self.rows, &mut self.scratch)?;
        let OnnxValues::Floats(scores) = answer.output(1) else { bail!("scores are no floats") };
        let scores = scores.iter().skip(1).step_by(width);
        Ok(scores.flat_map(|score| f64::from(*score).to_le_bytes()).collect())
    }
}

/// Reads rows of little-endian doubles.
fn doubles(file: &str) -> Result<Vec<f64>> {
    Ok(fs::read(file)?.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// Texts, their vectors as they are made, and groups of those.
struct TextContest {
    embedder: Embedder,
    texts: Vec<String>,
    vectors: Vec<f32>,
    scratch: EmbedScratch,
    groups: BTreeMap<usize, Vec<i32>>,
}

impl TextContest {
    fn read(dir: &str, precision: &str, texts: &str) -> Result<Self> {
        let precision = match precision {
            "bf16" => Precision::Bf16,
            "int8" => Precision::Int8,
            _ => Precision::Single,
        };
        let embedder = Embedder::load(Path::new(dir), precision)?;
        let texts: Vec<String> = fs::read_to_string(texts)?.lines().map(str::to_owned).collect();
        let vectors = vec![0.0; texts.len() * embedder.about().dims];
        let (scratch, groups) = (EmbedScratch::default(), BTreeMap::new());
        Ok(Self { embedder, texts, vectors, scratch, groups })
    }

    fn embed(&mut self, count: usize) -> Result<()> {
        let texts: Vec<&str> = self.texts[..count].iter().map(String::as_str).collect();
        let vectors = &mut self.vectors[..count * self.embedder.about().dims];
        self.embedder.embed(&texts, EmbedOptions::default(), &mut self.scratch, vectors)?;
        Ok(())
    }

    /// Groups the first vectors; whose texts were not embedded, has none.
    fn group(&mut self, count: usize) -> Result<()> {
        let dims = self.embedder.about().dims;
        let how = Clustering::for_rows(count, self.embedder.about().kind);
        let found = how.cluster(&self.vectors[..count * dims], dims)?;
        let mut groups = vec![-1; count];
        for (number, cluster) in (0..).zip(&found.clusters) {
            cluster.members.iter().for_each(|row| groups[*row as usize] = number);
        }
        self.groups.insert(count, groups);
        Ok(())
    }

    /// How many of the texts a task or result is about: `embed`, or `group-1000`.
    fn count(&self, task: &str) -> Result<usize> {
        let Some((_, count)) = task.split_once('-') else { return Ok(self.texts.len()) };
        let count = count.parse().with_context(|| format!("`{task}` names no number"))?;
        Ok(self.texts.len().min(count))
    }
}

impl Contest for TextContest {
    fn run(&mut self, task: &str) -> Result<usize> {
        let count = self.count(task)?;
        match task.starts_with("group") {
            true => self.group(count)?,
            false => self.embed(count)?,
        }
        Ok(count)
    }

    fn results(&mut self, what: &str) -> Result<Vec<u8>> {
        if what == "vectors" {
            return Ok(self.vectors.iter().flat_map(|number| number.to_le_bytes()).collect());
        }
        let groups = self.groups.get(&self.count(what)?);
        let groups = groups.with_context(|| format!("`{what}` were not made"))?;
        Ok(groups.iter().flat_map(|group| group.to_le_bytes()).collect())
    }
}
