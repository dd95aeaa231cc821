//! Finds who uses whom, on each level of a crate's tree of modules.
//!
//! An arrow stands on the level where the two modules part, with each name and the place of its
//! first use. A function of a type is also used where its `impl` stands. Nothing crosses within a
//! module, nor from or to the root of the crate. A module that is only named is not used.
//! A path that cannot be followed (`crates/resolve.rs`) is no arrow.

use std::collections::{BTreeMap, BTreeSet};

use crate::crates::{Crate, Definition, Resolver};
use crate::syntax::Path;

/// The node of what stands in the file of a module that has children.
pub(super) const SELF: &str = "self";

/// What crosses an arrow: the name, and the file and line of its first use.
pub(super) type Names = BTreeMap<String, (String, usize)>;

/// The children of one module, and `self`.
#[derive(Debug, Default)]
pub(super) struct Level {
    pub modules: BTreeSet<String>,
    pub arrows: BTreeMap<(String, String), Names>,
}

/// Returns the levels by their place: the crate's name, then the modules down to the parent.
pub(super) fn of(of: &Crate) -> BTreeMap<String, Level> {
    let resolver = Resolver::new(of);
    let mut levels = Levels { of, by_place: BTreeMap::new() };
    for (from, placed) in &of.modules {
        let module = placed.module;
        let imports = module.imports.iter().filter(|import| !import.reexport);
        let imports = imports.map(|import| (&import.path, import.line));
        let references = module.references.iter().map(|(path, line)| (path, *line));
        for (path, line) in imports.chain(references) {
            let Some(definition) = resolver.resolve(from, path) else { continue };
            for (to, name) in targets(&resolver, &definition) {
                let names = levels.arrow(from, to);
                let place = || (placed.file.to_owned(), line);
                names.map(|names| names.entry(name).or_insert_with(place));
            }
        }
    }
    levels.by_place
}

/// Returns the modules that a definition is in, each with what is used of it. A module that is
/// only named is none: what is used of it is named in full where it is used.
fn targets<'d>(resolver: &Resolver<'d>, definition: &'d Definition) -> Vec<(&'d Path, String)> {
    let Definition::Item { module, name, rest } = definition else { return Vec::new() };
    let mut targets = vec![(module, name.clone())];
    for place in resolver.implementors(definition) {
        targets.push((place, format!("{name}::{}", rest[0])));
    }
    targets
}

struct Levels<'c> {
    of: &'c Crate<'c>,
    by_place: BTreeMap<String, Level>,
}

impl Levels<'_> {
    /// Returns what crosses on the level where the two modules part; nothing crosses within a
    /// module, nor from or to the root.
    fn arrow(&mut self, from: &Path, to: &Path) -> Option<&mut Names> {
        let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        let at_root = common == 0 && (from.is_empty() || to.is_empty());
        if from == to || at_root {
            return None;
        }
        let node = |path: &Path| path.get(common).cloned().unwrap_or_else(|| SELF.to_owned());
        let parents = std::iter::once(&self.of.name).chain(&from[..common]);
        let place: Vec<&str> = parents.map(String::as_str).collect();
        let level = self.by_place.entry(place.join("/")).or_default();
        let arrow = (node(from), node(to));
        level.modules.extend([arrow.0.clone(), arrow.1.clone()]);
        Some(level.arrows.entry(arrow).or_default())
    }
}
