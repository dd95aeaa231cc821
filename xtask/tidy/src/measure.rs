//! What the code measures, crate by crate, for newcomers and reports.
//!
//! It prints the same measures that the rules hold, whether they are within their limits or not.
//! The table comes first; with the names of crates, then what they would have to mend.

use anyhow::Result;

use crate::crates::{self, Crate};
use crate::rules::{arity, modules};
use crate::tree::Tree;

/// Prints the table, and for each of `chosen` the list behind its row.
pub(crate) fn run(tree: &Tree, chosen: &[&str]) -> Result<()> {
    let crates = crates::of(&tree.graph, &tree.sources);
    println!("{HEAD}");
    for of in crates.iter().filter(|of| chosen.is_empty() || chosen.contains(&of.name.as_str())) {
        println!("{}", row(of));
        if !chosen.is_empty() {
            details(of);
        }
    }
    print!("{FOOT}");
    Ok(())
}

const HEAD: &str = "crate       modules  circles  below  arity";
const FOOT: &str = "\
modules    files and inline modules, without tests
circles    top-level modules that use each other in circles
below      the same among the children of one module, over all modules
arity      functions of more than five values, counted through tuples
";

fn row(of: &Crate) -> String {
    let (mut top, mut below) = (0, 0);
    modules::measure(of, |circle| {
        let sum = if circle.place == of.name { &mut top } else { &mut below };
        *sum += circle.modules.len();
    });
    let wide = arity::measure(of).len();
    format!("{:<11} {:>7} {top:>8} {below:>6} {wide:>6}", of.name, of.modules.len())
}

fn details(of: &Crate) {
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
}
