//! Claims about upstreams with names, as an operator of the whole program sees them.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use testkit::{Client, NameServer, Origin, OriginReply, Server, TempDir, free_port};

use crate::running::{BINARY, Running, until};

fn config(name_server: SocketAddr, port: u16) -> String {
    format!(
        "[resolver]\nservers = [\"{name_server}\"]\n\n\
         [[upstream]]\nname = \"o\"\nservers = [\"api.test:{port}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n"
    )
}

fn alarms(status: &Value) -> String {
    status["alarms"].to_string()
}

#[test]
fn a_dead_name_server_stops_neither_the_start_nor_the_service_and_raises_an_alarm() {
    let dns = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let one = Origin::start(|_| OriginReply::ok("one"));
    let port = one.address().port();
    let at = |last| SocketAddr::from(([127, 0, 0, last], port));
    let _two = Origin::start_at(at(2), |_| OriginReply::ok("two"));
    let server = Running::start(&config(dns, port), |_| {});
    assert_eq!(server.get("/").status, 503);
    let status = server.status();
    let alarm = format!("upstream `o`: name `api.test:{port}`: ");
    assert!(alarms(&status).contains(&alarm), "{status}");
    assert!(alarms(&status).contains("it has no address"), "{status}");

    let names = NameServer::start_on(dns.port());
    names.set("api.test", 1, &["127.0.0.1"]);
    until("an answer", || server.get("/").status == 200);
    let status = server.status();
    assert_eq!(alarms(&status), "[]");
    let servers = &status["upstreams"][0]["servers"];
    assert_eq!(servers[0]["address"], at(1).to_string());
    assert_eq!(status["upstreams"][0]["names"][0]["addresses"], 1);

    drop(names);
    until("an alarm", || alarms(&server.status()).contains(&alarm));
    assert!(alarms(&server.status()).contains("its one address stays in use"));
    assert_eq!(server.get("/").text(), "one");
    let stale = "tidegate_names_stale{upstream=\"o\"} 1";
    until("the metric", || Client::get(server.admin, "/metrics").send().text().contains(stale));

    let names = NameServer::start_on(dns.port());
    names.set("api.test", 1, &["127.0.0.2"]);
    until("the move", || server.get("/").text() == "two");
    until("the end of the alarm", || alarms(&server.status()) == "[]");
}

#[test]
fn no_name_server_makes_an_upstream_of_the_admin_listener() {
    let [public, admin] = [(); 2].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let names = NameServer::start();
    names.set("api.test", 3600, &["127.0.0.1", "::ffff:127.0.0.1"]);
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tidegate.toml");
    let text = format!(
        "cores = {{ edge = 1, work = 1 }}\n{}\n\
         [listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n",
        config(names.address(), admin.port())
    );
    std::fs::write(&file, text).unwrap();
    let mut command = Command::new(BINARY);
    command.arg("serve").arg("--config").arg(&file);
    let _server = Server::spawn(command, admin).unwrap();
    assert_eq!(Client::get(public, "/status").send().status, 503);
    let status = Client::get(admin, "/status").send().text().to_owned();
    assert!(status.contains("is left out: this process listens there"), "{status}");
}
