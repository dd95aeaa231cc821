//! Requests that no model can answer, each with the status that docs/MODELS.md promises.
//!
//! They go to models that are never unloaded. Refuses: requests that break HTTP itself, which the
//! gateway's soak sends.

use serde_json::{Value, json};
use testkit::{Client, Reply};

use super::world::{ROWS_MAX, TEXTS_MAX};
use crate::dice::Dice;

/// A request, and its only right status.
#[derive(Debug)]
pub(super) struct Malformed {
    /// What is wrong with it.
    pub name: &'static str,
    /// What it must be answered.
    pub status: u16,
    method: &'static str,
    target: &'static str,
    header: Option<(&'static str, &'static str)>,
    body: Vec<u8>,
}

const LINE: &str = "/v2/models/line/infer";
const TREES: &str = "/v2/models/trees/infer";
const EMBEDDINGS: &str = "/v1/embeddings";
/// Kinds of requests.
const COUNT: u64 = 29;

impl Malformed {
    /// One of them.
    pub(super) fn new(dice: &mut Dice) -> Self {
        let at = dice.below(COUNT);
        if at < 16 { tables(at) } else { others(at) }
    }

    /// Sends it over a connection of its own.
    ///
    /// # Errors
    /// When no answer comes.
    pub(super) fn send(&self, client: &mut Client) -> std::io::Result<Reply> {
        let mut call = client.request(self.method, self.target);
        if let Some((name, value)) = self.header {
            call = call.header(name, value);
        }
        if self.method == "POST" {
            call = call.body(self.body.clone());
        }
        call.try_send()
    }

    /// What is wrong with an answer.
    pub(super) fn fault_in(&self, reply: &Reply) -> Option<String> {
        if reply.status != self.status {
            let text = String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]);
            return Some(format!("status {}, {} is due: {text}", reply.status, self.status));
        }
        let allows = |reply: &Reply| reply.header("allow").is_some_and(|it| it.contains("POST"));
        if self.status == 405 && !allows(reply) {
            return Some("`Allow` does not name the right method".to_owned());
        }
        let says = String::from_utf8_lossy(&reply.body).contains("error");
        (!says).then(|| "the body does not say what is wrong".to_owned())
    }
}

/// A `POST` of a body.
fn of(name: &'static str, status: u16, target: &'static str, body: impl ToString) -> Malformed {
    let body = body.to_string().into_bytes();
    Malformed { name, status, method: "POST", target, header: None, body }
}

/// A tensor of a table.
fn input(dims: &[u64], datatype: &str, data: Value) -> Value {
    json!({"name": "input", "shape": dims, "datatype": datatype, "data": data})
}

/// Tables that do not fit.
fn tables(at: u64) -> Malformed {
    let row = || input(&[1, 4], "FP64", json!([1, 2, 3, 4]));
    let of =
        |name, status, target, input: Value| of(name, status, target, json!({ "inputs": [input] }));
    match at {
        0 => of("three columns", 400, LINE, input(&[1, 3], "FP64", json!([1, 2, 3]))),
        1 => of("fewer numbers than the shape", 400, TREES, input(&[2, 4], "FP64", json!([1, 2]))),
        2 => of(
            "more numbers than the shape",
            400,
            LINE,
            input(&[1, 4], "FP64", json!([0, 1, 2, 3, 4])),
        ),
        3 => of("a text among numbers", 400, LINE, input(&[1, 4], "FP64", json!([1, "b", 3, 4]))),
        4 => of(
            "texts for numbers",
            400,
            TREES,
            input(&[1, 4], "BYTES", json!(["a", "b", "c", "d"])),
        ),
        5 => of(
            "a value outside its type",
            400,
            LINE,
            input(&[1, 4], "UINT8", json!([1, 2, 3, 300])),
        ),
        6 => of("no data type", 400, LINE, input(&[1, 4], "FLOAT", json!([1, 2, 3, 4]))),
        7 => of("a shape without end", 400, LINE, input(&[1 << 40, 1 << 40], "FP64", json!([]))),
        8 => {
            let data = vec![0; 4 * (ROWS_MAX as usize + 1)];
            of("too many rows", 413, LINE, input(&[ROWS_MAX + 1, 4], "FP64", json!(data)))
        }
        9 => {
            let column = json!({"name": "item.q", "shape": [1], "datatype": "FP64", "data": [1]});
            of("a wrong column", 400, LINE, column)
        }
        10 => {
            let column = json!({"name": "item.a", "shape": [1], "datatype": "FP64", "data": [1]});
            of("one column of four", 400, LINE, column)
        }
        11 => of("one dimension", 400, TREES, input(&[4], "FP64", json!([1, 2, 3, 4]))),
        12 => {
            let input = json!({"name": "input", "shape": [1, 4], "datatype": "FP64"});
            of("no data", 400, LINE, input)
        }
        13 => of("no such model", 404, "/v2/models/none/infer", row()),
        14 => of("no such version", 404, "/v2/models/line/versions/none/infer", row()),
        _ => {
            let header = Some(("Inference-Header-Content-Length", "1000000"));
            Malformed { header, ..of("JSON longer than the body", 400, LINE, row()) }
        }
    }
}

/// Bodies, methods and texts that do not fit.
fn others(at: u64) -> Malformed {
    let cut = r#"{"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP64", "data": [1, "#;
    match at {
        16 => of("JSON cut", 400, LINE, cut),
        17 => of("deep JSON", 400, TREES, "[".repeat(100_000)),
        18 => of("no inputs", 400, LINE, "{}"),
        19 => {
            let header = Some(("Content-Encoding", "br"));
            Malformed { header, ..of("another encoding", 415, LINE, "{}") }
        }
        20 => {
            let header = Some(("Content-Encoding", "gzip"));
            Malformed { header, ..of("gzip that is none", 400, LINE, "not gzip at all") }
        }
        21 => Malformed { method: "GET", ..of("another method", 405, LINE, "") },
        22 => {
            let body = json!({"model": "texts", "input": [""]});
            of("an empty text", 400, EMBEDDINGS, body)
        }
        23 => {
            let body = json!({"model": "none", "input": ["a"]});
            of("no such model of texts", 404, EMBEDDINGS, body)
        }
        24 => {
            let body = json!({"model": "texts", "input": vec!["a"; TEXTS_MAX + 1]});
            of("too many texts", 413, EMBEDDINGS, body)
        }
        25 => of("a number that JSON lacks", 400, LINE, format!("{cut}NaN, 3, 4]}}]}}")),
        26 => of("an infinite number", 400, TREES, format!("{cut}1e999, 3, 4]}}]}}")),
        27 => of("no body", 400, TREES, ""),
        _ => of("no texts", 422, "/embed", json!({"model": "texts", "inputs": []})),
    }
}
