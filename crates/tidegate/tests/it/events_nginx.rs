//! Claims about `tidegate events` beside a real nginx that writes under load and rotates.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use testkit::{Absent, Server, TempDir, free_port, require};

use crate::events::{CONFIG, held, start};
use crate::running::until;

const CLIENTS: u64 = 4;
/// Requests that a client sends before it waits for their answers.
const PIPELINED: u64 = 40;
const ROTATIONS: u64 = 8;
/// Requests of one client between two rotations.
const PER_ROTATION: u64 = 800;
const ALL: u64 = CLIENTS * PER_ROTATION * (ROTATIONS + 1);

/// nginx with two workers that log in `folder`.
fn nginx(folder: &Path) -> Option<Server> {
    let program = require("nginx", Absent::Skip)?;
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let config = format!(
        "daemon off; worker_processes 2; pid nginx.pid; error_log error.log; user root root;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log access.log; keepalive_requests 1000000;\n\
         client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;\n\
         uwsgi_temp_path t4; scgi_temp_path t5;\n\
         server {{ listen {address}; return 204; }} }}\n"
    );
    std::fs::write(folder.join("nginx.conf"), config).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
    Some(Server::spawn(command, address).unwrap())
}

/// Asks for `ALL / CLIENTS` ids from `first` on, and counts what was answered.
fn ask(address: SocketAddr, first: u64, answered: &AtomicU64) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut input = vec![0; 1 << 16];
    for start in (first..first + ALL / CLIENTS).step_by(PIPELINED as usize) {
        let requests: String = (start..start + PIPELINED)
            .map(|id| format!("GET /p?id={id} HTTP/1.1\r\nHost: x\r\n\r\n"))
            .collect();
        stream.write_all(requests.as_bytes()).unwrap();
        let mut ends = 0;
        let mut last = [0; 4];
        while ends < PIPELINED {
            let read = stream.read(&mut input).unwrap();
            assert!(read > 0, "nginx hung up");
            for byte in &input[..read] {
                last = [last[1], last[2], last[3], *byte];
                ends += u64::from(&last == b"\r\n\r\n");
            }
        }
        answered.fetch_add(PIPELINED, Ordering::Relaxed);
    }
}

#[test]
fn what_nginx_writes_while_it_rotates_is_delivered_once() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let Some(mut nginx) = nginx(folder) else { return };
    let config = CONFIG.replace("access.log", "access.log*");
    let mut record = start(folder, &config, "tidegate.toml");
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (address, answered) = (nginx.address(), &answered);
            scope.spawn(move || ask(address, client * (ALL / CLIENTS), answered));
        }
        for rotation in 1..=ROTATIONS {
            let enough = rotation * CLIENTS * PER_ROTATION - PER_ROTATION;
            until("requests", || answered.load(Ordering::Relaxed) >= enough);
            let log = folder.join("access.log");
            std::fs::rename(&log, folder.join(format!("access.log.{rotation}"))).unwrap();
            // Its workers go on in the renamed file until they have opened the new one.
            nginx.signal("USR1").unwrap();
            until("nginx to open its log again", || log.exists());
            if rotation % 3 == 0 {
                record.signal("KILL").unwrap();
                record.wait().unwrap();
                record = start(folder, &config, "tidegate.toml");
            }
        }
    });
    nginx.signal("QUIT").unwrap();
    assert!(nginx.wait().unwrap().success());
    until("the delivery", || held(folder) == (ALL, ALL));
    record.signal("TERM").unwrap();
    assert!(record.wait().unwrap().success());
    assert_eq!(held(folder), (ALL, ALL));
}
