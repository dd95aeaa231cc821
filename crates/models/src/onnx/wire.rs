//! Reads the wire format of Protocol Buffers (protobuf.dev, "Encoding") where it lies.
//!
//! A message is a piece of the file, and its fields are found as they are asked for, in the order
//! of the file. What a field's number means is in `file.rs` and `attributes.rs`.
//!
//! Invariant: nothing is read outside a message. Reading allocates nothing but the numbers of a
//! list, each of which takes at least a byte of the file. Damage is an error with the byte, and
//! ends the message. A value of another wire type than wanted is an error without a place.
//! Refuses: groups, which no file of ONNX holds, unknown wire types, and field 0.

use crate::error::Problem;

/// A message, or a text or bytes: what stands between two places of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    pub(super) bytes: &'a [u8],
    /// The place of the first byte in the file.
    start: usize,
}

/// A field's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(Message<'a>),
}

/// Fields of a message with their numbers, in order.
#[derive(Debug)]
pub(super) struct MessageFields<'a> {
    message: Message<'a>,
    at: usize,
}

impl<'a> Message<'a> {
    pub(super) fn of_file(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0 }
    }

    pub(super) fn fields(self) -> MessageFields<'a> {
        MessageFields { message: self, at: 0 }
    }

    pub(super) fn text(self) -> Result<&'a str, Problem> {
        str::from_utf8(self.bytes)
            .map_err(|error| problem(self.start + error.valid_up_to(), "is not UTF-8"))
    }
}

impl<'a> Wire<'a> {
    pub(super) fn message(self) -> Result<Message<'a>, Problem> {
        match self {
            Self::Bytes(message) => Ok(message),
            _ => Err(Problem::new("model", "holds a number where a message must be")),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, Problem> {
        self.message()?.text()
    }

    pub(super) fn integer(self) -> Result<i64, Problem> {
        match self {
            Self::Varint(number) => Ok(number as i64),
            _ => Err(Problem::new("model", "holds something else where an integer must be")),
        }
    }

    pub(super) fn float(self) -> Result<f32, Problem> {
        match self {
            Self::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err(Problem::new("model", "holds something else where a float must be")),
        }
    }

    /// Adds an integer, or all of a packed list.
    pub(super) fn integers_into(self, list: &mut Vec<i64>) -> Result<(), Problem> {
        let Self::Bytes(message) = self else {
            list.push(self.integer()?);
            return Ok(());
        };
        let mut fields = message.fields();
        while fields.at < message.bytes.len() {
            list.push(fields.varint()? as i64);
        }
        Ok(())
    }

    /// Adds a float, or all of a packed list.
    pub(super) fn floats_into(self, list: &mut Vec<f32>) -> Result<(), Problem> {
        let Self::Bytes(message) = self else {
            list.push(self.float()?);
            return Ok(());
        };
        let (floats, rest) = message.bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(problem(message.start, "is no list of floats"));
        }
        list.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        Ok(())
    }

    /// Adds a double, or all of a packed list.
    pub(super) fn doubles_into(self, list: &mut Vec<f64>) -> Result<(), Problem> {
        let message = match self {
            Self::Fixed64(bits) => {
                list.push(f64::from_bits(bits));
                return Ok(());
            }
            other => other.message()?,
        };
        let (doubles, rest) = message.bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(problem(message.start, "is no list of doubles"));
        }
        list.extend(doubles.iter().map(|bytes| f64::from_le_bytes(*bytes)));
        Ok(())
    }
}

impl<'a> Iterator for MessageFields<'a> {
    type Item = Result<(u64, Wire<'a>), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.message.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.message.bytes.len();
        }
        Some(field)
    }
}

impl<'a> MessageFields<'a> {
    fn field(&mut self) -> Result<(u64, Wire<'a>), Problem> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            kind => return Err(self.problem(format!("wire type {kind} is not known"))),
        };
        match tag >> 3 {
            0 => Err(self.problem("field 0 does not exist".to_owned())),
            number => Ok((number, value)),
        }
    }

    fn varint(&mut self) -> Result<u64, Problem> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(self.problem("an integer is longer than 64 bits".to_owned()))
    }

    fn array<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], Problem> {
        let bytes = self.take(SIZE as u64)?.bytes;
        Ok(bytes.try_into().expect("as many bytes as were taken"))
    }

    fn take(&mut self, length: u64) -> Result<Message<'a>, Problem> {
        let rest = &self.message.bytes[self.at..];
        let bytes = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let Some(bytes) = bytes else {
            let reason = format!("{length} bytes were to follow, there are {}", rest.len());
            return Err(self.problem(reason));
        };
        let taken = Message { bytes, start: self.message.start + self.at };
        self.at += bytes.len();
        Ok(taken)
    }

    fn problem(&self, reason: String) -> Problem {
        problem(self.message.start + self.at, reason)
    }
}

fn problem(at: usize, reason: impl Into<String>) -> Problem {
    Problem::new(format!("byte {at}"), reason)
}

#[cfg(test)]
mod tests;
