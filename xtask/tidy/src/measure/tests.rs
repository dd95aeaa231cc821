//! The table and its lists.

use super::mentions::{Column, row_of};
use super::{head, list};

#[test]
fn a_row_sums_what_its_list_mentions() {
    let mut column = Column::new("circles", "modules");
    column.add("a", 2, "a b".to_owned());
    column.add("a", 3, "c d e".to_owned());
    assert_eq!((column.sum("a"), column.sum("b")), (5, 0));
    assert_eq!(head(3, std::slice::from_ref(&column)), "     circles\n");
    let mut text = String::new();
    list(&mut text, "a", &[column]).expect("a string takes all");
    assert_eq!(text, "    circles: a b\n    circles: c d e\n");
}

#[test]
fn a_crate_may_be_called_by_its_directory() {
    assert_eq!(
        ["crates/gateway/", "xtask/tidy", "docs/A.md"].map(row_of),
        ["gateway", "tidy", "docs/A.md"]
    );
}
