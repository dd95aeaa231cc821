//! Claims about the Debian package, made of this very program. That it installs, upgrades and
//! purges is tried by `cargo xtask package try`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Absent, TempDir, require};

use crate::running::{BINARY, run};

/// Makes the package, as little compressed as a test wants it.
fn package(folder: &Path) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut cargo = Command::new(require("cargo", Absent::Panic).unwrap());
    cargo.args(["xtask", "package", "deb", "--quick", "--binary", BINARY, "--to"]);
    let output = cargo.arg(folder).current_dir(project).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn dpkg_deb(option: &str, package: &Path, more: &[&str]) -> String {
    let mut command = Command::new(require("dpkg-deb", Absent::Panic).unwrap());
    let output = command.arg(option).arg(package).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Each path with its mode and its owner.
fn contents(package: &Path) -> BTreeMap<String, String> {
    let list = dpkg_deb("--contents", package, &[]);
    let rows = list.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let path = words[5].trim_start_matches('.').to_owned();
        (path, format!("{} {}", words[0], words[1]))
    });
    rows.collect()
}

/// The program takes the configuration and the examples, and has nothing to note.
fn are_taken(inside: &Path) {
    let examples = std::fs::read_dir(inside.join("usr/share/doc/tidegate/examples")).unwrap();
    let mut files: Vec<PathBuf> = examples.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    assert_eq!(files.len(), 2, "{files:?}");
    files.push(inside.join("etc/tidegate/tidegate.toml"));
    for file in files {
        let shown = file.to_str().unwrap();
        let found = run(&["config", "check", "-c", shown], inside);
        assert_eq!(found, (0, format!("{shown}: no errors\n"), String::new()));
    }
}

/// README.Debian names files of the package, or such as a unit waits for.
fn are_there(inside: &Path, contents: &BTreeMap<String, String>) {
    let notes = std::fs::read_to_string(inside.join("usr/share/doc/tidegate/README.Debian"));
    let notes = notes.unwrap();
    let paths = notes.split_whitespace().filter_map(|word| {
        let path = &word[word.find("/etc/").or(word.find("/usr/"))?..];
        Some(path.trim_end_matches([',', '.', ')']))
    });
    let awaited = ["statsd", "events"].map(|name| {
        let unit = inside.join(format!("usr/lib/systemd/system/tidegate-{name}.service"));
        std::fs::read_to_string(unit).unwrap()
    });
    let is_there = |path: &str| {
        contents.contains_key(path)
            || contents.contains_key(&format!("{path}/"))
            || awaited.iter().any(|unit| unit.contains(&format!("ConditionPathExists={path}\n")))
    };
    let paths: Vec<&str> = paths.collect();
    assert!(paths.len() > 5, "{paths:?}");
    let absent: Vec<&str> = paths.into_iter().filter(|path| !is_there(path)).collect();
    assert_eq!(absent, [""; 0]);
}

#[test]
fn the_package_has_everything_in_its_place_and_is_the_same_each_time() {
    let (folder, again) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let package = package(folder.path());
    let bytes = |file: &Path| std::fs::read(file).unwrap();
    assert!(bytes(&package) == bytes(&self::package(again.path())), "two packages differ");
    let contents = contents(&package);
    for (path, mode) in [
        ("/usr/bin/tidegate", "-rwxr-xr-x"),
        ("/etc/tidegate/tidegate.toml", "-rw-r--r--"),
        ("/etc/tidegate/credentials/", "drwx------"),
        ("/usr/lib/systemd/system/tidegate.service", "-rw-r--r--"),
        ("/usr/lib/systemd/system/tidegate.socket", "-rw-r--r--"),
        ("/usr/lib/sysusers.d/tidegate.conf", "-rw-r--r--"),
        ("/usr/share/man/man1/tidegate-events-run.1.gz", "-rw-r--r--"),
        ("/usr/share/bash-completion/completions/tidegate", "-rw-r--r--"),
        ("/usr/share/zsh/vendor-completions/_tidegate", "-rw-r--r--"),
        ("/usr/share/fish/vendor_completions.d/tidegate.fish", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/copyright", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/changelog.gz", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/third-party.txt.gz", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/README.Debian", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/examples/tidegate.rules.yaml", "-rw-r--r--"),
        ("/usr/share/doc/tidegate/examples/tidegate.json", "-rw-r--r--"),
    ] {
        let found = contents.get(path).map(String::as_str);
        assert_eq!(found, Some(&*format!("{mode} root/root")), "{path}");
    }
    let version = dpkg_deb("--field", &package, &["Version"]);
    assert_eq!(version.trim(), env!("CARGO_PKG_VERSION"));
    let depends = dpkg_deb("--field", &package, &["Depends"]);
    assert!(depends.starts_with("libc6 (>= 2."), "{depends}");

    let inside = folder.path().join("inside");
    dpkg_deb("--raw-extract", &package, &[inside.to_str().unwrap()]);
    are_taken(&inside);
    are_there(&inside, &contents);
    let conffiles = std::fs::read_to_string(inside.join("DEBIAN/conffiles")).unwrap();
    assert_eq!(conffiles, "/etc/tidegate/tidegate.toml\n");

    let mut lintian = Command::new(require("lintian", Absent::Panic).unwrap());
    let output = lintian.args(["--fail-on", "error,warning"]).arg(&package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
