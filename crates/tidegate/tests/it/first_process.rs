//! Claims about Tidegate as process 1 of a container: here of a process namespace of its own.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use testkit::{Client, Server, TempDir, free_port, skip};

use crate::running::{BINARY, until};

/// Whether namespaces of processes can be made here.
fn can_unshare() -> bool {
    let mut probe = unshare();
    probe.arg("true");
    probe.status().is_ok_and(|status| status.success())
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command
}

/// The processes whose parent is `parent`, with their command lines.
fn children(parent: u32) -> Vec<(u32, String)> {
    let is_child = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == format!("PPid:\t{parent}"))
    };
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let named =
        |pid: u32| (pid, fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    pids.filter(is_child).map(named).collect()
}

#[test]
fn the_first_process_reaps_orphans_and_ends_by_sigterm() {
    if !can_unshare() {
        return skip("process namespaces cannot be made here (`unshare --pid`)");
    }
    let folder = TempDir::new().unwrap();
    let [public, admin] = [(); 2].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let file = folder.path().join("tidegate.toml");
    fs::write(&file, format!("[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n")).unwrap();
    let mut command = unshare();
    command.args([OsStr::new(BINARY), OsStr::new("serve"), OsStr::new("-c"), file.as_os_str()]);
    let mut server = Server::spawn(command, admin).unwrap();
    let (first, _) = children(server.process_id()).pop().unwrap();

    // A shell of the namespace leaves a process behind that waits for us; it is an orphan.
    let gate = folder.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    leave_behind(first, &gate);
    let mut orphan = None;
    until("an orphan", || {
        orphan = children(first).into_iter().find(|(_, name)| name.starts_with("cat"));
        orphan.is_some()
    });
    let (orphan, _) = orphan.unwrap();
    drop(fs::OpenOptions::new().write(true).open(&gate).unwrap());
    until("the end of the orphan", || !Path::new(&format!("/proc/{orphan}")).exists());

    assert_eq!(Client::get(public, "/").send().status, 404);
    let mut kill = Command::new("kill");
    assert!(kill.args(["-s", "TERM", &first.to_string()]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0), "{}", server.stderr());
}

/// Starts `cat` on a fifo, by a shell in the namespace of `first` that ends at once.
fn leave_behind(first: u32, gate: &Path) {
    let script = "cat \"$1\" </dev/null >/dev/null 2>&1 &";
    let mut enter = Command::new("nsenter");
    enter.args(["--target", &first.to_string(), "--user", "--preserve-credentials", "--pid"]);
    let status = enter.args(["sh", "-c", script, "sh"]).arg(gate).status().unwrap();
    assert!(status.success());
}
