//! Lines of JSON (RFC 8259): our own journal's, nginx's with `escape=json`, and those of others by
//! configured keys.
//!
//! One object is one line. The fields of most lines stand in one order, so after each key the one
//! that followed it last time is compared first, quotes and colon and all. Values that are no field
//! are kept by their key.
//! Objects and arrays inside are skipped, and looked into when a field of theirs is asked for;
//! recursion never follows the input. Refused: whatever is no object, or more than one.

use exchange::{DecodeCause, DecodeError};

use super::event::{Event, Slot, Span, whole};
use super::marks;
use super::meaning::Meaning;
use super::times::Times;

/// What gives a line its structure.
pub(super) const SET: marks::Set = [b'"', b'\\', b'\n', b'\n'];

/// The keys of a format, and what they mean.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// The key that the last line began with.
    first: usize,
    /// Whether other keys are kept for `var.NAME`.
    keeps_others: bool,
}

#[derive(Debug, Clone)]
struct Key {
    name: Box<[u8]>,
    word: u128,
    head: Head,
    meaning: Meaning,
    /// Its value is a whole number.
    is_number: bool,
    /// The key that followed it last.
    next: usize,
}

/// How a member begins, `"name":`, to be compared at once.
#[derive(Debug, Clone, Copy)]
struct Head {
    bytes: u128,
    mask: u128,
    length: usize,
}

/// Keys that a line must have.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    time: bool,
}

impl Keys {
    /// Keys with their meanings; of two of one name the first counts.
    pub(super) fn new(keys: Vec<(Box<[u8]>, Meaning)>, keeps_others: bool) -> Self {
        let key = |(name, meaning): (Box<[u8]>, Meaning)| {
            let numbers = [Slot::Status, Slot::Total, Slot::BytesIn, Slot::BytesOut];
            let is_number = matches!(meaning, Meaning::Slot(slot) if numbers.contains(&slot));
            let (word, head) = (word(&name), Head::of(&name));
            Key { name, word, head, meaning, is_number, next: 0 }
        };
        Self { keys: keys.into_iter().map(key).collect(), first: 0, keeps_others }
    }

    /// The place of the key that followed `last` the last time; of the first one without it.
    #[inline]
    fn guess(&self, last: Option<usize>) -> usize {
        last.map_or(self.first, |last| self.keys[last].next)
    }

    /// Finds a key, which will be the guess after `last` from then on.
    fn find(&mut self, name: &[u8], last: &mut Option<usize>) -> Option<&Key> {
        let word = word(name);
        let is_it = |at: &usize| self.keys.get(*at).is_some_and(|key| key.is(name, word));
        let guess = Some(self.guess(*last)).filter(is_it);
        let at = guess.or_else(|| (0..self.keys.len()).find(is_it))?;
        match last.replace(at) {
            None => self.first = at,
            Some(last) => self.keys[last].next = at,
        }
        Some(&self.keys[at])
    }
}

impl Key {
    /// Compares names of up to 16 bytes by two words, which is what most have.
    #[inline]
    fn is(&self, name: &[u8], word: u128) -> bool {
        self.word == word
            && self.name.len() == name.len()
            && (name.len() <= 16 || *self.name == *name)
    }
}

impl Head {
    /// None that any line has where the name is long, or not written as it is.
    fn of(name: &[u8]) -> Self {
        let text = [b"\"", name, b"\":"].concat();
        let mut bytes = [0; 16];
        let is_plain = memchr::memchr3(b'"', b'\\', b'\n', name).is_none();
        match bytes.get_mut(..text.len()).filter(|_| is_plain) {
            None => Self { bytes: 1, mask: 0, length: 0 },
            Some(place) => {
                place.copy_from_slice(&text);
                let mask = u128::MAX >> (128 - 8 * text.len());
                Self { bytes: u128::from_le_bytes(bytes), mask, length: text.len() }
            }
        }
    }

    /// Whether `text` begins like this; a text of fewer than 16 bytes is not looked at.
    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        let first = text.first_chunk().map(|first| u128::from_le_bytes(*first));
        first.is_some_and(|first| first & self.mask == self.bytes)
    }
}

/// The first and the last eight bytes of a name, overlapping where it is short.
#[inline]
fn word(name: &[u8]) -> u128 {
    let (first, last) = match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => (short_word(name), 0),
    };
    u128::from(first) << 64 | u128::from(last)
}

/// The bytes of a name of fewer than eight.
#[inline]
fn short_word(name: &[u8]) -> u64 {
    match (name.first_chunk(), name.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Reads the lines of a region, of which `marks` are the structural bytes.
pub(super) fn each<'l>(
    region: &'l [u8],
    marks: &[u32],
    (times, keys): (&mut Times, &mut Keys),
    event: &mut Event<'l>,
    mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), DecodeError>),
) {
    let mut start = 0;
    let mut rest = marks;
    while start < region.len() {
        let mut walk = Walk { line: &region[start..], start, at: 0, marks: rest, escaped: false };
        event.begin(walk.line, false);
        let outcome = walk.object(keys, times, event);
        let Some(line) = marks::next_line(region, start, &mut walk.marks) else { return };
        rest = walk.marks;
        event.end(line, walk.escaped);
        let outcome = outcome.map_err(|error| within(error, line.len()));
        seen(start, event, outcome);
        start += line.len() + 1;
    }
}

