//! Reads our packages as trees of modules, and finds where the names in them are defined.
//!
//! Only files below `src/` count; of a library and a program in one package the library is the
//! root.
//! Invariant: code that only tests see is in no crate here: modules under `#[cfg(test)]` go with
//! all below, `syntax.rs` leaves out other items.
//! Refuses: to know types. A method is found only on `self`, `Self` or a type's name.
//! Elsewhere: following a path (`crates/resolve.rs`), the facts of a file (`syntax.rs`).

mod resolve;

use std::collections::BTreeMap;

use crate::graph::Graph;
use crate::source::Source;
use crate::syntax::{Module, Path};

pub(crate) use resolve::{Definition, Resolver};

/// One package without its tests, examples and build script.
#[derive(Debug)]
pub(crate) struct Crate<'a> {
    pub name: String,
    /// From the root of the repository.
    pub dir: String,
    /// By path from the root of the crate, which has the empty path; parents before children.
    pub modules: BTreeMap<Path, Placed<'a>>,
}

/// A module and the file it stands in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub file: &'a str,
    pub module: &'a Module,
}

impl Crate<'_> {
    /// Returns whether the package is built into what users run.
    pub(crate) fn is_product(&self) -> bool {
        self.dir.starts_with("crates/") && self.name != "testkit"
    }
}

/// Returns our packages by name.
pub(crate) fn of<'a>(graph: &Graph, sources: &'a [Source]) -> Vec<Crate<'a>> {
    let ours = graph.ours();
    ours.into_iter().map(|(_, package)| read(&package.name, package.dir(), sources)).collect()
}

fn read<'a>(name: &str, dir: &str, sources: &'a [Source]) -> Crate<'a> {
    let below = format!("{dir}/src/");
    let mut modules = BTreeMap::new();
    for source in sources {
        let Some(file) = source.path.strip_prefix(&below) else { continue };
        let path = path_of(file);
        for module in &source.syntax.modules {
            let whole: Path = path.iter().chain(&module.inline).cloned().collect();
            // A package may have both a library and a program, with one root each.
            if whole.is_empty() && modules.contains_key(&whole) && file != "lib.rs" {
                continue;
            }
            modules.insert(whole, Placed { file: &source.path, module });
        }
    }
    drop_tests(&mut modules);
    Crate { name: name.to_owned(), dir: dir.to_owned(), modules }
}

/// `a/b.rs` is `a::b`, and `lib.rs` the root.
fn path_of(file: &str) -> Path {
    let parts = file.trim_end_matches(".rs").split('/');
    let parts = parts.filter(|part| !matches!(*part, "lib" | "main" | "mod"));
    parts.map(str::to_owned).collect()
}

/// Removes modules that are declared under `#[cfg(test)]`, with all below.
fn drop_tests(modules: &mut BTreeMap<Path, Placed>) {
    let mut tests: Vec<Path> = Vec::new();
    for (path, placed) in &*modules {
        for child in placed.module.children.iter().filter(|child| child.test) {
            let mut path = path.clone();
            path.push(child.name.clone());
            tests.push(path);
        }
    }
    modules.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
}

#[cfg(test)]
pub(crate) mod sample {
    //! Small crates for the tests of the rules.

    use crate::source::Source;

    /// Files of a crate `x`: the path below `src/`, then the text.
    pub(crate) fn sources(files: &[(&str, &str)]) -> Vec<Source> {
        let read = |(path, text): &(&str, &str)| {
            Source::read(&format!("crates/x/src/{path}"), text).expect("the sample is Rust")
        };
        files.iter().map(read).collect()
    }

    /// Returns the crate `x` of these files.
    pub(crate) fn of(sources: &[Source]) -> super::Crate<'_> {
        super::read("x", "crates/x", sources)
    }
}

#[cfg(test)]
mod tests;
