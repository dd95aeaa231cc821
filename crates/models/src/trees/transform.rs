//! Makes scores of a row's margins: the objective's transform.
//!
//! Invariant: one row at a time, and each score of it is written. There are as many scores as
//! margins, but for `Largest`, which gives the number of a class.
//! Which objective has which transform is in `lightgbm.rs` and `xgboost.rs`; logistic, exponential
//! and softmax by precision are in `number.rs`. ONNX has its own in `onnx/post_transform.rs`. What
//! takes a single margin must also stand in the list of `lightgbm.rs`.
//! Sources: LightGBM's `ConvertOutput` and XGBoost's `PredTransform` of their objectives.

use super::number::Leaf;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OutputTransform {
    Identity,
    /// `1 / (1 + exp(-steepness * margin))`, each output by itself.
    Logistic {
        steepness: f64,
    },
    /// Over all outputs.
    Softmax,
    Exp,
    /// LightGBM's `reg_sqrt`: the square, with the sign of the margin.
    SignedSquare,
    /// `ln(1 + exp(margin))`.
    Softplus,
    /// The first output with the largest margin, by number.
    Largest,
    /// 1 where the margin is positive, else 0.
    Positive,
    /// All outputs, smallest first.
    Sorted,
}

impl OutputTransform {
    /// Returns how many scores so many margins give.
    pub(super) fn scores(self, margins: usize) -> usize {
        if self == Self::Largest { 1 } else { margins }
    }

    /// Writes the scores of one row.
    pub(super) fn apply<L: Leaf>(self, margins: &[L], out: &mut [f64]) {
        let each = |out: &mut [f64], score: &dyn Fn(L) -> f64| {
            out.iter_mut().zip(margins).for_each(|(out, margin)| *out = score(*margin));
        };
        match self {
            Self::Identity => each(out, &|margin| margin.wide()),
            Self::Logistic { steepness } => each(out, &|margin| margin.logistic(steepness)),
            Self::Softmax => L::softmax(margins, out),
            Self::Exp => each(out, &|margin| margin.exp().wide()),
            Self::SignedSquare => each(out, &|margin| margin.wide().abs() * margin.wide()),
            Self::Softplus => each(out, &|margin| margin.wide().exp().ln_1p()),
            Self::Largest => out[0] = largest(margins) as f64,
            Self::Positive => each(out, &|m| if m.wide() > 0.0 { 1.0 } else { 0.0 }),
            Self::Sorted => {
                each(out, &|margin| margin.wide());
                out.sort_unstable_by(f64::total_cmp);
            }
        }
    }
}

fn largest<L: Leaf>(margins: &[L]) -> usize {
    let mut best = 0;
    for (index, margin) in margins.iter().enumerate() {
        if *margin > margins[best] {
            best = index;
        }
    }
    best
}
