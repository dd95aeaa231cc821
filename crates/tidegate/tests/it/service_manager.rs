//! Claims about Tidegate under a service manager: what it says of itself, the sockets and the
//! secrets that it takes over.

use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::path::Path;
use std::process::Command;

use testkit::{Absent, Client, FIXTURE_TIMEOUT, Server, TempDir, free_port, require};

use crate::running::{BINARY, run};

/// A service manager's end of the socket.
struct Manager(UnixDatagram);

impl Manager {
    fn new(socket: UnixDatagram) -> Self {
        socket.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
        Self(socket)
    }

    fn at(path: &Path) -> Self {
        Self::new(UnixDatagram::bind(path).unwrap())
    }

    /// The next message that is not the watchdog's.
    fn next(&self) -> String {
        std::iter::repeat_with(|| self.any()).find(|message| message != "WATCHDOG=1").unwrap()
    }

    fn any(&self) -> String {
        let mut room = [0; 4096];
        let length = self.0.recv(&mut room).unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    /// Whether nothing more has come.
    fn is_silent(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        self.0.recv(&mut [0; 4096]).is_err()
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

/// `tidegate serve` with a configuration of its own in `folder`.
fn serve(folder: &Path, (public, admin): (SocketAddr, SocketAddr), more: &str) -> Command {
    let file = folder.join("tidegate.toml");
    let text = format!(
        "cores = {{ edge = 2, work = 1 }}\n\
         [listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n{more}\n"
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("serve").arg("--config").arg(file);
    command
}

#[test]
fn a_server_is_ready_once_it_answers_and_its_record_process_says_nothing() {
    let folder = TempDir::new().unwrap();
    let manager = Manager::at(&folder.path().join("notify"));
    let (public, admin) = (loopback(), loopback());
    let counting = "[journal]\n[[rollup]]\nname = \"hits\"\nby = [\"day\"]\n\
                    [[sink]]\nname = \"main\"\nurl = \"sqlite:hits.db\"\n";
    let mut command = serve(folder.path(), (public, admin), counting);
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    let mut server = Server::spawn(command, admin).unwrap();
    let ready = format!("READY=1\nSTATUS=serving on {public}, admin on {admin}");
    assert_eq!(manager.next(), ready);
    assert_eq!(Client::get(public, "/").send().status, 404);
    server.signal("TERM").unwrap();
    assert!(server.wait().unwrap().success());
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=finishing requests");
    assert!(manager.is_silent());
}

#[test]
fn the_watchdog_is_answered_while_the_server_runs() {
    let folder = TempDir::new().unwrap();
    let manager = Manager::at(&folder.path().join("notify"));
    let (public, admin) = (loopback(), loopback());
    let mut command = serve(folder.path(), (public, admin), "");
    command.env("NOTIFY_SOCKET", folder.path().join("notify")).env("WATCHDOG_USEC", "200000");
    let server = Server::spawn(command, admin).unwrap();
    while manager.any() != "WATCHDOG=1" {}
    server.signal("STOP").unwrap();
    server.signal("CONT").unwrap();
    while manager.any() != "WATCHDOG=1" {}
}

#[test]
fn the_watchdog_of_another_process_is_not_answered() {
    let folder = TempDir::new().unwrap();
    let manager = Manager::at(&folder.path().join("notify"));
    let (public, admin) = (loopback(), loopback());
    let mut command = serve(folder.path(), (public, admin), "");
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    command.env("WATCHDOG_USEC", "1000").env("WATCHDOG_PID", "1");
    let mut server = Server::spawn(command, admin).unwrap();
    assert!(manager.any().starts_with("READY=1"));
    server.signal("TERM").unwrap();
    server.wait().unwrap();
    assert!(manager.any().starts_with("STOPPING=1"), "with 1 ms, many would have come before");
}

#[test]
fn a_statsd_server_announces_that_it_reads_its_file_again() {
    let folder = TempDir::new().unwrap();
    let name = format!("tidegate-test-{}", std::process::id());
    let address = UnixAddr::from_abstract_name(&name).unwrap();
    let manager = Manager::new(UnixDatagram::bind_addr(&address).unwrap());
    let management = loopback();
    let file = folder.path().join("tidegate.toml");
    let text =
        format!("[statsd]\nlisten = [\"udp:{}\"]\nmanagement = \"{management}\"\n", loopback());
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("statsd").arg("--config").arg(&file).env("NOTIFY_SOCKET", format!("@{name}"));
    let mut server = Server::spawn(command, management).unwrap();
    assert_eq!(manager.next(), "READY=1\nSTATUS=receiving samples");
    server.signal("HUP").unwrap();
    let reloading = manager.next();
    let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(micros.parse::<u64>().unwrap() > 0, "{reloading}");
    assert_eq!(manager.next(), "READY=1");
    server.signal("TERM").unwrap();
    server.wait().unwrap();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=flushing");
}

#[test]
fn a_record_process_on_its_own_says_what_it_does() {
    let folder = TempDir::new().unwrap();
    let manager = Manager::at(&folder.path().join("notify"));
    std::fs::write(folder.path().join("access.log"), "").unwrap();
    let status = loopback();
    let text = format!(
        "[[source]]\nname = \"log\"\nfiles = [\"access.log\"]\n\
         [[rollup]]\nname = \"hits\"\nby = [\"day\"]\n\
         [[sink]]\nname = \"main\"\nurl = \"sqlite:hits.db\"\n\
         [events]\nstatus = \"{status}\"\n"
    );
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let mut command = Command::new(BINARY);
    command.args(["events", "run"]).current_dir(folder.path());
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    let mut process = Server::spawn(command, status).unwrap();
    assert_eq!(manager.next(), "READY=1\nSTATUS=delivering, 1 pipeline");
    process.signal("TERM").unwrap();
    process.wait().unwrap();
    assert_eq!(manager.next(), "STOPPING=1\nSTATUS=committing what was counted");
}

/// Has systemd's own tool pass sockets with these names to `tidegate serve`. It starts the program
/// when somebody connects.
fn activated(folder: &Path, sockets: &[(&str, SocketAddr)]) -> Server {
    // The configuration's own addresses are of no machine here: nobody may bind them.
    let elsewhere = ("192.0.2.1:80".parse().unwrap(), "192.0.2.1:81".parse().unwrap());
    let serve = serve(folder, elsewhere, "");
    let mut command = Command::new(require("systemd-socket-activate", Absent::Panic).unwrap());
    for (_, address) in sockets {
        command.arg("-l").arg(address.to_string());
    }
    let names: Vec<&str> = sockets.iter().map(|(name, _)| *name).collect();
    command.arg(format!("--fdname={}", names.join(":")));
    command.arg(serve.get_program()).args(serve.get_args());
    Server::spawn(command, sockets[0].1).unwrap()
}

#[test]
fn both_listeners_are_taken_from_the_service_manager() {
    let folder = TempDir::new().unwrap();
    let (public, admin) = (loopback(), loopback());
    let server = activated(folder.path(), &[("admin", admin), ("public", public)]);
    // More than one edge thread takes connections of the one socket.
    for _ in 0..8 {
        assert_eq!(Client::get(public, "/").send().status, 404);
    }
    assert_eq!(Client::get(admin, "/status").send().status, 200);
    let log = server.stderr();
    assert!(log.contains(&format!("serving public={public} admin={admin}")), "{log}");
    assert!(log.contains("passed another address than `[listen]` has"), "{log}");
}

#[test]
fn passed_sockets_that_have_no_place_end_the_start() {
    let folder = TempDir::new().unwrap();
    for (sockets, message) in [
        (&["public", "private"][..], "the passed socket `private` is neither `public` nor `admin`"),
        (
            &["public", "public", "public"],
            "3 sockets are more than threads that serve connections (2)",
        ),
        (
            &["public", "admin", "admin"],
            "2 sockets are more than threads that serve connections (1)",
        ),
    ] {
        let sockets: Vec<_> = sockets.iter().map(|name| (*name, loopback())).collect();
        let mut server = activated(folder.path(), &sockets);
        assert_eq!(server.wait().unwrap().code(), Some(1), "{message}");
        assert!(server.stderr().contains(message), "{}", server.stderr());
    }
}

#[test]
fn a_secret_of_the_service_manager_is_used_and_never_shown() {
    let folder = TempDir::new().unwrap();
    let credentials = folder.path().join("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let (public, admin) = (loopback(), loopback());
    let token = "admin_token = \"${credential:token}\"";
    let mut command = serve(folder.path(), (public, admin), token);

    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78, "{err}");
    assert!(err.contains("`listen.admin_token`: there is no credential `token`"), "{err}");

    std::fs::write(credentials.join("token"), "a-secret-of-many-characters\n").unwrap();
    command.env("CREDENTIALS_DIRECTORY", &credentials);
    let _server = Server::spawn(command, admin).unwrap();
    assert_eq!(Client::get(admin, "/status").send().status, 401);
    let asked = Client::get(admin, "/status");
    let asked = asked.header("authorization", "Bearer a-secret-of-many-characters").send();
    assert_eq!(asked.status, 200);

    let mut print = Command::new(BINARY);
    print.args(["config", "print"]).current_dir(folder.path());
    let printed = print.env("CREDENTIALS_DIRECTORY", &credentials).output().unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.contains("admin_token = ") && !printed.contains("a-secret"), "{printed}");
}

/// `tidegate serve` where the user has no privilege of the machine, and `read_only` cannot be
/// written.
fn confined(read_only: &Path, serve: &Command) -> Command {
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && \
                  exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(read_only);
    command.arg(serve.get_program()).args(serve.get_args());
    command
}

fn can_confine() -> bool {
    let folder = TempDir::new().unwrap();
    confined(folder.path(), &Command::new("true")).status().is_ok_and(|status| status.success())
}

#[test]
fn a_system_that_is_read_only_is_named_and_another_root_is_the_way_out() {
    if !can_confine() {
        return testkit::skip("no mounts can be made here (`unshare --map-root-user --mount`)");
    }
    let (folder, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (public, admin) = (loopback(), loopback());
    let command = serve(folder.path(), (public, admin), "[journal]");
    let output = confined(folder.path(), &command).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("data/journal`: Read-only file system"), "{said}");
    assert!(said.contains("\nhint: let the user that Tidegate runs as write there"), "{said}");

    let text = std::fs::read_to_string(folder.path().join("tidegate.toml")).unwrap();
    let text = format!("root = \"{}\"\n{text}", data.path().display());
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let _server = Server::spawn(confined(folder.path(), &command), admin).unwrap();
    assert_eq!(Client::get(public, "/").send().status, 404);
    assert!(data.path().join("data/journal").is_dir());
}

#[test]
fn a_port_that_needs_a_privilege_says_so() {
    let first = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if !can_confine() || first.is_ok_and(|first| first.trim() == "0") {
        return testkit::skip("every user may bind every port here");
    }
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let public = "127.0.0.1:1".parse().unwrap();
    let command = serve(folder.path(), (public, loopback()), "");
    let output = confined(other.path(), &command).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("listen on `127.0.0.1:1`: Permission denied"), "{said}");
    assert!(said.contains("\nhint: a port below 1024 needs a privilege"), "{said}");
}

#[test]
fn paths_may_start_in_another_directory_than_the_file() {
    let folder = TempDir::new().unwrap();
    let (public, admin) = (loopback(), loopback());
    let file = folder.path().join("etc/tidegate.toml");
    std::fs::create_dir_all(folder.path().join("etc")).unwrap();
    std::fs::create_dir_all(folder.path().join("var")).unwrap();
    let root = folder.path().join("var");
    let text = format!(
        "root = \"{}\"\n[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n[journal]\n",
        root.display()
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("serve").arg("--config").arg(&file);
    drop(Server::spawn(command, admin).unwrap());
    assert!(root.join("data/journal").is_dir());
    let beside = std::fs::read_dir(folder.path().join("etc")).unwrap().count();
    assert_eq!(beside, 1, "nothing is written beside the file");
}
