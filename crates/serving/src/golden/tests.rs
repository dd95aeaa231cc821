//! What passes for the same, and what is wrong with a golden file.

use std::fs;

use testkit::TempDir;

use models::Iterations;

use super::*;

const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"m","version":"7","intercept":1.0,
    "features":[{"name":"item.a","weight":2.0}]}"#;

fn checked(golden: &str, tolerance: f64) -> Result<(), String> {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("golden.json");
    fs::write(&file, golden).unwrap();
    let predictor = Predictor::read(MODEL.as_bytes(), None, Iterations::Best).unwrap();
    check(&GoldenPlan { file, tolerance }, &predictor, tolerance)
}

fn golden(data: &str, outputs: &str) -> String {
    format!(
        r#"{{"inputs":[{{"name":"input","shape":[2,1],"datatype":"FP64","data":{data}}}],
            "outputs":{outputs}}}"#
    )
}

#[test]
fn outputs_may_be_nested_and_differ_by_the_tolerance() {
    let file = golden("[1,500]", r#"[{"name":"predict","data":[[3.0],[1001.0]]}]"#);
    assert_eq!(checked(&file, 0.0), Ok(()));
    let file = golden("[1,500]", r#"[{"name":"predict","data":[3.0,1001.9]}]"#);
    assert_eq!(checked(&file, 0.001), Ok(()));
    let reason = checked(&file, 0.0001).unwrap_err();
    assert!(reason.contains("`predict`[1] is 1001, not 1001.9"), "{reason}");
}

#[test]
fn texts_and_truths_are_compared_as_they_are() {
    let values = |json: &str| Values::of(&serde_json::from_str(json).unwrap()).unwrap();
    let golden = values(r#"[["yes"], ["no"], [true]]"#);
    assert_eq!(golden.compare(("label", 1.0), &values(r#"["yes", "no", true]"#)), Ok(()));
    let differs = golden.compare(("label", 1.0), &values(r#"["yes", "yes", true]"#));
    assert_eq!(differs.unwrap_err(), "`label`[1] is \"yes\", not \"no\"");
    let shorter = golden.compare(("label", 1.0), &values(r#"["yes"]"#));
    assert_eq!(shorter.unwrap_err(), "`label` has 1 values, not 3");
    assert!(golden.compare(("label", 1.0), &values("[1.0]")).is_err());
}

#[test]
fn what_is_wrong_with_a_golden_file_is_said() {
    let good = r#"[{"name":"predict","data":[3.0,1001.0]}]"#;
    for (file, said) in [
        ("{".to_owned(), "EOF while parsing"),
        (golden("[1,500]", "[]"), "`outputs` is missing or empty"),
        (golden("[1,500]", r#"[{"data":[1]}]"#), "an output has no `name`"),
        (golden("[1,500]", r#"[{"name":"predict","data":"x"}]"#), "output `predict` is no array"),
        (golden("[1,500]", r#"[{"name":"predict","data":["a"]}]"#), "the golden file texts"),
        (golden("[1,500]", r#"[{"name":"other","data":[1]}]"#), "the model has no output `other`"),
        (golden("[1,500]", r#"[{"name":"predict","data":[3]}]"#), "has 2 values, not 1"),
        (golden("[1,2,3]", good), "has 3 values, its shape [2, 1] wants 2"),
    ] {
        let reason = checked(&file, 1e-6).unwrap_err();
        assert!(reason.contains(said) && reason.contains("golden.json"), "{reason}");
    }
}
