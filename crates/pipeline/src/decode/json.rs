//! Reads lines of JSON (RFC 8259): the journal's, nginx's with `escape=json`, and any others by
//! configured keys.
//!
//! One object is one line. The fields of most lines stand in one order. So after each key the one
//! that followed it last time is compared first, with its quotes and colon. That was measured
//! (docs/decisions/events.md). Objects and arrays inside are skipped. A field of theirs is looked
//! for only when it is asked for, or where a configured key has dots: they lead into objects.
//! Invariant: the order of keys changes the speed, not the fields, unless two members mean one
//! field. Then the last that is not absent counts; of weak ones (`meaning`) and of unknown keys,
//! the first. `null` is an absent field. Values that are no field are kept by their key where the
//! format says so.
//! Refuses: whatever is no object, more than one object in a line, and no time. Where a number is
//! meant, only a number, `-` and empty text pass. Bare words are not checked, nor is UTF-8.
//! `recount/src/formats.rs` takes the same lines.
//! Never here: the syntax of objects (`walk`), and what keys mean (`meaning`).

use exchange::{DecodeError, DecodeReason};

use super::event::{Event, FieldSlot};
use super::logfmt::KeyMeanings;
use super::marks::{self, MarkedRegion};
use super::meaning::Meaning;
use super::span::LineSpan;
use super::times::TimeCache;
use super::walk::{self, ObjectMember, ObjectWalk, digits};

/// The keys of a format, and what they mean.
#[derive(Debug, Clone, Default)]
pub(super) struct JsonKeys {
    keys: Vec<JsonKey>,
    /// The key that the last line began with.
    first: usize,
    /// Keys that lie in objects.
    nested: Vec<NestedKey>,
    /// Whether other keys are kept for `var.NAME`.
    keeps_others: bool,
    /// Whether a line feed at the end of their text ends a line, as in logs of Docker.
    ends_lines: bool,
}

/// A key that lies in an object.
#[derive(Debug, Clone)]
struct NestedKey {
    /// The keys that lead to it, from the outside.
    path: Vec<Box<[u8]>>,
    meaning: Meaning,
}

#[derive(Debug, Clone)]
struct JsonKey {
    name: Box<[u8]>,
    word: u128,
    head: MemberHead,
    meaning: Meaning,
    /// Its value is a whole number.
    is_number: bool,
    /// The digits that such a number may have.
    digits_max: usize,
    /// The key that followed it last.
    next: usize,
}

/// How a member begins, `"name":`, to be compared at once.
#[derive(Debug, Clone, Copy)]
struct MemberHead {
    bytes: u128,
    mask: u128,
    length: usize,
}

impl JsonKeys {
    /// Keys with their meanings; of two with one name the first counts. Dots of the configured ones
    /// lead into objects.
    pub(super) fn new(configured: KeyMeanings, known: KeyMeanings) -> Self {
        let nested = configured.iter().filter(|(name, _)| memchr::memchr(b'.', name).is_some());
        let nested = nested.map(|(name, meaning)| NestedKey {
            path: name.split(|byte| *byte == b'.').map(Box::from).collect(),
            meaning: *meaning,
        });
        let nested = nested.collect();
        let key = |(name, meaning): (Box<[u8]>, Meaning)| {
            let (is_number, digits_max) = (meaning.is_whole(), meaning.digits_max());
            let (word, head) = (word(&name), MemberHead::of(&name));
            JsonKey { name, word, head, meaning, is_number, digits_max, next: 0 }
        };
        let mut keys: Vec<JsonKey> = configured.into_iter().chain(known).map(key).collect();
        // The order stays where two have one name.
        keys.sort_by_key(|key| key.word);
        Self { keys, first: 0, nested, keeps_others: false, ends_lines: false }
    }

    /// The same, but other keys are kept; with `ends_lines` without the line feed that ends them.
    pub(super) fn keeping_others(self, ends_lines: bool) -> Self {
        Self { keeps_others: true, ends_lines, ..self }
    }

    /// The place of the key that followed `last` the last time; of the first one without it.
    #[inline]
    fn guess(&self, last: Option<usize>) -> usize {
        last.map_or(self.first, |last| self.keys[last].next)
    }

