//! Inputs to begin with, one a line of a text file, so that a reader sees what is tried.
//!
//! Escapes: `\r`, `\n`, `\t`, `\\`, `\xNN`; everything else printable stands for itself.
//! Lines that begin with `#` are comments, an input that does is written `\x23…`.

use std::collections::BTreeSet;

/// Reads a corpus.
///
/// # Errors
/// The first line that cannot be read, by number.
pub fn parse(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            unescape(line).ok_or_else(|| format!("line {}: a malformed escape", number + 1))
        })
        .collect()
}

/// Writes a corpus: comments of `before` kept, inputs sorted by length and then by bytes.
pub fn render(before: &str, inputs: &[Vec<u8>]) -> String {
    let comments = before.lines().take_while(|line| line.starts_with('#'));
    let mut text: String = comments.flat_map(|line| [line, "\n"]).collect();
    let inputs: BTreeSet<(usize, &Vec<u8>)> =
        inputs.iter().map(|input| (input.len(), input)).collect();
    for (_, input) in inputs {
        text.push_str(&escape(input));
        text.push('\n');
    }
    text
}

fn escape(input: &[u8]) -> String {
    let mut line = String::with_capacity(input.len() + 8);
    for (at, byte) in input.iter().enumerate() {
        match byte {
            b'\r' => line.push_str("\\r"),
            b'\n' => line.push_str("\\n"),
            b'\t' => line.push_str("\\t"),
            b'\\' => line.push_str("\\\\"),
            b'#' if at == 0 => line.push_str("\\x23"),
            b' '..=b'~' => line.push(char::from(*byte)),
            _ => line.push_str(&format!("\\x{byte:02x}")),
        }
    }
    line
}

fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut input = Vec::with_capacity(line.len());
    let mut bytes = line.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            input.push(byte);
            continue;
        }
        input.push(match bytes.next()? {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'\\' => b'\\',
            b'x' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(input)
}

#[cfg(test)]
mod tests;
