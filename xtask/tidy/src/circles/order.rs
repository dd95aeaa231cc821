//! Computes the order of nodes in which the fewest things are used against it.
//!
//! A node may use what stands behind it. What a later node uses of an earlier one is against the
//! order. It counts once however many nodes use it, because moving it helps them all.
//! Invariant: up to 12 nodes the order is the best one (dynamic programming over sets, after Lawler
//! 1964). Above that, moving no single node makes it better.

use super::arrows::Arrows;

/// Work doubles with each node: 2^12 sets of nodes take a few milliseconds.
const EXACT_NODES_MAX: usize = 12;

pub(super) fn of(circle: &[usize], arrows: &Arrows) -> Vec<usize> {
    let uses = Uses::of(circle, arrows);
    let order = if circle.len() <= EXACT_NODES_MAX { exact(&uses) } else { local(&uses) };
    order.into_iter().map(|node| circle[node]).collect()
}

/// For each owner and user a set of things as bits.
struct Uses {
    by_owner: Vec<Vec<Vec<u64>>>,
}

impl Uses {
    fn of(circle: &[usize], arrows: &Arrows) -> Uses {
        let bits = |user: &usize, owner: &usize| {
            let mut bits = Vec::new();
            for thing in arrows.get(&(*user, *owner)).into_iter().flatten() {
                bits.resize(bits.len().max(thing / 64 + 1), 0);
                bits[thing / 64] |= 1 << (thing % 64);
            }
            bits
        };
        let by_owner = circle
            .iter()
            .map(|owner| circle.iter().map(|user| bits(user, owner)).collect())
            .collect();
        Uses { by_owner }
    }

    fn nodes(&self) -> usize {
        self.by_owner.len()
    }

    /// Returns how many things of the owner these users use.
    fn count(&self, owner: usize, users: impl Iterator<Item = usize>) -> usize {
        let mut all: Vec<u64> = Vec::new();
        for bits in users.map(|user| &self.by_owner[owner][user]) {
            all.resize(all.len().max(bits.len()), 0);
            for (sum, word) in all.iter_mut().zip(bits) {
                *sum |= word;
            }
        }
        all.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Dynamic programming over the sets of nodes that stand first (after Lawler 1964).
fn exact(uses: &Uses) -> Vec<usize> {
    let nodes = uses.nodes();
    // For each set: the fewest things against the order, and which node stands last in it.
    let mut best = vec![(usize::MAX, 0); 1 << nodes];
    best[0] = (0, 0);
    for set in 0..best.len() {
        for next in (0..nodes).filter(|node| set & (1 << node) == 0) {
            let grown = set | (1 << next);
            let later = (0..nodes).filter(|node| grown & (1 << node) == 0);
            let count = best[set].0 + uses.count(next, later);
            if count < best[grown].0 {
                best[grown] = (count, next);
            }
        }
    }
    let mut order = Vec::new();
    let mut set = best.len() - 1;
    while set > 0 {
        let last = best[set].1;
        order.push(last);
        set &= !(1 << last);
    }
    order.reverse();
    order
}

/// Moves single nodes as long as that leaves fewer things against the order.
fn local(uses: &Uses) -> Vec<usize> {
    let nodes = uses.nodes();
    let mut order: Vec<usize> = (0..nodes).collect();
    // Whose things are used little stands first.
    order.sort_by_key(|node| uses.count(*node, 0..nodes));
    while let Some((from, to)) = better_move(&order, uses) {
        let node = order.remove(from);
        order.insert(to, node);
    }
    order
}

/// Returns the move of one node that gains most, if any does.
fn better_move(order: &[usize], uses: &Uses) -> Option<(usize, usize)> {
    let mut best = (0, None);
    for from in 0..order.len() {
        for up in [false, true] {
            let mut moved = order.to_vec();
            let mut gain = 0;
            let mut at = from;
            while let Some(next) = if up { at.checked_sub(1) } else { Some(at + 1) }
                && next < moved.len()
            {
                let first = at.min(next);
                let before = pair(&moved, first, uses);
                moved.swap(at, next);
                gain += before - pair(&moved, first, uses);
                at = next;
                if gain > best.0 {
                    best = (gain, Some((from, at)));
                }
            }
        }
    }
    best.1
}

/// Returns how many things of the node at `first` and of the next are used against the order.
fn pair(order: &[usize], first: usize, uses: &Uses) -> isize {
    let count = |at: usize| uses.count(order[at], order[at + 1..].iter().copied());
    (count(first) + count(first + 1)).cast_signed()
}
