//! Bodies and answers as clients of text-embeddings-inference write and read them.

use serde_json::{Value, json};

use crate::queued::QueuedRequest;
use crate::text_paths::answer_texts;
use crate::texts::tests::by_hand::{Asked, Stand, alone, golden};

#[test]
fn embed_answers_rows_of_length_one_unless_told() {
    let stand = Stand::open("mean", |_| ());
    for (body, normalise) in [
        (r#"{"inputs":["The dog walks.","a cat"]}"#, true),
        (r#"{"inputs":["The dog walks.","a cat"],"normalize":false,"truncate":null}"#, false),
    ] {
        let rows: Vec<Vec<f32>> = serde_json::from_str(&stand.call("/embed", body).body()).unwrap();
        assert_eq!(rows, alone(&golden("mean"), &["The dog walks.", "a cat"], normalise));
    }
    let one: Vec<Vec<f32>> =
        serde_json::from_str(&stand.call("/embed", r#"{"inputs":"a cat"}"#).body()).unwrap();
    assert_eq!(one, alone(&golden("mean"), &["a cat"], true));
}

#[test]
fn similarity_is_the_cosine_with_each_sentence() {
    let stand = Stand::open("mean", |_| ());
    let body = r#"{"inputs":{"source_sentence":"a cat","sentences":["The dog","a cat"]}}"#;
    let body = stand.call("/similarity", body).body();
    let cosines: Vec<f32> = serde_json::from_str(&body).unwrap();
    let rows = alone(&golden("mean"), &["a cat", "The dog"], true);
    let wanted: f32 = rows[0].iter().zip(&rows[1]).map(|(a, b)| a * b).sum();
    assert_eq!(cosines.len(), 2);
    assert!((cosines[0] - wanted).abs() < 1e-6 && (cosines[1] - 1.0).abs() < 1e-6);
}

#[test]
fn tokenize_shows_tokens_beside_their_characters() {
    let stand = Stand::open("mean", |_| ());
    let body = stand.call("/tokenize", r#"{"inputs":["a Cat","犬s"]}"#).body();
    let found: Value = serde_json::from_str(&body).unwrap();
    let mark = json!({"id": 2, "text": "[CLS]", "special": true, "start": null, "stop": null});
    assert_eq!(found[0][0], mark);
    let cat = json!({"id": 7, "text": "Cat", "special": false, "start": 2, "stop": 5});
    assert_eq!(found[0][2], cat);
    assert_eq!(found[0].as_array().unwrap().len(), 4);
    assert_eq!(found[1][1]["text"], "犬");
    let body = stand.call("/tokenize", r#"{"inputs":"a Cat","add_special_tokens":false}"#).body();
    let found: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(found[0].as_array().unwrap().len(), 2);
}

#[test]
fn info_says_what_the_model_is() {
    let stand = Stand::open("mean", |_| ());
    let info: Value = serde_json::from_str(&stand.call("/info", "").body()).unwrap();
    assert_eq!(info["model_id"], "texts");
    assert_eq!(info["max_input_length"], 30);
    assert_eq!(info["model_type"]["embedding"]["pooling"], "mean");
}

#[test]
fn what_does_not_fit_has_the_status_that_clients_expect() {
    let stand = Stand::open("mean", |plan| plan.texts_max = 3);
    let long = format!(r#"{{"inputs":"{}"}}"#, "dog ".repeat(60));
    for (path, body, status) in [
        ("/embed", "{", 400),
        ("/embed", "{}", 422),
        ("/embed", r#"{"inputs":[]}"#, 422),
        ("/embed", r#"{"inputs":[1]}"#, 422),
        ("/embed", r#"{"inputs":"a","prompt_name":"query"}"#, 422),
        ("/embed", r#"{"inputs":"a","truncation_direction":"Left"}"#, 422),
        ("/embed", r#"{"inputs":["a","b","c","d"]}"#, 413),
        ("/embed", r#"{"inputs":"a","model":"other"}"#, 404),
        ("/embed", &long, 413),
        ("/similarity", r#"{"inputs":{"source_sentence":"a","sentences":[]}}"#, 422),
        ("/similarity", r#"{"inputs":["a"]}"#, 422),
        ("/tokenize", r#"{"inputs":[]}"#, 422),
        ("/tokenize", r#"{"inputs":["a","b","c","d"]}"#, 413),
    ] {
        assert_eq!(stand.call(path, body).status(), status, "{path} {body}");
    }
    let none = Asked::default();
    let request =
        QueuedRequest { method: "GET".into(), path: "/info".into(), ..QueuedRequest::default() };
    answer_texts(&[], &request, none.sender());
    assert_eq!(none.status(), 404);
}

#[test]
fn long_texts_are_cut_where_the_body_says_so() {
    let stand = Stand::open("mean", |_| ());
    let long = "dog ".repeat(60);
    let embed = format!(r#"{{"inputs":"{long}","truncate":true}}"#);
    assert!(stand.call("/embed", &embed).body().starts_with("[["));
    let inputs = format!(r#"{{"source_sentence":"{long}","sentences":["{long}"]}}"#);
    let similarity = format!(r#"{{"inputs":{inputs},"parameters":{{"truncate":true}}}}"#);
    let cosines: Vec<f32> =
        serde_json::from_str(&stand.call("/similarity", &similarity).body()).unwrap();
    assert!((cosines[0] - 1.0).abs() < 1e-6);
}
