//! Writes replies of `infer`: JSON, and behind it the tensors that were asked for in binary.
//!
//! Invariant: in JSON a number is the shortest text that gives it back; one that is not finite is
//! null. Binary tensors keep infinite numbers and NaN. Outputs are BOOL, INT64, FP32, FP64 or
//! BYTES; any other type would be written as FP64.
//! Also here: one row of a tensor as text, which `tidegate model score --rows` prints (`table.rs`).
//! `golden.rs` reads this JSON again, and `python/tidegate/tensors.py` writes the same form for
//! worker pools. `fuzz/src/targets/oip_body.rs` expects `model_name` first. A new key goes into
//! `describe/openapi.json`.

use super::request::InferRequest;
use crate::json::push_text;
use crate::tensor::{Data, Datatype, Tensor};

/// Appends the reply of a model and its version; returns the length of its JSON when binary
/// tensors follow.
pub(crate) fn write_reply(
    (model, version): (&str, &str),
    request: &InferRequest,
    outputs: &[Tensor],
    out: &mut Vec<u8>,
) -> Option<usize> {
    let start = out.len();
    out.extend_from_slice(b"{\"model_name\":");
    push_text(out, model);
    out.extend_from_slice(b",\"model_version\":");
    push_text(out, version);
    if let Some(id) = &request.id {
        out.extend_from_slice(b",\"id\":");
        push_text(out, id);
    }
    out.extend_from_slice(b",\"outputs\":[");
    let mut binary = Vec::new();
    for (index, output) in outputs.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"{\"name\":" } else { b",{\"name\":" });
        push_text(out, &output.name);
        out.extend_from_slice(b",\"datatype\":\"");
        out.extend_from_slice(output.datatype.name().as_bytes());
        out.extend_from_slice(b"\",\"shape\":[");
        for (place, size) in output.shape.iter().enumerate() {
            out.extend_from_slice(if place == 0 { b"" } else { b"," });
            out.extend_from_slice(size.to_string().as_bytes());
        }
        out.push(b']');
        if request.wants_binary(&output.name) {
            let before = binary.len();
            push_binary(output, &mut binary);
            let size = binary.len() - before;
            let parameters = format!(",\"parameters\":{{\"binary_data_size\":{size}}}}}");
            out.extend_from_slice(parameters.as_bytes());
        } else {
            out.extend_from_slice(b",\"data\":[");
            push_data(output, out);
            out.extend_from_slice(b"]}");
        }
    }
    out.extend_from_slice(b"]}");
    let length = out.len() - start;
    let has_binary = outputs.iter().any(|output| request.wants_binary(&output.name));
    out.append(&mut binary);
    has_binary.then_some(length)
}

/// Appends numbers, the shortest texts that give them back; what is not finite as null, because
/// JSON has no other.
fn push_numbers(datatype: Datatype, numbers: &[f64], out: &mut Vec<u8>) {
    let mut buffer = zmij::Buffer::new();
    for (index, number) in numbers.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let written = match datatype {
            _ if !number.is_finite() => "null",
            Datatype::Bool => {
                out.extend_from_slice(if *number == 0.0 { b"false" } else { b"true" });
                continue;
            }
            Datatype::Int64 => {
                out.extend_from_slice((*number as i64).to_string().as_bytes());
                continue;
            }
            Datatype::Fp32 => buffer.format_finite(*number as f32),
            _ => buffer.format_finite(*number),
        };
        out.extend_from_slice(written.as_bytes());
    }
}

impl Tensor {
    /// Appends the values of a row, with commas between them.
    pub(crate) fn push_row(&self, row: usize, out: &mut Vec<u8>) {
        let width = self.shape[1..].iter().product::<usize>();
        let row = row * width..(row + 1) * width;
        match &self.data {
            Data::Numbers(numbers) => push_numbers(self.datatype, &numbers[row], out),
            Data::Texts(texts) => push_texts(&texts[row], out),
        }
    }
}

fn push_data(tensor: &Tensor, out: &mut Vec<u8>) {
    match &tensor.data {
        Data::Numbers(numbers) => push_numbers(tensor.datatype, numbers, out),
        Data::Texts(texts) => push_texts(texts, out),
    }
}

fn push_texts(texts: &[String], out: &mut Vec<u8>) {
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_text(out, text);
    }
}

fn push_binary(tensor: &Tensor, out: &mut Vec<u8>) {
    match &tensor.data {
        Data::Texts(texts) => {
            for text in texts {
                out.extend_from_slice(&(text.len() as u32).to_le_bytes());
                out.extend_from_slice(text.as_bytes());
            }
        }
        Data::Numbers(numbers) => {
            for number in numbers {
                match tensor.datatype {
                    Datatype::Fp32 => out.extend_from_slice(&(*number as f32).to_le_bytes()),
                    Datatype::Int64 => out.extend_from_slice(&(*number as i64).to_le_bytes()),
                    Datatype::Bool => out.push(u8::from(*number != 0.0)),
                    _ => out.extend_from_slice(&number.to_le_bytes()),
                }
            }
        }
    }
}
