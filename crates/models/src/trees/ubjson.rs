//! Reads UBJSON (ubjson.org, draft 12) as XGBoost writes it, into a [`Document`].
//!
//! Invariant: what a length promises must be there before anything is allocated for it. An error
//! names the byte. Nothing nests deeper than [`DEPTH_MAX`].
//! Doubles are rounded to f32. A whole document is read; bytes behind it are an error.
//! Refuses what XGBoost does not write: high-precision numbers, objects with a type or a count,
//! arrays of a type that is no number, no-ops.

use super::document::{DEPTH_MAX, Document, Elements};
use crate::error::Problem;

/// Reads a whole document.
///
/// # Errors
/// What is wrong, with the place of the byte.
pub(super) fn read(bytes: &[u8]) -> Result<Document, Problem> {
    let start = bytes.len() - bytes.trim_ascii_start().len();
    let mut reader = Reader { bytes, at: start };
    let value = reader.value(0)?;
    match reader.at == bytes.len() {
        true => Ok(value),
        false => Err(reader.problem("something follows the document")),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Document, Problem> {
        if depth > DEPTH_MAX {
            return Err(self.problem(format!("nests deeper than {DEPTH_MAX} levels")));
        }
        match self.take()? {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'S' => self.text().map(Document::Text),
            b'Z' => Ok(Document::Null),
            b'T' => Ok(Document::Bool(true)),
            b'F' => Ok(Document::Bool(false)),
            b'd' => Ok(Document::Float(f32::from_be_bytes(self.array()?))),
            b'D' => Ok(Document::Float(f64::from_be_bytes(self.array()?) as f32)),
            b'C' => Ok(Document::Integer(i64::from(self.take()?))),
            marker => self.integer(marker).map(Document::Integer),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Document, Problem> {
        let mut map = Vec::new();
        while self.peek()? != b'}' {
            let key = self.text()?;
            map.push((key, self.value(depth + 1)?));
        }
        self.at += 1;
        Ok(Document::Map(map))
    }

    fn list(&mut self, depth: usize) -> Result<Document, Problem> {
        let marker = match self.peek()? {
            b'$' => {
                self.at += 1;
                Some(self.take()?)
            }
            _ => None,
        };
        if self.peek()? == b'#' {
            self.at += 1;
            let length = self.length()?;
            return match marker {
                Some(marker) => self.typed(marker, length),
                None => self.counted(length, depth),
            };
        }
        if marker.is_some() {
            return Err(self.problem("expected `#` and a length after the type of an array"));
        }
        let mut elements = Elements::default();
        while self.peek()? != b']' {
            elements.push(self.value(depth + 1)?);
        }
        self.at += 1;
        Ok(elements.finish())
    }

    fn counted(&mut self, length: usize, depth: usize) -> Result<Document, Problem> {
        let mut elements = Elements::default();
        for _ in 0..length {
            elements.push(self.value(depth + 1)?);
        }
        Ok(elements.finish())
    }

    fn typed(&mut self, marker: u8, length: usize) -> Result<Document, Problem> {
        let size = match marker {
            b'i' | b'U' => 1,
            b'I' => 2,
            b'l' | b'd' => 4,
            b'L' | b'D' => 8,
            _ => return Err(self.unknown(marker)),
        };
        let bytes = self.slice(length.saturating_mul(size))?;
        let integers = |read: fn(&[u8]) -> i64| bytes.chunks_exact(size).map(read).collect();
        Ok(match marker {
            b'i' => Document::Integers(integers(|b| i64::from(b[0] as i8))),
            b'U' => Document::Integers(integers(|b| i64::from(b[0]))),
            b'I' => Document::Integers(integers(|b| i64::from(i16::from_be_bytes(fixed(b))))),
            b'l' => Document::Integers(integers(|b| i64::from(i32::from_be_bytes(fixed(b))))),
            b'L' => Document::Integers(integers(|b| i64::from_be_bytes(fixed(b)))),
            b'd' => Document::Floats(
                bytes.chunks_exact(4).map(|b| f32::from_be_bytes(fixed(b))).collect(),
            ),
            _ => {
                let doubles = bytes.chunks_exact(8).map(|b| f64::from_be_bytes(fixed(b)));
                Document::Floats(doubles.map(|double| double as f32).collect())
            }
        })
    }

    fn text(&mut self) -> Result<String, Problem> {
        let length = self.length()?;
        let start = self.at;
        let bytes = self.slice(length)?.to_vec();
        String::from_utf8(bytes)
            .map_err(|_| Problem::new(format!("byte {start}"), "the string is not UTF-8"))
    }

    fn length(&mut self) -> Result<usize, Problem> {
        let marker = self.take()?;
        let length = self.integer(marker)?;
        usize::try_from(length).map_err(|_| self.problem(format!("{length} is no length")))
    }

    fn integer(&mut self, marker: u8) -> Result<i64, Problem> {
        Ok(match marker {
            b'i' => i64::from(self.take()? as i8),
            b'U' => i64::from(self.take()?),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Err(self.unknown(marker)),
        })
    }

    fn unknown(&self, marker: u8) -> Problem {
        self.problem(format!("the type `{}` is not known here", marker.escape_ascii()))
    }

    fn peek(&self) -> Result<u8, Problem> {
        self.bytes.get(self.at).copied().ok_or_else(|| self.ended())
    }

    fn take(&mut self) -> Result<u8, Problem> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Problem> {
        self.slice(SIZE).map(fixed)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let slice = self.bytes[self.at..].get(..length).ok_or_else(|| self.ended())?;
        self.at += length;
        Ok(slice)
    }

    fn ended(&self) -> Problem {
        self.problem("the document ends too early")
    }

    fn problem(&self, reason: impl Into<String>) -> Problem {
        Problem::new(format!("byte {}", self.at), reason)
    }
}

fn fixed<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    bytes.try_into().expect("as many bytes as were asked for")
}

#[cfg(test)]
mod tests;
