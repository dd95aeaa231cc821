//! Reads the packages of `cargo metadata` and who depends on whom, as Linux on x86-64 builds them.
//!
//! One platform, so that a count of packages is the same on every machine. Features are those of
//! the whole workspace.
//! Also here: the cone of a package, all that is compiled for it but for its tests. Two versions of
//! a package are two. Only ours have a manifest.
//! Elsewhere: which arrows are allowed (`rules/arrows.rs`), budgets (`rules/cones.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, MetadataCommand};

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// By package id; two versions of one package are two entries.
    pub packages: BTreeMap<String, Package>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Package {
    pub name: String,
    /// The manifest's path from the root; empty for what is not ours.
    pub manifest: String,
    /// The native library that the package says it links.
    pub links: Option<String>,
    pub edges: Vec<Edge>,
}

#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub to: String,
    pub kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    Normal,
    Build,
    Development,
}

impl Package {
    pub(crate) fn is_ours(&self) -> bool {
        !self.manifest.is_empty()
    }

    /// Returns the package's directory from the root; only ours have one.
    pub(crate) fn dir(&self) -> &str {
        self.manifest.rsplit_once('/').map_or("", |(dir, _)| dir)
    }
}

impl Graph {
    pub(crate) fn read(root: &Path) -> Result<Graph> {
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .other_options(["--filter-platform".to_owned(), PLATFORM.to_owned()])
            .exec()
            .context("running `cargo metadata`")?;
        let mut graph = Graph::default();
        for package in &metadata.packages {
            let ours = metadata.workspace_members.contains(&package.id);
            let manifest =
                package.manifest_path.strip_prefix(root).unwrap_or(&package.manifest_path);
            let entry = Package {
                name: package.name.to_string(),
                manifest: if ours { manifest.to_string() } else { String::new() },
                links: package.links.clone(),
                edges: Vec::new(),
            };
            graph.packages.insert(package.id.repr.clone(), entry);
        }
        let resolve = metadata.resolve.context("`cargo metadata` gave no resolved graph")?;
        for node in resolve.nodes {
            let edges = node.deps.iter().flat_map(|dep| {
                let to = dep.pkg.repr.clone();
                let kinds = dep.dep_kinds.iter().map(|kind| edge_kind(kind.kind));
                kinds.map(move |kind| Edge { to: to.clone(), kind })
            });
            let package = graph.packages.get_mut(&node.id.repr);
            package.context("a resolved package is not listed")?.edges = edges.collect();
        }
        Ok(graph)
    }

    /// Returns our packages with their ids, by name.
    pub(crate) fn ours(&self) -> Vec<(&str, &Package)> {
        let ours = self.packages.iter().filter(|(_, package)| package.is_ours());
        let mut ours: Vec<(&str, &Package)> = ours.map(|(id, p)| (id.as_str(), p)).collect();
        ours.sort_by(|a, b| a.1.name.cmp(&b.1.name));
        ours
    }

    /// Returns what has to be compiled for the package, itself included, tests not.
    pub(crate) fn cone(&self, id: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let Some((id, package)) = self.packages.get_key_value(id) else { continue };
            if seen.insert(id.as_str()) {
                let edges = package.edges.iter().filter(|e| e.kind != EdgeKind::Development);
                open.extend(edges.map(|edge| edge.to.as_str()));
            }
        }
        seen
    }

    /// Returns whether one of our packages has this directory.
    pub(crate) fn has_dir(&self, dir: &str) -> bool {
        self.packages.values().any(|package| package.is_ours() && package.dir() == dir)
    }

    pub(crate) fn name(&self, id: &str) -> &str {
        self.packages.get(id).map_or("", |package| package.name.as_str())
    }
}

fn edge_kind(kind: DependencyKind) -> EdgeKind {
    match kind {
        DependencyKind::Development => EdgeKind::Development,
        DependencyKind::Build => EdgeKind::Build,
        _ => EdgeKind::Normal,
    }
}

#[cfg(test)]
pub(crate) mod sample {
    //! Small graphs for the tests of the rules.

    use super::{Edge, EdgeKind, Graph, Package};

    /// Builds a graph from `(name, ours, dependencies)`; a dependency `dev:x` is for tests only.
    pub(crate) fn graph(packages: &[(&str, bool, &[&str])]) -> Graph {
        let mut graph = Graph::default();
        for (name, ours, dependencies) in packages {
            let edges = dependencies.iter().map(|to| match to.strip_prefix("dev:") {
                Some(to) => Edge { to: to.to_owned(), kind: EdgeKind::Development },
                None => Edge { to: (*to).to_owned(), kind: EdgeKind::Normal },
            });
            let manifest = if *ours { format!("crates/{name}/Cargo.toml") } else { String::new() };
            let package =
                Package { name: (*name).to_owned(), manifest, links: None, edges: edges.collect() };
            graph.packages.insert((*name).to_owned(), package);
        }
        graph
    }
}
