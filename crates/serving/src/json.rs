//! Reads JSON of request bodies strictly: it pulls values, knows its place, and copies only texts
//! that hold escapes.
//!
//! It accepts what `serde_json` accepts of UTF-8 (RFC 8259 without lone surrogates), nested up to
//! 64 deep; tests compare the two. `serde_json` would cost three times the ranking when a body
//! brings 674 ids. What reads an id is inlined by force: passing its wide results through memory
//! cost a third of the time of such a request.
//!
//! Invariant: an error names the byte at which reading could not go on. No bytes make it panic.
//! Keys given twice are handed over twice; callers decide. Where `numbers` returns `None` it has
//! read nothing, and its caller reads the array again.
//! Also here: writing a text as JSON, [`push_text`], for replies that are not written by
//! `serde_json`, and for `lines.rs`. Clients see the texts of errors; one repeats `DEPTH_MAX`.
//! Speed is measured by `examples/predictions.rs`.
//! Elsewhere: arrays of numbers (`json/numbers.rs`), bodies of texts (serde, `text_body.rs`).

mod numbers;

pub(crate) use numbers::NumberTable;

use exchange::Refusal;

use crate::refusal;

/// Deeper nesting is refused: nothing that is read is deeper, and recursion must end.
const DEPTH_MAX: u32 = 64;

/// A body being read.
#[derive(Debug, Clone)]
pub(crate) struct Json<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

/// A JSON text as it stands in the body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonText<'a> {
    /// Between the quotes.
    pub(crate) raw: &'a str,
    /// Byte of the opening quote.
    pub(crate) at: usize,
    escaped: bool,
}

/// What a value is, told from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Object,
    Array,
    True,
    False,
    Null,
}

/// What is read of a body, or why it is refused.
pub(crate) type Parsed<T> = Result<T, Refusal>;

impl<'a> Json<'a> {
    /// Starts reading.
    ///
    /// # Errors
    /// If the body is not UTF-8.
    pub(crate) fn new(body: &'a [u8]) -> Parsed<Self> {
        match std::str::from_utf8(body) {
            Ok(text) => Ok(Self { text, at: 0, depth: 0 }),
            Err(error) => Err(refusal::malformed(error.valid_up_to(), "not UTF-8")),
        }
    }

