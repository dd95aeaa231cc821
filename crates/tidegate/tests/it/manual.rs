//! Claims about the manual, the completions and the version: what the program says of itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use testkit::{Absent, TempDir, require};

use crate::running::run;

/// Every page by the name of its file.
fn manual(folder: &Path) -> BTreeMap<String, String> {
    let (code, out, err) = run(&["manual", "pages"], folder);
    assert_eq!(code, 0, "{out}{err}");
    let pages = std::fs::read_dir(folder.join("pages")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    });
    pages.collect()
}

#[test]
fn the_manual_has_two_pages_for_each_command_and_every_link_leads_to_one() {
    let folder = TempDir::new().unwrap();
    let pages = manual(folder.path());
    let markdown = pages.iter().filter(|(name, _)| name.ends_with(".md"));
    for (name, page) in markdown {
        let man = &pages[&name.replace(".md", ".1")];
        let title = name.trim_end_matches(".md").replace('-', "\\-");
        assert!(man.contains(&format!(".SH NAME\n{title}")), "{name}: {man}");
        let links = page.split("](tidegate-").skip(1);
        for link in links.map(|rest| rest.split(')').next().unwrap()) {
            assert!(pages.contains_key(&format!("tidegate-{link}")), "{name}: {link}");
        }
    }
    let run = &pages["tidegate-events-run.md"];
    assert!(run.starts_with("# tidegate events run\n"), "{run}");
    assert!(run.contains("| `--give-up-after <TIME>` | With `--once`"), "{run}");
    assert!(run.contains("[default: tidegate.toml]") && !run.contains("[default: false]"), "{run}");
    assert!(!run.contains("--supervised"), "an option that is hidden: {run}");
    assert!(pages["tidegate-config.md"].contains("[`check`](tidegate-config-check.md)"));
}

#[test]
fn the_same_program_writes_the_same_manual() {
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    assert_eq!(manual(first.path()), manual(second.path()));
}

/// What a shell proposes, with the completions in a file.
fn proposed(shell: &str, arguments: &[&str], script: &str) -> String {
    let folder = TempDir::new().unwrap();
    let (code, completions, err) = run(&["completions", shell], folder.path());
    assert_eq!(code, 0, "{err}");
    let file = folder.path().join("_tidegate");
    std::fs::write(&file, completions).unwrap();
    let mut command = Command::new(require(shell, Absent::Panic).unwrap());
    command.args(arguments).arg(script.replace("FILE", file.to_str().unwrap()));
    let output = command.current_dir(folder.path()).env("HOME", folder.path()).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{out}{err}");
    out
}

#[test]
fn bash_completes_a_command() {
    let script = "source FILE; COMP_WORDS=(tidegate events ver); COMP_CWORD=2; \
                  _tidegate tidegate ver events; echo \"${COMPREPLY[@]}\"";
    assert_eq!(proposed("bash", &["--norc", "-c"], script), "verify\n");
}

#[test]
fn fish_completes_a_command() {
    let script = "source FILE; complete -C 'tidegate events ver'";
    assert!(proposed("fish", &["--no-config", "-c"], script).starts_with("verify\t"));
}

#[test]
fn zsh_takes_the_completions_as_a_function() {
    let script = "autoload -U compinit; compinit -u -D; source FILE; echo $_comps[tidegate]";
    assert_eq!(proposed("zsh", &["-f", "-c"], script), "_tidegate\n");
}

#[test]
fn the_version_names_the_packages_that_are_linked_and_no_path() {
    let folder = TempDir::new().unwrap();
    let (code, out, _) = run(&["version"], folder.path());
    assert_eq!((code, out.trim()), (0, concat!("tidegate ", env!("CARGO_PKG_VERSION"))));
    let (code, out, _) = run(&["version", "--verbose"], folder.path());
    assert_eq!(code, 0);
    assert_eq!(run(&["--version", "--verbose"], folder.path()).1, out);
    for line in ["allocator  mimalloc", "features   drivers", "compiler   rustc 1."] {
        assert!(out.lines().any(|it| it.starts_with(line)), "{line}: {out}");
    }
    let lock = include_str!("../../../../Cargo.lock");
    let packages: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert!(out.contains(&format!("\npackages   {}\n", packages.len())), "{out}");
    for package in &packages {
        let (name, version) = package.split_once(' ').unwrap();
        let locked = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&locked), "{package}");
    }
    let is_there = |name: &str| packages.iter().any(|it| it.split(' ').next() == Some(name));
    assert!(is_there("toml") && is_there("mimalloc") && is_there("rdkafka"), "{out}");
    // One is for tests only, the other for the compiler only.
    assert!(!is_there("vt100") && !is_there("clap_derive"), "{out}");
    assert!(!out.contains('/'), "{out}");
}
