//! Parts a `use` into one import for each name.
//!
//! `self` in a group is the module itself, a glob is `*`. A `use` with any visibility is a
//! re-export. A path that begins with `::` leaves the crate and gives none.

use proc_macro2::Span;
use syn::{ItemUse, UseTree, Visibility};

use super::facts::{self, Import, Path};

/// Returns the imports; none for a path that begins with `::`, which leaves the crate.
pub(super) fn of(item: &ItemUse) -> Vec<Import> {
    let mut found = Vec::new();
    if item.leading_colon.is_none() {
        let reexport = !matches!(item.vis, Visibility::Inherited);
        collect(&item.tree, &mut Vec::new(), reexport, &mut found);
    }
    found
}

fn collect(tree: &UseTree, prefix: &mut Path, reexport: bool, found: &mut Vec<Import>) {
    let mut import = |name: String, path: Path, span: Span| {
        found.push(Import { name, path, reexport, line: facts::line(span) });
    };
    let joined = |last: &syn::Ident| {
        let mut path = prefix.clone();
        path.push(last.to_string());
        path
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            collect(&path.tree, prefix, reexport, found);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, prefix, reexport, found);
            }
        }
        UseTree::Name(name) if name.ident == "self" => {
            import(prefix.last().cloned().unwrap_or_default(), prefix.clone(), name.ident.span());
        }
        UseTree::Rename(name) if name.ident == "self" => {
            import(name.rename.to_string(), prefix.clone(), name.ident.span());
        }
        UseTree::Name(name) => {
            import(name.ident.to_string(), joined(&name.ident), name.ident.span())
        }
        UseTree::Rename(name) => {
            import(name.rename.to_string(), joined(&name.ident), name.ident.span())
        }
        UseTree::Glob(glob) => import("*".to_owned(), prefix.clone(), glob.star_token.span),
    }
}
