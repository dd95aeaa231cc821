//! Reads JSON as XGBoost writes it (RFC 8259, and `NaN` and `Infinity` for numbers), into a
//! [`Document`].
//!
//! It is read by hand for two reasons. A decimal becomes the nearest float in one rounding, as in
//! XGBoost's reader; and arrays of numbers stay arrays of numbers.
//!
//! Invariant: an error names the byte. Nothing nests deeper than [`DEPTH_MAX`].
//! A number without point and exponent is an integer, and must fit 64 bits; `-0` is a float. Some
//! numbers that JSON forbids are taken, such as `+1`, `01` and `1.`. Half of an escaped surrogate
//! pair alone becomes U+FFFD. Control characters in strings are not refused.
//! Never here: items and linear models, which serde_json reads.

use super::document::{DEPTH_MAX, Document, Elements};
use crate::error::Problem;

/// Reads a whole document.
///
/// # Errors
/// What is wrong, with the place of the byte.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Problem> {
    let mut reader = Reader { bytes, at: 0 };
    let value = reader.value(0)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.problem("something follows the document")),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Document, Problem> {
        if depth > DEPTH_MAX {
            return Err(self.problem(format!("nests deeper than {DEPTH_MAX} levels")));
        }
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.text().map(Document::Text),
            Some(b't') => self.word("true", Document::Bool(true)),
            Some(b'f') => self.word("false", Document::Bool(false)),
            Some(b'n') => self.word("null", Document::Null),
            Some(b'-' | b'+' | b'0'..=b'9' | b'N' | b'I') => self.number(),
            Some(_) => Err(self.problem("expected a value")),
            None => Err(self.ended()),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Document, Problem> {
        let mut map = Vec::new();
        self.at += 1;
        while self.peek() != Some(b'}') {
            if !map.is_empty() {
                self.expect(b',')?;
            }
            self.peek();
            let key = self.text()?;
            self.expect(b':')?;
            map.push((key, self.value(depth + 1)?));
        }
        self.at += 1;
        Ok(Document::Map(map))
    }

    fn list(&mut self, depth: usize) -> Result<Document, Problem> {
        let mut elements = Elements::default();
        let mut first = true;
        self.at += 1;
        while self.peek() != Some(b']') {
            if !std::mem::take(&mut first) {
                self.expect(b',')?;
            }
            elements.push(self.value(depth + 1)?);
        }
        self.at += 1;
        Ok(elements.finish())
    }

    fn text(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.expect(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.take()? {
                b'"' => break,
                b'\\' => self.escape(&mut text)?,
                byte => text.push(byte),
            }
        }
        String::from_utf8(text)
            .map_err(|_| Problem::new(format!("byte {start}"), "the string is not UTF-8"))
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), Problem> {
        let byte = match self.take()? {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.character()?;
                text.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.problem("the escape is unknown")),
        };
        text.push(byte);
        Ok(())
    }

    /// Reads what follows `\u`, and the second half of a surrogate pair.
    fn character(&mut self) -> Result<char, Problem> {
        let first = self.unit()?;
        let start = self.at;
        if (0xd800..0xdc00).contains(&first) && self.bytes[start..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.unit()?;
            if let Some(Ok(character)) = char::decode_utf16([first, second]).next() {
                return Ok(character);
            }
            // It may begin a pair of its own.
            self.at = start;
        }
        // Half a surrogate pair stands for no character.
        Ok(char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn unit(&mut self) -> Result<u16, Problem> {
        let digits = self.bytes.get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.problem("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    fn number(&mut self) -> Result<Document, Problem> {
        let rest = &self.bytes[self.at..];
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let text = str::from_utf8(&rest[..length]).unwrap_or_default();
        let is_float = text.contains(['.', 'e', 'E', 'N', 'I']) || text == "-0";
        let value = match is_float {
            true => text.parse().ok().map(Document::Float),
            false => text.parse().ok().map(Document::Integer),
        };
        let value = value.ok_or_else(|| self.problem("expected a number"))?;
        self.at += length;
        Ok(value)
    }

    fn word(&mut self, word: &str, value: Document) -> Result<Document, Problem> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.problem("expected a value"));
        }
        self.at += word.len();
        Ok(value)
    }

    /// Passes white space, and returns the byte after it.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.at..];
        let blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        self.at += rest.iter().position(|byte| !blank(byte)).unwrap_or(rest.len());
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self) -> Result<u8, Problem> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| self.ended())?;
        self.at += 1;
        Ok(byte)
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Problem> {
        match self.peek() {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.problem(format!("expected `{}`", char::from(wanted)))),
            None => Err(self.ended()),
        }
    }

    fn ended(&self) -> Problem {
        self.problem("the document ends too early")
    }

    fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::new(format!("byte {}", self.at), reason)
    }
}

#[cfg(test)]
mod tests;
