//! XGBoost files that are cut short, changed or not for us.

use crate::{Error, Iterations, TreeScratch, Trees};

const JSON: &str = include_str!("../../../golden/trees/xgb-one-hot.json");
const UBJSON: &[u8] = include_bytes!("../../../golden/trees/xgb-partition.ubj");

/// One split on feature 0 at 0.5: left 1, right 2.
const SMALL: &str = r#"{"learner":{
    "learner_model_param":{"base_score":"[5E-1]","num_class":"0","num_feature":"2",
        "num_target":"1"},
    "objective":{"name":"reg:squarederror"},
    "gradient_booster":{"name":"gbtree","model":{
        "gbtree_model_param":{"num_trees":"1"},"tree_info":[0],
        "trees":[{"tree_param":{"num_nodes":"3","size_leaf_vector":"1"},
            "left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],
            "split_conditions":[5E-1,1E0,2E0],"default_left":[1,0,0]}]}}},
    "version":[3,2,0]}"#;

fn refusal(bytes: &[u8]) -> String {
    match Trees::read(bytes) {
        Ok(model) => panic!("accepted: {:?}", model.about()),
        Err(Error::Model(problems)) => problems[0].to_string(),
        Err(other) => panic!("{other}"),
    }
}

fn score(text: &str, rows: &[f64]) -> Vec<f64> {
    let model = Trees::read(text.as_bytes()).unwrap();
    let mut out = vec![0.0; rows.len() / 2 * model.about().scores];
    model.score(rows, &mut TreeScratch::default(), &mut out).unwrap();
    out
}

#[test]
fn a_value_below_the_limit_goes_left_and_nan_by_default() {
    let nearly = f64::from(0.5_f32.next_down());
    // As a float the fourth value is the limit itself.
    let rows = [nearly, 0.0, 0.5, 0.0, f64::NAN, 0.0, 0.499_999_999_9, 0.0, f64::INFINITY, 0.0];
    assert_eq!(score(SMALL, &rows), [1.5, 2.5, 1.5, 2.5, 2.5]);
    let right = SMALL.replace("\"default_left\":[1", "\"default_left\":[0");
    assert_eq!(score(&right, &rows), [1.5, 2.5, 2.5, 2.5, 2.5]);
    let booleans = SMALL.replace("[1,0,0]}]", "[true,false,false]}]");
    assert_eq!(score(&booleans, &rows), [1.5, 2.5, 1.5, 2.5, 2.5]);
}

#[test]
fn base_scores_are_taken_back_to_margins() {
    let of = |objective: &str, base: &str| {
        let text = SMALL.replace("reg:squarederror", objective).replace("[5E-1]", base);
        score(&text.replace("1E0,2E0", "0E0,0E0"), &[0.0, 0.0])[0]
    };
    assert_eq!(of("reg:squarederror", "5E-1"), 0.5);
    assert_eq!(of("binary:logitraw", "2E-1"), f64::from(0.2_f32));
    assert!((of("binary:logistic", "2E-1") - 0.2).abs() < 1e-7);
    assert!((of("binary:logistic", "0E0") - 1e-6).abs() < 1e-9, "bounded");
    assert!((of("count:poisson", "3E0") - 3.0).abs() < 1e-6);
    assert_eq!(of("binary:hinge", "1E-1"), 1.0);
}

#[test]
fn quantiles_are_put_in_order_by_what_wrote_them() {
    let text = SMALL
        .replace("reg:squarederror", "reg:quantileerror")
        .replace("[5E-1]", "[3E0,1E0,2E0]")
        .replace("\"num_target\":\"1\"", "\"num_target\":\"3\"");
    assert_eq!(score(&text, &[0.0, 0.0]), [4.0, 1.0, 2.0]);
    let newer = text.replace("[3,2,0]", "[3,4,0]");
    assert_eq!(score(&newer, &[0.0, 0.0]), [1.0, 2.0, 4.0]);
}

