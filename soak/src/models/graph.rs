//! Writes a graph in ONNX: one product of a matrix, plus a bias.
//!
//! Only the fields of protobuf that such a file has. Refuses: every other graph.

/// Fields with a length before their bytes.
const BYTES: u8 = 2;
const FLOAT: u64 = 1;

/// A model whose input is `X`, and whose output is `Y`.
pub(super) fn bytes(weights: &[[f64; 2]], biases: &[f64; 2]) -> Vec<u8> {
    named(weights, biases, "X")
}

/// The same with another name of the input.
pub(super) fn named(weights: &[[f64; 2]], biases: &[f64; 2], input: &str) -> Vec<u8> {
    let node = [text(1, input), text(1, "W"), text(1, "B"), text(2, "Y"), text(4, "Gemm")];
    let columns = weights.len() as u64;
    let graph = [
        message(1, &node),
        text(2, "soak"),
        message(5, &tensor("W", &[columns, 2], weights.as_flattened())),
        message(5, &tensor("B", &[2], biases)),
        message(11, &value(input, columns)),
        message(12, &value("Y", 2)),
    ];
    let opset = [text(1, ""), number(2, 17)];
    [number(1, 8), message(7, &graph), message(8, &opset)].concat()
}

/// A tensor that says it has 2⁶⁰ rows.
pub(super) fn huge(input: &str, columns: u64) -> Vec<u8> {
    let node = [text(1, input), text(1, "W"), text(2, "Y"), text(4, "MatMul")];
    let graph = [
        message(1, &node),
        text(2, "soak"),
        message(5, &tensor("W", &[1 << 60, 2], &[1.0, 2.0])),
        message(11, &value(input, columns)),
        message(12, &value("Y", 2)),
    ];
    [number(1, 8), message(7, &graph), message(8, &[text(1, ""), number(2, 17)])].concat()
}

fn tensor(name: &str, dims: &[u64], numbers: &[f64]) -> Vec<Vec<u8>> {
    let mut fields: Vec<Vec<u8>> = dims.iter().map(|dim| number(1, *dim)).collect();
    fields.push(number(2, FLOAT));
    fields.push(text(8, name));
    let data: Vec<u8> = numbers.iter().flat_map(|it| (*it as f32).to_le_bytes()).collect();
    fields.push(field(9, &data));
    fields
}

/// An input or output: so many floats in each of any number of rows.
fn value(name: &str, width: u64) -> Vec<Vec<u8>> {
    let dims = [message(1, &[text(2, "N")]), message(1, &[number(1, width)])];
    let shaped = [number(1, FLOAT), message(2, &dims)];
    vec![text(1, name), message(2, &[message(1, &shaped)])]
}

fn message(key: u8, fields: &[Vec<u8>]) -> Vec<u8> {
    field(key, &fields.concat())
}

fn text(key: u8, text: &str) -> Vec<u8> {
    field(key, text.as_bytes())
}

fn field(key: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![key << 3 | BYTES];
    push_varint(bytes.len() as u64, &mut out);
    out.extend_from_slice(bytes);
    out
}

fn number(key: u8, number: u64) -> Vec<u8> {
    let mut out = vec![key << 3];
    push_varint(number, &mut out);
    out
}

fn push_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}
