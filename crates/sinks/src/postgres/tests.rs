//! Claims about where long keys are cut.

use pipeline::{ColumnRole, Kind};

use super::*;
use crate::tests::column;

#[test]
fn long_keys_are_cut_where_those_of_older_versions_are() {
    let key = |kind| column("k", kind, ColumnRole::Key);
    let sketch = column("users", Kind::Blob, ColumnRole::Sketch);
    let sum = column("count", Kind::Integer, ColumnRole::Sum);
    let bytes = KeyLimit::Bytes;
    for (columns, expected) in [
        (vec![key(Kind::Text), sum.clone()], vec![bytes(1744)]),
        (vec![key(Kind::Text), key(Kind::Time), sum.clone()], vec![bytes(1744); 2]),
        (vec![key(Kind::Text), key(Kind::Text), sum.clone()], vec![bytes(872); 2]),
        (vec![key(Kind::Integer), sum], vec![bytes(1744)]),
        // The last key of a table of sketches is the machine's name.
        (
            vec![key(Kind::Text), column("node", Kind::Text, ColumnRole::Key), sketch],
            vec![bytes(1744), bytes(256)],
        ),
    ] {
        let table = Table { name: "t".to_owned(), columns };
        assert_eq!(key_limits(&table), expected, "{table:?}");
    }
}
