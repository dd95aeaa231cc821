//! Claims about tables that are there: which rows fit, and which columns are to be added.

use super::*;
use crate::tests::{column as wanted, counts};

const DIALECT: Dialect = Dialect {
    quote: '"',
    types: ["text", "bigint", "double", "timestamp", "blob"],
    also: &["varchar"],
    also_in_keys: &["name"],
    incoming: ("", ""),
    on_conflict: "",
    least_greatest: ("", ""),
    computed: "",
    sums_stop_at: None,
};

fn column(name: &str, kind: &str, is_required: bool) -> ExistingColumn {
    let (name, kind) = (name.to_owned(), kind.to_owned());
    ExistingColumn { name, kind, is_required, characters_max: None }
}

fn unique(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|name| (*name).to_owned()).collect()
}

/// A table in which the rows of `counts` fit.
fn fitting() -> ExistingTable {
    ExistingTable {
        columns: vec![
            column("path", "key text", true),
            column("minute", "timestamp", true),
            column("count", "bigint", false),
        ],
        uniques: vec![unique(&["path", "minute"])],
    }
}

/// The names of the columns that are to be added.
fn lacks(existing: &ExistingTable, table: &Table) -> Result<Vec<String>, String> {
    let lacks = existing.lacks(table, &DIALECT, "key text")?;
    Ok(lacks.into_iter().map(|column| column.name.clone()).collect())
}

#[test]
fn names_and_types_may_be_in_capitals_and_types_of_text_may_be_older_ones() {
    let mut existing = fitting();
    assert_eq!(lacks(&existing, &counts()), Ok(vec![]));
    for (at, name, kind) in [
        (0, "PATH", "KEY TEXT"),
        (0, "path", "Name"),
        (1, "Minute", "TimeStamp"),
        (2, "COUNT", "BigInt"),
    ] {
        existing.columns[at] = column(name, kind, true);
        assert_eq!(lacks(&existing, &counts()), Ok(vec![]), "{name} {kind}");
    }
    existing.uniques = vec![unique(&["id"]), unique(&["MINUTE", "Path"])];
    assert_eq!(lacks(&existing, &counts()), Ok(vec![]));
    let mut table = (*counts()).clone();
    table.columns.push(wanted("user", Kind::Text, ColumnRole::Plain));
    for (kind, fits) in [("text", true), ("VarChar", true), ("name", false), ("key text", false)] {
        let mut existing = fitting();
        existing.columns.push(column("user", kind, false));
        assert_eq!(lacks(&existing, &table).is_ok(), fits, "{kind}");
    }
}

#[test]
fn what_is_no_key_is_added_and_a_column_of_others_may_be_empty() {
    let mut existing = fitting();
    existing.columns.push(column("note", "text", false));
    let mut table = (*counts()).clone();
    table.columns.push(wanted("sum_x", Kind::Real, ColumnRole::Sum));
    table.columns.push(wanted("max_x", Kind::Real, ColumnRole::Max));
    assert_eq!(lacks(&existing, &table), Ok(vec!["sum_x".to_owned(), "max_x".to_owned()]));
    existing.columns.pop();
    existing.columns.push(column("note", "text", true));
    let error = lacks(&existing, &table).unwrap_err();
    assert!(
        error.starts_with("table `counts` has a column `note` that may not be empty"),
        "{error}"
    );
}

#[test]
fn a_unique_index_must_have_exactly_the_keys() {
    for uniques in [
        vec![],
        vec![unique(&["path"]), unique(&["minute"])],
        vec![unique(&["path", "minute", "count"])],
        vec![unique(&["path", "count"])],
        vec![unique(&["path", "path"])],
    ] {
        let existing = ExistingTable { uniques, ..fitting() };
        let error = lacks(&existing, &counts()).unwrap_err();
        let expected = "no primary key or unique index of exactly `path`, `minute`; hint: ";
        assert!(error.contains(expected), "{error}");
    }
    // Without keys nothing is merged.
    let columns = vec![wanted("user", Kind::Text, ColumnRole::Plain)];
    let plain = Table { name: "raw".to_owned(), columns };
    let existing = ExistingTable { columns: vec![column("user", "text", false)], uniques: vec![] };
    assert_eq!(lacks(&existing, &plain), Ok(vec![]));
}

#[test]
fn a_key_of_another_type_and_a_missing_key_are_named() {
    let mut existing = fitting();
    existing.columns[0] = column("path", "varchar", true);
    let error = lacks(&existing, &counts()).unwrap_err();
    let expected = "column `path` of table `counts` is `varchar`, and `key text` is needed; ";
    assert!(error.starts_with(expected), "{error}");
    existing.columns.remove(0);
    let error = lacks(&existing, &counts()).unwrap_err();
    let expected = "table `counts` has no column `path`, which is part of the key; hint: ";
    assert!(error.starts_with(expected), "{error}");
}
