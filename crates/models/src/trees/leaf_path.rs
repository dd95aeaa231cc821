//! Holds the path from the root of a tree to a node while parts are explained (`shap.rs`), and the
//! memory that this takes.
//!
//! Invariant: a feature is one part of a path, however often the path asks for it. Undoing goes
//! back to where the last step was taken.

/// A feature on the path to a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathPart {
    pub(super) feature: u32,
    /// The share of rows that come along where the feature is not known.
    pub(super) zero: f64,
    /// 1 where the row comes along, else 0.
    pub(super) one: f64,
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Turn {
    /// A node, with what led there.
    Visit(u32, Option<PathPart>),
    Undo,
}

/// Memory of explaining, one per thread.
#[derive(Debug, Default)]
pub(crate) struct ShapScratch {
    pub(super) turns: Vec<Turn>,
    pub(super) path: LeafPath,
    pub(super) products: Vec<f64>,
}

/// The parts of a path, and how to go back.
#[derive(Debug, Default)]
pub(super) struct LeafPath {
    parts: Vec<PathPart>,
    /// What each step changed: a part as it was, or the place of one that is new.
    changed: Vec<(usize, Option<PathPart>)>,
}

impl LeafPath {
    pub(super) fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
        self.changed.clear();
    }

    /// Goes on.
    pub(super) fn take(&mut self, step: PathPart) {
        let Self { parts, changed } = self;
        match parts.iter_mut().enumerate().find(|(_, part)| part.feature == step.feature) {
            Some((index, part)) => {
                changed.push((index, Some(*part)));
                part.zero *= step.zero;
                part.one *= step.one;
            }
            None => {
                changed.push((parts.len(), None));
                parts.push(step);
            }
        }
    }

    /// Goes back to where the last step was taken.
    pub(super) fn undo(&mut self) {
        match self.changed.pop() {
            Some((index, Some(before))) => self.parts[index] = before,
            Some((length, None)) => self.parts.truncate(length),
            None => {}
        }
    }
}
