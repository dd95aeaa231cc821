//! Defines the graph in which circles are looked for: for each arrow, what it uses of its target.
//!
//! Plain data; `rules/modules.rs` makes it.

use std::collections::{BTreeMap, BTreeSet};

/// For each arrow the things of its target that are used; no arrow goes from a node to itself.
pub(crate) type Arrows = BTreeMap<(usize, usize), BTreeSet<usize>>;
