//! What is written, what it means, and every error at once.

use super::*;

fn planned(models: &[ModelConfig]) -> (ModelPlans, Vec<String>) {
    let mut wrong = Vec::new();
    let plans = plan(models, Path::new("/etc/tidegate"), &mut |key, message| {
        wrong.push(format!("{key} {message}"));
    });
    (plans, wrong)
}

#[test]
fn everything_but_name_and_files_has_a_default() {
    let written = ModelConfig {
        name: Some("news".into()),
        file: Some("models/news.json".into()),
        items: Some("/data/items.jsonl".into()),
        ..ModelConfig::default()
    };
    let (plans, wrong) = planned(&[written]);
    assert_eq!(wrong, [""; 0]);
    let plan = &plans.rankers[0];
    assert_eq!(plan.file, Path::new("/etc/tidegate/models/news.json"));
    assert_eq!(plan.items, Path::new("/data/items.jsonl"));
    assert_eq!((plan.limit, plan.limit_max, plan.candidates_max), (10, 1000, 100_000));
    assert_eq!((plan.candidates_default, plan.per_category_max), (None, None));
    assert!(plan.exclude_recent && plan.candidates.is_empty());
}

#[test]
fn all_errors_are_reported_with_their_keys() {
    let json = r#"[{"name":"a","file":"f","items":"i","limit":20,"limit_max":5,
                    "fields":["price","score","price"],
                    "candidates_default":"new",
                    "candidates":[{"name":"x","count":3},{"name":"x"},{}]},
                   {"name":"a","file":"f"}]"#;
    let models: Vec<ModelConfig> = serde_json::from_str(json).unwrap();
    let mut wrong = planned(&models).1;
    wrong.sort();
    assert_eq!(
        wrong,
        [
            "model[0].candidates[0].count goes with `by`, which says the highest of what",
            "model[0].candidates[1].name candidate set `x` is given twice",
            "model[0].candidates[2].name is missing",
            "model[0].candidates_default no candidate set `new`",
            "model[0].fields `price` is given twice",
            "model[0].fields `score` is the answer's own; items do not show theirs",
            "model[0].limit is 20, more than `limit_max` (5)",
            "model[1].name model `a` is given twice",
        ]
    );
}

#[test]
fn unknown_keys_are_rejected() {
    let error = serde_json::from_str::<ModelConfig>(r#"{"nme":"a"}"#).unwrap_err().to_string();
    assert!(error.contains("unknown field `nme`"), "{error}");
    let set = serde_json::from_str::<CandidatesConfig>(r#"{"where":{"category":"b"},"by":"x"}"#);
    assert_eq!(set.unwrap().fields.unwrap()["category"], "b");
}

#[test]
fn a_model_without_items_predicts_or_embeds_as_its_file_says() {
    let json = r#"[{"name":"trees","file":"m.txt","golden":"g.json","tolerance":0.01},
                   {"name":"mini","file":"minilm","precision":"int8","batch_timeout":"2ms",
                    "embedding_cache_bytes_max":"0B","linkage_similarity_min":0.4}]"#;
    let models: Vec<ModelConfig> = serde_json::from_str(json).unwrap();
    let (plans, wrong) = planned(&models);
    assert_eq!(wrong, [""; 0]);
    let golden = plans.predictors[0].golden.as_ref().unwrap();
    assert_eq!(
        (golden.file.as_path(), golden.tolerance),
        (Path::new("/etc/tidegate/g.json"), 0.01)
    );
    let texts = &plans.texts[0];
    assert_eq!((texts.precision, texts.cache_bytes), (Precision::Int8, 0));
    assert_eq!(texts.batch_timeout, Duration::from_millis(2));
    assert_eq!((texts.linkage_similarity_min, texts.community_similarity_min), (Some(0.4), None));
}

#[test]
fn keys_of_another_kind_of_model_are_errors() {
    let json = r#"[{"name":"a","file":"m.txt","limit":3,"precision":"f32"},
                   {"name":"b","file":"folder","rows_max":3,"per_category_max":1,"tolerance":1.0},
                   {"name":"c","file":"m.json","items":"i","texts_max":3,"rows_max":2,
                    "golden":"g"}]"#;
    let models: Vec<ModelConfig> = serde_json::from_str(json).unwrap();
    let mut wrong = planned(&models).1;
    wrong.sort();
    assert_eq!(
        wrong,
        [
            "model[0].limit means nothing to a model without `items`",
            "model[0].precision means nothing to a model that is a file, not a folder",
            "model[1].per_category_max means nothing to a model of texts; its `file` is a folder",
            "model[1].rows_max means nothing to a model of texts; its `file` is a folder",
            "model[1].tolerance goes with `golden`",
            "model[2].rows_max means nothing to a model that ranks items",
            "model[2].texts_max means nothing to a model that ranks items",
        ]
    );
}
