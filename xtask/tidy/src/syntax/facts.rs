//! Defines the facts of one file, as plain data. Lines count from 0.
//!
//! `syntax/visitor.rs` and `syntax/vocabulary.rs` fill them. Also here: dropping references that
//! cannot lead out of their module, which is most of them.

use std::collections::{BTreeMap, BTreeSet};

/// Segments without generic arguments: `crate::a::B<C>` is `[crate, a, B]`.
pub(crate) type Path = Vec<String>;

/// The file's own module comes last, after the modules that stand inline in it.
#[derive(Debug, Default)]
pub(crate) struct Syntax {
    pub modules: Vec<Module>,
}

/// What stands directly in one module.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Names of the inline modules from the file down; empty for the file's own module.
    pub inline: Path,
    pub children: Vec<Child>,
    /// Names defined here that a path can lead to.
    pub items: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Each path once, with the first line it stands on.
    pub references: BTreeMap<Path, usize>,
    pub impls: Vec<Impl>,
    pub types: Vec<Type>,
    pub functions: Vec<Signature>,
    /// Of the whole file; empty for modules that stand inline in it.
    pub words: Vec<Word>,
}

/// A path and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub path: Path,
    pub line: usize,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub name: String,
    /// It stands under `#[cfg(test)]`.
    pub test: bool,
}

/// One name that a `use` brings in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The name in this module; `*` for a glob.
    pub name: String,
    pub path: Path,
    /// It has a visibility, so others may mean it.
    pub reexport: bool,
    pub line: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Impl {
    /// The type; references to it count as itself.
    pub of: Path,
    /// Names of its functions, if it is no `impl Trait for`.
    pub inherent: Vec<String>,
    pub line: usize,
    /// From `impl` to the closing brace.
    pub lines: usize,
}

/// A struct, enum, union, trait or type alias.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub name: String,
    pub line: usize,
    /// Fields of a struct; 0 for the rest.
    pub fields: usize,
    /// Data as written by a user or passed on whole: it is read by serde or clap, or has only
    /// `pub` fields.
    pub plain: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub name: String,
    pub line: usize,
    /// Parameters without `self`; a tuple counts as many as it has elements.
    pub arity: usize,
}

/// A name, and who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub audience: Audience,
    pub text: String,
    pub line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Audience {
    /// Who reads the code; the names of modules and types stand apart.
    Code,
    Modules,
    Types,
    /// Who writes a configuration.
    Keys,
    /// Who draws metrics.
    Labels,
    /// Who searches the log.
    Fields,
}

impl Module {
    /// Drops the references that cannot lead out of this module.
    ///
    /// Either nothing here is called like their first name, or they are one name that only a
    /// private `use` can have brought in.
    pub(super) fn drop_local_references(&mut self) {
        let reexported: BTreeSet<&str> =
            self.imports.iter().filter(|i| i.reexport).map(|i| i.name.as_str()).collect();
        let mut known: BTreeSet<&str> = self.imports.iter().map(|i| i.name.as_str()).collect();
        known.extend(self.children.iter().map(|child| child.name.as_str()));
        known.extend(self.items.iter().map(String::as_str));
        known.extend(["crate", "super", "self"]);
        let glob = known.contains("*");
        let leads_out = |path: &Path| match &path[..] {
            [] => false,
            [only] => glob || reexported.contains(only.as_str()),
            [first, ..] => glob || known.contains(first.as_str()),
        };
        let references = std::mem::take(&mut self.references);
        let kept = references.into_iter().filter(|(path, _)| leads_out(path));
        self.references = kept.collect();
    }
}

/// Returns the line on which the span begins.
pub(super) fn line(span: proc_macro2::Span) -> usize {
    span.start().line - 1
}
