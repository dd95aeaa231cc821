//! Models that Python libraries trained, behind the APIs that other people's clients speak.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Client, Reply, skip};

use crate::running::{self, Running, run, until};

/// A model of texts that is always there: four layers of nothing in particular.
const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/golden/embeddings/mean");

const ROUTE: &str = "[[route]]\npath = \"/{*rest}\"\nto = \"models\"\n";

/// 1 + 2 a - b.
const LINE: &str = r#"{"format":"tidegate-linear-1","name":"line","version":"7","intercept":1.0,
    "features":[{"name":"item.a","weight":2.0},{"name":"item.b","weight":-1.0}]}"#;

fn config() -> String {
    let models = "[[model]]\nname = \"trees\"\nfile = \"trees.txt\"\n\
         [[model]]\nname = \"boost\"\nfile = \"boost.ubj\"\nversion = \"3\"\n\
         [[model]]\nname = \"forest\"\nfile = \"forest.onnx\"\n";
    format!("{models}[[model]]\nname = \"mini\"\nfile = \"{SMALL}\"\n{ROUTE}")
}

fn line_config(more: &str) -> String {
    format!("[[model]]\nname = \"line\"\nfile = \"line.json\"\n{more}{ROUTE}")
}

fn config_of_texts() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/news/embedding");
    format!("[[model]]\nname = \"mini\"\nfile = \"{folder}\"\n{ROUTE}")
}

/// Memory of a process, in bytes.
fn resident_bytes(server: &Running) -> u64 {
    let path = format!("/proc/{}/statm", server.server.process_id());
    let statm = std::fs::read_to_string(path).unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/models").join(name)
}

/// A program of the test environment; `None`, with the reason printed, where it is not installed.
fn installed(program: &str, check: &[&str]) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = root.join("target/venv/bin").join(program);
    let output = Command::new(&program).args(check).output();
    if output.is_ok_and(|output| output.status.success()) {
        return Some(program);
    }
    skip("clients of models are not installed; `cargo xtask setup --test` installs them");
    None
}

fn python() -> Option<PathBuf> {
    installed("python", &["-c", "import lightgbm, openai, skl2onnx, tritonclient.http, xgboost"])
}

