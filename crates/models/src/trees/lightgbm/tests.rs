//! LightGBM files that are cut short, changed or not for us.

use crate::{Error, TreeScratch, Trees};

const MODEL: &str = include_str!("../../../golden/trees/lgb-multiclass.txt");

fn refusal(text: &str) -> String {
    match Trees::read(text.as_bytes()) {
        Ok(model) => panic!("accepted: {:?}", model.about()),
        Err(Error::Model(problems)) => problems[0].to_string(),
        Err(other) => panic!("{other}"),
    }
}

/// The model with the first line of that key changed.
fn with(key: &str, value: &str) -> String {
    let start = MODEL.find(&format!("\n{key}=")).expect("the model has the key") + 1;
    let end = start + MODEL[start..].find('\n').unwrap();
    format!("{}{key}={value}{}", &MODEL[..start], &MODEL[end..])
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_was_cut() {
    let whole = MODEL.find("end of trees").unwrap() + "end of trees".len();
    for end in (0..whole).rev().step_by(7) {
        refusal(&MODEL[..end]);
    }
    Trees::read(&MODEL.as_bytes()[..whole]).unwrap();
}

#[test]
fn each_mistake_is_named_with_its_place() {
    for (key, value, wanted) in [
        ("version", "v9", "header: `version`: `v9` is not known here"),
        ("num_class", "x", "header: `num_class`: `x` is no such number"),
        ("num_tree_per_iteration", "0", "header: `num_tree_per_iteration`: is 0, must be from 1"),
        ("num_tree_per_iteration", "4", "header: `num_tree_per_iteration`: 6 trees do not divide"),
        ("num_tree_per_iteration", "99999", "header: `num_tree_per_iteration`: is 99999, must"),
        ("max_feature_idx", "4000000000", "header: `max_feature_idx`: is 4000000000, must be"),
        ("feature_names", "a b", "header: `feature_names`: holds 2 names, must hold 7"),
        ("objective", "magic", "header: `objective`: `magic` is not known here"),
        ("objective", "binary", "header: `objective`: `binary` needs a positive `sigmoid:`"),
        ("objective", "poisson", "header: `objective`: `poisson` gives one score"),
        ("tree_sizes", "1 2", "header: `tree_sizes`: names 2 trees, the file holds 6"),
        ("num_leaves", "0", "tree 0: `leaf_value`: holds 6 numbers, must hold 0"),
        ("num_leaves", "99999999999", "tree 0: `leaf_value`: holds 6 numbers, must hold 99999999"),
        ("num_cat", "18446744073709551615", "tree 0: `cat_boundaries`: holds"),
        ("leaf_value", "1 2 3 4 5 nan", "tree 0: `leaf_value`: leaf 5 is not finite"),
        ("threshold", "0 0 0 0 nan", "tree 0: `threshold`: node 4: is not a number"),
        ("threshold", "-1 -1 -1 -1 -1", "tree 0: `threshold`: node "),
        ("decision_type", "12 12 12 12 12", "tree 0: `decision_type`: node 0: 12 names no way"),
        ("split_feature", "0 0 7 0 0", "tree 0: `split_feature`: node 2: feature 7 is none of 7"),
        ("left_child", "1 2 3 4 9", "tree 0: `left_child`: node 4: child 9 does not exist"),
        ("right_child", "-7 2 3 4 0", "tree 0: `right_child`: node 0: child -7 does not exist"),
        ("right_child", "0 0 0 0 0", "tree 0: is no tree: split 0 is reached twice"),
        ("is_linear", "1", "tree 0: has no line `leaf_const=`"),
        ("cat_boundaries", "1 0", "tree 0: `cat_boundaries`: "),
    ] {
        let problem = refusal(&with(key, value));
        assert!(problem.starts_with(wanted), "{key}={value}: {problem}\nwanted {wanted}");
    }
}

/// Two leaves: 1 + 2 a, and 3 + 4 a - b.
const LINEAR: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n\
    max_feature_idx=1\nobjective=regression\nfeature_names=a b\n\nTree=0\nnum_leaves=2\nnum_cat=0\n\
    split_feature=0\nthreshold=0.5\ndecision_type=2\nleft_child=-1\nright_child=-2\n\
    leaf_value=10 20\nis_linear=1\nleaf_const=1 3\nnum_features=1 2\nleaf_features=0  0 1  \n\
    leaf_coeff=2  4 -1  \n\nend of trees\n";

#[test]
fn a_leaf_that_is_a_function_adds_its_plain_value_where_one_of_its_values_is_missing() {
    let model = Trees::read(LINEAR.as_bytes()).unwrap();
    let nan = f64::NAN;
    let cases = [
        ([0.25, nan], 1.5),
        ([1.0, 2.0], 5.0),
        ([1.0, nan], 20.0),
        ([nan, 2.0], 10.0),
        ([1.0, 1e-36], 7.0),
    ];
    for count in [1, 9] {
        let rows: Vec<f64> = cases.iter().flat_map(|(row, _)| row.repeat(count)).collect();
        let mut out = vec![0.0; cases.len() * count];
        model.margins(&rows, &mut TreeScratch::default(), &mut out).unwrap();
        let wanted: Vec<f64> = cases.iter().flat_map(|(_, sum)| [*sum].repeat(count)).collect();
        assert_eq!(out, wanted);
    }
}

#[test]
fn each_mistake_in_the_function_of_a_leaf_is_named() {
    for (from, to, wanted) in [
        ("leaf_const=1 3", "leaf_const=1", "tree 0: `leaf_const`: holds 1 numbers, must hold 2"),
        ("num_features=1 2", "num_features=1", "tree 0: `num_features`: holds 1 numbers"),
        ("num_features=1 2", "num_features=1 9", "tree 0: `leaf_features`: holds 3 numbers, must"),
        ("0  0 1  ", "0  0 2  ", "tree 0: `leaf_features`: feature 2 is none of 2"),
        ("2  4 -1  ", "2  4  ", "tree 0: `leaf_coeff`: holds 2 numbers, must hold 3"),
        ("2  4 -1  ", "2  4 inf", "tree 0: `leaf_coeff`: or `leaf_const` holds what is not"),
    ] {
        let problem = refusal(&LINEAR.replacen(from, to, 1));
        assert!(problem.starts_with(wanted), "{from} to {to}: {problem}\nwanted {wanted}");
    }
}

#[test]
fn a_foreign_line_among_trees_is_named_by_number() {
    let text = MODEL.replacen("\n\nTree=1", "\n\nshrub=1", 1);
    let line = text.lines().position(|line| line == "shrub=1").unwrap() + 1;
    assert_eq!(refusal(&text), format!("line {line}: expected `Tree=` or `end of trees`"));
}

#[test]
fn a_model_without_trees_gives_zero() {
    let header = &MODEL[..MODEL.find("Tree=0").unwrap()];
    let start = header.find("tree_sizes=").unwrap();
    let text = format!("{}tree_sizes=\n\nend of trees\n", &header[..start]);
    assert_eq!(Trees::read(text.as_bytes()).unwrap().about().trees, 0);
}

#[test]
fn carriage_returns_change_nothing() {
    Trees::read(MODEL.replace('\n', "\r\n").as_bytes()).unwrap();
}
