//! Programs are found, awaited and ended.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;

use super::{Absent, Server, find, require};
use crate::{Client, TempDir, free_port};

#[test]
fn a_program_is_found_where_it_is_and_only_there() {
    assert!(require("sh", Absent::Panic).is_some_and(|path| path.is_absolute()));
    assert_eq!(find("no-such-program-anywhere"), None);
}

#[test]
fn a_program_that_ends_is_an_error_with_its_words() {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let mut command = Command::new("sh");
    command.args(["-c", "echo broken config >&2; exit 3"]);
    let error = Server::spawn(command, address).unwrap_err().to_string();
    assert!(error.contains("exit status: 3"), "{error}");
    assert!(error.contains("broken config"), "{error}");
}

#[test]
fn a_server_answers_while_held_and_is_gone_when_dropped() {
    let Some(python) = require("python3", Absent::Skip) else { return };
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.txt"), "served").unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let mut command = Command::new(python);
    command.args(["-m", "http.server", "--bind", "127.0.0.1", &address.port().to_string()]);
    command.current_dir(folder.path());
    let server = Server::spawn(command, address).unwrap();
    assert_eq!(Client::get(address, "/a.txt").send().text(), "served");
    server.wait_for_stderr("GET /a.txt");
    drop(server);
    assert!(Client::get(address, "/a.txt").try_send().is_err());
}
