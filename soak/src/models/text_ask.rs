//! Requests to the model of texts, by each protocol that has them, and what their answers say.
//!
//! Refuses: to judge (`judge.rs`).

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Client, Reply};

use super::judge::Answer;
use super::texts::{Library, TEXTS};
use crate::dice::Dice;

/// Texts of a request.
const LEAST: u64 = 8;
const MOST: u64 = 64;

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    OpenAi,
    Tei,
    Oip,
}

/// A batch of texts that must be answered.
#[derive(Debug)]
pub(super) struct TextAsk {
    /// Which texts, by their place in the library.
    pub picks: Vec<usize>,
    form: Form,
    body: Vec<u8>,
}

impl TextAsk {
    /// A batch of any texts, some of them twice.
    pub(super) fn new(library: &Library, dice: &mut Dice) -> Self {
        let count = LEAST + dice.below(MOST - LEAST);
        let all = library.texts.len() as u64;
        let picks: Vec<usize> = (0..count).map(|_| dice.below(all) as usize).collect();
        let texts: Vec<&str> = picks.iter().map(|pick| library.texts[*pick].as_str()).collect();
        let (form, body) = match dice.below(10) {
            0..6 => (Form::OpenAi, json!({"model": TEXTS, "input": texts})),
            6..8 => (Form::Tei, json!({"model": TEXTS, "inputs": texts})),
            _ => {
                let dims = [texts.len()];
                let input =
                    json!({"name": "text", "shape": dims, "datatype": "BYTES", "data": texts});
                (Form::Oip, json!({ "inputs": [input] }))
            }
        };
        Self { picks, form, body: body.to_string().into_bytes() }
    }

    /// What the form is called in the account.
    pub(super) fn name(&self) -> &'static str {
        match self.form {
            Form::OpenAi => "texts, /v1/embeddings",
            Form::Tei => "texts, /embed",
            Form::Oip => "texts, infer",
        }
    }

    /// Where it goes.
    pub(super) fn target(&self) -> &'static str {
        match self.form {
            Form::OpenAi => "/v1/embeddings",
            Form::Tei => "/embed",
            Form::Oip => "/v2/models/texts/infer",
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// When no answer comes.
    pub(super) fn send(&self, client: &mut Client) -> std::io::Result<Reply> {
        client.request("POST", self.target()).body(self.body.clone()).try_send()
    }

    /// All bytes that [`TextAsk::send`] sends.
    pub(super) fn message(&self) -> Vec<u8> {
        let (target, length) = (self.target(), self.body.len());
        let head =
            format!("POST {target} HTTP/1.1\r\nHost: soak\r\nContent-Length: {length}\r\n\r\n");
        [head.as_bytes(), &self.body].concat()
    }

    /// What an answer with status 200 says.
    ///
    /// # Errors
    /// When it is not written as it must be.
    pub(super) fn read(&self, reply: &Reply) -> Result<Answer> {
        let body: Value = serde_json::from_slice(&reply.body).context("its JSON")?;
        let mut numbers = Vec::new();
        let version = match self.form {
            Form::OpenAi => {
                let entries = body["data"].as_array().context("it has no `data`")?;
                ensure!(entries.len() == self.picks.len(), "it has {} vectors", entries.len());
                for (place, entry) in entries.iter().enumerate() {
                    ensure!(entry["index"] == place, "vector {place} has another index");
                    push_floats(&entry["embedding"], &mut numbers)?;
                }
                None
            }
            Form::Tei => {
                for vector in body.as_array().context("it is no array")? {
                    push_floats(vector, &mut numbers)?;
                }
                None
            }
            Form::Oip => {
                push_floats(&body["outputs"][0]["data"], &mut numbers)?;
                Some(body["model_version"].as_str().context("it has no version")?.to_owned())
            }
        };
        Ok(Answer { version, numbers })
    }
}

/// Floats of 32 bits are written as the shortest decimals that give them back.
fn push_floats(values: &Value, numbers: &mut Vec<f64>) -> Result<()> {
    for value in values.as_array().context("a vector is no array")? {
        let number = value.as_f64().with_context(|| format!("`{value}` is no number"))?;
        numbers.push(f64::from(number as f32));
    }
    Ok(())
}
