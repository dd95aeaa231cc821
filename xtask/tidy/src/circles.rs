//! Finds circles in a small directed graph, and which uses to cut so that none is left.
//!
//! Nodes are numbers from 0, and so is what a node owns. Up to `EXACT_NODES_MAX` nodes the cut is
//! the smallest there is; above that it is one that moving no single node makes smaller
//! (`circles/order.rs`). If a `top` is given, it stands first, and the cut is the smallest among
//! the others.
//! Refuses: to know what nodes are; `rules/modules.rs` names them.

mod arrows;
mod order;

use std::collections::BTreeSet;

pub(crate) use arrows::Arrows;

/// Things of one node that stand in the way of an order without circles.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub owner: usize,
    pub things: BTreeSet<usize>,
    pub users: Vec<usize>,
}

/// Returns the sets of more than one node of which each reaches each other.
pub(crate) fn circles(nodes: usize, arrows: &Arrows) -> Vec<Vec<usize>> {
    let mut reaches = vec![vec![false; nodes]; nodes];
    for (from, to) in arrows.keys() {
        reaches[*from][*to] = true;
    }
    for middle in 0..nodes {
        let onward = reaches[middle].clone();
        for row in reaches.iter_mut().filter(|row| row[middle]) {
            for (to, reached) in row.iter_mut().enumerate() {
                *reached |= onward[to];
            }
        }
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for node in (0..nodes).filter(|node| reaches[*node][*node]) {
        let same = |circle: &&mut Vec<usize>| reaches[node][circle[0]] && reaches[circle[0]][node];
        match found.iter_mut().find(same) {
            Some(circle) => circle.push(node),
            None => found.push(vec![node]),
        }
    }
    found
}

/// Returns what to take out of which node so that the circle falls apart: as few things as can be.
///
/// If `top` is in the circle, whatever the others use of it is to be taken out.
pub(crate) fn cuts(circle: &[usize], arrows: &Arrows, top: Option<usize>) -> Vec<Cut> {
    let (mut order, rest): (Vec<usize>, Vec<usize>) =
        circle.iter().partition(|node| Some(**node) == top);
    order.extend(order::of(&rest, arrows));
    let mut cuts = Vec::new();
    for (place, owner) in order.iter().enumerate() {
        let later = order[place + 1..].iter();
        let uses = later.filter_map(|user| Some((*user, arrows.get(&(*user, *owner))?)));
        let mut cut = Cut { owner: *owner, things: BTreeSet::new(), users: Vec::new() };
        for (user, things) in uses {
            cut.users.push(user);
            cut.things.extend(things);
        }
        if !cut.users.is_empty() {
            cuts.push(cut);
        }
    }
    cuts
}

#[cfg(test)]
mod tests;
