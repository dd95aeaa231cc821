//! Claims about the table of operators.

use std::fs;
use std::path::Path;

use super::*;

/// Whether a file of ONNX holds a node of this operator: field 4 of `NodeProto`.
fn holds(file: &[u8], operator: &str) -> bool {
    let field = [&[0x22, operator.len() as u8], operator.as_bytes()].concat();
    file.windows(field.len()).any(|window| window == field)
}

#[test]
fn every_operator_answers_in_a_golden_model() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/onnx");
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "onnx"));
    let files: Vec<Vec<u8>> = files.map(|path| fs::read(path).unwrap()).collect();
    let names = OPERATORS.iter().chain(ML_OPERATORS).map(|(name, ..)| *name);
    let untried = names.filter(|name| !files.iter().any(|file| holds(file, name)));
    let untried: Vec<&str> = untried.collect();
    assert!(untried.is_empty(), "add models to golden/onnx_models.py for {untried:?}");
}

#[test]
fn the_tables_are_in_order_and_name_an_operator_once() {
    for table in [OPERATORS, ML_OPERATORS] {
        assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
