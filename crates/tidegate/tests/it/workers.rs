//! Claims about Python apps behind `tidegate serve`: answered by workers, shown, replaced,
//! reloaded.

use std::path::Path;

use serde_json::{Value, json};
use testkit::Client;

use crate::running::{Running, json as document, run, until};

/// An ASGI app without a framework; `models.load` takes a while.
const APP: &str = r#"
import os
import models

model = models.load()
VERSION = "one"

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan here")
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/die":
        os._exit(3)
    if scope["path"] == "/raise":
        raise ValueError("not today")
    text = f"{VERSION} {model} {os.getpid()} {body.decode()}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": text})
"#;

const MODELS: &str = r#"
import os

def load():
    with open(os.environ["LOADS"], "a") as loads:
        loads.write("loaded\n")
    return "model"
"#;

fn config(folder: &Path, more: &str) -> String {
    let loads = folder.join("loads");
    format!(
        "[[upstream]]\nname = \"app\"\npython = \"app:app\"\npreload = \"models:load\"\n\
         workers = 2\nenvironment = {{ LOADS = \"{}\" }}\n{more}\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:app\"\n",
        loads.display()
    )
}

fn serve(more: &str) -> Running {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("app.py"), APP).unwrap();
    std::fs::write(folder.path().join("models.py"), MODELS).unwrap();
    let config = config(folder.path(), more);
    let running = Running::start_in(folder, &config);
    until("two workers", || free(&workers(&running)) == 2);
    running
}

/// How many workers of a pool are free.
fn free(pool: &Value) -> usize {
    let workers = pool["workers"].as_array().into_iter().flatten();
    workers.filter(|worker| worker["state"] == "free").count()
}

fn workers(running: &Running) -> Value {
    document(&Client::get(running.admin, "/workers").send())[0].clone()
}

fn loads(running: &Running) -> usize {
    let loads = std::fs::read_to_string(running.folder.path().join("loads"));
    loads.unwrap_or_default().lines().count()
}

#[test]
fn an_app_is_imported_once_and_answered_by_workers_that_are_shown() {
    let running = serve("");
    let reply = Client::post(running.public, "/x?y=1", "hello").send();
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.text().starts_with("one model "), "{}", reply.text());
    assert!(reply.text().ends_with(" hello"), "{}", reply.text());
    assert_eq!(loads(&running), 1, "the model is loaded once for all");
    let admin = running.admin.to_string();
    let (code, out, err) = run(&["workers", "list", "--admin", &admin], running.folder.path());
    assert_eq!(code, 0, "{err}");
    assert!(out.starts_with("app: serving, generation "), "{out}");
    assert_eq!(out.lines().filter(|line| line.contains(" free ")).count(), 2, "{out}");
    let status = document(&Client::get(running.admin, "/status").send());
    assert_eq!(status["alarms"], json!([]));
    assert_eq!(status["workers"][0]["name"], "app");
}

#[test]
fn what_an_app_lets_out_is_500_and_a_worker_that_ends_is_replaced_with_the_reason() {
    let running = serve("");
    assert_eq!(running.get("/raise").status, 500);
    until("the traceback", || {
        let text = workers(&running).to_string();
        text.contains("ValueError: not today")
    });
    assert_eq!(Client::post(running.public, "/die", "").send().status, 502);
    until("a new worker", || {
        let pool = workers(&running);
        let all = pool["workers"].as_array().map_or(0, Vec::len);
        all == 2 && pool["restarts"]["exit"].as_u64().is_some()
    });
    assert_eq!(running.get("/").status, 200);
    let admin = running.admin.to_string();
    let (_, out, _) = run(&["workers", "list", "app", "--admin", &admin], running.folder.path());
    assert!(out.contains("status 3") || out.contains("code 3"), "{out}");
}

#[test]
fn a_change_of_the_code_is_served_without_loading_the_model_again() {
    let running = serve("");
    assert!(running.get("/").text().starts_with("one model "));
    let changed = APP.replace("VERSION = \"one\"", "VERSION = \"two\"");
    std::fs::write(running.folder.path().join("app.py"), changed).unwrap();
    until("the new code", || {
        let reply = running.get("/");
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.text().starts_with("two model ")
    });
    assert_eq!(loads(&running), 1);
    std::fs::write(running.folder.path().join("app.py"), "import nothing_of_this_name\n").unwrap();
    until("the fault", || workers(&running).to_string().contains("nothing_of_this_name"));
    assert!(running.get("/").text().starts_with("two model "), "what serves goes on serving");
    let alarms = document(&Client::get(running.admin, "/status").send())["alarms"].to_string();
    assert!(alarms.contains("app"), "{alarms}");
}

#[test]
fn workers_are_recycled_and_reloaded_by_command_and_unknown_pools_are_named() {
    let running = serve("");
    let admin = running.admin.to_string();
    let ids = |pool: &Value| -> Vec<u64> {
        let all = pool["workers"].as_array().unwrap();
        all.iter().map(|worker| worker["id"].as_u64().unwrap()).collect()
    };
    let before = ids(&workers(&running));
    let (code, out, err) =
        run(&["workers", "recycle", "app", "--admin", &admin], running.folder.path());
    assert_eq!((code, out.trim()), (0, r#"{"name":"app","state":"recycling"}"#), "{err}");
    until("new workers", || {
        let pool = workers(&running);
        let now = ids(&pool);
        assert_eq!(running.get("/").status, 200);
        now.len() == 2 && now.iter().all(|id| !before.contains(id))
    });
    let generation = workers(&running)["generation"].as_u64().unwrap();
    assert_eq!(run(&["workers", "reload", "app", "--admin", &admin], running.folder.path()).0, 0);
    until("a new generation", || workers(&running)["generation"].as_u64() > Some(generation));
    let (code, _, err) =
        run(&["workers", "reload", "nope", "--admin", &admin], running.folder.path());
    assert_eq!(code, 1);
    assert!(err.contains("there is no pool `nope`"), "{err}");
}

#[test]
fn a_pool_that_cannot_be_is_refused_with_every_error_and_its_line() {
    let folder = testkit::TempDir::new().unwrap();
    let text = "[[upstream]]\npython = \"app\"\nworkers = 0\nkind = \"cgi\"\nthread = 2\n";
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, _, err) = run(&["config", "check"], folder.path());
    assert_eq!(code, 78);
    for part in ["name", "`app` is no `module:attribute`", "is 0", "`cgi` is none of", "thread"] {
        assert!(err.contains(part), "no {part} in\n{err}");
    }
    let text = "[[upstream]]\nname = \"a\"\npython = \"app:app\"\n\
                interpreter = \".venv/bin/python\"\n[[route]]\npath = \"/\"\nto = \"upstream:a\"\n";
    std::fs::write(folder.path().join("tidegate.toml"), text).unwrap();
    let (code, _, err) = run(&["serve"], folder.path());
    assert_eq!(code, 1);
    assert!(err.contains(".venv/bin/python") && err.contains("hint: "), "{err}");
}
