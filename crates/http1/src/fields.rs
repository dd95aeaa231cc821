//! Holds the field lines of a message as one text, in order of arrival (RFC 9110 §5).
//!
//! Invariants: each line is stored as it will be sent: the name in lower case, `: `, the value,
//! CRLF. So a line that is only forwarded is copied whole. `cache` stores these bytes and reads
//! them line by line; disks hold those of earlier versions. No value holds a CR, LF or NUL:
//! `append` and `insert` drop a line with such a value, without an error. `append` takes a name in
//! any case and stores it in lower case. All other methods compare bytes, `insert` too, so callers
//! pass them lower case. No method checks that a name is a valid token. `insert` moves its line to
//! the end; a removed line keeps its memory. A look-up compares name after name, because a head has
//! about a dozen lines.
//! [`text()`] admits values of visible ASCII, blanks and tabs. Never here: bounds (`response`
//! bounds its heads; offsets have 32 bits), fields of a received request (`request::Head`).

/// Field lines of a message.
#[derive(Clone, Default)]
pub struct FieldLines {
    text: Vec<u8>,
    lines: Vec<Line>,
}

/// The position of a line in the text, and the lengths of its name and its value.
#[derive(Debug, Clone, Copy)]
struct Line {
    start: u32,
    name: u32,
    value: u32,
}

impl Line {
    fn name(self, text: &[u8]) -> &[u8] {
        let start = self.start as usize;
        &text[start..start + self.name as usize]
    }

    fn value(self, text: &[u8]) -> &[u8] {
        let start = (self.start + self.name) as usize + SEPARATOR.len();
        &text[start..start + self.value as usize]
    }

    fn whole(self, text: &[u8]) -> &[u8] {
        let length = (self.name + self.value) as usize + SEPARATOR.len() + END.len();
        &text[self.start as usize..self.start as usize + length]
    }

    fn is_called(self, text: &[u8], name: &[u8]) -> bool {
        self.name as usize == name.len() && self.name(text) == name
    }
}

const SEPARATOR: &[u8] = b": ";
const END: &[u8] = b"\r\n";

impl FieldLines {
    /// Returns no lines, with capacity for `lines` of `bytes` in all.
    pub fn with_capacity(lines: usize, bytes: usize) -> Self {
        Self { text: Vec::with_capacity(bytes), lines: Vec::with_capacity(lines) }
    }

    /// Appends a line. It drops the line if the value holds a line break or a NUL.
    pub fn append(&mut self, name: impl AsRef<[u8]>, value: &[u8]) {
        let name = name.as_ref();
        // Without an early exit the compiler turns this loop into a few vector operations.
        let ends = |found: bool, byte: &u8| found | matches!(byte, b'\r' | b'\n' | 0);
        if value.iter().fold(false, ends) {
            return;
        }
        let start = self.text.len();
        self.text.reserve(name.len() + SEPARATOR.len() + value.len() + END.len());
        self.text.extend_from_slice(name);
        self.text[start..].make_ascii_lowercase();
        self.text.extend_from_slice(SEPARATOR);
        self.text.extend_from_slice(value);
        self.text.extend_from_slice(END);
        self.lines.push(Line {
            start: start as u32,
            name: name.len() as u32,
            value: value.len() as u32,
        });
    }

    /// Removes every line of this name, then appends one.
    pub fn insert(&mut self, name: &str, value: &[u8]) {
        self.remove(name);
        self.append(name, value);
    }

    /// Removes the lines of this name. Every name that a method takes is in lower case.
    pub fn remove(&mut self, name: &str) {
        let text = &self.text;
        self.lines.retain(|line| !line.is_called(text, name.as_bytes()));
    }

    /// Keeps the lines for whose name `stays` returns true.
    pub fn retain(&mut self, mut stays: impl FnMut(&[u8]) -> bool) {
        let text = &self.text;
        self.lines.retain(|line| stays(line.name(text)));
    }

    /// Returns the value of the first line of this name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        let line = self.lines.iter().find(|line| line.is_called(&self.text, name.as_bytes()))?;
        Some(line.value(&self.text))
    }

    /// Returns the value of the first line of this name if it is visible ASCII.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(text)
    }

    /// Returns the values of all lines of this name, in order.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s [u8]> {
        let is_it = move |line: &&Line| line.is_called(&self.text, name.as_bytes());
        let lines = self.lines.iter().filter(is_it);
        lines.map(|line| line.value(&self.text))
    }

    /// Whether there is a line of this name.
    pub fn has(&self, name: impl AsRef<[u8]>) -> bool {
        self.lines.iter().any(|line| line.is_called(&self.text, name.as_ref()))
    }

    /// Returns the name and the value of every line.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().map(|line| (line.name(&self.text), line.value(&self.text)))
    }

    /// Returns the name of every line, and the whole line as it is sent.
    pub fn whole_lines(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.lines.iter().map(|line| (line.name(&self.text), line.whole(&self.text)))
    }

    /// Returns the bytes of all lines as they are sent.
    pub fn bytes(&self) -> usize {
        self.lines.iter().map(|line| line.whole(&self.text).len()).sum()
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl std::fmt::Debug for FieldLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |text: &[u8]| text.escape_ascii().to_string();
        let shown = self.iter().map(|(name, value)| (shown(name), shown(value)));
        f.debug_map().entries(shown).finish()
    }
}

impl<'n, V: AsRef<[u8]>> FromIterator<(&'n str, V)> for FieldLines {
    fn from_iter<I: IntoIterator<Item = (&'n str, V)>>(lines: I) -> Self {
        let mut fields = Self::default();
        lines.into_iter().for_each(|(name, value)| fields.append(name, value.as_ref()));
        fields
    }
}

/// Returns a value as text if it is visible ASCII, blanks and tabs included (RFC 9110 §5.5).
pub fn text(value: &[u8]) -> Option<&str> {
    let is_visible = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    value.iter().all(is_visible).then(|| std::str::from_utf8(value).ok())?
}

#[cfg(test)]
mod tests;
