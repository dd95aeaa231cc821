//! Groups as `/cluster` answers them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::texts::tests::by_hand::{Stand, golden, minilm};

const SENTENCES: [&str; 9] = [
    "Dog Walking: 10 Simple Steps",
    "The Secrets of Dog Walking",
    "Why You Need To Dog Walking",
    "The Art of Dog Walking",
    "The Joy of Dog Walking",
    "Public Speaking For The Modern Age",
    "Learn The Art of Public Speaking",
    "Master The Art of Public Speaking",
    "The Best Way To Public Speaking",
];

fn texts(value: &Value) -> BTreeSet<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn nine_sentences_are_about_dogs_and_about_speaking() {
    let Some(dir) = minilm() else { return };
    let stand = Stand::open("mean", |plan| plan.dir = dir);
    for method in ["linkage", "communities"] {
        let body = serde_json::json!({ "sentences": SENTENCES, "method": method }).to_string();
        let answer = stand.call("/cluster", &body).body();
        let found: Value = serde_json::from_str(&answer).unwrap();
        let clusters = found["clusters"].as_array().unwrap();
        assert_eq!(clusters.len(), 2, "{answer}");
        assert_eq!(texts(&clusters[0]["sentences"]), BTreeSet::from_iter(SENTENCES[..5].to_vec()));
        assert_eq!(texts(&clusters[1]["sentences"]), BTreeSet::from_iter(SENTENCES[5..].to_vec()));
        assert_eq!(clusters[0]["label"], clusters[0]["sentences"][0]);
        assert!((0.35..1.0).contains(&clusters[0]["cohesion"].as_f64().unwrap()), "{answer}");
        assert_eq!(found["noise"].as_array().unwrap().len(), 0);
        assert_eq!(stand.call("/cluster", &body).body(), answer, "whatever is remembered");
    }
}

#[test]
fn nothing_to_group_gives_no_groups() {
    let stand = Stand::open("mean", |_| ());
    let answer = stand.call("/cluster", r#"{"sentences":[]}"#).body();
    assert_eq!(answer, r#"{"clusters":[],"noise":[]}"#);
}

#[test]
fn sentences_come_back_as_they_were_and_too_small_groups_as_noise() {
    let stand = Stand::open("static", |_| ());
    let body = r#"{"sentences":["a \"dog\"\n","a \"dog\"\n","犬 runs"],"similarity_min":0.999}"#;
    let found: Value = serde_json::from_str(&stand.call("/cluster", body).body()).unwrap();
    assert_eq!(found["clusters"][0]["sentences"][1], "a \"dog\"\n");
    assert_eq!(found["noise"][0], "犬 runs");
    let all = body.replace("0.999", "0.999,\"members_min\":1");
    let found: Value = serde_json::from_str(&stand.call("/cluster", &all).body()).unwrap();
    assert_eq!(found["clusters"].as_array().unwrap().len(), 2);
}

#[test]
fn settings_come_from_the_body_then_the_plan_then_the_number_of_sentences() {
    let mut plan = crate::texts::tests::by_hand::plan(&golden("mean"));
    plan.linkage_similarity_min = Some(0.1);
    plan.community_similarity_min = Some(0.2);
    let similarity = |method| planned(&plan, method);
    let kind = EmbedderKind::Static;
    let how = ClusterOptions::default();
    let few = how.clustering(5_000, kind, similarity);
    assert_eq!((few.method, few.similarity_min), (Method::Linkage, 0.1));
    let many = how.clustering(5_001, kind, similarity);
    assert_eq!((many.method, many.similarity_min), (Method::Communities, 0.2));
    assert_eq!(many.members_min, 2);
    let how = ClusterOptions {
        method: Some(Grouping::Communities),
        similarity_min: Some(0.3),
        members_min: Some(4),
    };
    let wanted = Clustering { method: Method::Communities, similarity_min: 0.3, members_min: 4 };
    assert_eq!(how.clustering(9, kind, similarity), wanted);
}

#[test]
fn without_a_setting_the_kind_of_model_says_the_similarity() {
    let plan = crate::texts::tests::by_hand::plan(&golden("static"));
    let similarity = |kind, rows| {
        let planned = |method| planned(&plan, method);
        ClusterOptions::default().clustering(rows, kind, planned).similarity_min
    };
    let encoder = EmbedderKind::Encoder { layers: 6 };
    assert_eq!((similarity(encoder, 9), similarity(encoder, 5_001)), (0.35, 0.5));
    let words = EmbedderKind::Static;
    assert_eq!((similarity(words, 9), similarity(words, 5_001)), (0.35, 0.55));
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let stand = Stand::open("mean", |plan| plan.texts_max = 2);
    for (body, status, words) in [
        ("{}", 400, "missing field `sentences`"),
        (r#"{"sentences":["a"],"methods":1}"#, 400, "unknown field `methods`"),
        (r#"{"sentences":["a"],"method":"kmeans"}"#, 400, "unknown variant `kmeans`"),
        (r#"{"sentences":["a"],"similarity_min":2}"#, 400, "not from -1 to 1"),
        (r#"{"sentences":["a"],"members_min":0}"#, 400, "`members_min` is 0"),
        (r#"{"sentences":["a","a","a"]}"#, 413, "at most 2"),
        (r#"{"sentences":["a"],"model":"b"}"#, 404, "no model `b`"),
    ] {
        let refusal = stand.call("/cluster", body).refusal();
        assert_eq!(refusal.status, status, "{body}: {refusal}");
        assert!(refusal.reason.contains(words), "{body}: {refusal}");
    }
}
