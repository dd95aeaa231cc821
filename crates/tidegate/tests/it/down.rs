//! Claims about an app that is down, and about what operators have switched: each is said.

use std::net::SocketAddr;

use serde_json::Value;
use testkit::{Client, Origin, OriginReply, free_port};

use crate::running::{Running, run, until};

fn lines(value: &Value) -> Vec<String> {
    let lines = value.as_array().into_iter().flatten();
    lines.filter_map(|line| line.as_str().map(str::to_owned)).collect()
}

fn ready(running: &Running) -> (u16, String) {
    let reply = Client::get(running.admin, "/health/ready").send();
    (reply.status, reply.text().to_owned())
}

#[test]
fn an_app_that_is_down_is_said_in_log_alarms_and_readiness_until_it_is_back() {
    let port = free_port();
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let running = Running::start(
        &format!(
            "[[upstream]]\nname = \"app\"\nservers = [\"{server}\"]\n\
             [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:app\"\n"
        ),
        |_| (),
    );
    until("the truth, though nobody has sent a request", || ready(&running).0 == 503);
    running.server.wait_for_stderr("a server takes no connections");
    assert_eq!(ready(&running), (503, "not ready\nupstream `app` has no healthy server\n".into()));
    assert!((0..5).all(|_| running.get("/").status == 502));
    let said = running.server.stderr().matches("a server takes no connections").count();
    assert_eq!(said, 1, "once, not for each request");
    let alarms = lines(&running.status()["alarms"]);
    let of_server =
        format!("upstream `app`: server {server}: takes no connections (Connection ref");
    assert!(alarms.iter().any(|alarm| alarm.starts_with(&of_server)), "{alarms:?}");
    let app = Origin::start_on(port, |_| OriginReply::ok("back"));
    until("readiness", || ready(&running).0 == 200);
    assert_eq!(lines(&running.status()["alarms"]), [""; 0]);
    running.server.wait_for_stderr("a server takes connections again");
    assert_eq!(running.get("/").text(), "back");
    assert_eq!(app.count("/"), 1, "nothing else was asked");
}

#[test]
fn a_target_that_only_personalises_is_an_alarm_and_no_reason_to_be_out_of_service() {
    let app = Origin::start(|_| OriginReply::ok("everybody's"));
    let running = Running::start(
        &format!(
            "[[upstream]]\nname = \"app\"\nservers = [\"{}\"]\n\
             [[upstream]]\nname = \"each\"\nservers = [\"127.0.0.1:{}\"]\n\
             [[route]]\nname = \"list\"\npath = \"/{{*rest}}\"\nto = \"upstream:app\"\n\
             personalise = {{ user = \"cookie:u\", to = \"upstream:each\", rollout = \"5%\" }}\n",
            app.address(),
            free_port()
        ),
        |_| (),
    );
    assert_eq!(ready(&running).0, 200);
    running.server.wait_for_stderr("a server takes no connections");
    let alarms = lines(&running.status()["alarms"]);
    assert!(alarms.contains(&"upstream `each` has no healthy server".to_owned()), "{alarms:?}");
    assert_eq!(ready(&running).0, 200);
    assert_eq!(running.status()["rollout"]["list"]["to"], "upstream:each");
    let folder = running.folder.path();
    let (code, out, err) = run(&["rollout", "show", "-c", "tidegate.toml"], folder);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "list: 5% of the users with a profile are let in from upstream:each\n");
    let (_, out, _) = run(&["rollout", "show", "-c", "tidegate.toml", "--json"], folder);
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&shown["list"]["rollout"], &shown["list"]["killed"]),
        (&0.05.into(), &false.into())
    );
}

#[test]
fn what_an_operator_has_switched_is_noticed_as_long_as_it_lasts() {
    let route = "[[route]]\nname = \"list\"\npath = \"/\"\nto = \"models\"\n\
                 personalise = { user = \"cookie:u\" }\n";
    let running = Running::start(route, |_| ());
    let folder = running.folder.path();
    assert_eq!(lines(&running.status()["notices"]), [""; 0]);
    let set = ["rollout", "set", "-c", "tidegate.toml", "--hold-out", "12.5%", "--kill", "on"];
    let (code, out, err) = run(&set, folder);
    assert_eq!(code, 0, "{err}");
    let expected =
        "list: nobody is let in: the kill switch is on\n  12.5% of the users are held out\n";
    assert_eq!(out, expected);
    assert_eq!(
        lines(&running.status()["notices"]),
        [
            "route `list`: the kill switch is on, so nobody gets a personalised answer",
            "route `list`: 12.5% of the users are held out",
        ]
    );
    let (code, _, err) = run(&["rollout", "set", "-c", "tidegate.toml", "--clear"], folder);
    assert_eq!(code, 0, "{err}");
    assert_eq!(lines(&running.status()["notices"]), [""; 0]);
}
