//! The same sources in two places are the same program, and are not without the recipe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{make_repeatable, rename};
use crate::checkout::{execute, root};

const MANIFEST: &str = "[package]\nname = \"small\"\nedition = \"2024\"\n[workspace]\n";
const RUST: &str = "fn main() { panic!(\"in {}\", file!()) }\n";
const C: &str = "const char *built = __FILE__ \" \" __DATE__ \" \" __TIME__;\n";

/// Two checkouts of a program, at paths of different lengths.
fn checkouts(name: &str) -> [PathBuf; 2] {
    let dir = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
    let places = [dir.join("one"), dir.join("another/place")];
    for place in &places {
        fs::create_dir_all(place.join("src")).unwrap();
        for (file, text) in [("Cargo.toml", MANIFEST), ("src/main.rs", RUST), ("built.c", C)] {
            fs::write(place.join(file), text).unwrap();
        }
    }
    places
}

/// A program of Rust with its line tables.
fn rust(place: &Path, repeatable: bool) -> Vec<u8> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(place.join("target"));
    // By its whole path, as cargo calls the compiler for packages of others.
    cargo.arg("--manifest-path").arg(place.join("Cargo.toml")).current_dir("/");
    if repeatable {
        rename(&mut cargo, &[(place, "/small")]);
    }
    execute(&mut cargo).unwrap();
    fs::read(place.join("target/debug/small")).unwrap()
}

/// An object of C with its line tables.
fn c(place: &Path, repeatable: bool) -> Vec<u8> {
    let mut make = Command::new("make");
    make.args(["--silent", "CC=cc -g"]).arg(place.join("built.o")).current_dir(place);
    if repeatable {
        rename(&mut make, &[(place, "/small")]);
    }
    execute(&mut make).unwrap();
    let object = fs::read(place.join("built.o")).unwrap();
    fs::remove_file(place.join("built.o")).unwrap();
    object
}

#[test]
fn a_program_of_rust_is_the_same_from_two_places() {
    let [one, other] = checkouts("rust");
    assert!(rust(&one, false) != rust(&other, false), "the place has no part in it");
    assert!(rust(&one, true) == rust(&other, true), "two programs differ");
    fs::remove_dir_all(other.ancestors().nth(2).unwrap()).unwrap();
}

#[test]
fn an_object_of_c_is_the_same_from_two_places_and_knows_no_time() {
    let [one, other] = checkouts("c");
    assert!(c(&one, false) != c(&other, false), "the place has no part in it");
    let object = c(&one, true);
    assert!(object == c(&other, true), "two objects differ");
    let text = String::from_utf8_lossy(&object);
    assert!(text.contains("/small/built.c Jan  1 1980 00:00:00"), "{text}");
    fs::remove_dir_all(other.ancestors().nth(2).unwrap()).unwrap();
}

#[test]
fn sources_of_others_and_the_checkout_get_other_names() {
    let mut cargo = Command::new("cargo");
    make_repeatable(&mut cargo, &root()).unwrap();
    let flags = cargo.get_envs().find(|(name, _)| *name == "CARGO_ENCODED_RUSTFLAGS");
    let flags = flags.and_then(|(_, value)| value).unwrap().to_str().unwrap();
    let [sources, checkout] = &flags.split('\x1f').collect::<Vec<_>>()[..] else {
        panic!("{flags}");
    };
    assert_eq!(*checkout, format!("--remap-path-prefix={}=/tidegate", root().display()));
    let sources = sources.strip_prefix("--remap-path-prefix=").unwrap();
    let dir = Path::new(sources.strip_suffix("=/packages").unwrap());
    let anyhow = fs::read_dir(dir).unwrap().flatten();
    let mut names = anyhow.map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert!(names.any(|name| name.starts_with("anyhow-")), "{}", dir.display());
}
