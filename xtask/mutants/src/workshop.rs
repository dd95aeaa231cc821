//! Builds the tests of a crate with mutants, in a copy of the checkout.
//!
//! The copy and its target directory stay in `target/mutants` for the next time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use tempfile::{NamedTempFile, TempPath};

use crate::mutant::Mutant;
use crate::weave::{QUESTION, number_before, weave};

/// A copy of the checkout, in which files are changed.
#[derive(Debug)]
pub(crate) struct Workshop {
    tree: PathBuf,
    /// Of the crate, from the root of the tree.
    dir: String,
    package: String,
    /// What the changed files were.
    originals: RefCell<BTreeMap<String, String>>,
    /// Locked while this one works in the tree.
    _lock: File,
}

/// A program of tests, which is removed with its last user.
pub(crate) type Binary = Arc<TempPath>;

/// What a build came to.
#[derive(Debug)]
pub(crate) enum Built {
    Binary(Binary),
    Errors(Vec<Error>),
}

/// Where the compiler found an error.
#[derive(Debug)]
pub(crate) struct Error {
    rendered: String,
    /// The file and the byte behind it, for errors in the tree.
    place: Option<(String, usize)>,
}

/// Mutants in one build.
#[derive(Debug)]
pub(crate) struct Together {
    pub(crate) binary: Binary,
    pub(crate) numbers: BTreeSet<usize>,
}

/// What of cargo's messages is read.
#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: String,
    spans: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    file_name: String,
    byte_end: usize,
    is_primary: bool,
}

impl Workshop {
    /// Copies what git knows or would know of the checkout, where it differs from the last copy.
    pub(crate) fn open(root: &Path, package: &str) -> Result<Self> {
        let tree = root.join("target/mutants/tree");
        let lock = File::create(tree.with_file_name("lock"))?;
        lock.try_lock().context("another run works in target/mutants")?;
        let mut git = Command::new("git");
        git.current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = git.output().context("starting `git`")?;
        ensure!(listed.status.success(), "`git ls-files`: {}", listed.status);
        let names = String::from_utf8(listed.stdout)?;
        let names: BTreeSet<&str> = names.split_terminator('\0').collect();
        forget_others(&tree, &tree, &names)?;
        for name in names {
            let Ok(bytes) = fs::read(root.join(name)) else { continue };
            let to = tree.join(name);
            if fs::read(&to).is_ok_and(|there| there == bytes) {
                continue;
            }
            fs::create_dir_all(to.parent().unwrap_or(&tree))?;
            fs::copy(root.join(name), &to).with_context(|| to.display().to_string())?;
        }
        let dir = format!("crates/{package}");
        let package = package.to_owned();
        Ok(Self { tree, dir, package, originals: RefCell::default(), _lock: lock })
    }

    /// Returns the directory of the crate.
    pub(crate) fn dir(&self) -> PathBuf {
        self.tree.join(&self.dir)
    }

    /// Builds as many of these mutants as compile together; each is known by its index.
    pub(crate) fn weave(&self, mutants: &[Mutant]) -> Result<Together> {
        let mut numbers: BTreeSet<usize> = (0..mutants.len()).collect();
        loop {
            let texts = self.woven(mutants, &mut numbers)?;
            let errors = match self.build(&texts)? {
                Built::Binary(binary) => return Ok(Together { binary, numbers }),
                Built::Errors(errors) => errors,
            };
            let before = numbers.len();
            for error in &errors {
                let Some((file, byte)) = &error.place else { continue };
                let text = texts.get(file).map_or("", String::as_str);
                match number_before(text, *byte) {
                    Some(number) => _ = numbers.remove(&number),
                    // Whichever it is, it stands in this file.
                    None => numbers.retain(|number| mutants[*number].file != *file),
                }
            }
            let first = errors.first().map_or("", |error| &error.rendered);
            ensure!(numbers.len() < before, "the tests do not compile:\n{first}");
        }
    }

