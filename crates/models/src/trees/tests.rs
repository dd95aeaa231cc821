//! Hand-made models with answers worked out by hand, and shapes that do not fit.

use super::*;

/// A LightGBM model of these trees over this many features.
fn lightgbm(objective: &str, features: usize, trees: &[String]) -> String {
    let names: Vec<String> = (0..features).map(|index| format!("f{index}")).collect();
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
         max_feature_idx={}\nobjective={objective}\nfeature_names={}\n\n",
        features - 1,
        names.join(" "),
    );
    for (index, tree) in trees.iter().enumerate() {
        text.push_str(&format!("Tree={index}\n{tree}\n\n"));
    }
    text + "end of trees\n"
}

/// A tree of one numerical split: left gives 1, right 2.
fn stump(feature: usize, limit: &str, kind: i8) -> String {
    format!(
        "num_leaves=2\nnum_cat=0\nsplit_feature={feature}\nthreshold={limit}\n\
         decision_type={kind}\nleft_child=-1\nright_child=-2\nleaf_value=1 2\nis_linear=0"
    )
}

fn margins(model: &Trees, rows: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; rows.len() / model.about().features];
    model.margins(rows, &mut TreeScratch::default(), &mut out).unwrap();
    out
}

#[test]
fn missing_values_go_where_the_split_says() {
    // decision_type: 2 sends missing values left; 0, 4 and 8: none, zero and NaN are missing.
    let rows = [f64::NAN, 0.0, -0.0, 1e-36, -3.0, 3.0, f64::INFINITY, f64::NEG_INFINITY];
    for (kind, limit, wanted) in [
        (0, "-1", [2.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0]),
        (2, "1", [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0]),
        (4, "1", [2.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0]),
        (6, "-1", [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0]),
        (8, "1", [2.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 1.0]),
        (10, "-1", [1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0]),
    ] {
        let text = lightgbm("regression", 1, &[stump(0, limit, kind)]);
        let model = Trees::read(text.as_bytes()).unwrap();
        assert_eq!(margins(&model, &rows), wanted, "decision_type {kind}");
        let block: Vec<f64> = rows.into_iter().cycle().take(40).collect();
        let wanted: Vec<f64> = wanted.into_iter().cycle().take(40).collect();
        assert_eq!(margins(&model, &block), wanted, "decision_type {kind}, as a block");
    }
}

#[test]
fn a_category_is_cut_to_an_integer_and_looked_up() {
    // Bits 0, 3 and 33.
    let tree = "num_leaves=2\nnum_cat=1\nsplit_feature=0\nthreshold=0\ndecision_type=1\n\
                left_child=-1\nright_child=-2\nleaf_value=1 2\ncat_boundaries=0 2\n\
                cat_threshold=9 2";
    let model = Trees::read(lightgbm("regression", 1, &[tree.to_owned()]).as_bytes()).unwrap();
    let inside = [0.0, 3.0, 3.9, 33.0, -0.9];
    let outside = [1.0, 32.0, 64.0, -1.0, -3.0, 1e30, f64::NAN, f64::INFINITY, 4_294_967_296.0];
    assert_eq!(margins(&model, &inside), [1.0; 5]);
    assert_eq!(margins(&model, &outside), [2.0; 9]);
}

#[test]
fn a_feature_may_have_more_limits_than_a_byte_counts() {
    let limits = 1_300;
    let stumps: Vec<String> = (0..limits).map(|n| stump(0, &n.to_string(), 8)).collect();
    let model = Trees::read(lightgbm("regression", 1, &stumps).as_bytes()).unwrap();
    let rows: Vec<f64> = (-10..1_320).map(|half| f64::from(half) + 0.5).collect();
    // Of the limits 0, 1, … as many give 2 as lie below the value.
    let wanted = |row: &f64| f64::from(limits) + row.ceil().clamp(0.0, f64::from(limits));
    let wanted: Vec<f64> = rows.iter().map(wanted).collect();
    assert_eq!(margins(&model, &rows), wanted);
    let alone: Vec<f64> = rows.iter().flat_map(|row| margins(&model, &[*row])).collect();
    assert_eq!(alone, wanted);
}

