//! A small model with its files, for the tests of this crate.

use std::path::Path;

use models::Iterations;
use tempfile::TempDir;

use crate::config::{CandidatesPlan, ModelPlan};

/// `item.popularity`, and `user.affinity.b` for items of category `b`.
pub(crate) const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"news","version":"1",
    "link":"identity","intercept":0.5,
    "features":[{"name":"item.popularity","weight":1},
                {"name":"context.hour","weight":0.25,"missing":0},
                {"name":"user.country=de","weight":2}],
    "crosses":[{"left":"user.affinity.b","right":"item.category=b","weight":8},
               {"left":"user.affinity.t","right":"item.category=t","weight":8},
               {"left":"user.reads","right":"item.popularity","weight":0.125}]}"#;

/// Items `0` to `count - 1`: popularity falls with the row, categories b, t, e in turn.
pub(crate) fn items(count: usize) -> String {
    let item = |row: usize| {
        let (category, popularity) = (["b", "t", "e"][row % 3], (count - row) as f64 / 1024.0);
        format!(
            "{{\"id\":\"{row}\",\"title\":\"headline \\\"{row}\\\"\",\"category\":\"{category}\",\
             \"popularity\":{popularity}}}\n"
        )
    };
    (0..count).map(item).collect()
}

pub(crate) fn plan(dir: &Path) -> ModelPlan {
    let set =
        |name: &str, fields: &[(&str, &str)], highest: Option<(&str, usize)>| CandidatesPlan {
            name: name.into(),
            fields: fields
                .iter()
                .map(|(field, text)| (field.to_string(), text.to_string()))
                .collect(),
            highest: highest.map(|(field, count)| (field.to_owned(), count)),
        };
    ModelPlan {
        name: "news".into(),
        file: dir.join("model.json"),
        items: dir.join("items.jsonl"),
        fields: None,
        limit: 3,
        limit_max: 1000,
        candidates_max: 100_000,
        candidates: vec![
            set("business", &[("category", "b")], None),
            set("top", &[], Some(("popularity", 4))),
        ],
        candidates_default: None,
        per_category_max: None,
        exclude_recent: true,
        version: None,
        golden: None,
        iterations: Iterations::Best,
    }
}

/// Writes the model and `count` items.
pub(crate) fn dir(count: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    replace(&dir.path().join("model.json"), MODEL);
    replace(&dir.path().join("items.jsonl"), &items(count));
    dir
}

/// Puts a file in place as deployments do: whole, by rename.
pub(crate) fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text).unwrap();
    std::fs::rename(fresh, path).unwrap();
}

/// Trees as LightGBM writes them: 4 for a popularity above 0.004, else 1. And 8 for an affinity to
/// the item's own category of more than 0.5, else 2.
pub(crate) const TREES: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\n\
    max_feature_idx=1\nobjective=lambdarank\n\
    feature_names=item.popularity user.affinity@item.category\n\n\
    Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=0.004\ndecision_type=10\n\
    left_child=-1\nright_child=-2\nleaf_value=1 4\nleaf_count=1 1\ninternal_count=2\n\n\
    Tree=1\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nthreshold=0.5\ndecision_type=10\n\
    left_child=-1\nright_child=-2\nleaf_value=2 8\nleaf_count=3 1\ninternal_count=4\n\n\
    end of trees\n";
