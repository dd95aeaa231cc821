//! The claim that the laboratory was built for: latencies behind nginx's cache lock are quantised,
//! and those behind Tidegate in its place are not.
//!
//! Eight calls ask for each of many cold keys, and the upstream takes 50 ms to 2.2 s. Behind nginx
//! a call that waits for another's answer looks for it every 500 ms, counted from its own arrival.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stdx::mixed;
use testkit::{Absent, Origin, OriginReply, Server, TempDir, free_port, require};

use crate::running::{Running, run};

/// Cold keys; they arrive together, so that the test lasts as long as the slowest few.
const KEYS: usize = 120;
const RATE: f64 = 12.0;

/// An upstream that takes 50 ms to 2.2 s, as long for the same key each time.
fn slow() -> Origin {
    Origin::start(|request| {
        let key: u64 = request.target.rsplit('?').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let time = Duration::from_micros(50_000 + mixed(key) % 2_150_000);
        OriginReply::ok("answer").header("cache-control", "max-age=600").taking(time)
    })
}

/// nginx with its cache lock, in `folder`.
fn nginx(folder: &Path, origin: &Origin) -> Option<Server> {
    let program = require("nginx", Absent::Skip)?;
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let config = format!(
        "daemon off; worker_processes 1; pid nginx.pid; error_log error.log; user root root;\n\
         events {{ worker_connections 2048; }}\n\
         http {{ access_log off; client_body_temp_path t1; proxy_temp_path t2;\n\
         fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
         proxy_cache_path cache keys_zone=c:10m;\n\
         server {{ listen {address}; location / {{ proxy_pass http://{};\n\
         proxy_cache c; proxy_cache_lock on; }} }} }}\n",
        origin.address()
    );
    std::fs::write(folder.join("nginx.conf"), config).unwrap();
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).args(["-c", "nginx.conf", "-e", "error.log"]);
    Some(Server::spawn(command, address).unwrap())
}

/// What `lab probe` says of cold keys behind `address`.
fn probe(address: SocketAddr, folder: &Path) -> Value {
    let url = format!("http://{address}/x?{{n}}");
    let (keys, rate) = (KEYS.to_string(), RATE.to_string());
    let line = ["lab", "probe", &url, "-n", &keys, "--rate", &rate, "--first", "1"];
    let burst = ["--burst", "8", "--stagger", "4ms", "--format", "json", "--save", "x.json"];
    let (code, out, err) = run(&[&line[..], &burst].concat(), folder);
    assert_eq!(code, 0, "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["calls"], KEYS * 8, "{report}");
    report
}

fn verdict<'r>(report: &'r Value, kind: &str) -> Option<&'r Value> {
    report["verdicts"].as_array().unwrap().iter().find(|verdict| verdict["kind"] == kind)
}

/// Share of those who waited for another's answer whose time is a multiple of 500 ms, or up to
/// 40 ms more.
fn share_on_the_comb(folder: &Path) -> f64 {
    let text = std::fs::read_to_string(folder.join("x.json")).unwrap();
    let series = &serde_json::from_str::<Value>(&text).unwrap()["series"][0];
    let attributes = series["attributes"].as_array().unwrap();
    let positions = attributes.iter().find(|attribute| attribute["name"] == "position").unwrap();
    let positions = positions["numbers"].as_array().unwrap().iter();
    let calls = positions.zip(series["total_ms"].as_array().unwrap());
    let waiters: Vec<f64> = calls
        .filter(|(position, _)| **position != 1)
        .map(|(_, total)| total.as_f64().unwrap())
        .collect();
    assert_eq!(waiters.len(), KEYS * 7);
    let on_it = waiters.iter().filter(|ms| **ms > 400.0 && **ms % 500.0 < 40.0).count();
    on_it as f64 / waiters.len() as f64
}

#[test]
fn behind_the_cache_lock_of_nginx_latencies_are_quantised() {
    let (origin, folder) = (slow(), TempDir::new().unwrap());
    let Some(nginx) = nginx(folder.path(), &origin) else { return };
    let report = probe(nginx.address(), folder.path());
    assert_eq!(origin.requests().len(), KEYS, "one fetch for each key");
    let share = share_on_the_comb(folder.path());
    assert!(share > 0.6, "{share}");
    let found = verdict(&report, "quantised").unwrap_or_else(|| panic!("{report}"));
    let quantum = found["quantum_ms"].as_f64().unwrap();
    assert!((495.0..505.0).contains(&quantum), "{found}");
    assert!(found["teeth"].as_array().unwrap().len() >= 3, "{found}");
    assert_eq!(found["phase_locked"], false, "{found}");
    assert!(found["nearest"].as_str().unwrap().contains("nginx cache lock"), "{found}");
}

#[test]
fn behind_tidegate_in_its_place_they_are_not() {
    let origin = slow();
    let config = format!(
        "[[upstream]]\nname = \"backend\"\nservers = [\"{}\"]\n\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:backend\"\ncache = {{}}\n",
        origin.address()
    );
    let server = Running::start(&config, |_| {});
    let report = probe(server.public, server.folder.path());
    assert_eq!(origin.requests().len(), KEYS, "one fetch for each key");
    let share = share_on_the_comb(server.folder.path());
    assert!(share < 0.3, "{share}");
    assert!(verdict(&report, "quantised").is_none(), "{report}");
}
