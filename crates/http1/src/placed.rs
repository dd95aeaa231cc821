//! Looks up the fields of a head in the bytes that were received, without a copy.
//!
//! Invariant: places lie within the bytes that they were found in; `request::parse` makes them.
//! Names are compared in any case. Never here: what a field means, and which heads are refused
//! (`request`).

/// Start and length of a field's name and value in the bytes of the head.
#[derive(Debug, Clone, Copy)]
pub struct FieldPlace {
    pub(crate) name: (u32, u16),
    pub(crate) value: (u32, u32),
}

/// The fields of a head, in the order sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlacedFields<'b> {
    /// The bytes of the head.
    pub bytes: &'b [u8],
    /// Where its fields are.
    pub places: &'b [FieldPlace],
}

impl<'b> PlacedFields<'b> {
    /// Returns every value of the field `name` (lower case).
    pub(crate) fn all<'n>(
        self,
        name: &'n str,
    ) -> impl DoubleEndedIterator<Item = &'b [u8]> + use<'b, 'n> {
        self.places.iter().filter_map(move |field| {
            let (start, length) = field.name;
            if usize::from(length) != name.len() {
                return None;
            }
            let sent = &self.bytes[start as usize..start as usize + name.len()];
            sent.eq_ignore_ascii_case(name.as_bytes()).then(|| self.value(field))
        })
    }

    /// Returns every field, name as sent.
    pub(crate) fn each(self) -> impl Iterator<Item = (&'b str, &'b [u8])> + use<'b> {
        self.places.iter().map(move |field| {
            let (start, length) = field.name;
            let name = &self.bytes[start as usize..start as usize + usize::from(length)];
            (std::str::from_utf8(name).unwrap_or(""), self.value(field))
        })
    }

    fn value(self, field: &FieldPlace) -> &'b [u8] {
        let (start, length) = field.value;
        &self.bytes[start as usize..(start + length) as usize]
    }
}