    /// Finds a key, which will be the guess after `last` from then on.
    fn find(&mut self, name: &[u8], last: &mut Option<usize>) -> Option<&JsonKey> {
        let word = word(name);
        let is_it = |at: &usize| self.keys.get(*at).is_some_and(|key| key.is(name, word));
        let guess = Some(self.guess(*last)).filter(is_it);
        let at = guess.or_else(|| {
            let first = self.keys.partition_point(|key| key.word < word);
            let same = self.keys[first..].iter().take_while(|key| key.word == word).count();
            (first..first + same).find(is_it)
        })?;
        match last.replace(at) {
            None => self.first = at,
            Some(last) => self.keys[last].next = at,
        }
        Some(&self.keys[at])
    }
}

impl JsonKey {
    /// Compares names of up to 16 bytes by two words, which is what most have.
    #[inline]
    fn is(&self, name: &[u8], word: u128) -> bool {
        self.word == word
            && self.name.len() == name.len()
            && (name.len() <= 16 || *self.name == *name)
    }
}

impl MemberHead {
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

/// Reads the lines of a region.
pub(super) fn each<'l>(
    region: MarkedRegion<'l, '_>,
    reader: &mut ObjectReader<'_>,
    event: &mut Event<'l>,
    mut seen: impl FnMut(usize, &mut Event<'l>, Result<(), DecodeError>),
) {
    let MarkedRegion { bytes, marks: mut rest } = region;
    let mut start = 0;
    while start < bytes.len() {
        let mut walk = ObjectWalk::new(&bytes[start..], start, rest);
        event.begin(walk.line, false);
        let outcome = reader.object(&mut walk, event);
        let Some(line) = marks::next_line(bytes, start, &mut walk.marks) else { return };
        rest = walk.marks;
        event.end(line, walk.escaped);
        let outcome = outcome.map_err(|error| within(error, line.len()));
        seen(start, event, outcome);
        start += line.len() + 1;
    }
}

/// What is wrong past the end of the line is that it ends.
fn within(error: DecodeError, length: usize) -> DecodeError {
    match error.offset >= length && error.reason != DecodeReason::Missing("time") {
        true => DecodeError { offset: length, reason: DecodeReason::Torn },
        false => error,
    }
}

/// Reads the members of objects into events.
pub(super) struct ObjectReader<'r> {
    times: &'r mut TimeCache,
    keys: &'r mut JsonKeys,
    /// The key of the member before, of the line at hand.
    last: Option<usize>,
    /// The line at hand has a time.
    has_time: bool,
}

impl<'r> ObjectReader<'r> {
    /// A reader of lines with these keys.
    pub(super) fn new(times: &'r mut TimeCache, keys: &'r mut JsonKeys) -> Self {
        Self { times, keys, last: None, has_time: false }
    }

