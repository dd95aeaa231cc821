//! Holds the arrows between our crates against `cargo metadata`.
//!
//! The table is `xtask/tidy/arrows.txt`: layer, crates that may be used, packages that never may be
//! built on. An arrow that no crate uses is a finding. So is a row without a crate, unless it is
//! marked `# planned`, and a crate without a row.
//! No name in a row lifts these rules: a role uses no role. A crate with a layer uses none of a
//! higher layer and none without. Only tests, `bench` and `soak` use `testkit`. A `*` in a row
//! stands for any crate, and is not held against them.
//! Also here: the layers, for `picture.rs`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::finding::Finding;
use crate::graph::{Edge, EdgeKind, Graph, Package};
use crate::tree::Text;

const TABLE: &str = "xtask/tidy/arrows.txt";
const ROLE: u8 = 2;
/// The comment behind a row whose crate the design names and nobody has written yet.
const PLANNED: &str = "planned";

#[derive(Debug)]
struct Row {
    line: usize,
    /// None for what stands beside the product.
    layer: Option<u8>,
    may_use: BTreeSet<String>,
    never: Vec<String>,
    planned: bool,
}

type Table = BTreeMap<String, Row>;

pub(super) fn check(table: &Text, graph: &Graph) -> Result<Vec<Finding>> {
    let table = parse(table)?;
    let mut findings = check_table(&table);
    findings.extend(check_use(&table, graph));
    for (id, package) in graph.ours() {
        let Some(row) = table.get(&package.name) else {
            let what = format!("crate `{}` has no row of arrows", package.name);
            findings.push(Finding::at(&package.manifest, 0, what, format!("add it to {TABLE}")));
            continue;
        };
        for edge in &package.edges {
            findings.extend(check_edge(package, row, edge, graph));
        }
        let cone = graph.cone(id);
        for name in row.never.iter().filter(|name| cone.iter().any(|id| graph.name(id) == **name)) {
            let what = format!("`{}` builds on `{name}`, which it never may", package.name);
            let mend = format!("see `cargo tree -p {} -i {name}`", package.name);
            findings.push(Finding::at(&package.manifest, 0, what, mend));
        }
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Returns the layers of the crates that have one.
pub(crate) fn layers(table: &Text) -> Result<BTreeMap<String, u8>> {
    let rows = parse(table)?.into_iter();
    Ok(rows.filter_map(|(name, row)| Some((name, row.layer?))).collect())
}

fn check_edge(from: &Package, row: &Row, edge: &Edge, graph: &Graph) -> Option<Finding> {
    let to = graph.packages.get(&edge.to).filter(|to| to.is_ours())?;
    let tests_only = edge.kind == EdgeKind::Development;
    let listed = row.may_use.contains("*") || row.may_use.contains(&to.name);
    let allowed = match to.name.as_str() {
        "testkit" => tests_only || matches!(from.name.as_str(), "bench" | "soak"),
        _ => listed || to.name == from.name,
    };
    let what = format!("`{}` may not use `{}`", from.name, to.name);
    let mend = if to.name == "testkit" {
        "move it to `[dev-dependencies]`".to_owned()
    } else {
        format!("take a trait that `{}` defines, or argue for a new arrow in {TABLE}", from.name)
    };
    (!allowed).then(|| Finding::at(&from.manifest, 0, what, mend))
}

/// Holds the table against the rules that no table may break.
fn check_table(table: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, row) in table {
        for to in row.may_use.iter().filter(|to| *to != "*") {
            let Some(target) = table.get(to) else {
                let what = format!("`{name}` may use `{to}`, which has no row");
                findings.push(Finding::at(TABLE, row.line, what, "add the row or drop the name"));
                continue;
            };
            let roles = row.layer == Some(ROLE) && target.layer == Some(ROLE);
            let upward =
                row.layer.is_some() && (target.layer.is_none() || target.layer > row.layer);
            if roles || upward {
                let what = format!("the arrow `{name}` → `{to}` goes to a role or upward");
                let mend = "let the binary hand over a trait object instead";
                findings.push(Finding::at(TABLE, row.line, what, mend));
            }
        }
    }
    findings
}

/// Holds the table against what is there.
fn check_use(table: &Table, graph: &Graph) -> Vec<Finding> {
    let ours: BTreeMap<&str, &Package> =
        graph.ours().into_iter().map(|(_, package)| (package.name.as_str(), package)).collect();
    let mut findings = Vec::new();
    for (name, row) in table {
        let at_row = |what: String, mend: &str| Finding::at(TABLE, row.line, what, mend);
        let Some(package) = ours.get(name.as_str()) else {
            let what = format!("there is no crate `{name}`");
            let mend = "remove the row, or mark it `# planned` while the design names the crate";
            findings.extend((!row.planned).then(|| at_row(what, mend)));
            continue;
        };
        if row.planned {
            let what = format!("crate `{name}` is there");
            findings.push(at_row(what, "remove the mark `# planned`"));
        }
        let used: BTreeSet<&str> = package.edges.iter().map(|edge| graph.name(&edge.to)).collect();
        let unused = row.may_use.iter().filter(|to| *to != "*" && !used.contains(to.as_str()));
        findings.extend(unused.map(|to| {
            at_row(format!("`{name}` may use `{to}`, and does not"), "remove it from the row")
        }));
    }
    findings
}

fn parse(text: &Text) -> Result<Table> {
    let mut table = Table::new();
    for (line, text_line) in text.lines.iter().enumerate() {
        let (row, comment) = text_line.split_once('#').unwrap_or((text_line, ""));
        if row.trim().is_empty() {
            continue;
        }
        let parsed = parse_row(line, row.trim());
        let (name, mut row) = parsed.with_context(|| {
            format!("{}:{}: not `name layer -> crates never packages`", text.path, line + 1)
        })?;
        row.planned = comment.trim() == PLANNED;
        table.insert(name, row);
    }
    Ok(table)
}

fn parse_row(line: usize, text: &str) -> Option<(String, Row)> {
    let (head, arrows) = text.split_once("->")?;
    let (may_use, never) = arrows.split_once("never").unwrap_or((arrows, ""));
    let mut head = head.split_whitespace();
    let (name, layer) = (head.next()?, head.next()?);
    let layer = if layer == "-" { None } else { Some(layer.parse().ok()?) };
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let may_use = words(may_use).into_iter().collect();
    Some((name.to_owned(), Row { line, layer, may_use, never: words(never), planned: false }))
}

#[cfg(test)]
mod tests;
