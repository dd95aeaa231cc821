//! Makes the columns of the table, from the rules that count for a crate.
//!
//! They are modules, circles, arity, objects, names, words and sentences; each rule's own `measure`
//! counts. To add one: a function here, and its place in `of`.

use anyhow::Result;

use super::mentions::{Column, row_of};
use crate::crates::Crate;
use crate::rules::modules::Circle;
use crate::rules::{arity, modules, names, objects, sentences, words};
use crate::tree::Tree;

pub(super) fn of(tree: &Tree, crates: &[Crate]) -> Result<Vec<Column>> {
    let [circles, below] = circles(crates);
    let [long, wide] = objects(crates);
    Ok(vec![
        modules(crates),
        circles,
        below,
        arity(crates),
        long,
        wide,
        names(tree, crates)?,
        words(tree, crates)?,
        sentences(tree),
    ])
}

fn modules(crates: &[Crate]) -> Column {
    let mut column = Column::new("modules", "files and inline modules, without tests");
    for of in crates {
        column.add(&of.name, of.modules.len(), String::new());
    }
    column
}

fn circles(crates: &[Crate]) -> [Column; 2] {
    let mut top = Column::new("circles", "top-level modules that use each other in circles");
    let mut below = Column::new("below", "the same among the children of each module");
    for of in crates {
        modules::measure(of, |circle| {
            let column = if circle.place == of.name { &mut top } else { &mut below };
            column.add(&of.name, circle.modules.len(), described(circle));
        });
    }
    [top, below]
}

fn described(circle: &Circle) -> String {
    let (modules, arrows) = (circle.modules.len(), circle.arrows);
    let mut text = format!("{modules} modules of {}, {arrows} arrows:", circle.place);
    text.push_str("\n        ");
    text.push_str(&circle.modules.join(" "));
    for cut in &circle.cuts {
        let names: Vec<&str> = cut.names.iter().copied().collect();
        let (names, users) = (names.join("`, `"), cut.users.join(", "));
        text.push_str(&format!("\n        cut `{names}` of {}, used by {users}", cut.owner));
    }
    text
}

fn arity(crates: &[Crate]) -> Column {
    let meaning = "functions of more than five values, counted through tuples";
    let mut column = Column::new("arity", meaning);
    for of in crates {
        for arity::Wide { file, line, name, arity } in arity::measure(of) {
            column.add(&of.name, 1, format!("{file}:{} {name} {arity}", line + 1));
        }
    }
    column
}

fn objects(crates: &[Crate]) -> [Column; 2] {
    let mut long = Column::new("impl", "types of more than 400 lines of `impl`");
    let mut wide = Column::new("fields", "structs of more than 15 fields");
    for of in crates {
        for object in objects::measure(of) {
            let objects::Object { name, file, line, impl_lines, impl_files, fields } = &object;
            let place = format!("{file}:{} {name}", line + 1);
            if object.is_long() {
                long.add(&of.name, 1, format!("{place} {impl_lines} lines in {impl_files} files"));
            }
            if object.is_wide() {
                wide.add(&of.name, 1, format!("{place} {fields}"));
            }
        }
    }
    [long, wide]
}

fn names(tree: &Tree, crates: &[Crate]) -> Result<Column> {
    let meaning = "types whose name stands in more than two places of the product";
    let mut column = Column::new("names", meaning);
    for (name, locations) in names::recurring(&tree.data("ordinary.txt")?, crates) {
        for names::Location { of, file, line } in &locations {
            let all = locations.len();
            column.add(of, 1, format!("{file}:{} {name}, in {all} places", line + 1));
        }
    }
    Ok(column)
}

fn words(tree: &Tree, crates: &[Crate]) -> Result<Column> {
    let mut column = Column::new("words", "names that say a word of words.txt");
    for (row, met) in words::measure(&tree.data("words.txt")?, crates)? {
        for words::Met { of, file, word } in met {
            let place = format!("{file}:{} {}", word.line + 1, word.text);
            column.add(of, 1, format!("{place} ({row})"));
        }
    }
    Ok(column)
}

fn sentences(tree: &Tree) -> Column {
    let mut column = Column::new("sentences", "sentences of more than 25 words");
    for (group, found) in sentences::measure(&tree.sources, &tree.texts) {
        for sentences::Long { file, line, words } in found {
            column.add(row_of(&group), 1, format!("{file}:{} {words} words", line + 1));
        }
    }
    column
}
