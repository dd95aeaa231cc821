//! Trees rank as linear models do.

use super::*;

pub(super) fn of_trees(text: &str, change: impl FnOnce(&mut ModelPlan)) -> Ranking {
    let dir = fixture::dir(9);
    let file = dir.path().join("model.txt");
    fixture::replace(&file, text);
    let mut plan = ModelPlan { file, ..fixture::plan(dir.path()) };
    change(&mut plan);
    Ranking::open(vec![plan])
}

fn problem(ranking: &Ranking) -> String {
    let status = &ranking.status()[0];
    let items = status.items_file.as_ref().unwrap();
    assert!(items.problem.is_none(), "{:?}", items.problem);
    status.file.as_ref().unwrap().problem.as_ref().unwrap().message.clone()
}

#[test]
fn trees_answer_both_ways_to_ask() {
    let ranking = of_trees(fixture::TREES, |plan| plan.limit = 9);
    let anonymous = rank(&ranking, "{}").unwrap();
    // Categories b, t, e in turn; popularity falls, and is above the limit for items 0 to 4.
    assert_eq!(ids(&anonymous), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
    let scores = |reply: &Value| -> Vec<f64> {
        reply["items"].as_array().unwrap().iter().map(|i| i["score"].as_f64().unwrap()).collect()
    };
    assert_eq!(scores(&anonymous), [6.0, 6.0, 6.0, 6.0, 6.0, 3.0, 3.0, 3.0, 3.0]);
    let body = r#"{"user":{"affinity":{"t":0.75,"b":0.25},"recent":["1"]},"exclude":["7"]}"#;
    let of_user = rank(&ranking, body).unwrap();
    assert_eq!(ids(&of_user), ["4", "0", "2", "3", "5", "6", "8"][..7].to_vec());
    assert_eq!(scores(&of_user)[..2], [12.0, 6.0]);
    let profile = r#"{"affinity":{"t":0.75,"b":0.25},"recent":["1","7"]}"#;
    let mut wanted = of_user.clone();
    let recommended = recommend_of(&ranking, profile, "");
    wanted["items"]
        .as_array_mut()
        .unwrap()
        .iter()
        .zip(recommended["items"].as_array().unwrap())
        .for_each(|(wanted, found)| assert_eq!(wanted, found));
    let category = recommend_of(&ranking, profile, "category=t&limit=1");
    assert_eq!(ids(&category), ["4"]);
}

fn recommend_of(ranking: &Ranking, profile: &str, query: &str) -> Value {
    let profile = Profile::parse(profile.as_bytes()).unwrap();
    let mut out = Vec::new();
    let request = ModelRequest { query, ..ModelRequest::default() };
    ranking.recommend("news", Some(&profile), &request, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn sets_caps_and_limits_hold_for_trees() {
    let ranking = of_trees(fixture::TREES, |plan| plan.per_category_max = Some(1));
    assert_eq!(ids(&rank(&ranking, "{}").unwrap()), ["0", "1", "2"]);
    let of_set = rank(&ranking, r#"{"candidates":"business"}"#).unwrap();
    assert_eq!(ids(&of_set), ["0"]);
    let listed = rank(&ranking, r#"{"candidates":["8","3","nobody"]}"#).unwrap();
    assert_eq!(ids(&listed), ["3", "8"]);
    assert_eq!(listed["unknown"], json!(["nobody"]));
}

#[test]
fn an_explanation_of_trees_sums_to_the_score() {
    let ranking = of_trees(fixture::TREES, |_| ());
    let body = r#"{"explain":true,"user":{"affinity":{"t":0.75}},"limit":1}"#;
    let reply = rank(&ranking, body).unwrap();
    assert_eq!(
        reply["items"][0]["explain"],
        json!({"expected_value": 6.0, "item.popularity": 1.5, "user.affinity@item.category": 4.5})
    );
    assert_eq!(reply["items"][0]["score"], 12.0);
}

#[test]
fn a_model_that_explains_nothing_says_why() {
    let ranking = of_trees(&fixture::TREES.replace("leaf_count", "count"), |_| ());
    let reply = rank(&ranking, r#"{"explain":true,"limit":1}"#).unwrap();
    let reason = reply["items"][0]["explain"]["unavailable"].as_str().unwrap();
    assert!(reason.contains("`leaf_count` of LightGBM"), "{reason}");
}

#[test]
fn columns_that_name_nothing_are_refused_with_how_to_name_them() {
    let unnamed = fixture::TREES.replace(
        "feature_names=item.popularity user.affinity@item.category",
        "feature_names=Column_0 Column_1",
    );
    let found = problem(&of_trees(&unnamed, |_| ()));
    let wanted = "read model: columns: `Column_0`, `Column_1` name nothing that an item or a \
                  request brings: `Column_0` must start with `item.`, `user.` or `context.`; name \
                  each column `item.FIELD`";
    assert!(found.contains(wanted), "{found}");
}

#[test]
fn a_model_of_several_scores_is_refused_with_what_ranks() {
    let classes = fixture::TREES
        .replace("num_class=1", "num_class=2")
        .replace("iteration=1", "iteration=2")
        .replace("lambdarank", "multiclass");
    let found = problem(&of_trees(&classes, |_| ()));
    let wanted = "gives 2 scores a row (objective `multiclass`), and a ranking needs one; train a";
    assert!(found.contains(wanted), "{found}");
}

#[test]
fn a_model_over_items_serves_rows_of_a_client_too() {
    let ranking = of_trees(fixture::TREES, |plan| plan.version = Some("7".into()));
    let loaded = ranking.loaded("news").unwrap();
    assert_eq!((loaded.version.as_str(), loaded.rows.version.as_str()), ("7", "7"));
    assert_eq!(loaded.rows.columns, ["item.popularity", "user.affinity@item.category"]);
    assert_eq!(rank(&ranking, "{}").unwrap()["version"], "7");
}

#[test]
fn a_golden_input_is_asked_of_a_ranker_too() {
    let golden = |score: f64| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("golden.json");
        let text = format!(
            r#"{{"inputs":[{{"name":"input","shape":[1,2],"datatype":"FP64","data":[1,0.9]}}],
                "outputs":[{{"name":"predict","data":[{score}]}}]}}"#
        );
        fixture::replace(&file, &text);
        let golden = Some(GoldenPlan { file, tolerance: 1e-6 });
        of_trees(fixture::TREES, |plan| plan.golden = golden)
    };
    assert!(golden(12.0).loaded("news").is_some());
    let found = problem(&golden(11.0));
    assert!(found.contains("`predict`[0] is 12, not 11"), "{found}");
}

#[test]
fn a_long_ranking_of_trees_leaves_the_io_core() {
    let ranking = of_trees(fixture::TREES, |_| ());
    assert!(ranking.cost("news", Some(9)) < Duration::from_micros(50));
    assert!(ranking.cost("news", Some(100_000)) > Duration::from_micros(200));
    let explained = ranking.query_cost("news", "explain=1&limit=9");
    assert!(explained > ranking.query_cost("news", "explain=1&limit=2"));
    assert!(explained > ranking.query_cost("news", "limit=9"));
    let body = ranking.body_cost("news", br#"{"explain":true}"#);
    assert!(body > ranking.body_cost("news", br#"{"limited":true}"#));
}
