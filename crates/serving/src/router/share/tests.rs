//! Claims about the model that a body names.

use super::asked_model;

#[test]
fn the_model_is_found_at_either_end_of_a_body() {
    let texts = "x".repeat(20_000);
    for body in [
        format!(r#"{{"model": "mini", "input": "{texts}"}}"#),
        format!(r#"{{"input": "{texts}", "model" : "mini"}}"#),
        r#"{"input":"a","model":"mini"}"#.to_owned(),
    ] {
        assert_eq!(asked_model(body.as_bytes()), Some("mini"));
    }
    for body in [&b"{}"[..], br#"{"model": 7}"#, br#"{"input": "a \"model\": b"}"#, b"\"model\":\""]
    {
        assert_eq!(asked_model(body), None);
    }
}