/// Runs a script to its end and returns what it says.
fn told(command: &mut Command) -> String {
    let output = command.env("ORT_DISABLE_TELEMETRY", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    said
}

fn trained(python: &Path) -> Running {
    Running::start(&config(), |folder| {
        told(Command::new(python).arg(script("train.py")).arg(folder));
    })
}

fn post(server: &Running, target: &str, body: &Value) -> Reply {
    Client::post(server.public, target, body.to_string()).send()
}

fn infer(server: &Running, data: &Value) -> Reply {
    let input = json!({"name": "input", "shape": [1, 2], "datatype": "FP64", "data": data});
    post(server, "/v2/models/line/infer", &json!({ "inputs": [input] }))
}

#[test]
fn models_of_every_kind_answer_tritons_and_openais_clients_as_their_libraries_do() {
    let Some(python) = python() else { return };
    let server = trained(&python);
    let mut clients = Command::new(&python);
    clients.arg(script("clients.py")).arg(server.public.to_string()).arg(server.folder.path());
    assert!(told(&mut clients).contains("answered as expected"));
}

#[test]
fn any_other_graph_answers_tritons_client_from_a_worker_pool_as_onnx_runtime_does() {
    let Some(python) = python() else { return };
    let folder = testkit::TempDir::new().unwrap();
    let graph = blocks("python").into_iter().find(|block| block.contains("GlobalMaxPool"));
    told(Command::new(&python).args(["-c", &graph.unwrap()]).current_dir(folder.path()));
    let [_, _, pool] = blocks("toml").try_into().unwrap();
    let config = pool.replace(".venv/bin/python", &python.display().to_string());
    let server = Running::start_in(folder, &config);
    until("a worker", || Client::get(server.admin, "/health/ready").send().status == 200);
    let mut client = Command::new(&python);
    client.arg(script("graph.py")).arg(server.public.to_string()).arg(server.folder.path());
    assert!(told(&mut client).contains("answered as expected"));
}

#[test]
fn the_protocols_own_document_holds_whatever_is_asked() {
    let Some(schemathesis) = installed("schemathesis", &["--version"]) else { return };
    let Some(python) = python() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = root.join("target/models/mlserver/rest/openapi/dataplane.json");
    if !document.exists() {
        return skip("MLServer's document is not there; `cargo xtask setup --test` installs it");
    }
    let server = Running::start(&line_config(""), |folder| {
        std::fs::write(folder.join("line.json"), LINE).unwrap();
        told(Command::new(&python).arg(script("protocol.py")).arg(&document).arg(folder));
    });
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,\
                  response_schema_conformance";
    let mut run = Command::new(schemathesis);
    run.args(["run", "protocol.json", "--url", &format!("http://{}", server.public)]);
    run.args(["--checks", checks, "--max-examples", "40", "--generation-deterministic"]);
    run.args(["--phases", "examples,coverage,fuzzing", "--no-color"]);
    let said = told(run.current_dir(server.folder.path()));
    assert!(said.contains("Tested: 9"), "{said}");
}

#[test]
fn answers_are_what_the_openapi_document_says_whatever_is_asked() {
    let Some(schemathesis) = installed("schemathesis", &["--version"]) else { return };
    let server = Running::start(
        &line_config(&format!("[[model]]\nname = \"mini\"\nfile = \"{SMALL}\"\n")),
        |folder| {
            std::fs::write(folder.join("line.json"), LINE).unwrap();
        },
    );
    let checks = "not_a_server_error,status_code_conformance,content_type_conformance,\
                  response_headers_conformance,response_schema_conformance,unsupported_method";
    let mut run = Command::new(schemathesis);
    run.arg("run").arg(format!("http://{}/openapi.json", server.public));
    run.args(["--checks", checks, "--max-examples", "15", "--generation-deterministic"]);
    run.args(["--phases", "examples,coverage,fuzzing", "--no-color"]);
    let said = told(run.current_dir(server.folder.path()));
    assert!(said.contains("Tested: 21"), "{said}");
}

/// The blocks of docs/MODELS.md in a language.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MODELS.md");
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// The calls of a block: path and body of `curl -s localhost:8080PATH -d 'BODY'`.
fn calls(block: &str) -> Vec<(String, String)> {
    let calls = block.split("curl -s localhost:8080").skip(1);
    let call = |call: &str| {
        let path = call.split_whitespace().next().unwrap().to_owned();
        (path, call.split('\'').nth(1).unwrap().to_owned())
    };
    calls.map(call).collect()
}

#[test]
fn every_snippet_of_the_guide_to_models_works() {
    let Some(python) = python() else { return };
    let folder = testkit::TempDir::new().unwrap();
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    for snippet in blocks("python") {
        let mut command = Command::new(&python);
        command.args(["-c", &snippet]).current_dir(folder.path()).env("PYTHONPATH", &package);
        told(&mut command);
    }
    std::os::unix::fs::symlink(SMALL, folder.path().join("all-MiniLM-L6-v2")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let golden = blocks("json").into_iter().find(|block| block.contains("\"outputs\""));
    write("clicks.golden.json", &golden.unwrap());
    write("rows.csv", "1,1,0\n-1,,0\n");
    write("headlines.txt", "a b\nc d\n");
    let [models, ranker, pool] = blocks("toml").try_into().unwrap();
    let pool = pool.replace(".venv/bin/python", &python.display().to_string());
    let mut config = pool + &ranker + &models;
    config =
        config.replace("\"clicks.txt\"\n", "\"clicks.txt\"\ngolden = \"clicks.golden.json\"\n");
    for (name, file) in [("buys", "buys.ubj"), ("forest", "forest.onnx")] {
        config.push_str(&format!("[[model]]\nname = \"{name}\"\nfile = \"{file}\"\n"));
    }
    for command in blocks("sh").last().unwrap().lines() {
        let arguments = command.split(" > ").next().unwrap();
        let arguments: Vec<&str> = arguments.split_whitespace().skip(1).collect();
        let (status, out, errors) = run(&arguments, folder.path());
        assert!(status == 0 && !out.is_empty(), "{command}: {errors}");
    }
    let server = Running::start_in(folder, &config);
    until("a worker", || Client::get(server.admin, "/health/ready").send().status == 200);
    let calls: Vec<_> = blocks("sh").iter().flat_map(|block| calls(block)).collect();
    assert!(calls.len() >= 5, "{calls:?}");
    for (path, body) in calls {
        let reply = Client::post(server.public, &path, body).send();
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    }
    let list = running::json(&Client::get(server.public, "/recommendations?limit=2").send());
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list}");
    let index = running::json(&Client::post(server.public, "/v2/repository/index", "").send());
    for model in index.as_array().unwrap() {
        assert_eq!(model["state"], "READY", "{index}");
    }
}

#[test]
fn a_generation_that_answers_its_golden_input_otherwise_is_refused() {
    let golden = json!({
        "inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP64", "data": [1, 2]}],
        "outputs": [{"name": "predict", "data": [1.0]}],
    });
    let server = Running::start(&line_config("golden = \"golden.json\"\n"), |folder| {
        std::fs::write(folder.join("line.json"), LINE).unwrap();
        std::fs::write(folder.join("golden.json"), golden.to_string()).unwrap();
    });
    let answer = || running::json(&infer(&server, &json!([3, 1])))["outputs"][0]["data"][0].clone();
    assert_eq!(answer(), json!(6.0));
    let write = |text: &str| {
        let new = server.folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, server.folder.path().join("line.json")).unwrap();
    };
    write(&LINE.replace("\"intercept\":1.0", "\"intercept\":5.0"));
    until("the refusal", || !server.status()["models"][0]["error"].is_null());
    let why = server.status()["models"][0]["error"].to_string();
    assert!(why.contains("`predict`[0] is 5, not 1"), "{why}");
    assert_eq!(answer(), json!(6.0));
    // The same at the golden input, and another model elsewhere.
    write(&LINE.replace("2.0", "3.0").replace("-1.0", "-1.5"));
    until("the new generation", || answer() == json!(8.5));
}

