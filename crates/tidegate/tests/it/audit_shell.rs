//! Claims about the snippets of `tidegate audit --shell`, which a real bash and a real sh run.
//! Their `logger` only writes down what it is given.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testkit::{Absent, TempDir, require};

use crate::running::run;

/// Writes a program.
fn program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with the snippet of that name, and with a `logger`.
fn folder(shell: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let (code, snippet, err) = run(&["audit", "--shell", shell], folder.path());
    assert_eq!((code, err.as_str()), (0, ""));
    std::fs::write(folder.path().join("snippet"), snippet).unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    let log = folder.path().join("log");
    let logger = format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >> '{}'\n", log.display());
    program(&folder.path().join("bin/logger"), &logger);
    folder
}

/// Runs a shell with `logger` first in PATH: code, stdout, and what was logged.
fn shell(folder: &Path, arguments: &[&str], file: Option<&str>) -> (i32, String, Vec<String>) {
    let log = folder.join("log");
    let _ = std::fs::remove_file(&log);
    let mut command = Command::new("sh");
    let script = "PATH=\"$PWD/bin:$PATH\"; export PATH; exec \"$@\"";
    command.args(["-c", script, "sh"]).args(arguments).current_dir(folder);
    if let Some(file) = file {
        command.env("BASH_ENV", folder.join(file));
    }
    let output = command.output().unwrap();
    let lines = std::fs::read_to_string(&log).unwrap_or_default();
    let lines = lines.lines().map(str::to_owned).collect();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap(), lines)
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn bash_records_each_command_and_does_what_it_did_without() {
    if require("bash", Absent::Skip).is_none() {
        return;
    }
    let folder = folder("bash");
    let script = "echo one 'two  three'\nfalse\necho \"$? $_\"\n\
                  printf 'a\\nb\\n' | cat -n | wc -l\n\
                  f() { true in f; }\nf x\n(exit 3)\necho $'tab\\there'\nexit 7\n";
    std::fs::write(folder.path().join("script"), script).unwrap();
    let (code, plain, none) = shell(folder.path(), &["bash", "script"], None);
    assert_eq!((code, none.len()), (7, 0));
    let (code, out, lines) = shell(folder.path(), &["bash", "script"], Some("snippet"));
    assert_eq!((code, out), (7, plain));
    let line = |text: &str| format!("--size 4096 -p auth.info -t {} -- Running {text}", user());
    let expected = [
        "echo one 'two  three'",
        "false",
        "echo \"$? $_\"",
        "printf 'a\\nb\\n'",
        "cat -n",
        "wc -l",
        "f x",
        "echo 'tab here'",
        "exit 7",
    ];
    assert_eq!(lines, expected.map(line));
}

#[test]
fn bash_goes_on_where_logger_fails_and_long_commands_are_cut() {
    if require("bash", Absent::Skip).is_none() {
        return;
    }
    let folder = folder("bash");
    let long = "x".repeat(5000);
    let script = format!("set -e\nshopt -s extdebug\necho 'a\nb' {long} >/dev/null\necho done\n");
    std::fs::write(folder.path().join("script"), script).unwrap();
    let (code, out, lines) = shell(folder.path(), &["bash", "script"], Some("snippet"));
    assert_eq!((code, out.as_str()), (0, "done\n"));
    let cut = lines.iter().find(|line| line.contains("echo 'a b' xxx")).unwrap();
    assert!(cut.len() < 2000, "{}", cut.len());
    program(&folder.path().join("bin/logger"), "#!/bin/sh\nexit 1\n");
    let (code, out, _) = shell(folder.path(), &["bash", "script"], Some("snippet"));
    assert_eq!((code, out.as_str()), (0, "done\n"));
}

#[test]
fn another_shell_that_reads_the_snippet_is_as_before() {
    let folder = folder("bash");
    let (code, out, lines) = shell(folder.path(), &["sh", "-c", ". ./snippet; echo x"], None);
    assert_eq!((code, out.as_str(), lines.len()), (0, "x\n", 0));
}

#[test]
fn nrpe_records_a_command_by_its_prefix() {
    let folder = folder("nrpe");
    let text = std::fs::read_to_string(folder.path().join("snippet")).unwrap();
    let begin = text.find("#!/bin/sh").unwrap();
    let script = &text[begin..begin + text[begin..].find("\n\n").unwrap() + 1];
    program(&folder.path().join("audited"), script);
    // As NRPE runs a command of its configuration.
    let line = "./audited /bin/echo -p 3306 \"a b\"";
    let (code, out, lines) = shell(folder.path(), &["sh", "-c", line], None);
    assert_eq!((code, out.as_str()), (0, "-p 3306 a b\n"));
    assert_eq!(lines, ["--size 4096 -p auth.info -t nagios -- Running /bin/echo -p 3306 a b"]);
    let (code, _, _) = shell(folder.path(), &["sh", "-c", "./audited sh -c 'exit 2'"], None);
    assert_eq!(code, 2);
}
