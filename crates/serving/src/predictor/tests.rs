//! What a file is found to be.

use models::Iterations;

use super::*;

const LINE: &str = r#"{"format":"tidegate-linear-1","name":"m","version":"7","intercept":1.0,
    "features":[{"name":"item.a","weight":2.0}]}"#;

#[test]
fn a_linear_model_has_the_version_of_its_file_unless_told_otherwise() {
    let version = |given: Option<&str>| {
        Predictor::read(LINE.as_bytes(), given.map(str::to_owned), Iterations::Best)
            .unwrap()
            .version
    };
    assert_eq!(version(None), "7");
    assert_eq!(version(Some("8")), "8");
}

#[test]
fn two_files_have_two_digests() {
    assert_eq!(version_of(b"a model").len(), 16);
    assert_ne!(version_of(b"a model"), version_of(b"a modem"));
}

#[test]
fn rows_are_predicted_into_the_tensor_that_is_announced() {
    let predictor = Predictor::read(LINE.as_bytes(), None, Iterations::Best).unwrap();
    let outputs = predictor.predict(&mut [1.0, 2.0, 3.0], false).unwrap();
    assert_eq!((outputs.len(), &outputs[0].name), (1, &predictor.outputs[0].name));
    assert_eq!(outputs[0].shape, [3, 1]);
    assert_eq!(outputs[0].data, Data::Numbers(vec![3.0, 5.0, 7.0]));
}

#[test]
fn a_file_that_is_no_model_is_refused() {
    for bytes in [&b""[..], b"<html>", b"\x08\x09", b"{\"x\":1}", b"tree\nversion=v4\n"] {
        assert!(Predictor::read(bytes, None, Iterations::Best).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_row_of_a_graph_costs_what_its_trial_took() {
    assert_eq!(row_ps(Duration::from_micros(16), 16), 1_000_000);
    assert_eq!(row_ps(Duration::ZERO, 16), 0);
    let line = Predictor::read(LINE.as_bytes(), None, Iterations::Best).unwrap();
    assert_eq!(line.graph_row_ps, GRAPH_ROW_PS, "no graph, nothing to try");
}

#[test]
fn an_integer_of_an_output_that_would_be_rounded_is_an_error_and_no_answer() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/golden/onnx");
    let bytes = std::fs::read(format!("{golden}/version-integers-powers.onnx")).unwrap();
    let mut predictor = Predictor::read(&bytes, None, Iterations::Best).unwrap();
    predictor.warm_up().unwrap();
    let mut rows = vec![1.0; predictor.width()];
    let error = predictor.predict(&mut rows, false).unwrap_err().to_string();
    assert!(error.contains("output `y` holds a whole number beyond 2^53"), "{error}");
    assert!(error.contains("hint: ONNX Runtime"), "{error}");
}