#[test]
fn a_chain_of_a_hundred_thousand_splits_is_no_recursion() {
    let inner = 100_000_i64;
    let join = |number: &dyn Fn(i64) -> i64, count| {
        (0..count).map(|n| number(n).to_string()).collect::<Vec<_>>().join(" ")
    };
    let tree = format!(
        "num_leaves={}\nnum_cat=0\nsplit_feature={}\nthreshold={}\ndecision_type={}\n\
         left_child={}\nright_child={}\nleaf_value={}",
        inner + 1,
        join(&|_| 0, inner),
        join(&|n| n, inner),
        join(&|_| 8, inner),
        join(&|n| !n, inner),
        join(&|n| if n + 1 == inner { !inner } else { n + 1 }, inner),
        join(&|n| n, inner + 1),
    );
    let model = Trees::read(lightgbm("regression", 1, &[tree]).as_bytes()).unwrap();
    let rows = [-5.0, 0.0, 0.5, 70_000.0, 1e9];
    assert_eq!(margins(&model, &rows), [0.0, 0.0, 1.0, 70_000.0, 100_000.0]);
}

#[test]
fn a_node_that_is_reached_twice_is_refused() {
    let tree = "num_leaves=3\nnum_cat=0\nsplit_feature=0 0\nthreshold=1 2\ndecision_type=0 0\n\
                left_child=1 -1\nright_child=-3 0\nleaf_value=1 2 3";
    let error = Trees::read(lightgbm("regression", 1, &[tree.to_owned()]).as_bytes());
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "read model: tree 0: is no tree: split 0 is reached twice");
}

#[test]
fn transforms_are_those_of_the_objective() {
    for (objective, margin, wanted) in [
        ("regression sqrt", "-3", -9.0),
        ("binary sigmoid:2", "0.5", 1.0 / (1.0 + (-1.0_f64).exp())),
        ("poisson", "0.5", 0.5_f64.exp()),
        ("cross_entropy_lambda", "0", 2.0_f64.ln()),
        ("lambdarank", "0.25", 0.25),
        ("custom", "7", 7.0),
    ] {
        let tree = format!("num_leaves=1\nnum_cat=0\nleaf_value={margin}");
        let model = Trees::read(lightgbm(objective, 3, &[tree]).as_bytes()).unwrap();
        let mut out = [0.0];
        model.score(&[1.0, 2.0, 3.0], &mut TreeScratch::default(), &mut out).unwrap();
        assert_eq!(out, [wanted], "{objective}");
    }
}

#[test]
fn a_model_says_what_it_is() {
    let text = lightgbm("binary sigmoid:1", 2, &[stump(0, "1", 0), stump(1, "1", 0)]);
    let about = Trees::read(text.as_bytes()).unwrap().about().clone();
    let wanted = AboutTrees {
        unused: 0,
        format: TreeFormat::LightGbm,
        objective: "binary sigmoid:1".to_owned(),
        features: 2,
        feature_names: vec!["f0".to_owned(), "f1".to_owned()],
        margins: 1,
        scores: 1,
        trees: 2,
    };
    assert_eq!(about, wanted);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let model = Trees::read(lightgbm("regression", 3, &[stump(0, "1", 0)]).as_bytes()).unwrap();
    let refused = |rows: &[f64], out: &mut [f64]| {
        model.score(rows, &mut TreeScratch::default(), out).unwrap_err().to_string()
    };
    assert_eq!(refused(&[1.0; 4], &mut [0.0]), "score rows: 4 numbers are no rows of 3");
    let wanted = "score rows: 2 rows give 1 numbers each, there is room for 3";
    assert_eq!(refused(&[1.0; 6], &mut [0.0; 3]), wanted);
    model.score::<f64>(&[], &mut TreeScratch::default(), &mut []).unwrap();
}

#[test]
fn what_is_no_model_is_named_as_such() {
    for bytes in [&b""[..], b"  ", b"binf\0", b"{", b"[1]", b"onnx"] {
        let error = Trees::read(bytes).unwrap_err().to_string();
        assert!(error.starts_with("read model: byte 0: is neither LightGBM's text"), "{error}");
    }
}