#[test]
fn an_unloaded_model_is_gone_until_it_is_loaded_again() {
    let server = Running::start(&line_config(""), |folder| {
        std::fs::write(folder.join("line.json"), LINE).unwrap();
    });
    let admin = |what: &str| {
        let target = format!("/v2/repository/models/{what}");
        Client::post(server.admin, &target, "").send()
    };
    assert_eq!(infer(&server, &json!([1, 1])).status, 200);
    assert_eq!(admin("line/unload").status, 200);
    assert_eq!(infer(&server, &json!([1, 1])).status, 503);
    let index = running::json(&Client::post(server.admin, "/v2/repository/index", "").send());
    assert_eq!(index[0]["reason"], "unloaded");
    assert_eq!(admin("line/load").status, 200);
    assert_eq!(infer(&server, &json!([1, 1])).status, 200);
    assert_eq!(admin("none/load").status, 404);
    let public = post(&server, "/v2/repository/models/line/unload", &json!({}));
    assert_eq!(public.status, 404, "models are not taken away by clients");
    std::fs::write(server.folder.path().join("line.json"), "{").unwrap();
    let refused = admin("line/load");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("line.json"), "{}", refused.text());
    assert_eq!(infer(&server, &json!([1, 1])).status, 200);
}

#[test]
fn a_hundred_loads_and_unloads_while_it_is_asked_take_no_more_memory_than_ten() {
    // Its vectors take 5 MB.
    let server = Running::start(&config_of_texts(), |_| {});
    let admin = |what: &str| {
        let target = format!("/v2/repository/models/mini/{what}");
        assert_eq!(Client::post(server.admin, &target, "").send().status, 200);
    };
    let asked = || {
        let body = json!({"inputs": ["a b", "c d"]});
        assert!(matches!(post(&server, "/embed", &body).status, 200 | 404 | 503));
    };
    // The least of ten readings: what was let go of is given back a moment later.
    let reload_ten_times = || {
        let readings = (0..10).map(|_| {
            admin("load");
            asked();
            admin("unload");
            asked();
            resident_bytes(&server)
        });
        readings.min().unwrap()
    };
    let warm = reload_ten_times();
    for _ in 0..9 {
        reload_ten_times();
    }
    let end = reload_ten_times();
    // Threads that load keep a model's worth of free pages each, so it goes up and down by 20 MB
    // however long it runs; a hundred models that are never let go of would be 500 MB.
    assert!(end < warm + (40 << 20), "{warm} bytes, then {end}");
    admin("load");
    assert_eq!(post(&server, "/embed", &json!({"inputs": "a b"})).status, 200);
}

#[test]
fn models_are_inspected_and_asked_on_the_command_line() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::write(folder.path().join("line.json"), LINE).unwrap();
    std::fs::write(folder.path().join("rows.csv"), "item.b,item.a\n2,1\n-1,3.5\n").unwrap();
    std::fs::write(folder.path().join("texts"), "a b\nc d\na b\n").unwrap();
    let told = |arguments: &[&str]| {
        let (status, out, errors) = run(arguments, folder.path());
        assert_eq!(status, 0, "{errors}");
        out
    };
    assert_eq!(told(&["model", "score", "line.json", "--rows", "rows.csv"]), "1.0\n9.0\n");
    assert!(told(&["model", "inspect", "line.json"]).contains("item.b"));
    assert!(told(&["model", "inspect", SMALL]).contains("numbers per vector"));
    let embedded = told(&["model", "embed", SMALL, "texts"]);
    let vectors: Vec<Value> =
        embedded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(vectors.len(), 3);
    assert_eq!(vectors[0], vectors[2]);
    let groups = told(&["model", "cluster", SMALL, "texts", "--similarity-min", "0.999999"]);
    let groups: Value = serde_json::from_str(&groups).unwrap();
    assert_eq!(groups["clusters"][0]["sentences"], json!(["a b", "a b"]));
    let (status, _, errors) = run(&["model", "score", "rows.csv"], folder.path());
    assert_eq!(status, 1);
    assert!(errors.contains("rows.csv"), "{errors}");
}
