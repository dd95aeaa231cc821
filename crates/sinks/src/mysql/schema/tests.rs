//! Claims about the room of text in keys.

use pipeline::ColumnRole;

use super::*;
use crate::tests::column;

#[test]
fn texts_share_the_room_that_numbers_and_the_name_of_the_machine_leave() {
    let key = |name: &str, kind| column(name, kind, ColumnRole::Key);
    let sketch = column("users", Kind::Blob, ColumnRole::Sketch);
    let sum = column("count", Kind::Integer, ColumnRole::Sum);
    for (columns, expected) in [
        (vec![key("a", Kind::Text), sum.clone()], vec![704]),
        (vec![key("a", Kind::Text), key("t", Kind::Time), sum.clone()], vec![702]),
        (vec![key("a", Kind::Text), key("b", Kind::Text), sum.clone()], vec![352, 352]),
        (vec![key("a", Kind::Text), key("t", Kind::Time), key("i", Kind::Integer), sum], vec![700]),
        // Beside it stands a table without the machine's name, whose keys are cut alike.
        (vec![key("a", Kind::Text), key("node", Kind::Text), sketch.clone()], vec![704, 64]),
        (
            vec![key("a", Kind::Text), key("b", Kind::Text), key("node", Kind::Text), sketch],
            vec![352, 352, 64],
        ),
    ] {
        let table = Table { name: "t".to_owned(), columns };
        let keys = table.columns[..table.keys()].iter().filter(|key| key.kind == Kind::Text);
        let found: Vec<usize> = keys.map(|key| characters(&table, key)).collect();
        assert_eq!(found, expected, "{table:?}");
        // An index of InnoDB takes no more.
        let numbers = table.keys() - found.len();
        assert!(found.iter().sum::<usize>() * 4 + numbers * 8 <= 3072);
    }
}
