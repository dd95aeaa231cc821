//! Claims about an operator's signals and tokens: what ends a server, what takes over from it.

use std::net::TcpStream;
use std::process::Command;

use testkit::{Client, Gate, Origin, OriginReply, Server};

use crate::running::{BINARY, Running, until};

fn config(origin: &Origin) -> String {
    format!(
        "[journal]\n[[upstream]]\nname = \"o\"\nservers = [\"{}\"]\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n",
        origin.address()
    )
}

#[test]
fn a_hangup_ends_no_server() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let running = Running::start(&config(&origin), |_| ());
    for _ in 0..3 {
        running.server.signal("HUP").unwrap();
        assert_eq!(running.get("/").status, 200);
    }
}

#[test]
fn a_successor_binds_at_once_and_answers_when_its_predecessor_has_drained() {
    let gate = Gate::new();
    let own = gate.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/slow" => OriginReply::ok("slow").after(&own),
        _ => OriginReply::ok("fast"),
    });
    let running = Running::start(&config(&origin), |_| ());
    let (public, admin) = (running.public, running.admin);
    let slow = std::thread::spawn(move || Client::get(public, "/slow").send());
    origin.wait_for("/slow", 1);
    running.server.signal("TERM").unwrap();
    until("the end of the first listener", || TcpStream::connect(public).is_err());
    let file = running.folder.path().join("tidegate.toml");
    let successor = std::thread::spawn(move || {
        let mut command = Command::new(BINARY);
        command.arg("serve").arg("--config").arg(file);
        Server::spawn(command, admin).unwrap()
    });
    until("the second listener", || TcpStream::connect(public).is_ok());
    let early = std::thread::spawn(move || Client::get(public, "/early").send());
    gate.open();
    assert_eq!(slow.join().unwrap().text(), "slow");
    assert_eq!(early.join().unwrap().text(), "fast");
    drop(successor.join().unwrap());
}

#[test]
fn a_client_without_the_right_token_is_counted() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let mut command = Command::new(BINARY);
    let folder = testkit::TempDir::new().unwrap();
    let admin = std::net::SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
    let public = std::net::SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
    let listen = format!(
        "[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\nadmin_token = \"a long token\"\n"
    );
    let file = folder.path().join("tidegate.toml");
    std::fs::write(&file, format!("{}{listen}", config(&origin))).unwrap();
    command.arg("serve").arg("--config").arg(&file);
    let _server = Server::spawn(command, admin).unwrap();
    let ask = |token: &str| {
        Client::get(admin, "/metrics").header("Authorization", &format!("Bearer {token}")).send()
    };
    let denied = |page: &str| {
        let line = page.lines().find(|line| line.starts_with("tidegate_admin_denied_total"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    let before = denied(ask("a long token").text());
    for _ in 0..3 {
        assert_eq!(ask("a wrong token").status, 401);
    }
    assert_eq!(denied(ask("a long token").text()), before + 3);
}

#[test]
fn with_few_descriptors_the_operator_and_the_upstreams_are_still_reached() {
    let origin = Origin::start(|_| OriginReply::ok("x"));
    let folder = testkit::TempDir::new().unwrap();
    let [admin, public] =
        [(); 2].map(|()| std::net::SocketAddr::from(([127, 0, 0, 1], testkit::free_port())));
    let listen = format!(
        "cores = {{ edge = 1, work = 1 }}\n{}\
         [listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n",
        config(&origin)
    );
    let file = folder.path().join("tidegate.toml");
    std::fs::write(&file, listen).unwrap();
    let mut command = Command::new("sh");
    let script = "ulimit -n 64; exec \"$0\" serve --config \"$1\"";
    command.args(["-c", script, BINARY]).arg(&file);
    let _server = Server::spawn(command, admin).unwrap();
    let mut first = Client::connect(public).unwrap();
    assert_eq!(first.request("GET", "/").send().status, 200);
    let crowd: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(public).unwrap()).collect();
    let refused = || {
        let page = Client::get(admin, "/metrics").send();
        let line =
            page.text().lines().find(|l| l.starts_with("tidegate_refused_connections_total"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).unwrap_or_default()
    };
    until("the refused connections", || refused() > 150);
    // A client that was there before still gets its answers.
    assert_eq!(first.request("GET", "/again").send().text(), "x");
    drop(crowd);
}
