//! Databases as fixtures: a server in a temporary directory, on a free port, as an ordinary user.
//!
//! A small shell stands between the test and the server. When its input ends it ends the server and
//! removes the directory. That happens when the fixture is dropped, and also when the test process
//! is gone for whatever reason. Invariant: a server may be shared by all tests of a process and
//! still leaves nothing behind. Refuses: root, which databases do not run as.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::FIXTURE_TIMEOUT;

const POLL: Duration = Duration::from_millis(10);

/// Arguments: directory, signal that ends the server, its command line.
const GUARD: &str = r#"
dir=$1 end=$2; shift 2
trap '' INT TERM HUP
while read -r word; do case $word in
    start) "$@" >>"$dir/log" 2>&1 </dev/null & engine=$!; echo "$engine" ;;
    kill) kill -s KILL "$engine"; wait "$engine"; echo dead ;;
esac; done
kill -s "$end" "$engine" 2>/dev/null; wait "$engine"
rm -rf "$dir"
"#;

/// An account that a server may run as: none, unless we are root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account(Option<(u32, u32)>);

impl Account {
    /// The account `name`, or else `nobody`, where we are root.
    pub(crate) fn ordinary(name: &str) -> Account {
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() != 0) {
            return Account(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").expect("root reads the accounts");
        let find = |name: &str| {
            accounts.lines().find_map(|line| {
                let mut fields = line.split(':');
                let is_it = fields.next() == Some(name);
                let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
                is_it.then_some((user, group))
            })
        };
        Account(Some(find(name).or_else(|| find("nobody")).expect("an ordinary account")))
    }

    pub(crate) fn apply(self, command: &mut Command) {
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
    }

    pub(crate) fn give(self, path: &Path) {
        if let Some((user, group)) = self.0 {
            chown(path, Some(user), Some(group)).expect("root gives files away");
        }
    }
}

/// Puts a certificate for 127.0.0.1 and its key beside the server's data, and the certificate of
/// the authority that signed it. The key of that authority was thrown away.
pub(crate) fn put_certificates(dir: &Path, account: Account) {
    let files = [
        ("authority.pem", include_str!("certificates/authority.pem")),
        ("server.pem", include_str!("certificates/server.pem")),
        ("server.key", include_str!("certificates/server.key")),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        account.give(&path);
    }
}

/// A server with its guard.
#[derive(Debug)]
pub(crate) struct Engine {
    guard: Mutex<Guard>,
    child: Child,
    address: SocketAddr,
    log: PathBuf,
}

#[derive(Debug)]
struct Guard {
    /// Taken at the end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process_id: u32,
}

impl Engine {
    /// Starts `command` in `dir`, which is removed at the end; `end` is the signal that ends it.
    pub(crate) fn start(
        dir: TempDir,
        account: Account,
        end: &str,
        command: &[String],
        port: u16,
    ) -> Engine {
        let mut shell = Command::new("sh");
        shell.args(["-c", GUARD, "sh"]).arg(dir.path()).arg(end).args(command);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        account.apply(&mut shell);
        let mut child = shell.current_dir(dir.path()).spawn().expect("a shell starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let log = dir.keep().join("log");
        let guard = Mutex::new(Guard { input, output, process_id: 0 });
        let engine = Engine { guard, child, address, log };
        engine.run();
        engine
    }

    /// Starts the server, again after [`Engine::kill`], and waits until it listens.
    pub(crate) fn run(&self) {
        let process_id = self.tell("start");
        let process_id = process_id.parse().expect("the guard names a process");
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).process_id = process_id;
        self.wait_for("listens", || TcpStream::connect(self.address).is_ok());
    }

    /// Kills the server and what it has started, at once, and waits until all are gone.
    pub(crate) fn kill(&self) {
        // Stopped, it starts nothing more while its children are looked for.
        let server = self.process_id();
        signal("STOP", &server.to_string());
        let children = children(server);
        assert_eq!(self.tell("kill"), "dead");
        for child in &children {
            signal("KILL", child);
        }
        self.wait_for("died", || !children.iter().any(|child| lives(child)));
    }

    /// The certificate of the authority that its own is signed by.
    pub(crate) fn authority(&self) -> PathBuf {
        self.log.with_file_name("authority.pem")
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).process_id
    }

    /// Waits until something is true; panics with the server's log.
    pub(crate) fn wait_for(&self, what: &str, is_true: impl Fn() -> bool) {
        let deadline = Instant::now() + FIXTURE_TIMEOUT * 3;
        while !is_true() {
            if Instant::now() > deadline {
                let log = fs::read_to_string(&self.log).unwrap_or_default();
                panic!("the server never {what}:\n{log}");
            }
            std::thread::sleep(POLL);
        }
    }

    fn tell(&self, word: &str) -> String {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let input = guard.input.as_mut().expect("it is taken at the end only");
        writeln!(input, "{word}").expect("the guard listens");
        let mut line = String::new();
        guard.output.read_line(&mut line).expect("the guard answers");
        line.trim().to_owned()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner).input = None;
        drop(self.child.wait());
    }
}

/// The database at the end of an address.
pub(crate) fn database_of(url: &str) -> &str {
    let database = url.rsplit('/').next().expect("an address ends in a database");
    database.split('?').next().expect("the first part")
}

/// Runs a program to its end and returns what it wrote; panics when it fails.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("starting {command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
    stdout
}

/// Sends a signal to a process, which may be gone already.
fn signal(name: &str, process: &str) {
    drop(Command::new("kill").args(["-s", name, process]).stderr(Stdio::null()).status());
}

/// Process ids of those whose parent this is.
fn children(parent: u32) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let is_child =
        |name: &String| state(name).is_some_and(|(_, found)| found == parent.to_string());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(is_child).collect()
}

/// Whether a process has not ended yet.
fn lives(process: &str) -> bool {
    state(process).is_some_and(|(state, _)| state != "Z")
}

/// A process's state and parent; none when it is gone.
fn state(process: &str) -> Option<(String, String)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // They are behind the command, which is in parentheses.
    let mut behind = text.rsplit_once(") ")?.1.split(' ').map(str::to_owned);
    Some((behind.next()?, behind.next()?))
}
