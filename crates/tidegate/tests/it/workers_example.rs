//! Claims about `examples/fastapi-cluster`: the same files under Tidegate and under gunicorn.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Client, Server, TempDir, free_port, skip};

use crate::running::{Running, json as document, until};

const WALKING: [&str; 5] = [
    "Dog Walking: 10 Simple Steps",
    "The Secrets of Dog Walking",
    "Why You Need To Dog Walking",
    "The Art of Dog Walking",
    "The Joy of Dog Walking",
];
const SPEAKING: [&str; 4] = [
    "Public Speaking For The Modern Age",
    "Learn The Art of Public Speaking",
    "Master The Art of Public Speaking",
    "The Best Way To Public Speaking",
];

/// The example beside the headlines that it reads, and the Python that has what it needs.
fn example() -> Option<(TempDir, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let python = root.join("target/venv/bin/python");
    let has = Command::new(&python).args(["-c", "import fastapi, gunicorn, numpy"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        skip("FastAPI and gunicorn are not installed; `cargo xtask setup --test` installs them");
        return None;
    }
    let folder = TempDir::new().unwrap();
    for (from, to) in [("fastapi-cluster", "app"), ("news", "news")] {
        std::fs::create_dir(folder.path().join(to)).unwrap();
        for file in std::fs::read_dir(root.join("examples").join(from)).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), folder.path().join(to).join(file.file_name())).unwrap();
            }
        }
    }
    Some((folder, python))
}

fn clusters(address: std::net::SocketAddr) -> Value {
    let sentences: Vec<&str> = WALKING.iter().chain(&SPEAKING).copied().collect();
    let body = json!({ "sentences": sentences }).to_string();
    let reply =
        Client::post(address, "/cluster", body).header("content-type", "application/json").send();
    assert_eq!(reply.status, 200, "{}", reply.text());
    document(&reply)
}

#[test]
fn the_example_answers_the_same_under_tidegate_and_under_gunicorn() {
    let Some((folder, python)) = example() else { return };
    let app = folder.path().join("app");
    let written = std::fs::read_to_string(app.join("tidegate.toml")).unwrap();
    let (before, rest) = written.split_once("[listen]").unwrap();
    let (_, upstream) = rest.split_once("[[upstream]]").unwrap();
    let python_shown = python.display().to_string();
    let config = format!("{before}[[upstream]]{upstream}")
        .replace(".venv/bin/python", &python_shown)
        .replace("canary ", &format!("app_dir = \"{}\"\ncanary ", app.display()));
    let own = TempDir::new().unwrap();
    let running = Running::start_in(own, &config);
    until("a worker", || Client::get(running.admin, "/health/ready").send().status == 200);
    let here = clusters(running.public);
    let found = here["clusters"].as_array().unwrap();
    let sentences: Vec<&Value> = found.iter().map(|cluster| &cluster["sentences"]).collect();
    assert_eq!(sentences, [&json!(WALKING), &json!(SPEAKING)]);
    assert_eq!(here["noise"], json!([]));

    let port = free_port();
    let mut gunicorn = Command::new(python);
    gunicorn.args(["-m", "gunicorn", "-c", "gunicorn_conf.py", "--no-control-socket"]);
    gunicorn.args(["-k", "uvicorn.workers.UvicornWorker", "main:app"]);
    gunicorn.env("PORT", port.to_string()).env("MAX_WORKERS", "1").current_dir(&app);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let _gunicorn = Server::spawn(gunicorn, address).unwrap();
    assert_eq!(clusters(address), here);
}
