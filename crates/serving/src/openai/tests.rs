//! Bodies and answers as OpenAI's clients write and read them.

use serde_json::Value;

use super::*;
use crate::texts::tests::by_hand::{Stand, alone, golden};

const PATH: &str = "/v1/embeddings";

fn vector(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

#[test]
fn an_answer_is_as_openais() {
    let stand = Stand::open("mean", |_| ());
    let asked = stand.call(PATH, r#"{"input":["The dog walks.","a cat"],"model":"texts"}"#);
    let body: Value = serde_json::from_str(&asked.body()).unwrap();
    assert_eq!(body["object"], "list");
    assert_eq!(body["model"], "texts");
    assert_eq!(body["usage"]["prompt_tokens"], 11);
    assert_eq!(body["usage"]["total_tokens"], 11);
    let wanted = alone(&golden("mean"), &["The dog walks.", "a cat"], true);
    for (index, wanted) in wanted.iter().enumerate() {
        let row = &body["data"][index];
        assert_eq!((&row["object"], &row["index"]), (&"embedding".into(), &index.into()));
        assert_eq!(vector(&row["embedding"]), *wanted);
    }
    let again = stand.call("/embeddings", r#"{"input":"a cat","user":"x","model":null}"#);
    let again: Value = serde_json::from_str(&again.body()).unwrap();
    assert_eq!(again["usage"]["prompt_tokens"], 4, "tokens are remembered too");
}

#[test]
fn base64_holds_the_same_numbers() {
    let stand = Stand::open("mean", |_| ());
    let body = r#"{"input":"The dog walks.","encoding_format":"base64","dimensions":5}"#;
    let body: Value = serde_json::from_str(&stand.call(PATH, body).body()).unwrap();
    let bytes = STANDARD.decode(body["data"][0]["embedding"].as_str().unwrap()).unwrap();
    let numbers: Vec<f32> =
        bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let plain = r#"{"input":"The dog walks.","dimensions":5}"#;
    let plain: Value = serde_json::from_str(&stand.call(PATH, plain).body()).unwrap();
    assert_eq!(vector(&plain["data"][0]["embedding"]), numbers);
    let length = numbers.iter().map(|number| number * number).sum::<f32>();
    assert!((length - 1.0).abs() < 1e-5);
    assert_eq!(numbers.len(), 5);
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let stand = Stand::open("mean", |_| ());
    let long = format!(r#"{{"input":"{}"}}"#, "dog ".repeat(60));
    for (body, status, words) in [
        ("{", 400, "read the body: EOF"),
        ("{}", 400, "missing field `input`"),
        (r#"{"input":[]}"#, 400, "`input` is empty"),
        (r#"{"input":["a",""]}"#, 400, "`input[1]` is an empty text"),
        (r#"{"input":[1,2]}"#, 400, "token ids"),
        (r#"{"input":[[1,2]]}"#, 400, "token ids"),
        (r#"{"input":{}}"#, 400, "a text or an array of texts"),
        (r#"{"input":"a","encoding_format":"hex"}"#, 400, "unknown variant `hex`"),
        (r#"{"input":"a","dimensions":41}"#, 400, "`dimensions` is 41, not from 1 to 40"),
        (r#"{"input":"a","dimensions":-1}"#, 400, "integer `-1`"),
        (r#"{"input":"a","model":"gpt"}"#, 404, "no model `gpt`"),
        (&long, 413, "text 0 has 62 tokens, the model takes 30"),
    ] {
        let refusal = stand.call(PATH, body).refusal();
        assert_eq!(refusal.status, status, "{body}: {refusal}");
        assert!(refusal.reason.contains(words), "{body}: {refusal}");
    }
    let cut = long.replace('}', r#","truncate":true}"#);
    assert!(stand.call(PATH, &cut).is_answered());
}
