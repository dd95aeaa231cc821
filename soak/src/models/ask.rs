//! Requests to models that predict, in every form that the protocol has, and what their answers
//! say.
//!
//! A row has small numbers, and sometimes one that is missing. Sometimes there are no rows.
//! Refuses: to judge (`judge.rs`).

use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use testkit::{Client, Reply};

use super::judge::Answer;
use super::kind::{COLUMNS, ITEMS, Kind, item_row};
use crate::dice::Dice;

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Flat,
    Nested,
    Columns,
    Gzip,
    BinaryIn,
    BinaryBoth,
    Ranking,
}

/// A request that must be answered, and its rows.
#[derive(Debug)]
pub(super) struct Ask {
    /// Whom it asks.
    pub kind: Kind,
    /// The numbers that the model gets.
    pub rows: Vec<f64>,
    form: Form,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

const HEADER: &str = "Inference-Header-Content-Length";

impl Ask {
    /// A request to a model.
    pub(super) fn new(kind: Kind, dice: &mut Dice) -> Self {
        if kind == Kind::Ranks {
            return Self::ranking(dice);
        }
        let count = match dice.below(100) {
            0..2 => 0,
            2..80 => 1 + dice.below(50),
            80..98 => 50 + dice.below(200),
            _ => 1_500,
        };
        let has_missing = dice.chance(20);
        let rows: Vec<f64> = (0..count).flat_map(|_| row(has_missing, dice)).collect();
        let forms = [Form::Flat, Form::Nested, Form::Gzip, Form::BinaryIn, Form::BinaryBoth];
        let form = match kind.columns() {
            Some(_) if dice.chance(20) => Form::Columns,
            _ => dice.pick(&forms),
        };
        let mut ask = Self { kind, rows, form, headers: Vec::new(), body: Vec::new() };
        ask.write();
        ask
    }

    /// A ranking of items that are listed, each once.
    fn ranking(dice: &mut Dice) -> Self {
        let first = dice.below(ITEMS as u64) as usize;
        let items: Vec<usize> = (first..ITEMS).step_by(1 + dice.below(5) as usize).collect();
        let rows = items.iter().flat_map(|item| item_row(*item)).collect();
        let ids: Vec<String> = items.iter().map(ToString::to_string).collect();
        let body = json!({"candidates": ids, "limit": ids.len()}).to_string().into_bytes();
        Self { kind: Kind::Ranks, rows, form: Form::Ranking, headers: Vec::new(), body }
    }

    /// What the form is called in the account.
    pub(super) fn name(&self) -> &'static str {
        match self.form {
            Form::Flat => "infer, JSON",
            Form::Nested => "infer, JSON, nested rows",
            Form::Columns => "infer, JSON, by columns",
            Form::Gzip => "infer, JSON, gzip",
            Form::BinaryIn => "infer, binary rows",
            Form::BinaryBoth => "infer, binary rows and answer",
            Form::Ranking => "rank",
        }
    }

