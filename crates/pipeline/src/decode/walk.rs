//! Walks over one JSON object by its structural bytes (RFC 8259), whatever its members mean.
//!
//! Invariant: recursion never follows the input, and more than 64 levels are refused. Texts stay
//! escaped, but their escapes are checked. Bare words are taken as they stand, without a check that
//! they are numbers, `true`, `false` or `null`; but none has a backslash.
//! `member` finds one member of an object that was skipped; of two with one name, the first.
//! `recount/src/object.rs` must take and refuse the same, 64 levels included. Never here: which
//! keys are fields (`json`).

use exchange::{DecodeError, DecodeReason};

use super::marks::{self, ByteSet};
use super::span::LineSpan;

/// What gives a line its structure.
pub(super) const SET: ByteSet = [b'"', b'\\', b'\n', b'\n'];

/// A walk over one object. `line` reaches to the end of the region: its end is found on the way.
pub(super) struct ObjectWalk<'l, 'm> {
    pub line: &'l [u8],
    /// Where the line starts in its region.
    pub start: usize,
    /// The place of the byte at hand in the line.
    pub at: usize,
    /// Marks not passed yet.
    pub marks: &'m [u32],
    /// Something was escaped so far.
    pub escaped: bool,
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectMember {
    /// The inside of its key.
    pub key: LineSpan,
    /// The inside of a text, or everything else as it is written.
    pub value: LineSpan,
}

impl<'l, 'm> ObjectWalk<'l, 'm> {
    /// A walk from the start of a line, which stands at `start` of its region.
    #[inline]
    pub(super) fn new(line: &'l [u8], start: usize, marks: &'m [u32]) -> Self {
        Self { line, start, at: 0, marks, escaped: false }
    }
}

impl<'l, 'm> ObjectWalk<'l, 'm> {
    /// Takes a member without white space, escapes or an object in it.
    #[inline]
    pub(super) fn usual_member(&mut self) -> Option<ObjectMember> {
        let [open, close, after @ ..] = self.marks else { return None };
        let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
        let line = self.line;
        if open != self.at || line[open] != b'"' || line[close..].first_chunk() != Some(b"\":") {
            return None;
        }
        let (key, start) = (LineSpan::new(open + 1, close), close + 2);
        if *line.get(start)? != b'"' {
            let end = digits(line, start)?;
            (self.at, self.marks) = (end, after);
            return Some(ObjectMember { key, value: LineSpan::new(start, end) });
        }
        let [open, close, marks @ ..] = after else { return None };
        let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
        if open != start || line[close] != b'"' {
            return None;
        }
        (self.at, self.marks) = (close + 1, marks);
        Some(ObjectMember { key, value: LineSpan::new(start + 1, close) })
    }

    /// Takes any member.
    pub(super) fn member(&mut self) -> Result<ObjectMember, DecodeError> {
        self.white();
        let key = self.text()?;
        self.take(b':', "a colon")?;
        self.white();
        let value = self.value()?;
        self.white();
        Ok(ObjectMember { key, value })
    }

    /// Takes one value: the inside of a text, or everything else as it is written.
    #[inline]
    fn value(&mut self) -> Result<LineSpan, DecodeError> {
        match self.peek() {
            b'"' => self.text(),
            b'{' | b'[' => self.nested(),
            _ => self.scalar(),
        }
    }

    /// Takes text in quotes; returns its inside.
    #[inline]
    fn text(&mut self) -> Result<LineSpan, DecodeError> {
        if self.peek() != b'"' {
            return Err(self.expected("text in quotes"));
        }
        let start = self.at + 1;
        self.pass();
        let mut escaped = false;
        loop {
            let Some((at, byte)) = self.next_mark() else { return Err(self.torn()) };
            match byte {
                b'"' => {
                    self.at = at + 1;
                    let span = LineSpan::new(start, at);
                    return if escaped { self.escaped_text(span) } else { Ok(span) };
                }
                b'\\' => {
                    escaped = true;
                    // What follows is no structure, unless it ends the line.
                    if self.mark_at(at + 1).is_some_and(|byte| byte != b'\n') {
                        self.marks = &self.marks[1..];
                    }
                }
                _ => return Err(self.torn()),
            }
        }
    }