/// What is wrong past the end of the line is that it ends.
fn within(error: DecodeError, length: usize) -> DecodeError {
    match error.offset >= length && error.cause != DecodeCause::Missing("time") {
        true => DecodeError { offset: length, cause: DecodeCause::Torn },
        false => error,
    }
}

/// A walk over one object. `line` reaches to the end of the region: its end is found on the way.
struct Walk<'l, 'm> {
    line: &'l [u8],
    start: usize,
    at: usize,
    /// Marks not passed yet.
    marks: &'m [u32],
    escaped: bool,
}

impl<'l, 'm> Walk<'l, 'm> {
    fn object(
        &mut self,
        keys: &mut Keys,
        times: &mut Times,
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        let mut seen = Seen::default();
        let mut last = None;
        self.take(b'{', "an object")?;
        self.white();
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                if let Some((slot, value)) = self.foretold_member(keys, &mut last) {
                    event.set_present(slot, value);
                } else {
                    let member = match self.usual_member() {
                        Some(member) => member,
                        None => self.member()?,
                    };
                    self.field(member, (keys, &mut last, &mut seen), times, event)?;
                }
                if !matches!(self.peek(), b',' | b'}') {
                    self.white();
                }
                match self.peek() {
                    b',' => self.at += 1,
                    b'}' => break self.at += 1,
                    _ => return Err(self.expected("a comma or the end of the object")),
                }
            }
        }
        self.white();
        match (self.peek(), seen.time) {
            (b'\n', true) => Ok(()),
            (b'\n', false) => {
                Err(DecodeError { offset: self.at, cause: DecodeCause::Missing("time") })
            }
            _ => Err(self.expected("the end of the line")),
        }
    }

    /// Takes the member that was foretold, if it is a slot and its value is plain: text without
    /// escapes, a whole number where that is wanted, or an object of such numbers.
    #[inline]
    fn foretold_member(&mut self, keys: &Keys, last: &mut Option<usize>) -> Option<(Slot, Span)> {
        let guess = keys.guess(*last);
        let key = keys.keys.get(guess)?;
        let Meaning::Slot(slot) = key.meaning else { return None };
        let (line, first) = (self.line, *self.marks.first()? as usize);
        if first - self.start != self.at || !key.head.begins(line.get(self.at..)?) {
            return None;
        }
        // The two marks that are passed are the quotes of the key.
        let (start, after) = (self.at + key.head.length, self.marks.get(2..)?);
        let (value, end, marks) = match line.get(start)? {
            b'"' if !key.is_number => {
                let [open, close, marks @ ..] = after else { return None };
                let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
                if open != start || line[close] != b'"' {
                    return None;
                }
                (Span::new(start + 1, close), close + 1, marks)
            }
            b'{' if !key.is_number => {
                let (end, marks) = self.flat(start, after)?;
                (Span::new(start, end), end, marks)
            }
            _ => {
                let end = digits(line, start)?;
                (Span::new(start, end), end, after)
            }
        };
        (self.at, self.marks, *last) = (end, marks, Some(guess));
        Some((slot, value))
    }

    /// Takes a member without white space, escapes or an object in it.
    #[inline]
    fn usual_member(&mut self) -> Option<(Span, Span)> {
        let [open, close, after @ ..] = self.marks else { return None };
        let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
        let line = self.line;
        if open != self.at || line[open] != b'"' || line[close..].first_chunk() != Some(b"\":") {
            return None;
        }
        let (key, start) = (Span::new(open + 1, close), close + 2);
        if *line.get(start)? != b'"' {
            let end = digits(line, start)?;
            (self.at, self.marks) = (end, after);
            return Some((key, Span::new(start, end)));
        }
        let [open, close, marks @ ..] = after else { return None };
        let [open, close] = [*open, *close].map(|mark| mark as usize - self.start);
        if open != start || line[close] != b'"' {
            return None;
        }
        (self.at, self.marks) = (close + 1, marks);
        Some((key, Span::new(start + 1, close)))
    }

    /// Takes any member.
    fn member(&mut self) -> Result<(Span, Span), DecodeError> {
        self.white();
        let key = self.text()?;
        self.take(b':', "a colon")?;
        self.white();
        let value = self.value()?;
        self.white();
        Ok((key, value))
    }

    #[inline]
    fn field(
        &mut self,
        (key, value): (Span, Span),
        (keys, last, seen): (&mut Keys, &mut Option<usize>, &mut Seen),
        times: &mut Times,
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        let name = key.of(self.line).unwrap_or_default();
        let text = value.of(self.line).unwrap_or_default();
        let wrong = |what| {
            let offset = value.start();
            Err(DecodeError { offset, cause: DecodeCause::Expected(what) })
        };
        if text.len() == 4
            && text == b"null"
            && self.line.get(value.start().wrapping_sub(1)) != Some(&b'"')
        {
            return Ok(());
        }
        let keeps_others = keys.keeps_others;
        match keys.find(name, last).map(|key| (key.meaning, key.is_number)) {
            None if keeps_others => event.push_other(key, value),
            None => {}
            Some((Meaning::Time, _)) => {
                let Some(time) = times.any(text) else { return wrong("a time") };
                event.set_time(time);
                seen.time = true;
            }
            Some((_, true)) if whole(text).is_none() && text != b"-" && !text.is_empty() => {
                return wrong("a whole number");
            }
            Some((meaning, _)) => meaning.set(event, value),
        }
        Ok(())
    }

    /// Takes one value: the inside of a text, or everything else as it is written.
    #[inline]
    fn value(&mut self) -> Result<Span, DecodeError> {
        match self.peek() {
            b'"' => self.text(),
            b'{' | b'[' => self.nested(),
            _ => self.scalar(),
        }
    }

    /// Takes text in quotes; returns its inside.
    #[inline]
    fn text(&mut self) -> Result<Span, DecodeError> {
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
                    let span = Span::new(start, at);
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
    fn escaped_text(&mut self, span: Span) -> Result<Span, DecodeError> {
        self.escaped = true;
        let inside = span.of(self.line).unwrap_or_default();
        exchange::unescape_json(inside).map(|_| span).map_err(|place| DecodeError {
            offset: span.start() + place,
            cause: DecodeCause::Expected("a JSON escape"),
        })
    }

    fn scalar(&mut self) -> Result<Span, DecodeError> {
        let rest = &self.line[self.at..];
        let is_end = |byte: &u8| {
            matches!(byte, b',' | b':' | b'}' | b']' | b'"' | b' ' | b'\t' | b'\n' | b'{' | b'[')
        };
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.expected("a value"));
        }
        self.at += length;
        Ok(Span::new(self.at - length, self.at))
    }

    /// Takes an object or an array as it is written, at most 64 levels deep.
    fn nested(&mut self) -> Result<Span, DecodeError> {
        let start = self.at;
        if self.peek() == b'{'
            && let Some((end, marks)) = self.flat(start, self.marks)
        {
            (self.at, self.marks) = (end, marks);
            return Ok(Span::new(start, end));
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
                            return Ok(Span::new(start, self.at));
                        }
                    }
                    _ => return Err(self.expected("a comma or the end of what was opened")),
                }
            }
        }
    }

    /// Finds the end of an object of plain numbers, such as `{"route":1,"fetch":250}`, as most
    /// phases are, and the marks after it; `marks` are those after its brace at `start`.
    fn flat(&self, start: usize, mut marks: &'m [u32]) -> Option<(usize, &'m [u32])> {
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
    fn white(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// The byte at hand; a line feed past the end.
    #[inline]
    fn peek(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(b'\n')
    }

    #[inline]
    fn take(&mut self, byte: u8, what: &'static str) -> Result<(), DecodeError> {
        self.white();
        if self.peek() != byte {
            return Err(self.expected(what));
        }
        self.at += 1;
        Ok(())
    }

    #[cold]
    fn expected(&self, what: &'static str) -> DecodeError {
        let cause = match self.peek() {
            b'\n' => DecodeCause::Torn,
            _ => DecodeCause::Expected(what),
        };
        DecodeError { offset: self.at, cause }
    }

    #[cold]
    fn torn(&self) -> DecodeError {
        DecodeError { offset: self.line.len(), cause: DecodeCause::Torn }
    }
}

/// The end of a whole number that starts at `start`, if it has fewer digits than overflow and a
/// comma or a brace follows.
#[inline]
fn digits(line: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    while line.get(end)?.is_ascii_digit() {
        end += 1;
    }
    ((1..20).contains(&(end - start)) && matches!(line[end], b',' | b'}')).then_some(end)
}

/// Returns the value of a member of an object, as it is written.
pub(super) fn member<'l>(object: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    let mut marks = Vec::new();
    marks::find(object, SET, &mut marks);
    let mut walk = Walk { line: object, start: 0, at: 0, marks: &marks, escaped: false };
    walk.take(b'{', "").ok()?;
    loop {
        walk.white();
        let key = walk.text().ok()?;
        walk.take(b':', "").ok()?;
        walk.white();
        let start = walk.at;
        walk.value().ok()?;
        if key.of(object)? == name {
            return object.get(start..walk.at);
        }
        walk.take(b',', "").ok()?;
    }
}

/// Returns the inside of a text as it is written, quotes and all.
pub(super) fn inside(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

#[cfg(test)]
mod tests;
