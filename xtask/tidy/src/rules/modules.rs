//! Holds that the modules of each crate use each other without circles.
//!
//! The top level of a crate has its top-level modules as nodes, each with all below it. Each module
//! with children is a level too: the children are nodes, and its own file is the node `self`. The
//! root of a crate is no node. An arrow is a path that leads to a definition elsewhere; `mod` and
//! `pub use` are none, and a re-exported name counts where it is defined. Limits stand in the
//! ratchet under `circle`: the number of modules in circles on each level.
//! Elsewhere: the arrows (`rules/modules/levels.rs`), finding and cutting circles (`circles.rs`).

mod levels;

use std::collections::{BTreeMap, BTreeSet};

use crate::circles;
use crate::crates::Crate;
use crate::finding::Finding;
use crate::ratchet::Ratchet;
use levels::{Level, Names};

/// Modules of one level that use each other in circles.
#[derive(Debug)]
pub(crate) struct Circle<'l> {
    /// `gateway`, or `gateway/cache/engine` for the children of that module.
    pub place: &'l str,
    pub modules: Vec<&'l str>,
    /// How many arrows there are between its modules.
    pub arrows: usize,
    /// What to take out of which module so that the circle falls apart.
    pub cuts: Vec<Cut<'l>>,
}

#[derive(Debug)]
pub(crate) struct Cut<'l> {
    pub owner: &'l str,
    pub names: BTreeSet<&'l str>,
    pub users: Vec<&'l str>,
    /// Where the first of them is used; counts from 0.
    file: &'l str,
    line: usize,
}

pub(super) fn check(crates: &[Crate], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (place, level) in crates.iter().flat_map(levels::of) {
        let numbered = Numbered::of(&level);
        let circles = numbered.circles();
        let modules: usize = circles.iter().map(Vec::len).sum();
        if modules == 0 {
            continue;
        }
        let limit = ratchet.measure(&format!("circle {place}"), modules).unwrap_or(0);
        if modules > limit {
            let circles = circles.iter().map(|circle| numbered.describe(&place, circle));
            let counts = format!("{modules} modules of {place} stand in circles, limit {limit}");
            findings.extend(circles.flat_map(|circle| found(&circle, &counts)));
        }
    }
    findings
}

fn found(circle: &Circle, counts: &str) -> Vec<Finding> {
    let one = |cut: &Cut| {
        let names = quoted(cut.names.iter().copied());
        let users = quoted(cut.users.iter().copied());
        let what = format!("{counts}: {names} of `{}`, used by {users}, closes one", cut.owner);
        let mend = "move it to a module below both, or pass the value in";
        Finding::at(cut.file, cut.line, what, mend)
    };
    circle.cuts.iter().map(one).collect()
}

/// Hands the circles of a crate to `show`, the top level first.
pub(crate) fn measure(of: &Crate, mut show: impl FnMut(&Circle)) {
    for (place, level) in levels::of(of) {
        let numbered = Numbered::of(&level);
        for circle in numbered.circles() {
            show(&numbered.describe(&place, &circle));
        }
    }
}

/// A level with numbers for its modules and names.
struct Numbered<'l> {
    level: &'l Level,
    modules: Vec<&'l str>,
    names: Vec<&'l str>,
    arrows: circles::Arrows,
}

impl<'l> Numbered<'l> {
    fn of(level: &'l Level) -> Numbered<'l> {
        let modules: Vec<&str> = level.modules.iter().map(String::as_str).collect();
        let names: BTreeSet<&str> =
            level.arrows.values().flat_map(|names| names.keys().map(String::as_str)).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let number = |of: &[&str], what: &str| {
            of.binary_search(&what).expect("every module and name of the level is listed")
        };
        let arrow = |((from, to), crossing): (&(String, String), &Names)| {
            let crossing = crossing.keys().map(|name| number(&names, name));
            ((number(&modules, from), number(&modules, to)), crossing.collect())
        };
        let arrows = level.arrows.iter().map(arrow).collect();
        Numbered { level, modules, names, arrows }
    }

    fn circles(&self) -> Vec<Vec<usize>> {
        circles::circles(self.modules.len(), &self.arrows)
    }

    /// What a module uses of its children is natural, the other way is what to mend.
    fn top(&self) -> Option<usize> {
        self.modules.binary_search(&levels::SELF).ok()
    }

    fn describe(&self, place: &'l str, circle: &[usize]) -> Circle<'l> {
        let inside = |(from, to): &&(usize, usize)| circle.contains(from) && circle.contains(to);
        let cuts = circles::cuts(circle, &self.arrows, self.top());
        Circle {
            place,
            modules: circle.iter().map(|module| self.modules[*module]).collect(),
            arrows: self.arrows.keys().filter(inside).count(),
            cuts: cuts.iter().map(|cut| self.cut(cut)).collect(),
        }
    }

    fn cut(&self, cut: &circles::Cut) -> Cut<'l> {
        let owner = self.modules[cut.owner];
        let users: Vec<&str> = cut.users.iter().map(|user| self.modules[*user]).collect();
        let arrows =
            users.iter().map(|user| &self.level.arrows[&((*user).to_owned(), owner.to_owned())]);
        let (file, line) = arrows.flat_map(BTreeMap::values).min().expect("an arrow has a name");
        let names = cut.things.iter().map(|name| self.names[*name]).collect();
        Cut { owner, names, users, file, line: *line }
    }
}

fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests;