    #[cold]
    fn escaped_text(&mut self, span: LineSpan) -> Result<LineSpan, DecodeError> {
        self.escaped = true;
        let inside = span.of(self.line).unwrap_or_default();
        exchange::unescape_json(inside).map(|_| span).map_err(|place| DecodeError {
            offset: span.start() + place,
            reason: DecodeReason::Expected("a JSON escape"),
        })
    }

    fn scalar(&mut self) -> Result<LineSpan, DecodeError> {
        let rest = &self.line[self.at..];
        let is_end = |byte: &u8| {
            matches!(
                byte,
                b',' | b':' | b'}' | b']' | b'"' | b' ' | b'\t' | b'\n' | b'{' | b'[' | b'\\'
            )
        };
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.expected("a value"));
        }
        self.at += length;
        Ok(LineSpan::new(self.at - length, self.at))
    }

    /// Takes an object or an array as it is written, at most 64 levels deep.
    fn nested(&mut self) -> Result<LineSpan, DecodeError> {
        let start = self.at;
        if self.peek() == b'{'
            && let Some((end, marks)) = self.flat(start, self.marks)
        {
            (self.at, self.marks) = (end, marks);
            return Ok(LineSpan::new(start, end));
        }
        // A bit a level: 1 for an object.
        let (mut depth, mut kinds) = (0, 0_u64);
        loop {
            match self.peek() {
                open @ (b'{' | b'[') if depth < 64 => {
                    self.at += 1;
                    depth += 1;
                    kinds = kinds << 1 | u64::from(open == b'{');
                    self.white();
                    if !matches!(self.peek(), b'}' | b']') {
                        self.key_if(kinds)?;
                        continue;
                    }
                }
                b'"' => drop(self.text()?),
                _ => drop(self.scalar()?),
            }
            loop {
                self.white();
                match (self.peek(), kinds & 1) {
                    (b',', _) => {
                        self.at += 1;
                        break self.key_if(kinds)?;
                    }
                    (b'}', 1) | (b']', 0) => {
                        self.at += 1;
                        depth -= 1;
                        kinds >>= 1;
                        if depth == 0 {
                            return Ok(LineSpan::new(start, self.at));
                        }
                    }
                    _ => return Err(self.expected("a comma or the end of what was opened")),
                }
            }
        }
    }

    /// Finds the end of an object of plain numbers, such as `{"route":1,"fetch":250}`, and the
    /// marks after it. Most phases are such. `marks` are those after its brace at `start`.
    pub(super) fn flat(&self, start: usize, mut marks: &'m [u32]) -> Option<(usize, &'m [u32])> {
        let line = self.line;
        let mut at = start;
        loop {
            let [open, close, rest @ ..] = marks else { return None };
            let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
            if open != at + 1 || line[open] != b'"' || line[close..].first_chunk() != Some(b"\":") {
                return None;
            }
            marks = rest;
            at = digits(line, close + 2)?;
            match line[at] {
                b',' => {}
                b'}' => return Some((at + 1, marks)),
                _ => return None,
            }
        }
    }

    /// Takes the key of a member where the last bit says that an object is open.
    fn key_if(&mut self, kinds: u64) -> Result<(), DecodeError> {
        self.white();
        if kinds & 1 == 1 {
            self.text()?;
            self.take(b':', "a colon")?;
            self.white();
        }
        Ok(())
    }

    #[inline]
    fn next_mark(&mut self) -> Option<(usize, u8)> {
        let (mark, rest) = self.marks.split_first()?;
        let at = *mark as usize - self.start;
        let byte = self.line[at];
        if byte != b'\n' {
            self.marks = rest;
        }
        Some((at, byte))
    }

    /// Passes the mark of the byte at hand.
    #[inline]
    fn pass(&mut self) {
        while let Some((mark, rest)) = self.marks.split_first()
            && *mark as usize - self.start <= self.at
        {
            self.marks = rest;
        }
    }

    fn mark_at(&self, place: usize) -> Option<u8> {
        let mark = *self.marks.first()? as usize - self.start;
        (mark == place).then(|| self.line[mark])
    }

    #[inline]
    pub(super) fn white(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// The byte at hand; a line feed past the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline]
    pub(super) fn take(&mut self, byte: u8, what: &'static str) -> Result<(), DecodeError> {
        self.white();
        if self.peek() != byte {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    pub(super) fn expected(&self, what: &'static str) -> DecodeError {
        let reason = match self.peek() {
            b'\n' => DecodeReason::Torn,
            _ => DecodeReason::Expected(what),
        };
        DecodeError { offset: self.at, reason }
    }

    #[cold]
    fn torn(&self) -> DecodeError {
        DecodeError { offset: self.line.len(), reason: DecodeReason::Torn }
    }
}

/// The end of a whole number that starts at `start`, if it has fewer digits than overflow and a
/// comma or a brace follows.
#[inline]
pub(super) fn digits(line: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    while line.get(end)?.is_ascii_digit() {
        end += 1;
    }
    ((1..19).contains(&(end - start)) && matches!(line[end], b',' | b'}')).then_some(end)
}

/// Finds the value that `path` leads to from the object or list at `span` of a line. Of a list the
/// first value counts. None where there is no such, and for `null`.
pub(super) fn lookup(line: &[u8], span: LineSpan, path: &[Box<[u8]>]) -> Option<LineSpan> {
    let (mut start, mut end) = (span.start(), span.end());
    let mut path = path.iter();
    loop {
        let value = &line[start..end];
        let (from, to) = match value.first()? {
            b'[' => first_of_list(value)?,
            b'{' => member_place(value, path.next()?)?,
            _ => break,
        };
        (start, end) = (start + from, start + to);
    }
    let value = &line[start..end];
    if path.next().is_some() || value == b"null" {
        return None;
    }
    match inside(value) {
        Some(_) => Some(LineSpan::new(start + 1, end - 1)),
        None => Some(LineSpan::new(start, end)),
    }
}

/// The place of the first value of a list.
fn first_of_list(list: &[u8]) -> Option<(usize, usize)> {
    let mut marks = Vec::new();
    marks::find(list, SET, &mut marks);
    let mut walk = ObjectWalk::new(list, 0, &marks);
    walk.take(b'[', "").ok()?;
    walk.white();
    let start = walk.at;
    walk.value().ok()?;
    Some((start, walk.at))
}

/// Returns the value of a member of an object, as it is written.
pub(super) fn member<'l>(object: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let (start, end) = member_place(object, name)?;
    object.get(start..end)
}

/// Hands out the members of the object that `text` is, keys and values as they are written; `None`
/// where it is no whole object.
pub(super) fn each_member<'l>(
    text: &'l [u8],
    mut seen: impl FnMut(&'l [u8], &'l [u8]),
) -> Option<()> {
    let mut marks = Vec::new();
    marks::find(text, SET, &mut marks);
    let mut walk = ObjectWalk::new(text, 0, &marks);
    walk.take(b'{', "").ok()?;
    loop {
        walk.white();
        let key = walk.text().ok()?;
        walk.take(b':', "").ok()?;
        walk.white();
        let start = walk.at;
        walk.value().ok()?;
        seen(key.of(text)?, &text[start..walk.at]);
        walk.white();
        if walk.peek() == b'}' {
            walk.at += 1;
            walk.white();
            return (walk.at == text.len()).then_some(());
        }
        walk.take(b',', "").ok()?;
    }
}

/// The place of the value of a member of an object.
fn member_place(object: &[u8], name: &[u8]) -> Option<(usize, usize)> {
    let mut marks = Vec::new();
    marks::find(object, SET, &mut marks);
    let mut walk = ObjectWalk::new(object, 0, &marks);
    walk.take(b'{', "").ok()?;
    loop {
        walk.white();
        let key = walk.text().ok()?;
        walk.take(b':', "").ok()?;
        walk.white();
        let start = walk.at;
        walk.value().ok()?;
        if key.of(object)? == name {
            return Some((start, walk.at));
        }
        walk.take(b',', "").ok()?;
    }
}

/// Returns the inside of a text as it is written, quotes and all.
pub(super) fn inside(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\"")?.strip_suffix(b"\"")
}