    /// Returns the kind of the next value and the byte it starts at.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Parsed<(Kind, usize)> {
        let kind = match self.next_byte() {
            Some(b'"') => Kind::Text,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            Some(_) => return Err(self.unexpected("a value")),
            None => return Err(self.malformed("the body ends where a value is expected")),
        };
        Ok((kind, self.at))
    }

    /// Reads an object, handing each key to `member`, which reads the value.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, JsonText<'a>) -> Parsed<()>,
    ) -> Parsed<()> {
        self.enter(b'{', "`{`")?;
        if self.next_byte() == Some(b'}') {
            return self.leave();
        }
        loop {
            let key = self.text()?;
            self.expect(b':', "`:`")?;
            member(self, key)?;
            match self.next_byte() {
                Some(b',') => self.at += 1,
                Some(b'}') => return self.leave(),
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
    }

    /// Reads an array; `element` reads each value.
    #[inline]
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.enter(b'[', "`[`")?;
        if self.next_byte() == Some(b']') {
            return self.leave();
        }
        loop {
            element(self)?;
            match self.next_byte() {
                Some(b',') => self.at += 1,
                Some(b']') => return self.leave(),
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
    }

    /// Reads a text.
    #[inline(always)]
    pub(crate) fn text(&mut self) -> Parsed<JsonText<'a>> {
        self.expect(b'"', "`\"`")?;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.byte() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0..=0x1F) => return Err(self.malformed("a control character in a text")),
                // Eight bytes at a time gained nothing: ids are short.
                Some(_) => self.at += 1,
                None => return Err(self.malformed("the body ends inside a text")),
            }
        }
        let raw = &self.text[start..self.at];
        self.at += 1;
        Ok(JsonText { raw, at: start - 1, escaped })
    }

    /// Reads a number, as it is written.
    #[inline]
    pub(crate) fn number(&mut self) -> Parsed<&'a str> {
        self.next_byte();
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Reads an array of nothing but numbers and appends them, at most to a length of `limit`;
    /// returns how many. At anything else it returns `None` and has read nothing.
    pub(crate) fn numbers(&mut self, numbers: &mut Vec<f64>, limit: usize) -> Option<usize> {
        let (start, before) = (self.at, numbers.len());
        let read = numbers::read(self.text.as_bytes(), self.at, numbers, limit);
        match read {
            Some(end) => {
                self.at = end;
                Some(numbers.len() - before)
            }
            None => {
                self.at = start;
                numbers.truncate(before);
                None
            }
        }
    }

    /// Reads a table of nothing but numbers. At anything else it returns `None` and has read
    /// nothing.
    pub(crate) fn table(&mut self) -> Option<NumberTable> {
        let (table, end) = numbers::read_table(self.text.as_bytes(), self.at)?;
        self.at = end;
        Some(table)
    }

    /// Returns how many values there can be at most in what is left to be read.
    pub(crate) fn values_max(&self) -> usize {
        (self.text.len() - self.at) / 2
    }

    /// Reads `true`, `false` or `null`.
    pub(crate) fn word(&mut self, word: &str) -> Parsed<()> {
        self.next_byte();
        if !self.text[self.at..].starts_with(word) {
            return Err(self.malformed("expected a value; only true, false and null are words"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads over a value of any kind.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        match self.peek()?.0 {
            Kind::Text => self.text().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::Object => self.object(|json, _| json.skip()),
            Kind::Array => self.array(Self::skip),
            Kind::True => self.word("true"),
            Kind::False => self.word("false"),
            Kind::Null => self.word("null"),
        }
    }

    /// Checks that nothing follows the value read.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the body")),
        }
    }

    /// Skips whitespace and returns the byte there, which `at` then points to.
    #[inline(always)]
    fn next_byte(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8, name: &str) -> Parsed<()> {
        if self.next_byte() != Some(byte) {
            return Err(self.unexpected(name));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn enter(&mut self, byte: u8, name: &str) -> Parsed<()> {
        self.expect(byte, name)?;
        if self.depth == DEPTH_MAX {
            self.at -= 1;
            return Err(self.malformed("nested more than 64 deep"));
        }
        self.depth += 1;
        Ok(())
    }

    fn leave(&mut self) -> Parsed<()> {
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => Err(self.unexpected("a digit")),
        }
    }

    /// Reads over one escape sequence, surrogate pairs included.
    fn escape(&mut self) -> Parsed<()> {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let length = match rest.get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(2),
            Some(b'u') => unicode(rest).map(|(_, length)| length),
            _ => None,
        };
        match length {
            Some(length) => self.at += length,
            None => return Err(self.malformed("not an escape sequence that JSON knows")),
        }
        Ok(())
    }

    fn malformed(&self, reason: &str) -> Refusal {
        refusal::malformed(self.at, reason)
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> Refusal {
        let rest = &self.text[self.at..];
        let Some(found) = rest.chars().next() else {
            return self.malformed(&format!("expected {wanted}, the body ends"));
        };
        let words = ["NaN", "Infinity", "-Infinity", "nan", "inf"];
        match words.iter().find(|word| rest.starts_with(**word)) {
            Some(word) => {
                self.malformed(&format!("`{word}` is not JSON; send null or leave it out"))
            }
            None => self.malformed(&format!("expected {wanted}, found {found:?}")),
        }
    }
}

impl<'a> JsonText<'a> {
    /// Returns what the text means; `buffer` is used only where it holds escapes.
    #[inline(always)]
    pub(crate) fn decoded<'b>(&self, buffer: &'b mut String) -> &'b str
    where
        'a: 'b,
    {
        if !self.escaped {
            return self.raw;
        }
        buffer.clear();
        let mut rest = self.raw;
        while let Some(at) = rest.find('\\') {
            buffer.push_str(&rest[..at]);
            let (found, length) = unescaped(&rest.as_bytes()[at..]);
            buffer.push(found);
            rest = &rest[at + length..];
        }
        buffer.push_str(rest);
        buffer
    }
}

/// Appends a JSON text, quotes included.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1F => {
                let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Returns the character of an escape sequence that the reader accepted, and its length.
fn unescaped(bytes: &[u8]) -> (char, usize) {
    let simple = match bytes[1] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(bytes).expect("checked when the text was read"),
        other => char::from(other),
    };
    (simple, 2)
}

/// Returns the character of `\uXXXX` or of a surrogate pair, and the length of its sequence.
fn unicode(bytes: &[u8]) -> Option<(char, usize)> {
    let first = hex(bytes.get(2..6)?)?;
    if let Some(found) = char::from_u32(first) {
        return Some((found, 6));
    }
    let second = match bytes.get(6..8)? {
        b"\\u" => hex(bytes.get(8..12)?)?,
        _ => return None,
    };
    match (first, second) {
        (0xD800..=0xDBFF, 0xDC00..=0xDFFF) => {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            char::from_u32(code).map(|found| (found, 12))
        }
        _ => None,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests;