#[test]
fn the_weight_of_a_dart_tree_stands_beside_or_among_the_trees() {
    let rows = [0.0, 0.0];
    let weight = "\"weight_drop\":[2.5E-1],";
    let among = SMALL.replace("\"tree_info\"", &format!("{weight}\"tree_info\""));
    assert_eq!(score(&among, &rows), [0.75]);
    let beside = SMALL
        .replace("\"name\":\"gbtree\",", &format!("\"name\":\"dart\",{weight}\"gbtree\":{{"))
        .replace("}]}}},", "}]}}}},");
    assert_eq!(score(&beside, &rows), [0.75]);
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let tree = "`learner.gradient_booster.model.trees[0]`: ";
    let param = "`learner.learner_model_param`: ";
    for (from, to, wanted) in [
        ("learner_model_param", "param", "`learner`: has no key `learner_model_param`"),
        ("\"num_feature\":\"2\"", "\"num_feature\":\"0\"", &format!("{param}has 0 features")),
        ("\"2\"", "\"9999999999\"", &format!("{param}has 9999999999 features")),
        ("\"2\"", "2", "`learner.learner_model_param.num_feature`: must be a string"),
        ("\"2\"", "\"x\"", "`learner.learner_model_param.num_feature`: `x` is no count"),
        ("\"num_class\":\"0\"", "\"num_class\":\"99999\"", &format!("{param}has 99999 outputs")),
        ("[5E-1]", "[5E-1,1]", "`learner.learner_model_param.base_score`: holds 2 numbers for 1"),
        ("[5E-1]", "nan", "`learner.learner_model_param.base_score`: `nan` is no base score"),
        ("reg:squarederror", "x", "`learner.objective.name`: `x` is not known here"),
        ("\"gbtree\"", "\"other\"", "`learner.gradient_booster.name`: `other` is no booster"),
        ("\"gbtree\"", "\"gblinear\"", "`learner.gradient_booster.model`: has no key `weights`"),
        ("\"tree_info\":[0]", "\"tree_info\":[1]", "`learner.gradient_booster.model.tree_info`: "),
        ("\"num_trees\":\"1\"", "\"num_trees\":\"2\"", "`learner.gradient_booster.model.trees`: "),
        (
            "vector\":\"1\"",
            "vector\":\"3\"",
            &format!("{tree}has leaves of several values; hint: load and save the model with"),
        ),
        ("\"3\"", "\"4\"", &format!("{tree}`num_nodes` holds 4 numbers for 3 nodes")),
        ("[2,-1,-1]", "[2,-1]", &format!("{tree}`right_children` holds 2 numbers for 3")),
        ("[1,-1,-1]", "[7,-1,-1]", &format!("{tree}node 0: child 7 does not exist")),
        ("[1,-1,-1]", "[2,-1,-1]", "tree 0: is no tree: leaf 1 is reached twice"),
        ("[1,-1,-1]", "[0,-1,-1]", "tree 0: is no tree: split 0 is reached twice"),
        ("[0,0,0]", "[2,0,0]", &format!("{tree}node 0: feature 2 is none of 2")),
        ("[5E-1,1E0,2E0]", "[NaN,1,2]", &format!("{tree}node 0: `NaN` is no limit")),
        ("2E0]", "Infinity]", &format!("{tree}holds a leaf that is not")),
        ("[0,0,0]", "\"x\"", "`learner.gradient_booster.model.trees[0].split_indices`: must be"),
    ] {
        let problem = refusal(SMALL.replacen(from, to, 1).as_bytes());
        assert!(problem.starts_with(wanted), "{from} to {to}: {problem}\nwanted {wanted}");
    }
}

#[test]
fn json_of_catboost_is_told_from_a_damaged_file() {
    let catboost =
        r#"{"features_info":{"float_features":[]},"model_info":{},"oblivious_trees":[]}"#;
    let problem = refusal(catboost.as_bytes());
    assert!(problem.contains("CatBoost") && problem.contains("worker app"), "{problem}");
}

#[test]
fn a_leaf_of_several_values_adds_to_each_output() {
    let text = SMALL
        .replace("\"num_target\":\"1\"", "\"num_target\":\"2\"")
        .replace("vector\":\"1\"", "vector\":\"2\"")
        .replace("[2,-1,-1]", "[2,1,0]")
        .replace("\"left_children\"", "\"leaf_weights\":[1,2,3,4],\"left_children\"");
    assert_eq!(score(&text, &[0.0, 0.0]), [3.5, 4.5]);
    assert_eq!(score(&text, &[9.0, 9.0]), [1.5, 2.5]);
    let tree = "`learner.gradient_booster.model.trees[0]`: ";
    for (from, to, wanted) in [
        ("[1,2,3,4]", "[1,2,3]", format!("{tree}holds 3 values for 2 leaves of 2")),
        ("[2,1,0]", "[2,1,2]", format!("{tree}node 2: its leaf does not exist")),
        ("[2,1,0]", "[2,-1,0]", format!("{tree}node 1: its leaf does not exist")),
        (
            "target\":\"2\"",
            "target\":\"3\"",
            format!("{tree}has leaves of another number of values than of outputs"),
        ),
    ] {
        let problem = refusal(text.replacen(from, to, 1).as_bytes());
        assert!(problem.starts_with(&wanted), "{from} to {to}: {problem}\nwanted {wanted}");
    }
}

