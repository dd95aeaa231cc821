//! Claims about who may read what the program creates.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use testkit::{Client, Origin, OriginReply, Server, TempDir, free_port};

use crate::running::{BINARY, until};

/// A server that writes everything that may hold ids, addresses, answers or profiles.
fn config(origin: &Origin, public: SocketAddr, admin: SocketAddr) -> String {
    format!(
        r#"
cores = {{ edge = 1, work = 1 }}

[listen]
public = "{public}"
admin = "{admin}"

[journal]
sync = "always"

[cache]
disk = {{}}

[profiles]
file = "data/users.db"
items_min = 1
category = "query.kind"

[[upstream]]
name = "o"
servers = ["{}"]

[[route]]
path = "/1/feedback/read"
collect = "only"
personalise = {{ user = "cookie:userId" }}

[[route]]
path = "/{{*rest}}"
to = "upstream:o"
cache = {{ ttl = "10m", disk = true }}

[[source]]
name = "web"
files = ["access.log"]

[[rollup]]
name = "seen"
by = ["path"]

[[sink]]
name = "database"
url = "sqlite:data/sinks/events.db"
flush = "20ms"

[[rollup]]
name = "lines"
by = ["path"]
sink = "files"

[[sink]]
name = "files"
url = "ndjson:data/sinks/out"
flush = "20ms"

[statsd]
listen = ["udp:127.0.0.1:{}"]
management = "127.0.0.1:{}"
flush = "1s"
backend = [{{ kind = "file", to = "statsd.log" }}]
"#,
        origin.address(),
        free_port(),
        free_port()
    )
    .replace("name = \"seen\"", "name = \"seen\"\nsink = \"database\"")
}

/// The program, started by a shell with this umask.
fn command(umask: &str, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new("sh");
    let script = format!("umask {umask}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(BINARY).args(arguments).current_dir(folder);
    command
}

/// What a server left that has written something of everything.
struct Written {
    folder: TempDir,
    /// Each path with its mode, while the server ran and after its end.
    modes: Vec<(PathBuf, u32)>,
    said: String,
}

fn written(umask: &str, more: &str, before: impl FnOnce(&Path)) -> Written {
    let origin = Origin::start(|_| OriginReply::ok("an answer ".repeat(100)));
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    before(path);
    let address = || SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (public, admin) = (address(), address());
    let text = format!("{more}\n{}", config(&origin, public, admin));
    std::fs::write(path.join("tidegate.toml"), text).unwrap();
    std::fs::write(path.join("access.log"), "no line of the format\n").unwrap();
    let mut server = Server::spawn(command(umask, &["serve"], path), admin).unwrap();
    let read =
        Client::post(public, "/1/feedback/read?item=1&kind=a", "").header("cookie", "userId=ann");
    assert_eq!(read.send().status, 204);
    assert_eq!(Client::get(public, "/page").header("Host", "a.test").send().status, 200);
    let is_there = |name: &str| path.join("data").join(name).exists();
    until("the cache on disk", || {
        let status = Client::get(admin, "/status").send();
        status.text().contains("\"disk\"") && files(&path.join("data/cache")).len() > 1
    });
    until("the sinks", || is_there("sinks/events.db") && is_there("sinks/out/lines.ndjson"));
    until("the quarantine", || is_there("quarantine/web-database.ndjson"));
    until("statsd's files", || is_there("statsd-snapshot") && path.join("statsd.log").exists());
    let built = command(umask, &["profiles", "build"], path).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let database = Connection::open(path.join("data/users.db")).unwrap();
    let rows = "SELECT COUNT(*) FROM user_profiles";
    assert_eq!(database.query_row(rows, [], |row| row.get::<_, i64>(0)), Ok(1));
    let mut modes = modes_in(path);
    assert!(modes.len() > 20, "{modes:?}");
    server.signal("TERM").unwrap();
    server.wait().unwrap();
    modes.extend(modes_in(path));
    let said = server.stderr();
    Written { folder, modes, said }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            let below = if path.is_dir() { files(&path) } else { Vec::new() };
            std::iter::once(path).chain(below)
        })
        .collect()
}

/// Everything in a directory but what the test itself has made, with its mode.
fn modes_in(dir: &Path) -> Vec<(PathBuf, u32)> {
    let own = ["tidegate.toml", "access.log"];
    let modes = files(dir).into_iter().filter(|path| !own.iter().any(|own| path.ends_with(own)));
    // What is renamed or removed meanwhile had its mode before.
    let modes = modes.filter_map(|path| {
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        Some((path, mode))
    });
    modes.collect()
}

#[test]
fn nothing_that_the_program_creates_is_for_others() {
    let Written { modes, said, folder: _folder } = written("000", "", |_| {});
    for (path, mode) in modes {
        assert_eq!(mode & 0o027, 0, "{} has {mode:o}", path.display());
    }
    assert!(!said.contains("has mode"), "{said}");
}

#[test]
fn a_stricter_umask_stays_and_the_configuration_may_be_stricter() {
    for (umask, more) in [("077", ""), ("000", "umask = \"077\"")] {
        for (path, mode) in written(umask, more, |_| {}).modes {
            assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
        }
    }
}

#[test]
fn a_directory_that_is_wider_stays_so_and_is_named_once() {
    let Written { folder, said, .. } = written("022", "", |folder| {
        let journal = folder.join("data/journal");
        std::fs::create_dir_all(&journal).unwrap();
        std::fs::set_permissions(&journal, PermissionsExt::from_mode(0o770)).unwrap();
    });
    let journal = folder.path().join("data/journal");
    assert_eq!(std::fs::metadata(journal).unwrap().permissions().mode() & 0o777, 0o770);
    let note = "data/journal` has mode 0770; `chmod 0750` fits `umask` 027";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert_eq!(said.matches("has mode").count(), 1, "{said}");
}
