//! Files of trees: refused in words, or taken; then rows score the same one by one and together,
//! whatever is in them. Where columns are named so, items are ranked and explained.

use std::sync::Arc;

use models::{
    Candidates, Error, Items, Iterations, Number, RankModel, RankRequest, Ranker, RowModel,
    Scratch, TreeScratch, Trees,
};

pub(super) const TOKENS: &[&str] = &[
    "tree\nversion=v4\n",
    "num_class=",
    "num_tree_per_iteration=",
    "max_feature_idx=",
    "objective=",
    "multiclass num_class:3",
    "binary sigmoid:1",
    "regression sqrt",
    "Tree=0\n",
    "num_leaves=",
    "num_cat=",
    "split_feature=",
    "threshold=",
    "decision_type=",
    "left_child=",
    "right_child=",
    "leaf_value=",
    "leaf_count=",
    "internal_count=",
    "\"sum_hessian\":[",
    "feature_names=item.a user.b@item.c",
    "user.b*item.c=x",
    "cat_boundaries=0 ",
    "cat_threshold=",
    "is_linear=1",
    "end of trees",
    "average_output",
    " -1",
    "1e999",
    "nan",
    "4294967295",
    "\"learner\":{",
    "\"objective\":{\"name\":\"multi:softmax\"}",
    "\"base_score\":\"",
    "\"num_class\":\"",
    "\"num_feature\":\"",
    "\"num_target\":\"",
    "\"left_children\":[",
    "\"split_indices\":[",
    "\"split_type\":[",
    "\"categories\":[",
    "\"categories_segments\":[",
    "\"weight_drop\":[",
    "[$l#L",
    "[$d#L",
    "[$U#i",
    "SL",
];

/// Numbers per row up to which rows are scored; more is the caller's own memory.
const FEATURES_MAX: usize = 4096;

/// More than a block begins with, and not a multiple of anything.
const ROWS: usize = 11;

const VALUES: [f64; 16] = [
    f64::NAN,
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    13.0,
    32.0,
    1e-36,
    -1e-45,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    16_777_216.0,
    4e9,
];

pub(super) fn run(input: &[u8]) {
    let trees = match Trees::read_explained(input, Iterations::Best) {
        Ok(trees) => Arc::new(trees),
        Err(Error::Model(problems)) => {
            let problem = problems.first().expect("refused without a word");
            assert!(!problem.reason.is_empty(), "refused without a word");
            return;
        }
        Err(error) => panic!("reading a model fails as {error:?}"),
    };
    let about = trees.about();
    assert!(about.features > 0 && about.margins > 0 && about.scores > 0, "{about:?}");
    let names = about.feature_names.len();
    assert!(names == 0 || names == about.features, "{about:?}");
    if about.features > FEATURES_MAX {
        return;
    }
    let values = VALUES.iter().cycle().skip(input.len() % VALUES.len());
    // A prime step, so that a column does not hold one value only.
    let doubles: Vec<f64> = values.step_by(3).copied().take(ROWS * about.features).collect();
    let singles: Vec<f32> = doubles.iter().map(|value| *value as f32).collect();
    let widened: Vec<f64> = singles.iter().map(|value| f64::from(*value)).collect();
    check(&trees, &doubles);
    assert_eq!(check(&trees, &singles), check(&trees, &widened), "a float is another number");
    rank(trees);
}

const ITEMS: &[u8] = br#"{"id":"1","a":1.5,"c":"x"}
{"id":"2","a":-2}
{"id":"3"}"#;

/// Ranks and explains items, if the columns name what items and requests bring.
fn rank(trees: Arc<Trees>) {
    let Ok(model) = RowModel::of_trees(trees).map(RankModel::Rows) else { return };
    let Ok(items) = Items::parse(ITEMS, &model.wanted()) else { return };
    let ranker = Ranker::new(model, items).expect("the items were read for the model");
    let (mut scratch, mut best) = (Scratch::default(), Vec::new());
    let inputs: Vec<f64> = VALUES.iter().cycle().copied().take(ranker.inputs().len()).collect();
    let request = RankRequest {
        inputs: &inputs,
        candidates: Candidates::All,
        excluded: &[],
        limit: ranker.len(),
        per_category_max: None,
    };
    ranker.rank(&request, &mut scratch, &mut best).expect("trees score anything");
    assert_eq!(best.len(), ranker.len(), "an item is lost");
    let parts = ranker.explains_from().is_ok();
    for one in &best {
        let mut count = 0;
        ranker.explain((&inputs, one.row), &mut scratch, |_, _| count += 1);
        assert!(!parts || count > 0, "nothing is explained");
    }
}

/// Scores rows together and alone, and returns their bits.
fn check<N: Number>(trees: &Trees, rows: &[N]) -> Vec<u64> {
    let about = trees.about();
    let mut scratch = TreeScratch::default();
    let mut bits = Vec::new();
    for outputs in [about.scores, about.margins] {
        let mut run = |rows: &[N], out: &mut [f64]| match outputs == about.scores {
            true => trees.score(rows, &mut scratch, out).expect("lengths fit"),
            false => trees.margins(rows, &mut scratch, out).expect("lengths fit"),
        };
        let (mut together, mut alone) = (vec![0.0; ROWS * outputs], vec![0.0; ROWS * outputs]);
        run(rows, &mut together);
        for (row, out) in rows.chunks(about.features).zip(alone.chunks_mut(outputs)) {
            run(row, out);
        }
        let all = |values: &[f64]| values.iter().copied().map(canonical).collect::<Vec<_>>();
        assert_eq!(all(&together), all(&alone), "a row depends on those beside it");
        bits.extend(all(&together));
    }
    bits
}

/// Returns the bits of a number; all NaN are alike.
fn canonical(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}
