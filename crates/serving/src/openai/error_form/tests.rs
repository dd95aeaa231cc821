//! Claims about the form of refusals.

use exchange::Refusal;
use serde_json::{Value, json};

use super::{as_openai, is_openai};

#[test]
fn a_refusal_has_the_type_and_code_that_clients_of_openai_tell_errors_by() {
    let cases = [
        (400, "invalid_request_error", Value::Null),
        (404, "invalid_request_error", json!("model_not_found")),
        (413, "invalid_request_error", Value::Null),
        (429, "rate_limit_error", json!("rate_limit_exceeded")),
        (500, "server_error", Value::Null),
        (503, "server_error", Value::Null),
    ];
    for (status, kind, code) in cases {
        let refusal = as_openai(Refusal::new(status, "no \"model\""));
        assert_eq!(refusal.status, status);
        let body: Value = serde_json::from_str(&refusal.body.unwrap()).unwrap();
        let error = json!({"message": "no \"model\"", "type": kind, "param": null, "code": code});
        assert_eq!(body, json!({ "error": error }));
    }
}

#[test]
fn only_paths_of_openai_have_its_form() {
    assert!(["/v1/embeddings", "/embeddings", "/v1/models"].iter().all(|path| is_openai(path)));
    assert!(["/embed", "/v2/models/m/infer", "/cluster"].iter().all(|path| !is_openai(path)));
}
