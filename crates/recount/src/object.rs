//! Reads JSON plainly: the members of an object in their order, their texts still escaped.
//!
//! Written by hand, since no library refuses the same lines as the delivery
//! (docs/decisions/events.md). Like the delivery it checks structure (RFC 8259), but not whether a
//! bare value is a number, `true`, `false` or `null`. And it takes bytes that are no UTF-8, and
//! control characters. `serde_json` refuses all of these, also as `RawValue`. Escapes are those of
//! `exchange::unescape_json`; `RawValue` takes more in values, and keys as text take fewer.
//! A line feed between values is refused: it ends a line.
//! Invariant: recursion goes at most [`DEPTH_MAX`] deep; deeper objects and arrays are refused. A
//! key given twice comes twice.
//! What is taken or refused must be what `pipeline/src/decode/walk.rs` takes or refuses, its 64
//! levels included. `plain/tests.rs` compares both on damaged lines.

/// How deep values may lie.
const DEPTH_MAX: usize = 64;

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonMember<'l> {
    /// Its key, escaped.
    pub key: &'l [u8],
    /// Its value: of text the inside, escaped, and of all else everything.
    pub value: &'l [u8],
    /// The value is text.
    pub is_text: bool,
}

/// The members of the object that `text` is, and nothing more; none when it is no such.
pub(crate) fn members(text: &[u8]) -> Option<Vec<JsonMember<'_>>> {
    let mut reader = ObjectReader { text, at: 0 };
    reader.white();
    let members = reader.object(0)?;
    reader.white();
    (reader.at == text.len()).then_some(members)
}

/// The value of the first member of that name.
pub(crate) fn member<'l>(object: &'l [u8], name: &str) -> Option<JsonMember<'l>> {
    members(object)?.into_iter().find(|member| member.key == name.as_bytes())
}

/// The first value of the list that `text` is, as it is written.
pub(crate) fn first_value(text: &[u8]) -> Option<&[u8]> {
    let mut reader = ObjectReader { text, at: 0 };
    reader.take(b'[')?;
    reader.white();
    let start = reader.at;
    reader.value(0)?;
    Some(&text[start..reader.at])
}

struct ObjectReader<'l> {
    text: &'l [u8],
    at: usize,
}

impl<'l> ObjectReader<'l> {
    fn object(&mut self, depth: usize) -> Option<Vec<JsonMember<'l>>> {
        self.take(b'{')?;
        let mut members = Vec::new();
        if self.end(b'}') {
            return Some(members);
        }
        loop {
            self.white();
            let key = self.quoted()?;
            self.white();
            self.take(b':')?;
            let (value, is_text) = self.value(depth)?;
            members.push(JsonMember { key, value, is_text });
            if self.end(b'}') {
                return Some(members);
            }
            self.take(b',')?;
        }
    }

    fn value(&mut self, depth: usize) -> Option<(&'l [u8], bool)> {
        self.white();
        let start = self.at;
        match self.text.get(start)? {
            b'"' => return Some((self.quoted()?, true)),
            b'{' if depth < DEPTH_MAX => drop(self.object(depth + 1)?),
            b'[' if depth < DEPTH_MAX => self.array(depth + 1)?,
            _ => {
                let is_end = |byte: &u8| b",:}]\" \t\n{[\\".contains(byte);
                let rest = &self.text[start..];
                self.at += rest.iter().position(is_end).unwrap_or(rest.len());
            }
        }
        (self.at > start).then(|| (&self.text[start..self.at], false))
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.take(b'[')?;
        if self.end(b']') {
            return Some(());
        }
        loop {
            self.value(depth)?;
            if self.end(b']') {
                return Some(());
            }
            self.take(b',')?;
        }
    }

    /// Takes text in quotes; returns its inside.
    fn quoted(&mut self) -> Option<&'l [u8]> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            match self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let inside = &self.text[start..self.at];
        self.at += 1;
        exchange::unescape_json(inside).is_ok().then_some(inside)
    }

    fn end(&mut self, byte: u8) -> bool {
        self.white();
        self.take(byte).is_some()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.text.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    fn white(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }
}