    /// Builds one mutant by itself.
    pub(crate) fn alone(&self, mutant: &Mutant) -> Result<Built> {
        let text = mutant.applied(&self.original(&mutant.file)?);
        let text = text.context("a place outside its file")?;
        self.build(&BTreeMap::from([(mutant.file.clone(), text)]))
    }

    /// Returns the files with these mutants in them, and leaves out those that have no such form.
    fn woven(
        &self,
        mutants: &[Mutant],
        numbers: &mut BTreeSet<usize>,
    ) -> Result<BTreeMap<String, String>> {
        let mut by_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        let crate_root = format!("{}/src/lib.rs", self.dir);
        by_file.entry(&crate_root).or_default();
        for &number in &*numbers {
            let mutant = &mutants[number];
            by_file.entry(&mutant.file).or_default().push((number, mutant));
        }
        let mut texts = BTreeMap::new();
        for (file, mutants) in by_file {
            let woven = weave(&self.original(file)?, &mutants).with_context(|| file.to_owned())?;
            numbers.retain(|number| !woven.left.contains(number));
            texts.insert(file.to_owned(), woven.text);
        }
        texts.entry(crate_root).or_default().push_str(QUESTION);
        Ok(texts)
    }

    fn original(&self, file: &str) -> Result<String> {
        if let Some(text) = self.originals.borrow().get(file) {
            return Ok(text.clone());
        }
        let text = fs::read_to_string(self.tree.join(file)).with_context(|| file.to_owned())?;
        self.originals.borrow_mut().insert(file.to_owned(), text.clone());
        Ok(text)
    }

    /// Builds the tests with these texts in the place of their files, and puts the files back.
    fn build(&self, texts: &BTreeMap<String, String>) -> Result<Built> {
        for (file, text) in texts {
            fs::write(self.tree.join(file), text)?;
        }
        let built = self.compile();
        for file in texts.keys() {
            fs::write(self.tree.join(file), self.original(file)?)?;
        }
        built
    }

    fn compile(&self) -> Result<Built> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.tree).args(["test", "--lib", "--no-run", "--quiet"]);
        cargo.args(["--message-format", "json", "--package", &self.package]);
        cargo.env("CARGO_TARGET_DIR", self.tree.with_file_name("target"));
        // A mutant may leave something unused, and nobody reads its backtrace.
        cargo.env("RUSTFLAGS", "--cap-lints=allow").env("CARGO_PROFILE_DEV_DEBUG", "0");
        let output = cargo.output().context("starting `cargo`")?;
        let mut errors = Vec::new();
        for line in output.stdout.split(|byte| *byte == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
            match (line.reason.as_str(), line.message, line.executable) {
                ("compiler-artifact", _, Some(program)) => {
                    return Ok(Built::Binary(kept(&program)?));
                }
                ("compiler-message", Some(message), _) if message.level == "error" => {
                    let primary = message.spans.into_iter().find(|span| span.is_primary);
                    let place = primary.map(|span| (span.file_name, span.byte_end));
                    errors.push(Error { rendered: message.rendered, place });
                }
                _ => {}
            }
        }
        if errors.is_empty() {
            bail!("cargo: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(Built::Errors(errors))
    }
}

/// Copies a program, for the next build overwrites it.
fn kept(program: &Path) -> Result<Binary> {
    let dir = program.parent().context("a program without a directory")?;
    let mut copy = NamedTempFile::with_prefix_in("mutant-", dir)?;
    copy.write_all(&fs::read(program)?)?;
    copy.as_file().set_permissions(fs::metadata(program)?.permissions())?;
    Ok(Arc::new(copy.into_temp_path()))
}

/// Removes the files of an earlier copy that are no more.
fn forget_others(tree: &Path, dir: &Path, names: &BTreeSet<&str>) -> Result<()> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            forget_others(tree, &path, names)?;
        } else if path.strip_prefix(tree)?.to_str().is_none_or(|name| !names.contains(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
