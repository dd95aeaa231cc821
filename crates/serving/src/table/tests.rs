//! Tables with and without a header, and what can be wrong with one.

use std::fs;

use testkit::TempDir;

use super::*;

/// 1 + 2 a - b; an absent b is 4.
const MODEL: &str = r#"{"format":"tidegate-linear-1","name":"m","version":"7","intercept":1.0,
    "features":[{"name":"item.a","weight":2.0},{"name":"item.b","weight":-1.0,"missing":4.0}]}"#;

fn scored(table: &str) -> Result<String, String> {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("model.json");
    fs::write(&file, MODEL).unwrap();
    let mut out = Vec::new();
    match score_table(&file, table.as_bytes(), &mut out, |_| {}) {
        Ok(()) => Ok(String::from_utf8(out).unwrap()),
        Err(error) => Err(stdx::Chain(&error).to_string()),
    }
}

#[test]
fn columns_are_taken_by_name_where_there_is_a_header() {
    assert_eq!(scored("item.b,other,item.a\n2,x,1\n,y,1\n").unwrap(), "1.0\n-1.0\n");
}

#[test]
fn columns_are_the_models_where_there_is_none() {
    assert_eq!(scored("1,2\n3.5,-1\n").unwrap(), "1.0\n9.0\n");
}

#[test]
fn more_rows_than_a_block_come_out_in_their_order() {
    let table: String = (0..10_000).map(|row| format!("{row},0\n")).collect();
    let expected: String = (0..10_000).map(|row| format!("{}.0\n", 2 * row + 1)).collect();
    assert_eq!(scored(&table).unwrap(), expected);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (table, said) in [
        ("item.a,x\n1,2\n", "no column `item.b`, which the model reads"),
        ("1,2\n1\n", "line 2 has 1 columns, the model reads 2"),
        ("1,2\n3,x\n", "line 2, column 2: `x` is no number"),
    ] {
        let reason = scored(table).unwrap_err();
        assert!(reason.contains(said), "{reason}");
    }
}

#[test]
fn an_empty_table_has_no_predictions() {
    assert_eq!(scored("").unwrap(), "");
}

#[test]
fn columns_of_texts_are_taken_by_name_and_by_place() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/golden/onnx");
    let file = Path::new(golden).join("texts-one-hot.onnx");
    let scored = |table: &str| {
        let mut out = Vec::new();
        score_table(&file, table.as_bytes(), &mut out, |_| {}).map(|()| out).unwrap()
    };
    let by_place = scored("30,50,female,Cork\n30,50,female,Paris\n");
    assert_eq!(scored("town,sex,age,fare\nCork,female,30,50\nParis,female,30,50\n"), by_place);
    let (first, second) = by_place.split_at(by_place.len() / 2);
    assert_ne!(first, second);
}
