//! Holds that a type's name says what it is: none stands in more than two places of the product.
//!
//! Ordinary names are excepted; `xtask/tidy/ordinary.txt` says what each of them means wherever it
//! stands. `testkit`, and packages outside of `crates/`, are no product. Limits stand in the
//! ratchet under `name`: in how many places a name stands.

use std::collections::BTreeMap;

use crate::crates::Crate;
use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::tree::Text;

const PLACES_MAX: usize = 2;

/// Where a type is defined.
#[derive(Debug)]
pub(crate) struct Location<'a> {
    pub of: &'a str,
    pub file: &'a str,
    /// Counts from 0.
    pub line: usize,
}

pub(super) fn check(ordinary: &Text, crates: &[Crate], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, name, _) in rows(ordinary).filter(|(_, _, meaning)| meaning.is_empty()) {
        let mend = "say behind the name what it means wherever it stands";
        findings.push(Finding::at(&ordinary.path, index, format!("`{name}` alone"), mend));
    }
    for (name, places) in recurring(ordinary, crates) {
        let limit = ratchet.measure(&format!("name {name}"), places.len()).unwrap_or(PLACES_MAX);
        if places.len() > limit {
            let what = format!("{} types are called `{name}`, limit {limit}", places.len());
            findings.extend(places.iter().map(|place| {
                let mend = "say what kind it is, in the words of its field";
                Finding::at(place.file, place.line, what.clone(), mend)
            }));
        }
    }
    findings
}

/// Returns the names in more than two places that are not ordinary.
pub(crate) fn recurring<'a>(
    ordinary: &Text,
    crates: &'a [Crate],
) -> BTreeMap<&'a str, Vec<Location<'a>>> {
    let mut places = places(crates);
    places.retain(|name, places| {
        places.len() > PLACES_MAX && !rows(ordinary).any(|(_, row, _)| row == *name)
    });
    places
}

fn places<'a>(crates: &'a [Crate]) -> BTreeMap<&'a str, Vec<Location<'a>>> {
    let mut places: BTreeMap<&str, Vec<Location>> = BTreeMap::new();
    for of in crates.iter().filter(|of| of.is_product()) {
        for placed in of.modules.values() {
            for defined in &placed.module.types {
                let place = Location { of: &of.name, file: placed.file, line: defined.line };
                places.entry(&defined.name).or_default().push(place);
            }
        }
    }
    places
}

/// Returns the rows: index, name, meaning.
fn rows(ordinary: &Text) -> impl Iterator<Item = (usize, &str, &str)> {
    let lines = ordinary.lines.iter().enumerate();
    let rows = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    rows.map(|(index, line)| {
        let (name, meaning) = line.split_once(' ').unwrap_or((line, ""));
        (index, name, meaning.trim())
    })
}

#[cfg(test)]
mod tests;