    /// Reads the object that a line is.
    fn object<'l>(
        &mut self,
        walk: &mut ObjectWalk<'l, '_>,
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        (self.last, self.has_time) = (None, false);
        walk.take(b'{', "an object")?;
        walk.white();
        if walk.peek() == b'}' {
            walk.at += 1;
        } else {
            loop {
                if let Some((slot, value)) = self.foretold_member(walk) {
                    event.set_present(slot, value);
                } else {
                    let member = match walk.usual_member() {
                        Some(member) => member,
                        None => walk.member()?,
                    };
                    self.field(member, walk.line, event)?;
                }
                if !matches!(walk.peek(), b',' | b'}') {
                    walk.white();
                }
                match walk.peek() {
                    b',' => walk.at += 1,
                    b'}' => break walk.at += 1,
                    _ => return Err(walk.expected("a comma or the end of the object")),
                }
            }
        }
        walk.white();
        match (walk.peek(), self.has_time) {
            (b'\n', true) => Ok(()),
            (b'\n', false) => {
                Err(DecodeError { offset: walk.at, reason: DecodeReason::Missing("time") })
            }
            _ => Err(walk.expected("the end of the line")),
        }
    }

    /// Takes the member that was foretold, if it is a slot with a plain value. Plain is text
    /// without escapes, an object of whole numbers, or one such number where that is wanted.
    #[inline]
    fn foretold_member(&mut self, walk: &mut ObjectWalk<'_, '_>) -> Option<(FieldSlot, LineSpan)> {
        let guess = self.keys.guess(self.last);
        let key = self.keys.keys.get(guess)?;
        let Meaning::FieldSlot(slot) = key.meaning else { return None };
        let (line, first) = (walk.line, *walk.marks.first()? as usize);
        if first - walk.start != walk.at || !key.head.begins(line.get(walk.at..)?) {
            return None;
        }
        // The two marks that are passed are the quotes of the key.
        let (start, after) = (walk.at + key.head.length, walk.marks.get(2..)?);
        let (value, end, marks) = match line.get(start)? {
            b'"' if !key.is_number => {
                let [open, close, marks @ ..] = after else { return None };
                let [open, close] = [*open, *close].map(|mark| mark as usize - walk.start);
                if open != start || line[close] != b'"' {
                    return None;
                }
                (LineSpan::new(start + 1, close), close + 1, marks)
            }
            b'{' if !key.is_number => {
                let (end, marks) = walk.flat(start, after)?;
                (LineSpan::new(start, end), end, marks)
            }
            _ => {
                let end = digits(line, start).filter(|end| end - start <= key.digits_max)?;
                (LineSpan::new(start, end), end, after)
            }
        };
        (walk.at, walk.marks, self.last) = (end, marks, Some(guess));
        Some((slot, value))
    }

    /// Notes what a member means. Apart from `object`, whose loop has better registers so.
    #[inline(never)]
    fn field<'l>(
        &mut self,
        member: ObjectMember,
        line: &'l [u8],
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        let ObjectMember { key, value } = member;
        let name = key.of(line).unwrap_or_default();
        let text = value.of(line).unwrap_or_default();
        let is_quoted = line.get(value.start().wrapping_sub(1)) == Some(&b'"');
        if text.len() == 4 && text == b"null" && !is_quoted {
            return Ok(());
        }
        let is_open = !is_quoted && matches!(text.first(), Some(b'{' | b'['));
        if is_open && !self.keys.nested.is_empty() {
            self.nested(name, value, line, event)?;
        }
        match self.keys.find(name, &mut self.last).map(|key| key.meaning) {
            // An object is no field of ours: only what lies in it may be.
            Some(meaning) if is_open && !is_object_field(meaning) => {
                match walk::lookup(line, value, &[]) {
                    Some(first) => self.note(meaning, first, event)?,
                    None if meaning == Meaning::Time => return wrong(value, "a time"),
                    None if meaning.is_whole() => return wrong(value, "a whole number"),
                    None => self.other(key, value, event),
                }
            }
            Some(meaning) => self.note(meaning, value, event)?,
            None => self.other(key, value, event),
        }
        Ok(())
    }

    /// Keeps a value that is no field, where the format wants it.
    fn other(&self, key: LineSpan, value: LineSpan, event: &mut Event<'_>) {
        if self.keys.ends_lines {
            event.push_other(key, without_feed(value, event.line()));
        } else if self.keys.keeps_others {
            event.push_other(key, value);
        }
    }

    /// Notes the keys that lie in an object or a list; of a list the first value counts.
    fn nested<'l>(
        &mut self,
        name: &[u8],
        object: LineSpan,
        line: &'l [u8],
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        for at in 0..self.keys.nested.len() {
            let NestedKey { path, meaning } = &self.keys.nested[at];
            if *path[0] != *name {
                continue;
            }
            let meaning = *meaning;
            if let Some(found) = walk::lookup(line, object, &path[1..]) {
                self.note(meaning, found, event)?;
            }
        }
        Ok(())
    }

    /// Notes a value of a known meaning.
    #[inline]
    fn note<'l>(
        &mut self,
        meaning: Meaning,
        value: LineSpan,
        event: &mut Event<'l>,
    ) -> Result<(), DecodeError> {
        let text = value.of(event.line()).unwrap_or_default();
        if meaning == Meaning::Time {
            let Some(time) = self.times.any(text) else { return wrong(value, "a time") };
            event.set_time(time);
            self.has_time = true;
            return Ok(());
        }
        if let Some(what) = meaning.refuses(text) {
            return wrong(value, what);
        }
        meaning.set(event, value);
        Ok(())
    }
}

/// The refusal of a value where `what` belongs.
fn wrong(value: LineSpan, what: &'static str) -> Result<(), DecodeError> {
    Err(DecodeError { offset: value.start(), reason: DecodeReason::Expected(what) })
}

/// A text without the escaped line feed at its end, and the carriage return before it.
fn without_feed(value: LineSpan, line: &[u8]) -> LineSpan {
    let mut end = value.end();
    for escape in [b"\\n", b"\\r"] {
        let text = line.get(value.start()..end).unwrap_or_default();
        let slashes = text.iter().rev().skip(1).take_while(|byte| **byte == b'\\').count();
        match text.ends_with(escape) && slashes % 2 == 1 {
            true => end -= 2,
            false => break,
        }
    }
    LineSpan::new(value.start(), end)
}

/// Whether the field is an object by its nature.
fn is_object_field(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::FieldSlot(FieldSlot::Phases | FieldSlot::Impression))
}

#[cfg(test)]
mod tests;
