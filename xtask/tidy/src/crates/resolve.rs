//! Follows a path as written in a module to the module that defines what it names.
//!
//! It goes through `crate`, `self`, `super`, imports, re-exports and globs, and knows where the
//! `impl` of a function stands. A path that leaves the crate, or takes more than 16 imports, is
//! `None`.
//! A name that a named module does not visibly hold counts as its own, since a macro may have made
//! it. A glob's module must be seen to hold it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Crate, Placed};
use crate::syntax::{Import, Path};

/// Imports that lead to imports; more is a circle of them.
const HOPS_MAX: usize = 16;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Definition {
    Module(Path),
    Item {
        module: Path,
        name: String,
        /// What follows behind the item: a variant, an associated function.
        rest: Path,
    },
}

/// Knows the modules of one crate, and which module holds which `impl`.
pub(crate) struct Resolver<'a> {
    modules: &'a BTreeMap<Path, Placed<'a>>,
    /// By the type's module and name, then the function's name: where the `impl` stands.
    methods: BTreeMap<(Path, String), BTreeMap<&'a str, BTreeSet<&'a Path>>>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(of: &'a Crate<'a>) -> Resolver<'a> {
        let mut resolver = Resolver { modules: &of.modules, methods: BTreeMap::new() };
        let mut methods: BTreeMap<_, BTreeMap<&str, BTreeSet<&Path>>> = BTreeMap::new();
        for (path, placed) in &of.modules {
            for block in placed.module.impls.iter().filter(|block| !block.inherent.is_empty()) {
                let Some((module, name)) = resolver.type_of(path, &block.of) else { continue };
                let functions = methods.entry((module, name)).or_default();
                for function in &block.inherent {
                    functions.entry(function).or_default().insert(path);
                }
            }
        }
        resolver.methods = methods;
        resolver
    }

    /// Returns the module and name of the type that a path in `from` names.
    pub(crate) fn type_of(&self, from: &Path, path: &[String]) -> Option<(Path, String)> {
        match self.resolve(from, path)? {
            Definition::Item { module, name, .. } => Some((module, name)),
            Definition::Module(_) => None,
        }
    }

    /// Returns the modules where the associated function of a type stands, outside of the type's
    /// own module.
    pub(crate) fn implementors(&self, definition: &Definition) -> Vec<&'a Path> {
        let Definition::Item { module, name, rest } = definition else { return Vec::new() };
        let functions = self.methods.get(&(module.clone(), name.clone()));
        let places = rest.first().and_then(|function| functions?.get(function.as_str()));
        places.into_iter().flatten().copied().filter(|place| *place != module).collect()
    }

    /// Returns where the path leads; nothing if it leaves the crate.
    pub(crate) fn resolve(&self, from: &Path, path: &[String]) -> Option<Definition> {
        self.in_scope(from, path, 0)
    }

    fn in_scope(&self, from: &Path, path: &[String], hops: usize) -> Option<Definition> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(&Vec::new(), rest, hops),
            "self" => self.behind_self(from, rest, hops),
            "super" => {
                let mut parent = from.clone();
                parent.pop()?;
                self.behind_self(&parent, rest, hops)
            }
            _ => self.look_up(from, path, hops),
        }
    }

    /// Goes on behind `self` or `super`, which may be followed by `super`.
    fn behind_self(&self, from: &Path, rest: &[String], hops: usize) -> Option<Definition> {
        if rest.first().is_some_and(|next| next == "super") {
            return self.in_scope(from, rest, hops);
        }
        self.walk(from, rest, hops)
    }

    /// Goes on from a module that was named, so what it does not visibly hold is still its own:
    /// a macro may have made it.
    fn walk(&self, module: &Path, path: &[String], hops: usize) -> Option<Definition> {
        let Some((first, rest)) = path.split_first() else {
            return Some(Definition::Module(module.clone()));
        };
        self.look_up(module, path, hops).or_else(|| {
            let known = self.modules.contains_key(module);
            known.then(|| item(module, first, rest))
        })
    }

    /// Finds the first name among what the module holds or imports.
    fn look_up(&self, module: &Path, path: &[String], hops: usize) -> Option<Definition> {
        let (first, rest) = path.split_first()?;
        let facts = &self.modules.get(module)?.module;
        let mut child = module.clone();
        child.push(first.clone());
        let is_child = self.modules.contains_key(&child);
        // A module and a function may share a name; what goes on means the module.
        if is_child && !rest.is_empty() {
            return self.walk(&child, rest, hops);
        }
        if facts.items.contains(first) {
            return Some(item(module, first, rest));
        }
        if is_child {
            return self.walk(&child, rest, hops);
        }
        if hops == HOPS_MAX {
            return None;
        }
        let mut named = facts.imports.iter().filter(|import| import.name == *first);
        let through = |import: &Import, rest: &[String]| {
            let path: Path = import.path.iter().chain(rest).cloned().collect();
            self.in_scope(module, &path, hops + 1)
        };
        let globs = facts.imports.iter().filter(|import| import.name == "*");
        named
            .find_map(|import| through(import, rest))
            .or_else(|| globs.filter_map(|glob| through(glob, path)).find(is_certain(self)))
    }
}

/// A glob's module is asked for every name, so it must be seen to hold it.
fn is_certain<'r>(resolver: &'r Resolver) -> impl Fn(&Definition) -> bool + 'r {
    |found| match found {
        Definition::Module(path) => resolver.modules.contains_key(path),
        Definition::Item { module, name, .. } => {
            resolver.modules.get(module).is_some_and(|placed| placed.module.items.contains(name))
        }
    }
}

fn item(module: &Path, name: &str, rest: &[String]) -> Definition {
    Definition::Item { module: module.clone(), name: name.to_owned(), rest: rest.to_vec() }
}
