//! Parses a user's profile from the file's `data` column, and holds what a model reads from it.
//!
//! The column is one JSON object. Every finite number outside lists becomes a feature under its
//! dotted path, and so does every boolean (1 or 0) and every text. So
//! `{"affinity":{"b":0.61},"reads":12,"plan":"free"}` gives `affinity.b`, `reads` and `plan`.
//! `recent` at the top is the list of ids most recently read, newest first. All else is skipped.
//! Invariant: bad input is an error and never a panic. Text that is no JSON object is an error, and
//! so is a `recent` that is no list of texts and whole numbers. So are more than 64 KiB, and more
//! than four levels of objects. The caller then takes the profile for empty (`file.rs`).
//! Models name features by these paths, after `user.`. So another way to make paths needs models
//! trained anew. `serving::ranking` reads the features and `recent`; docs/operating/profiles.md
//! says what others may write. Names, texts and ids lie end to end in buffers: every
//! personalised answer parses, with few allocations.
//! Never here: how data is made (`builder/data.rs`).

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The longest `data` that is parsed; a profile is a summary, not a history.
pub(crate) const DATA_BYTES_MAX: usize = 64 * 1024;

/// How deep objects may lie in one another.
const DEPTH_MAX: usize = 4;

/// What is known about a user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    names: String,
    features: Vec<(u32, f64)>,
    /// Names and texts by turns, end to end, and where each of both ends.
    texts: String,
    text_ends: Vec<(u32, u32)>,
    ids: String,
    id_ends: Vec<u32>,
}

/// The `data` column does not hold a profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// More than [`DATA_BYTES_MAX`] bytes.
    #[error("read the profile: {0} bytes, more than {DATA_BYTES_MAX}")]
    TooLong(usize),
    /// Not a JSON object, or nested too deep.
    #[error("read the profile")]
    Json(#[source] serde_json::Error),
}

impl Profile {
    /// Returns the profile that `data` holds.
    ///
    /// # Errors
    /// When `data` is too long or no JSON object: the user then counts as one without data.
    pub fn parse(data: &[u8]) -> Result<Self, ProfileError> {
        if data.len() > DATA_BYTES_MAX {
            return Err(ProfileError::TooLong(data.len()));
        }
        let mut profile = Self::default();
        let mut json = serde_json::Deserializer::from_slice(data);
        let mut path = String::new();
        ObjectVisitor { profile: &mut profile, path: &mut path, depth: 0 }
            .deserialize(&mut json)
            .and_then(|()| json.end())
            .map_err(ProfileError::Json)?;
        Ok(profile)
    }

    /// Returns every number with its dotted path, in the order of the file; true and false are 1
    /// and 0.
    pub fn features(&self) -> impl Iterator<Item = (&str, f64)> {
        let mut start = 0;
        self.features.iter().map(move |(end, value)| {
            let name = &self.names[start..*end as usize];
            start = *end as usize;
            (name, *value)
        })
    }

    /// Returns every text with its dotted path, in the order of the file.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.text_ends.iter().map(move |(name_end, text_end)| {
            let (name_end, text_end) = (*name_end as usize, *text_end as usize);
            let pair = (&self.texts[start..name_end], &self.texts[name_end..text_end]);
            start = text_end;
            pair
        })
    }

    /// Returns the number at the dotted path `name`.
    pub fn feature(&self, name: &str) -> Option<f64> {
        self.features().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// Returns the share of the user's reads per category; together about 1.
    pub fn affinity(&self) -> impl Iterator<Item = (&str, f64)> {
        self.features().filter_map(|(name, share)| Some((name.strip_prefix("affinity.")?, share)))
    }

    /// Returns the ids most recently read, newest first.
    pub fn recent(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.id_ends.iter().map(move |end| {
            let id = &self.ids[start..*end as usize];
            start = *end as usize;
            id
        })
    }

    fn push_feature(&mut self, path: &str, value: f64) {
        if value.is_finite() {
            self.names.push_str(path);
            self.features.push((self.names.len() as u32, value));
        }
    }

    fn push_text(&mut self, path: &str, text: &str) {
        self.texts.push_str(path);
        let name_end = self.texts.len() as u32;
        self.texts.push_str(text);
        self.text_ends.push((name_end, self.texts.len() as u32));
    }

    fn push_id(&mut self, id: fmt::Arguments<'_>) {
        use fmt::Write as _;
        self.ids.write_fmt(id).expect("writing to a string succeeds");
        self.id_ends.push(self.ids.len() as u32);
    }
}

/// An object whose dotted path so far is `path`.
struct ObjectVisitor<'p> {
    profile: &'p mut Profile,
    path: &'p mut String,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        if self.depth == DEPTH_MAX {
            return Err(M::Error::custom("objects lie too deep"));
        }
        let outer = self.path.len();
        while map.next_key_seed(KeyVisitor(self.path))?.is_some() {
            if self.path == "recent" {
                map.next_value_seed(RecentVisitor(self.profile))?;
            } else {
                let (profile, path) = (&mut *self.profile, &mut *self.path);
                map.next_value_seed(ValueVisitor(ObjectVisitor {
                    profile,
                    path,
                    depth: self.depth + 1,
                }))?;
            }
            self.path.truncate(outer);
        }
        Ok(())
    }
}

/// A key, appended to the path.
struct KeyVisitor<'p>(&'p mut String);

impl<'de> DeserializeSeed<'de> for KeyVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<(), E> {
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.0.push_str(name);
        Ok(())
    }
}

/// A value: a number, a boolean or a text is a feature, an object holds more of them, the rest is
/// skipped.
struct ValueVisitor<'p>(ObjectVisitor<'p>);

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.0.profile.push_feature(self.0.path, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.0.profile.push_feature(self.0.path, value as f64);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.0.profile.push_feature(self.0.path, value as f64);
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<(), M::Error> {
        self.0.visit_map(map)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.0.profile.push_feature(self.0.path, value.into());
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.profile.push_text(self.0.path, text);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// The list of recent ids; ids may be texts or whole numbers.
struct RecentVisitor<'p>(&'p mut Profile);

impl<'de> DeserializeSeed<'de> for RecentVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for RecentVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of ids")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<(), S::Error> {
        while seq.next_element_seed(IdVisitor(self.0))?.is_some() {}
        Ok(())
    }
}

struct IdVisitor<'p>(&'p mut Profile);

impl<'de> DeserializeSeed<'de> for IdVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for IdVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_str<E>(self, id: &str) -> Result<(), E> {
        self.0.push_id(format_args!("{id}"));
        Ok(())
    }

    fn visit_u64<E>(self, id: u64) -> Result<(), E> {
        self.0.push_id(format_args!("{id}"));
        Ok(())
    }

    fn visit_i64<E>(self, id: i64) -> Result<(), E> {
        self.0.push_id(format_args!("{id}"));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
