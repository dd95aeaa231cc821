//! Computes attention among the tokens of one text, head by head.
//!
//! Keys and values of a head are packed as panels, so the kernel of the dense layers sums both
//! products. As many tokens are worked on at a time as the kernel has rows, four to eight. Their
//! scores become shares, and then sums of values, while they are in the cache.
//!
//! Invariant: nothing of another text, or of another call, changes a result. What buffers still
//! hold of them is overwritten or left unread.
//! It takes mixed rows of queries, keys and values, which `embed/encoder.rs` makes. The softmax is
//! in `embed/norm.rs`. Always in 32-bit floats, whatever the precision of dense layers.

use super::norm::softmax;
use crate::dense::Kernel;
use crate::dense::tile::{CacheLine, LINE, ROWS, Tile};

/// How a row of queries, keys and values is parted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) count: usize,
    /// Numbers per head.
    pub(super) width: usize,
    /// One that takes floats.
    pub(super) kernel: Kernel,
}

/// Buffers, kept from one text to the next.
#[derive(Debug, Default)]
pub(super) struct AttentionScratch {
    keys: Vec<CacheLine>,
    values: Vec<CacheLine>,
    scores: Vec<f32>,
}

impl Heads {
    /// Writes each token's mix of values. `mixed` holds, per token, its queries, keys and values.
    pub(super) fn attend(self, mixed: &[f32], scratch: &mut AttentionScratch, out: &mut [f32]) {
        let hidden = self.count * self.width;
        let tokens = out.len() / hidden;
        for head in 0..self.count {
            let at = head * self.width;
            let part = |token: usize, third: usize| {
                &mixed[(token * 3 + third) * hidden + at..][..self.width]
            };
            pack_keys(tokens, self.width, |key| part(key, 1), &mut scratch.keys);
            pack_values(tokens, self.width, |value| part(value, 2), &mut scratch.values);
            for first in (0..tokens).step_by(self.kernel.rows()) {
                let count = self.kernel.rows().min(tokens - first);
                let mut queries = [part(0, 0); ROWS];
                for (index, query) in queries[..count].iter_mut().enumerate() {
                    *query = part(first + index, 0);
                }
                self.score(&queries[..count], tokens, scratch);
                let out = &mut out[first * hidden..][..count * hidden];
                self.mix(tokens, scratch, out, at);
            }
        }
    }

    /// Writes the shares that queries give to all tokens.
    fn score(self, queries: &[&[f32]], tokens: usize, scratch: &mut AttentionScratch) {
        let pitch = tokens.next_multiple_of(LINE);
        scratch.scores.resize(queries.len() * pitch, 0.0);
        let mut tile = Tile::new();
        for (number, panel) in scratch.keys.chunks_exact(self.width).enumerate() {
            self.kernel.sum(queries, panel, 1, &mut tile);
            let rows = scratch.scores.chunks_exact_mut(pitch);
            for (row, sums) in rows.zip(&tile.0) {
                row[number * LINE..][..LINE].copy_from_slice(&sums[..LINE]);
            }
        }
        softmax(&mut scratch.scores, pitch, tokens, 1.0 / (self.width as f32).sqrt());
    }

    /// Writes the sums of all tokens' values by their shares, from number `at` of each row on.
    fn mix(self, tokens: usize, scratch: &AttentionScratch, out: &mut [f32], at: usize) {
        let pitch = tokens.next_multiple_of(LINE);
        let mut shares = [&scratch.scores[..tokens]; ROWS];
        let rows = scratch.scores.chunks_exact(pitch);
        let count = rows.len();
        shares.iter_mut().zip(rows).for_each(|(shares, row)| *shares = &row[..tokens]);
        let mut tile = Tile::new();
        for (number, panel) in scratch.values.chunks_exact(tokens).enumerate() {
            self.kernel.sum(&shares[..count], panel, 1, &mut tile);
            let first = number * LINE;
            let width = LINE.min(self.width - first);
            for (out, sums) in out.chunks_exact_mut(self.count * self.width).zip(&tile.0) {
                out[at + first..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

/// Packs keys, sixteen side by side: a line for each of their numbers.
fn pack_keys<'a>(
    count: usize,
    width: usize,
    key: impl Fn(usize) -> &'a [f32],
    panels: &mut Vec<CacheLine>,
) {
    panels.resize(count.div_ceil(LINE) * width, CacheLine::default());
    for (first, panel) in (0..count).step_by(LINE).zip(panels.chunks_exact_mut(width)) {
        for lane in 0..LINE.min(count - first) {
            for (line, number) in panel.iter_mut().zip(key(first + lane)) {
                line.0[lane] = *number;
            }
        }
    }
}

/// Packs values, sixteen of their numbers side by side: a line for each value.
fn pack_values<'a>(
    count: usize,
    width: usize,
    value: impl Fn(usize) -> &'a [f32],
    panels: &mut Vec<CacheLine>,
) {
    panels.resize(width.div_ceil(LINE) * count, CacheLine::default());
    for (first, panel) in (0..width).step_by(LINE).zip(panels.chunks_exact_mut(count)) {
        let numbers = first..width.min(first + LINE);
        for (index, line) in panel.iter_mut().enumerate() {
            line.0[..numbers.len()].copy_from_slice(&value(index)[numbers.clone()]);
        }
    }
}
