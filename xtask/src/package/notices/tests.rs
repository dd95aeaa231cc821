//! What is linked is named with its licence, and a text that several have stands once.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Linked, has_licence, linked, offers_apache, text};

#[test]
fn apaches_licence_is_chosen_only_where_it_is_offered() {
    for licence in ["Apache-2.0", "MIT OR Apache-2.0", "Apache-2.0 OR ISC OR MIT"] {
        assert!(offers_apache(licence), "{licence}");
    }
    for licence in ["MIT", "Apache-2.0 WITH LLVM-exception", "(MIT OR Apache-2.0) AND Unicode-3.0"]
    {
        assert!(!offers_apache(licence), "{licence}");
    }
}

#[test]
fn files_are_known_by_their_names() {
    for name in ["license", "license-mit", "licence.md", "copying", "notice.txt", "license.lz4"] {
        assert!(has_licence(name), "{name}");
    }
    for name in ["license.rs", "licenses.json", "readme.md", "unnoticed"] {
        assert!(!has_licence(name), "{name}");
    }
}

#[test]
fn a_text_that_several_have_stands_once_and_one_that_is_missing_is_said() {
    let dir = std::env::temp_dir().join(format!("tidegate-notices-{}", std::process::id()));
    let package = |name: &str, licence: &str, files: &[(&str, &str)]| {
        let dir = dir.join(name);
        fs::create_dir_all(dir.join("within")).unwrap();
        for (file, text) in files {
            fs::write(dir.join(file), text).unwrap();
        }
        Linked { name: format!("{name} 1.0.0"), licence: licence.to_owned(), dir }
    };
    let linked = [
        package("one", "MIT", &[("LICENSE", "Copyright A\nas is\n")]),
        package("two", "MIT", &[("LICENSE-MIT", "Copyright A\r\n as is")]),
        package("three", "MIT OR Apache-2.0", &[("LICENSE-MIT", "Copyright B"), ("NOTICE", "C")]),
        package("four", "Apache-2.0", &[("within/LICENSE", "Copyright D")]),
        package("five", "ISC", &[]),
    ];
    let text = text("0.1.0", &linked).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    let expected = [
        "three 1.0.0\nfour 1.0.0\n\n--",
        "--\none 1.0.0: LICENSE\ntwo 1.0.0: LICENSE-MIT\n\nCopyright A\nas is\n\n--",
        "--\nthree 1.0.0: NOTICE\n\nC\n\n--",
        "--\nfour 1.0.0: within/LICENSE\n\nCopyright D\n\n--",
        "--\nfive 1.0.0\n\nIts package has no text of its licence, which is ISC.\n",
    ];
    for part in expected {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
    assert!(!text.contains("Copyright B"), "{text}");
}

#[test]
fn all_of_others_that_is_linked_has_its_sources_here() {
    let found = linked().unwrap();
    assert!(found.len() > 100, "{}", found.len());
    let missing: Vec<&PathBuf> =
        found.iter().map(|package| &package.dir).filter(|dir| !Path::new(dir).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(found.iter().all(|package| !package.licence.is_empty()));
}
