//! Writes what the program consists of, as CycloneDX 1.6: `cargo xtask package sbom`.
//!
//! The packages of the release build are those of `parts.rs`; `Cargo.lock` has the sums of their
//! sources. What is linked is `required`. What only runs at the build is `excluded`: build scripts,
//! macros, and what they need.
//! Invariant: the same checkout gives the same bytes, so there is no time and no serial number.
//! Not here: C in a package, such as SQLite in `libsqlite3-sys`, as a component of its own.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::parts::{BUILT, LINKED, PROGRAM, Part, Parts, parts, tree};
use super::version;
use crate::checkout::root;

/// Writes the file into the directory that `--to` names, and says where it is.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let dir = super::read(arguments)?.dir();
    fs::create_dir_all(&dir).with_context(|| format!("making `{}`", dir.display()))?;
    let (built, linked) = (parts(&tree(BUILT)?)?, parts(&tree(LINKED)?)?);
    let lock = fs::read_to_string(root().join("Cargo.lock")).context("reading `Cargo.lock`")?;
    let version = version()?;
    let bill = bill(&version, &built, &linked, &sums(&lock))?;
    let file = dir.join(format!("tidegate_{version}.cdx.json"));
    let text = format!("{}\n", serde_json::to_string_pretty(&bill)?);
    fs::write(&file, text).with_context(|| format!("writing `{}`", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

/// The SHA-256 of each package's source, by name and version.
fn sums(lock: &str) -> BTreeMap<String, &str> {
    let blocks = lock.split("[[package]]").filter_map(|block| {
        let name = format!("{} {}", field(block, "name")?, field(block, "version")?);
        Some((name, field(block, "checksum")?))
    });
    blocks.collect()
}

fn field<'b>(block: &'b str, name: &str) -> Option<&'b str> {
    let (_, rest) = block.split_once(&format!("\n{name} = \""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn bill(
    version: &str,
    built: &Parts,
    linked: &Parts,
    sums: &BTreeMap<String, &str>,
) -> Result<Value> {
    let program = format!("{PROGRAM} {version}");
    let mut components = Vec::new();
    for (name, part) in built.iter().filter(|(name, _)| **name != program) {
        let scope = if linked.contains_key(name) { "required" } else { "excluded" };
        let mut component = component(name, part, scope)?;
        if !part.ours {
            let sum = sums.get(name).with_context(|| format!("`{name}` has no sum"))?;
            component["purl"] = json!(reference(name, part));
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        components.push(component);
    }
    let refer = |name: &String| built.get(name).map(|part| reference(name, part));
    let needs = |part: &Part| part.needs.iter().filter_map(refer).collect::<Vec<_>>();
    let edges = built
        .iter()
        .map(|(name, part)| json!({ "ref": reference(name, part), "dependsOn": needs(part) }));
    let whole = built.get(&program).context("`cargo tree` does not name the program")?;
    let mut whole = component(&program, whole, "required")?;
    whole["type"] = json!("application");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": whole },
        "components": components,
        "dependencies": edges.collect::<Vec<_>>(),
    }))
}

fn component(name: &str, part: &Part, scope: &str) -> Result<Value> {
    let (title, version) = name.split_once(' ').context("a name and a version")?;
    Ok(json!({
        "type": "library",
        "bom-ref": reference(name, part),
        "name": title,
        "version": version,
        "scope": scope,
        "licenses": [{ "expression": part.licence }],
    }))
}

/// How others name a package: those of the registry by purl, ours as parts of the program.
fn reference(name: &str, part: &Part) -> String {
    let name = name.replace(' ', "@");
    if part.ours {
        format!("{PROGRAM}/{name}")
    } else {
        format!("pkg:cargo/{}", name.replace('+', "%2B"))
    }
}

#[cfg(test)]
mod tests;
