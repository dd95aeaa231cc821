//! A real rsyslogd receives the entries of a trail, and its file is compared with the trail.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testkit::{Absent, Client, Origin, OriginReply, TempDir, require};

use crate::audit::config;
use crate::running::{Running, run, until};

const PARTS: &str = "%syslogfacility-text%|%syslogseverity-text%|%programname%|%msg%";
/// As Debian writes `/var/log/auth.log`.
const TRADITIONAL: &str = "RSYSLOG_TraditionalFileFormat";

/// An rsyslogd with a socket of its own; ends when it is dropped.
struct Rsyslog {
    child: Child,
    folder: TempDir,
}

impl Rsyslog {
    /// Starts; `None`, with the reason printed, where it is not installed.
    fn start() -> Option<Self> {
        let program = require("rsyslogd", Absent::Skip)?;
        let folder = TempDir::new().unwrap();
        let at = folder.path().display();
        let text = format!(
            "global(workDirectory=\"{at}\")\n\
             module(load=\"imuxsock\" SysSock.Use=\"off\")\n\
             input(type=\"imuxsock\" Socket=\"{at}/socket\")\n\
             template(name=\"parts\" type=\"string\" string=\"{PARTS}\\n\")\n\
             action(type=\"omfile\" file=\"{at}/parts.log\" template=\"parts\")\n\
             action(type=\"omfile\" file=\"{at}/auth.log\" template=\"{TRADITIONAL}\")\n"
        );
        let file = folder.path().join("rsyslog.conf");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-n").arg("-f").arg(&file).arg("-i").arg(folder.path().join("pid"));
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let rsyslog = Self { child, folder };
        until("rsyslogd's socket", || rsyslog.path("socket").exists());
        Some(rsyslog)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits for so many lines of a file.
    fn lines(&self, name: &str, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        until("the lines of syslog", || {
            let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
            let ours = text.lines().filter(|line| line.contains("tidegate"));
            lines = ours.map(str::to_owned).collect();
            lines.len() >= count
        });
        lines
    }
}

impl Drop for Rsyslog {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn edited(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from));
    std::fs::write(file, text.replace(from, to)).unwrap();
}

#[test]
fn rsyslogd_receives_each_entry_and_is_a_witness_against_a_trail_written_anew() {
    let Some(rsyslog) = Rsyslog::start() else { return };
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let syslog = format!("syslog = \"{}\"", rsyslog.path("socket").display());
    let running = Running::start(&config(&origin, &syslog), |_| {});
    let folder = running.folder.path();
    running.get("/x");
    let purge = Client::post(running.admin, "/purge?url=/x%0A<38>forged", "").send();
    assert_eq!(purge.status, 400);
    assert_eq!(Client::post(running.admin, "/purge?url=/x", "").send().status, 200);
    let probe = ["lab", "probe", "-n", "2", "--closed", "--", "true", "-x"];
    assert_eq!(run(&probe, folder).0, 0);

    let parts = rsyslog.lines("parts.log", 6);
    assert!(
        parts.iter().all(|line| line.starts_with("auth|info|tidegate| Running ")),
        "{parts:#?}"
    );
    assert!(
        parts[0].contains(r"Running purge url=/x\n<38>forged by 127.0.0.1 (uid "),
        "{parts:#?}"
    );
    let (head, tail) = parts[3].split_once("): done, 1 entry [audit 4 ").unwrap();
    assert!(head.starts_with("auth|info|tidegate| Running purge url=/x by 127.0.0.1 (uid "));
    assert_eq!(tail.trim_end_matches(']').len(), 12, "{tail}");
    assert!(parts[5].contains("Running true -x by uid "), "{parts:#?}");
    assert!(parts[5].contains(" in lab probe: done, 2 runs [audit 6 "), "{parts:#?}");

    let auth = rsyslog.lines("auth.log", 6);
    assert!(auth.iter().all(|line| line.contains(" tidegate: Running ")), "{auth:#?}");
    let file = rsyslog.path("auth.log").display().to_string();
    let verify = ["audit", "--verify", "--against", &file];
    let (code, out, _) = run(&verify, folder);
    assert!(out.ends_with("syslog: 6 lines about this trail, 0 contradict it\n"), "{out}");
    assert_eq!(code, 0);

    // Somebody removes the trail; that of another process begins anew, and holds in itself.
    std::fs::remove_dir_all(folder.join("data/audit")).unwrap();
    assert_eq!(run(&probe, folder).0, 0);
    assert_eq!(run(&["audit", "--verify"], folder).0, 0);
    rsyslog.lines("auth.log", 8);
    let (code, out, _) = run(&verify, folder);
    assert_eq!(code, 1);
    assert!(out.contains("syslog, line 1: entry 1 was "), "{out}");
    assert!(out.contains("; the trail has none"), "{out}");
    assert!(out.ends_with("syslog: 8 lines about this trail, 6 contradict it\n"), "{out}");
    edited(&rsyslog.path("auth.log"), "[audit 1 ", "[audit 1 0");
    let (_, out, _) = run(&verify, folder);
    assert!(out.ends_with("syslog: 6 lines about this trail, 5 contradict it\n"), "{out}");

    // The server knows what it has written, and goes on behind that.
    Client::post(running.admin, "/purge?url=/y", "").send();
    let (code, out, _) = run(&["audit", "--verify"], folder);
    assert_eq!(code, 1);
    assert!(out.contains("missing: entries 3 to 4 are missing before entry 5"), "{out}");
}
