//! Claims about log files that `tidegate events` must tell apart or must not trust, by the real
//! program: exit code, sink, `verify`, `status`.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::write::GzEncoder;
use testkit::TempDir;

use crate::events::start;
use crate::running::{run, until};

/// Both sources of one node go into the sink of the folder above.
const CONFIG: &str = r#"
node = "NODE"

[[source]]
name = "web"
files = ["log/**/*.log*"]

[[rollup]]
name = "by_node"
by = ["path"]

[[sink]]
name = "main"
url = "sqlite:../sink.db"
flush = "20ms"
"#;

fn line(path: &str) -> String {
    format!(
        "192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
    )
}

fn write(file: &Path, path: &str, count: usize) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(line(path).repeat(count).as_bytes()).unwrap();
}

fn node(folder: &Path, name: &str) -> std::path::PathBuf {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tidegate.toml"), CONFIG.replace("NODE", name)).unwrap();
    folder
}

fn deliver(folder: &Path) -> (i32, String) {
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    (code, said)
}

fn verified(folder: &Path) -> String {
    let (code, text, said) = run(&["events", "verify"], folder);
    assert_eq!(code, 0, "{text}{said}");
    text
}

/// Lines counted in the sink.
fn counted(folder: &Path) -> i64 {
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    let sum = "SELECT COALESCE(SUM(count), 0) FROM by_node";
    database.query_row(sum, [], |row| row.get(0)).unwrap()
}

fn packed(lines: usize) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::default());
    for id in 0..lines {
        packer.write_all(line(&format!("/p/{}", stdx::mixed(id as u64))).as_bytes()).unwrap();
    }
    packer.finish().unwrap()
}

#[test]
fn health_checks_of_two_virtual_hosts_count_for_both() {
    let folder = TempDir::new().unwrap();
    let one = node(folder.path(), "one");
    for name in ["a.log", "b.log", "c/access.log", "d/access.log"] {
        write(&one.join("log").join(name), "/health", 120);
    }
    assert_eq!(deliver(&one).0, 0);
    assert_eq!(counted(folder.path()), 480);
    let text = verified(&one);
    assert!(text.contains("web to main: 480 lines, "), "{text}");
    for name in ["a.log", "c/access.log"] {
        let name = one.join("log").join(name);
        fs::rename(&name, name.with_extension("log.1")).unwrap();
    }
    write(&one.join("log/d/access.log"), "/health", 10);
    assert_eq!(deliver(&one).0, 0);
    assert_eq!(counted(folder.path()), 490);
    verified(&one);
}

#[test]
fn logs_of_two_machines_that_begin_alike_count_for_both_unless_one_was_moved() {
    let folder = TempDir::new().unwrap();
    let (one, two) = (node(folder.path(), "one"), node(folder.path(), "two"));
    write(&one.join("log/access.log"), "/health", 30);
    assert_eq!(deliver(&one).0, 0);
    write(&two.join("log/access.log"), "/health", 30);
    write(&two.join("log/access.log"), "/own", 20);
    let (code, said) = deliver(&two);
    assert_eq!((code, counted(folder.path())), (0, 80), "{said}");
    assert!(said.contains("another node has read a log that begins alike"), "{said}");
    assert!(verified(&two).contains("web to main: 50 lines, "));

    let three = node(folder.path(), "three");
    let config =
        CONFIG.replace("NODE", "three").replace("files =", "moved_from = [\"two\"]\nfiles =");
    fs::write(three.join("tidegate.toml"), config).unwrap();
    fs::create_dir(three.join("log")).unwrap();
    fs::copy(two.join("log/access.log"), three.join("log/access.log")).unwrap();
    write(&three.join("log/access.log"), "/new", 5);
    assert_eq!((deliver(&three).0, counted(folder.path())), (0, 85));
}

#[test]
fn a_damaged_pack_is_named_and_ends_once_with_1_and_counts_nothing() {
    let folder = TempDir::new().unwrap();
    let one = node(folder.path(), "one");
    write(&one.join("log/access.log"), "/live", 3);
    let good = packed(300);
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let file = one.join("log/access.log.1.gz");
    for bad in [&flipped[..], &good[..good.len() / 2], &good[..12]] {
        fs::write(&file, bad).unwrap();
        let (code, said) = deliver(&one);
        assert_eq!((code, counted(folder.path())), (1, 3), "{said}");
        assert!(said.contains("1 file could not be read"), "{said}");
        assert!(said.contains("access.log.1.gz"), "{said}");
        verified(&one);
    }
    fs::write(&file, &good).unwrap();
    let (code, said) = deliver(&one);
    assert_eq!((code, counted(folder.path())), (0, 303), "{said}");
    verified(&one);
}

#[test]
fn status_names_copies_and_what_cannot_be_read() {
    let folder = TempDir::new().unwrap();
    let one = node(folder.path(), "one");
    write(&one.join("log/access.log"), "/live", 3);
    fs::copy(one.join("log/access.log"), one.join("log/access.log.bak")).unwrap();
    fs::write(one.join("log/access.log.2.gz"), &packed(300)[..200]).unwrap();
    let config = CONFIG.replace("NODE", "one");
    let server = start(&one, &config, "tidegate.toml");
    let status = || run(&["events", "status"], &one).1;
    until("the delivery", || status().contains("3 rows") || status().contains("1 row "));
    until("the files to be named", || {
        let text = status();
        text.contains("access.log.bak` has nothing that `") && text.contains("access.log.2.gz`: it")
    });
    drop(server);
}
