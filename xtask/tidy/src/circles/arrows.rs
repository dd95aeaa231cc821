//! What a circle is looked for in.

use std::collections::{BTreeMap, BTreeSet};

/// For each arrow the things of its target that are used; no arrow goes from a node to itself.
pub(crate) type Arrows = BTreeMap<(usize, usize), BTreeSet<usize>>;
