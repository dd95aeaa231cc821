//! What the code measures, crate by crate, for newcomers and reports.
//!
//! It prints the same measures that the rules hold, whether they are within their limits or not.
//! The table comes first; with the names of crates, then what they would have to mend.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::crates::{self, Crate};
use crate::rules::{arity, modules, names, objects};
use crate::tree::{Text, Tree};

/// Prints the table, and for each of `chosen` the list behind its row.
pub(crate) fn run(tree: &Tree, chosen: &[&str]) -> Result<()> {
    let crates = crates::of(&tree.graph, &tree.sources);
    let ordinary = tree.data("ordinary.txt")?;
    let recurring = in_crates(&ordinary, &crates);
    println!("{HEAD}");
    for of in crates.iter().filter(|of| chosen.is_empty() || chosen.contains(&of.name.as_str())) {
        let recurring = recurring.get(of.name.as_str()).map_or(&[][..], Vec::as_slice);
        println!("{}", row(of, recurring));
        if !chosen.is_empty() {
            details(of, recurring);
        }
    }
    print!("{FOOT}");
    Ok(())
}

const HEAD: &str = "crate       modules  circles  below  arity  impl  fields  names";
const FOOT: &str = "\
modules    files and inline modules, without tests
circles    top-level modules that use each other in circles
below      the same among the children of one module, over all modules
arity      functions of more than five values, counted through tuples
impl       types of more than 400 lines of `impl`
fields     structs of more than 15 fields
names      types whose name stands in more than two places of the product
";

/// A name that recurs: the place in this crate, and how many places it has in all.
struct Recurring<'a> {
    name: &'a str,
    file: &'a str,
    line: usize,
    places: usize,
}

fn in_crates<'a>(ordinary: &Text, crates: &'a [Crate]) -> BTreeMap<&'a str, Vec<Recurring<'a>>> {
    let mut by_crate: BTreeMap<&str, Vec<Recurring>> = BTreeMap::new();
    for (name, places) in names::recurring(ordinary, crates) {
        for place in &places {
            let names::Location { of, file, line } = *place;
            let recurring = Recurring { name, file, line, places: places.len() };
            by_crate.entry(of).or_default().push(recurring);
        }
    }
    by_crate
}

fn row(of: &Crate, recurring: &[Recurring]) -> String {
    let (mut top, mut below) = (0, 0);
    modules::measure(of, |circle| {
        let sum = if circle.place == of.name { &mut top } else { &mut below };
        *sum += circle.modules.len();
    });
    let objects = objects::measure(of);
    let long = objects.iter().filter(|object| object.is_long()).count();
    let wide = objects.iter().filter(|object| object.is_wide()).count();
    format!(
        "{:<11} {:>7} {top:>8} {below:>6} {:>6} {long:>5} {wide:>7} {:>6}",
        of.name,
        of.modules.len(),
        arity::measure(of).len(),
        recurring.len(),
    )
}

fn details(of: &Crate, recurring: &[Recurring]) {
    modules::measure(of, |circle| {
        let (modules, arrows) = (circle.modules.len(), circle.arrows);
        println!("    circle of {modules} modules, {arrows} arrows, in {}:", circle.place);
        println!("        {}", circle.modules.join(" "));
        for cut in &circle.cuts {
            let names: Vec<&str> = cut.names.iter().copied().collect();
            println!(
                "        cut: `{}` of {}, which {} use{}",
                names.join("`, `"),
                cut.owner,
                cut.users.join(", "),
                if cut.users.len() == 1 { "s" } else { "" },
            );
        }
    });
    for function in arity::measure(of) {
        let arity::Wide { file, line, name, arity } = function;
        println!("    arity: {file}:{} {name} {arity}", line + 1);
    }
    for object in objects::measure(of) {
        let objects::Object { name, file, line, impl_lines, impl_files, fields } = &object;
        if object.is_long() {
            let place = format!("{file}:{}", line + 1);
            println!("    impl: {place} {name} {impl_lines} lines in {impl_files} files");
        }
        if object.is_wide() {
            println!("    fields: {file}:{} {name} {fields}", line + 1);
        }
    }
    for Recurring { name, file, line, places } in recurring {
        println!("    name: {file}:{} {name}, in {places} places", line + 1);
    }
}
