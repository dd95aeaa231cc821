//! Compiles once for lints and tests: clippy compiles the workspace, and a warning is an error.
//!
//! Cargo calls this program in place of `rustc` for our own packages. It calls `clippy-driver`,
//! which lints and compiles in one go, and notes the seconds of CPU of each target in a file.
//! Also here: the test programs that a build made, how each is run and shown, and what packages
//! cost. What all dependencies cost is noted once, at the first build. The long tests `engines` are
//! compiled, not returned.
//! Elsewhere: running tests (`suite/job.rs`), budgets (`budget.rs`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::checkout::root;
use crate::{cpu, packages};

/// How `cargo clippy -- -D warnings` tells clippy.
const LINTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
/// A file name that cargo gives every compiler.
const COMPILER: &str = "rustc";
/// Tells a program with tests in it from the same without.
const TESTED: &str = "/tested";
/// What everything of others cost when it was last compiled at once.
pub(crate) const DEPENDENCIES: &str = "dependencies";

/// A program with tests in it.
#[derive(Debug)]
pub(crate) struct TestProgram {
    pub package: String,
    /// Whether it tests a package from outside.
    pub outside: bool,
    /// Its source file, from the root of the checkout.
    pub source: String,
    pub path: PathBuf,
}

/// Compiles and lints what the selection of packages says, such as `--workspace`, and returns its
/// test programs. The workspace has one more, `engines`, which is compiled but not returned: it
/// needs what `make test-engines` sets up.
pub(crate) fn tests(selection: &[&str]) -> Result<Vec<TestProgram>> {
    let wrapper = wrapper()?;
    let ours_before: f64 = seconds().values().sum();
    let whole = build(&wrapper, &[&["--all-targets"], selection].concat())?;
    let notes = notes();
    let dependencies = notes.join(DEPENDENCIES);
    if !dependencies.exists() && notes.exists() {
        let ours: f64 = seconds().values().sum();
        fs::write(&dependencies, format!("{:.1}", whole - (ours - ours_before)))?;
    }
    let programs = read_artifacts(&fs::read_to_string(artifacts(&wrapper))?)?;
    if selection.contains(&"--workspace") {
        build(&wrapper, &[&["--test", "engines"], selection].concat())?;
    }
    Ok(programs)
}

/// Builds tests by the wrapper, and returns the seconds of CPU that this took.
fn build(wrapper: &Path, selection: &[&str]) -> Result<f64> {
    let log = artifacts(wrapper);
    let file = fs::File::create(&log).with_context(|| format!("creating `{}`", log.display()))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "--no-run", "--message-format=json-render-diagnostics"]).args(selection);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", wrapper).current_dir(root());
    let mut child = cargo.stdout(file).stdin(Stdio::null()).spawn().context("starting `cargo`")?;
    let (status, seconds) = cpu::wait(&mut child)?;
    ensure!(status.success(), "cargo: {status}");
    Ok(seconds)
}

/// What cargo printed about the last build.
fn artifacts(wrapper: &Path) -> PathBuf {
    wrapper.with_file_name("xtask-compile.json")
}

/// Finds test programs in what cargo printed, one JSON object a line.
fn read_artifacts(text: &str) -> Result<Vec<TestProgram>> {
    let mut programs = Vec::new();
    for line in text.lines() {
        let artifact: Value = serde_json::from_str(line).context("reading what cargo printed")?;
        let Some(path) = artifact["executable"].as_str() else { continue };
        let target = &artifact["target"];
        if artifact["profile"]["test"] != true || target["kind"][0] == "example" {
            continue;
        }
        let source = target["src_path"].as_str().context("a target has no source")?;
        let source = Path::new(source).strip_prefix(root()).unwrap_or(Path::new(source));
        let source = source.display().to_string();
        let Some(package) = packages::of(&source) else {
            bail!("`{source}` belongs to no package that xtask knows");
        };
        programs.push(TestProgram {
            package: package.to_owned(),
            outside: target["kind"][0] == "test",
            source: source.clone(),
            path: path.into(),
        });
    }
    Ok(programs)
}

impl TestProgram {
    /// Returns the command that `cargo test` would run.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        let dir = packages::dir(&self.package);
        command.current_dir(&dir).env("CARGO_MANIFEST_DIR", &dir);
        command
    }

    /// Returns the same for a reader to type.
    pub(crate) fn shown(&self) -> String {
        let stem = Path::new(&self.source).file_stem().unwrap_or_default().to_string_lossy();
        let target = match (self.outside, &*stem) {
            (true, "main") => format!("--test {}", self.parent()),
            (true, name) => format!("--test {name}"),
            (false, "main") => format!("--bin {}", self.package),
            (false, _) => "--lib".to_owned(),
        };
        format!("cargo test --package {} {target}", self.package)
    }

    fn parent(&self) -> String {
        let parent = Path::new(&self.source).parent().and_then(Path::file_name);
        parent.unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Returns the seconds of CPU that each package last took, and those of all of others.
pub(crate) fn seconds() -> BTreeMap<String, f64> {
    let mut seconds = BTreeMap::new();
    for entry in fs::read_dir(notes()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().replace('!', "/");
        let source = name.strip_suffix(TESTED).unwrap_or(&name);
        let package = packages::of(source).unwrap_or(source);
        if package != DEPENDENCIES && !root().join(source).exists() {
            continue;
        }
        let note = fs::read_to_string(entry.path()).unwrap_or_default();
        *seconds.entry(package.to_owned()).or_insert(0.0) += note.parse().unwrap_or(0.0);
    }
    seconds
}

/// Acts as the compiler if that is how cargo calls this program.
pub(crate) fn as_compiler(words: &[&str]) -> Option<ExitCode> {
    let (compiler, arguments) = words.split_first()?;
    if Path::new(compiler).file_name()? != COMPILER {
        return None;
    }
    Some(lint_and_compile(compiler, arguments).unwrap_or(ExitCode::FAILURE))
}

fn lint_and_compile(compiler: &str, arguments: &[&str]) -> Result<ExitCode> {
    let mut clippy = Command::new("clippy-driver");
    clippy.arg(compiler).args(arguments).env("CLIPPY_ARGS", LINTS);
    let mut child = clippy.spawn().context("starting `clippy-driver`")?;
    let (status, seconds) = cpu::wait(&mut child)?;
    if let Some(source) = arguments.iter().find(|word| packages::of(word).is_some()) {
        let tested = if arguments.contains(&"--test") { TESTED } else { "" };
        let note = format!("{source}{tested}").replace('/', "!");
        fs::create_dir_all(notes())?;
        fs::write(notes().join(note), format!("{seconds:.2}"))?;
    }
    Ok(status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)))
}

/// Puts a copy of this program where a compile of it does not overwrite it.
fn wrapper() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program")?;
    let (copy, wrapper) = (beside("xtask-rustc.new"), beside("xtask-rustc"));
    fs::copy(program, &copy).with_context(|| format!("writing `{}`", copy.display()))?;
    fs::rename(&copy, &wrapper).with_context(|| format!("writing `{}`", wrapper.display()))?;
    Ok(wrapper)
}

/// Where each target has a file with its seconds.
fn notes() -> PathBuf {
    beside("xtask-seconds")
}

/// Beside this program, in the directory that cargo builds into.
pub(crate) fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap_or_default().with_file_name(name)
}

#[cfg(test)]
mod tests;
