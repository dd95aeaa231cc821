//! Reads the repository for the rules: Rust sources, other texts, data files of tidy, packages.
//!
//! Files are `.rs`, `.md`, `.py`, `.sh`, `.toml` and Makefiles, but for directories named in
//! `SKIPPED`, at any depth. A file that is no Rust, or cannot be read, is an error; one that
//! vanishes meanwhile is passed over.
//! Invariant: it is read once, on all cores, then only looked at. Writing is done by `main.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};

use crate::graph::Graph;
use crate::source::Source;

/// Directories of other tools, and of what is built or downloaded.
const SKIPPED: [&str; 8] =
    ["target", ".git", ".venv", "venv", "node_modules", "data", "out", "__pycache__"];

#[derive(Debug)]
pub(crate) struct Tree {
    pub root: PathBuf,
    pub sources: Vec<Source>,
    /// Texts that are not Rust: Markdown, Python, shell, TOML, Makefile.
    pub texts: Vec<Text>,
    pub graph: Graph,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub path: String,
    pub lines: Vec<String>,
}

impl Text {
    pub(crate) fn new(path: &str, text: &str) -> Text {
        Text { path: path.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Tree> {
        let mut paths = Vec::new();
        files(root, &mut paths)?;
        let (files, graph) = thread::scope(|scope| {
            let graph = scope.spawn(|| Graph::read(root));
            (read(root, &paths), graph.join().expect("reading the metadata panics nowhere"))
        });
        let Files { sources, texts } = files?;
        Ok(Tree { root: root.to_owned(), sources, texts, graph: graph? })
    }

    /// Returns a data file of tidy; a checkout without it is held to that of this program.
    pub(crate) fn data(&self, name: &str) -> Result<Text> {
        let path = format!("xtask/tidy/{name}");
        let here = self.root.join(&path);
        let file = if here.exists() { here } else { built_in().join(&path) };
        let text = fs::read_to_string(file).with_context(|| format!("reading `{path}`"))?;
        Ok(Text::new(&path, &text))
    }
}

/// Returns the paths of the files that rules look at.
fn files(dir: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(dir).with_context(|| format!("listing `{}`", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
            files(&path, found)?;
        } else if kind.is_file() && is_looked_at(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_looked_at(path: &Path) -> bool {
    let makefile = path.file_name().is_some_and(|name| name == "Makefile");
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    makefile || matches!(extension, "rs" | "md" | "py" | "sh" | "toml")
}

#[derive(Debug, Default)]
struct Files {
    sources: Vec<Source>,
    texts: Vec<Text>,
}

/// Reads the files on all cores: parsing is most of what tidy does.
fn read(root: &Path, paths: &[PathBuf]) -> Result<Files> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // Dealt out like cards, because large files stand side by side.
    let hands = (0..cores).map(|core| paths.iter().skip(core).step_by(cores));
    let parts: Vec<Result<Files>> = thread::scope(|scope| {
        let started: Vec<_> =
            hands.map(|hand| scope.spawn(move || read_some(root, hand))).collect();
        started.into_iter().map(|thread| thread.join().expect("parsing panics nowhere")).collect()
    });
    let mut all = Files::default();
    for part in parts {
        let part = part?;
        all.sources.extend(part.sources);
        all.texts.extend(part.texts);
    }
    all.sources.sort_by(|a, b| a.path.cmp(&b.path));
    all.texts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

fn read_some<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Result<Files> {
    let mut files = Files::default();
    for path in paths {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            // Another program may remove its file between the listing and the reading.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e).with_context(|| format!("reading `{}`", path.display())),
        };
        let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.sources.push(Source::read(&relative, &text)?);
        } else {
            files.texts.push(Text::new(&relative, &text));
        }
    }
    Ok(files)
}

/// Returns the root of the repository that this program was built in.
pub(crate) fn built_in() -> PathBuf {
    let tidy = Path::new(env!("CARGO_MANIFEST_DIR"));
    tidy.ancestors().nth(2).unwrap_or(tidy).to_path_buf()
}
