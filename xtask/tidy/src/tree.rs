//! The repository as the rules see it: Rust sources, other texts, data files of tidy, packages.
//!
//! Read once, then only looked at; the only thing a rule may write is the ratchet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::graph::Graph;
use crate::source::Source;

/// Folders of other tools, and of what is built or downloaded.
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
        let mut tree = Tree {
            sources: Vec::new(),
            texts: Vec::new(),
            graph: Graph::read(root)?,
            root: root.to_owned(),
        };
        tree.walk(root)?;
        tree.sources.sort_by(|a, b| a.path.cmp(&b.path));
        tree.texts.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// Returns a data file of tidy.
    pub(crate) fn data(&self, name: &str) -> Result<Text> {
        let path = format!("xtask/tidy/{name}");
        let text = fs::read_to_string(self.root.join(&path))
            .with_context(|| format!("reading `{path}`"))?;
        Ok(Text::new(&path, &text))
    }

    fn walk(&mut self, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("reading folder `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                self.walk(&path)?;
            } else if kind.is_file() {
                self.add(&path)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let makefile = path.file_name().is_some_and(|name| name == "Makefile");
        if !makefile && !matches!(extension, "rs" | "md" | "py" | "sh" | "toml") {
            return Ok(());
        }
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            // Another program may remove its file between the listing and the reading.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(e).with_context(|| format!("reading `{}`", path.display())),
        };
        let relative = path.strip_prefix(&self.root)?.to_string_lossy().replace('\\', "/");
        if extension == "rs" {
            self.sources.push(Source::parse(&relative, &text));
        } else {
            self.texts.push(Text::new(&relative, &text));
        }
        Ok(())
    }
}

/// Returns the root of the repository that this program was built in.
pub(crate) fn built_in() -> PathBuf {
    let tidy = Path::new(env!("CARGO_MANIFEST_DIR"));
    tidy.ancestors().nth(2).unwrap_or(tidy).to_path_buf()
}