    /// Where it goes.
    pub(super) fn target(&self) -> String {
        match self.form {
            Form::Ranking => "/v1/models/ranks/rank".to_owned(),
            _ => format!("/v2/models/{}/infer", self.kind.name()),
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// When no answer comes.
    pub(super) fn send(&self, client: &mut Client) -> std::io::Result<Reply> {
        let target = self.target();
        let mut call = client.request("POST", &target);
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        call.body(self.body.clone()).try_send()
    }

    /// All bytes that [`Ask::send`] sends.
    pub(super) fn message(&self) -> Vec<u8> {
        let (target, length) = (self.target(), self.body.len());
        let mut head =
            format!("POST {target} HTTP/1.1\r\nHost: soak\r\nContent-Length: {length}\r\n");
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    fn write(&mut self) {
        let count = self.rows.len() / COLUMNS;
        let dims = [count, COLUMNS];
        let tensor = |data: Value| {
            let name = self.kind.input();
            json!({"name": name, "shape": dims, "datatype": "FP64", "data": data})
        };
        let inputs = match self.form {
            Form::Nested => {
                let rows: Vec<Value> = self.rows.chunks(COLUMNS).map(|row| json!(row)).collect();
                vec![tensor(Value::Array(rows))]
            }
            Form::Columns => self.by_column(count),
            Form::BinaryIn | Form::BinaryBoth => return self.write_binary(count),
            Form::Flat | Form::Gzip | Form::Ranking => vec![tensor(json!(self.rows))],
        };
        self.body = json!({ "inputs": inputs }).to_string().into_bytes();
        if self.form == Form::Gzip {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            let packed = packed.write_all(&self.body).and_then(|()| packed.finish());
            self.body = packed.expect("packing into memory does not fail");
            self.headers.push(("Content-Encoding", "gzip".to_owned()));
        }
    }

    fn by_column(&self, count: usize) -> Vec<Value> {
        let names = self.kind.columns().unwrap_or_default();
        let tensor = |(place, name): (usize, &&str)| {
            let data: Vec<f64> = self.rows.iter().skip(place).step_by(COLUMNS).copied().collect();
            json!({"name": name, "shape": [count, 1], "datatype": "FP32", "data": data})
        };
        names.iter().enumerate().map(tensor).collect()
    }

    fn write_binary(&mut self, count: usize) {
        let data: Vec<u8> = self.rows.iter().flat_map(|it| (*it as f32).to_le_bytes()).collect();
        let head = json!({
            "inputs": [{
                "name": self.kind.input(), "shape": [count, COLUMNS], "datatype": "FP32",
                "parameters": {"binary_data_size": data.len()},
            }],
            "parameters": {"binary_data_output": self.form == Form::BinaryBoth},
        });
        let head = head.to_string();
        self.headers.push((HEADER, head.len().to_string()));
        self.body = [head.as_bytes(), &data].concat();
    }

    /// What an answer with status 200 says.
    ///
    /// # Errors
    /// When it is not written as it must be.
    pub(super) fn read(&self, reply: &Reply) -> Result<Answer> {
        if self.form == Form::Ranking {
            return self.read_ranking(reply);
        }
        let length = reply.header(HEADER).map(str::parse).transpose().context("its length")?;
        let (head, data) = reply.body.split_at(length.unwrap_or(reply.body.len()));
        let head: Value = serde_json::from_slice(head).context("its JSON")?;
        ensure!(head["model_name"] == self.kind.name(), "it names {}", head["model_name"]);
        let version = head["model_version"].as_str().map(str::to_owned);
        let output = &head["outputs"][0];
        let numbers = match (&output["data"], self.form) {
            (Value::Array(numbers), _) => numbers.iter().map(number).collect::<Result<_>>()?,
            (_, Form::BinaryBoth) if output["datatype"] == "FP32" => {
                let floats = data.chunks_exact(4).map(|it| it.try_into().map(f32::from_le_bytes));
                floats.map(|it| Ok(f64::from(it?))).collect::<Result<_>>()?
            }
            (_, Form::BinaryBoth) => {
                let doubles = data.chunks_exact(8).map(|it| it.try_into().map(f64::from_le_bytes));
                doubles.collect::<Result<_, _>>()?
            }
            _ => bail!("it has no data"),
        };
        Ok(Answer { version, numbers })
    }

    /// The scores in the order of the request; they are answered from the highest on.
    fn read_ranking(&self, reply: &Reply) -> Result<Answer> {
        let body: Value = serde_json::from_slice(&reply.body).context("its JSON")?;
        let items = body["items"].as_array().context("it has no items")?;
        let mut ranked = Vec::new();
        for item in items {
            let id: usize = item["id"].as_str().context("an item has no id")?.parse()?;
            ranked.push((id, number(&item["score"])?));
        }
        ensure!(ranked.windows(2).all(|pair| pair[0].1 >= pair[1].1), "it is not in order");
        ranked.sort_by_key(|(id, _)| *id);
        let rows: Vec<f64> = ranked.iter().flat_map(|(id, _)| item_row(*id)).collect();
        ensure!(rows == self.rows, "it ranks other items");
        let version = body["version"].as_str().map(str::to_owned);
        Ok(Answer { version, numbers: ranked.into_iter().map(|(_, score)| score).collect() })
    }
}

/// In JSON, null is what is no number.
fn number(value: &Value) -> Result<f64> {
    match value {
        Value::Null => Ok(f64::NAN),
        value => value.as_f64().with_context(|| format!("`{value}` is no number")),
    }
}

/// The first number is never missing, nor 0: it tells versions apart.
fn row(has_missing: bool, dice: &mut Dice) -> [f64; COLUMNS] {
    let mut row: [f64; COLUMNS] = std::array::from_fn(|_| dice.below(64) as f64 / 4.0 - 8.0);
    row[0] = 1.0 + dice.below(28) as f64 / 4.0;
    if has_missing && dice.chance(50) {
        row[1 + dice.below(3) as usize] = f64::NAN;
    }
    row
}