#[test]
fn sets_of_categories_that_overlap_or_are_absent_are_refused() {
    let add = |keys: &str| SMALL.replace("\"left_children\"", &format!("{keys}\"left_children\""));
    let sets = |starts: &str, sizes: &str, nodes: &str| {
        add(&format!(
            "\"split_type\":[1,0,0],\"categories\":[1,4],\"categories_segments\":{starts},\
             \"categories_sizes\":{sizes},\"categories_nodes\":{nodes},"
        ))
    };
    // In the set to the right, everything else to the left, NaN by default to the left.
    let rows = [1.0, 0.0, 4.7, 0.0, 0.0, 0.0, -1.0, 0.0, 5.0, 0.0, 3e9, 0.0, f64::NAN, 0.0];
    assert_eq!(score(&sets("[0]", "[2]", "[0]"), &rows), [2.5, 2.5, 1.5, 1.5, 1.5, 1.5, 1.5]);
    for (starts, sizes, nodes) in [
        ("[1]", "[1]", "[0]"),
        ("[0]", "[3]", "[0]"),
        ("[0]", "[-1]", "[0]"),
        ("[0]", "[2]", "[9]"),
        ("[0]", "[2]", "[-1]"),
        ("[0,0]", "[2,2]", "[0,1]"),
        ("[]", "[]", "[0]"),
        ("[]", "[]", "[]"),
        ("[0]", "[2]", "[1]"),
    ] {
        let problem = refusal(sets(starts, sizes, nodes).as_bytes());
        let named = problem.contains("do not exist") || problem.contains("disagree");
        assert!(named, "{starts} {sizes} {nodes}: {problem}");
    }
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_was_cut() {
    let json = JSON.trim_end().as_bytes();
    for end in (0..json.len()).rev().step_by(7) {
        refusal(&json[..end]);
    }
    for end in (0..UBJSON.len()).rev().step_by(7) {
        refusal(&UBJSON[..end]);
    }
}

#[test]
fn a_file_with_a_byte_changed_is_read_or_refused() {
    let mut state = 1_usize;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % below
    };
    for file in [JSON.as_bytes(), UBJSON] {
        for _ in 0..500 {
            let mut bytes = file.to_vec();
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
            let Ok(model) = Trees::read(&bytes) else { continue };
            let about = model.about();
            if about.features < 1_000 {
                let rows = vec![0.5; 9 * about.features];
                let mut out = vec![0.0; 9 * about.scores];
                model.score(&rows, &mut TreeScratch::default(), &mut out).unwrap();
            }
        }
    }
}

/// How many trees count of this text, and how many do not, by default and where all do.
fn counted(text: &str) -> [(usize, usize); 2] {
    [Iterations::Best, Iterations::All].map(|iterations| {
        let model = Trees::read_iterations(text.as_bytes(), iterations).unwrap();
        (model.about().trees, model.about().unused)
    })
}

#[test]
fn trees_after_the_best_iteration_do_not_count_unless_told_to() {
    let stopped = include_str!("../../../golden/trees/xgb-stopped.json");
    assert_eq!(counted(stopped), [(2, 4), (6, 0)]);
    // Before 2.0 a file did not say where iterations begin.
    let old = stopped.replace("iteration_indptr", "something_else");
    assert_eq!(counted(&old), [(2, 4), (6, 0)]);
    let parallel = old.replace(r#""num_parallel_tree":"1""#, r#""num_parallel_tree":"2""#);
    assert_eq!(counted(&parallel), [(4, 2), (6, 0)]);
    let later = stopped.replace(r#""best_iteration":"1""#, r#""best_iteration":"17""#);
    assert_eq!(counted(&later), [(6, 0), (6, 0)]);
    let never = stopped.replace("best_iteration", "another_attribute");
    assert_eq!(counted(&never), [(6, 0), (6, 0)]);
    let wrong = stopped.replace(r#""best_iteration":"1""#, r#""best_iteration":"one""#);
    assert!(refusal(wrong.as_bytes()).contains("best_iteration"));
}
