//! Holds how large an object may be, over all files that it is spread over.
//!
//! Lines of all `impl` blocks of a type count together, at most 400: an `impl` in another file
//! still touches every field. A struct has at most 15 fields, unless it is plain data. Data is
//! plain if serde or clap reads it, or if all its fields are `pub`, so that it keeps no invariant.
//! Limits stand in the ratchet under `impl` and `fields`.

use std::collections::BTreeMap;

use crate::crates::{Crate, Resolver};
use crate::finding::Finding;
use crate::ratchet::Ratchet;
use crate::syntax::Path;

const IMPL_LINES_MAX: usize = 400;
const FIELDS_MAX: usize = 15;

/// A type of a crate with what it measures.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub name: String,
    /// Where its definition stands; counts from 0.
    pub file: &'a str,
    pub line: usize,
    pub impl_lines: usize,
    /// In how many files the `impl` blocks stand.
    pub impl_files: usize,
    /// 0 for plain data.
    pub fields: usize,
}

impl Object<'_> {
    pub(crate) fn is_long(&self) -> bool {
        self.impl_lines > IMPL_LINES_MAX
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.fields > FIELDS_MAX
    }
}

pub(super) fn check(crates: &[Crate], ratchet: &mut Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for of in crates {
        for object in measure(of) {
            let Object { name, file, line, impl_lines, impl_files, fields } = &object;
            let key = format!("{} {name}", of.name);
            if object.is_long() {
                let limit = ratchet.measure(&format!("impl {key}"), *impl_lines);
                let limit = limit.unwrap_or(IMPL_LINES_MAX);
                let what = format!(
                    "`{name}` has {impl_lines} lines of `impl` in {impl_files} files, limit {limit}"
                );
                let mend =
                    "part it: small objects with invariants of their own, and pure decisions";
                let found = Finding::at(file, *line, what, mend);
                findings.extend((*impl_lines > limit).then_some(found));
            }
            if object.is_wide() {
                let limit = ratchet.measure(&format!("fields {key}"), *fields);
                let limit = limit.unwrap_or(FIELDS_MAX);
                let what = format!("`{name}` has {fields} fields, limit {limit}");
                let mend =
                    "group the fields that change together, and give each group its invariant";
                let found = Finding::at(file, *line, what, mend);
                findings.extend((*fields > limit).then_some(found));
            }
        }
    }
    findings
}

/// Returns the types of the crate, by module and name.
pub(crate) fn measure<'a>(of: &Crate<'a>) -> Vec<Object<'a>> {
    let mut objects: BTreeMap<(Path, String), Object> = BTreeMap::new();
    for (path, placed) in &of.modules {
        for defined in &placed.module.types {
            let object = Object {
                name: defined.name.clone(),
                file: placed.file,
                line: defined.line,
                impl_lines: 0,
                impl_files: 0,
                fields: if defined.plain { 0 } else { defined.fields },
            };
            objects.insert((path.clone(), defined.name.clone()), object);
        }
    }
    let resolver = Resolver::new(of);
    for (path, placed) in &of.modules {
        let mut here: BTreeMap<(Path, String), usize> = BTreeMap::new();
        for block in &placed.module.impls {
            let Some(key) = resolver.type_of(path, &block.of) else { continue };
            *here.entry(key).or_default() += block.lines;
        }
        for (key, lines) in here {
            let Some(object) = objects.get_mut(&key) else { continue };
            object.impl_lines += lines;
            object.impl_files += 1;
        }
    }
    objects.into_values().collect()
}

#[cfg(test)]
mod tests;
