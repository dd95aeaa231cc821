//! Keeps the best of candidates that are scored block by block, whatever scores them.
//!
//! Invariant: an excluded row is never kept. At most `limit` are, and of one category at most
//! `per_category_max`; items without a category are not limited. A cap per category gives the list
//! of a greedy walk down the whole ranking that skips full categories.
//! The order is that of `top.rs`: scores that are handed over, then rows, lower first.
//! Never here: scores (`linear.rs`, `rows.rs`).

use super::request::{Candidates, RankRequest};
use crate::inputs::RequestError;
use crate::items::{Codes, Items};
use crate::top::{Marks, Ranked, Top};

/// Memory for choosing, one per thread.
#[derive(Debug, Default)]
pub(super) struct BestScratch {
    excluded: Marks,
    top: Top,
    tops: Vec<Top>,
}

/// What scores candidates of one request.
pub(super) trait ScoreBlocks {
    /// Scores the candidates in blocks, handing each block and its scores to `keep`.
    ///
    /// # Errors
    /// Why the model gives no scores for this request.
    fn score(
        &mut self,
        candidates: Candidates<'_>,
        keep: impl FnMut(&[u32], &[f64]),
    ) -> Result<(), RequestError>;
}

/// Appends the best candidates of a request to `out`, best first.
///
/// # Errors
/// As [`ScoreBlocks::score`].
pub(super) fn choose(
    items: &Items,
    request: &RankRequest<'_>,
    (scratch, mut scorer): (&mut BestScratch, impl ScoreBlocks),
    out: &mut Vec<Ranked>,
) -> Result<(), RequestError> {
    scratch.excluded.reset(items.len());
    for row in request.excluded {
        scratch.excluded.mark(*row);
    }
    let limit = request.limit.min(items.len());
    match request.per_category_max {
        None => best(request.candidates, limit, (scratch, &mut scorer), out),
        Some(max) => {
            let codes = items.text("category").expect("items always keep `category`");
            let cap = CategoryCap { codes, max, limit };
            best_per_category(request.candidates, &cap, (scratch, &mut scorer), out)
        }
    }
}

fn best(
    candidates: Candidates<'_>,
    limit: usize,
    (scratch, scorer): (&mut BestScratch, &mut impl ScoreBlocks),
    out: &mut Vec<Ranked>,
) -> Result<(), RequestError> {
    let BestScratch { excluded, top, .. } = scratch;
    top.reset(limit);
    scorer.score(candidates, |rows, scores| {
        for (rows, scores) in rows.chunks(16).zip(scores.chunks(16)) {
            let threshold = top.threshold();
            // No early exit, so that the comparison of 16 scores is a few instructions.
            if !scores.iter().fold(false, |any, score| any | (*score >= threshold)) {
                continue;
            }
            for (&row, &score) in rows.iter().zip(scores) {
                if score >= top.threshold() && !excluded.has(row) {
                    top.push(Ranked { row, score });
                }
            }
        }
    })?;
    out.extend_from_slice(top.finish());
    Ok(())
}

/// How many are kept: of each category, and in all.
struct CategoryCap<'a> {
    /// The category of each row.
    codes: &'a Codes,
    max: usize,
    limit: usize,
}

/// Keeps the best of each category, and merges them.
fn best_per_category(
    candidates: Candidates<'_>,
    &CategoryCap { codes, max, limit }: &CategoryCap<'_>,
    (scratch, scorer): (&mut BestScratch, &mut impl ScoreBlocks),
    out: &mut Vec<Ranked>,
) -> Result<(), RequestError> {
    let BestScratch { excluded, top: merged, tops } = scratch;
    tops.resize_with(codes.distinct() + 1, Top::default);
    for top in &mut tops[..codes.distinct()] {
        top.reset(max.min(limit));
    }
    tops[codes.distinct()].reset(limit);
    scorer.score(candidates, |rows, scores| {
        for (&row, &score) in rows.iter().zip(scores) {
            let top = match codes.rows()[row as usize] {
                Codes::ABSENT => &mut tops[codes.distinct()],
                code => &mut tops[code as usize],
            };
            if score >= top.threshold() && !excluded.has(row) {
                top.push(Ranked { row, score });
            }
        }
    })?;
    merged.reset(limit);
    for ranked in tops.iter_mut().flat_map(Top::finish) {
        merged.push(*ranked);
    }
    out.extend_from_slice(merged.finish());
    Ok(())
}
