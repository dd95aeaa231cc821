//! Sets what a request brings, user and context features, by name into numbered slots.
//!
//! Setting one text field fills all its one-hot slots: 1 for the text given, 0 for the others.
//! Names that the model does not read are ignored, because callers send one profile to many models.
//!
//! Invariant: a slot is NaN until it is set. NaN means absent, also where a caller sets it. An
//! absent slot counts as the model's `missing`.
//! Refuses, each as a [`RequestError`]: an infinite number under any name, a text for a number and
//! the reverse. Also a fraction for a whole number, and a slot set twice. Item features are ignored
//! like unknown names. `Overflow` and `Failed` come from `rank.rs`, because only scoring shows
//! them. The crate `serving` answers a body with the error's words and 400. Of a stored profile it
//! skips such features, and where scoring fails it ranks without any.

use std::collections::HashMap;

use crate::linear::{FeatureName, FeatureSource, Linear};

/// How features begin that say how much a user reads of a category, as profiles name them.
const AFFINITY: &str = "affinity.";

/// The features of a model that come with a request.
#[derive(Debug)]
pub struct Inputs {
    user: HashMap<Box<str>, InputField, foldhash::fast::RandomState>,
    context: HashMap<Box<str>, InputField, foldhash::fast::RandomState>,
    /// Bytes of the longest name of a field.
    name_bytes_max: usize,
    names: Vec<FeatureName>,
    missing: Vec<f64>,
    /// What whole numbers a slot takes, where it takes no others.
    bounds: Vec<Option<WholeBounds>>,
    /// Numbers that stand for texts, in models of texts.
    words: Words,
    /// Slots of `user.affinity`.
    affinity: Vec<usize>,
}

#[derive(Debug)]
enum InputField {
    Number(usize),
    Text(Vec<(Box<str>, usize)>),
    /// A text, as the number that stands for it.
    Word(usize),
}

/// A feature of requests, as a model reads it.
#[derive(Debug, Clone)]
pub(crate) struct InputSlot {
    pub(crate) name: FeatureName,
    /// Whether it is a text for which a number stands.
    pub(crate) is_word: bool,
    /// What it counts as where it is absent.
    pub(crate) missing: f64,
    /// The whole numbers that it takes, where it takes no others.
    pub(crate) bounds: Option<WholeBounds>,
}

/// The least and the largest whole number.
pub(crate) type WholeBounds = (f64, f64);

/// The texts that a model names, with the numbers that stand for them.
#[derive(Debug, Default)]
pub(crate) struct Words {
    numbers: HashMap<Box<str>, f64, foldhash::fast::RandomState>,
    /// What stands for any other text.
    unknown: f64,
}

impl Words {
    pub(crate) fn new<'t>(known: impl Iterator<Item = (&'t str, f64)>, unknown: f64) -> Self {
        Self { numbers: known.map(|(text, number)| (text.into(), number)).collect(), unknown }
    }

    pub(crate) fn number(&self, text: &str) -> f64 {
        self.numbers.get(text).copied().unwrap_or(self.unknown)
    }

    /// What stands for a text that is absent.
    pub(crate) fn absent(&self) -> f64 {
        self.unknown
    }
}

/// Why a request, or one feature of it, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("is not finite")]
    Infinite,
    #[error("must be a number, as the model has it")]
    WantsNumber,
    #[error("must be a text, as the model has it")]
    WantsText,
    #[error("must be a whole number that fits, as the model has it")]
    WantsWhole,
    #[error("is given twice")]
    Twice,
    /// Finite features whose weighted sum could leave the range of a double.
    #[error("user and context features are too large to score")]
    Overflow,
    /// The model gives no scores for these features.
    #[error("{0}")]
    Failed(String),
}

impl Inputs {
    pub(crate) fn of(model: &Linear) -> Self {
        let names = model.names().into_iter().filter(|name| name.source != FeatureSource::Item);
        let slot = |name: &FeatureName| InputSlot {
            name: name.clone(),
            is_word: false,
            missing: model.missing(name),
            bounds: None,
        };
        Self::of_slots(names.map(slot), Words::default())
    }

    /// Makes these slots, in order. A field is a number or a text, never both.
    pub(crate) fn of_slots(slots: impl Iterator<Item = InputSlot>, words: Words) -> Self {
        let mut inputs = Self {
            user: HashMap::default(),
            context: HashMap::default(),
            name_bytes_max: 0,
            names: Vec::new(),
            missing: Vec::new(),
            bounds: Vec::new(),
            words,
            affinity: Vec::new(),
        };
        slots.for_each(|slot| inputs.add(slot));
        inputs
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether the model reads nothing of a request.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the names by slot.
    pub fn names(&self) -> &[FeatureName] {
        &self.names
    }

    /// Whether the model reads the user's affinity, and none that it reads is known.
    pub fn lack_affinity(&self, slots: &[f64]) -> bool {
        !self.affinity.is_empty() && self.affinity.iter().all(|slot| slots[*slot].is_nan())
    }

    /// Makes `slots` ready for one request: all absent.
    pub fn clear(&self, slots: &mut Vec<f64>) {
        slots.clear();
        slots.resize(self.len(), f64::NAN);
    }

    /// Sets the number `field` (without its source: `affinity.b`), if the model reads it.
    ///
    /// # Errors
    /// Infinite, wrong kind, or set before: the request is at fault.
    pub fn set_number(
        &self,
        source: FeatureSource,
        field: &str,
        value: f64,
        slots: &mut [f64],
    ) -> Result<(), RequestError> {
        if value.is_infinite() {
            return Err(RequestError::Infinite);
        }
        match self.field(source, field) {
            None => Ok(()),
            Some(InputField::Text(_) | InputField::Word(_)) => Err(RequestError::WantsText),
            Some(InputField::Number(slot)) => match self.bounds[*slot] {
                Some((least, most)) if value.fract() != 0.0 || !(least..=most).contains(&value) => {
                    Err(RequestError::WantsWhole)
                }
                _ => set(slots, *slot, value),
            },
        }
    }

    /// Sets the text `field`, if the model reads it.
    ///
    /// # Errors
    /// Wrong kind, or set before: the request is at fault.
    pub fn set_text(
        &self,
        source: FeatureSource,
        field: &str,
        text: &str,
        slots: &mut [f64],
    ) -> Result<(), RequestError> {
        match self.field(source, field) {
            None => Ok(()),
            Some(InputField::Number(_)) => Err(RequestError::WantsNumber),
            Some(InputField::Word(slot)) => set(slots, *slot, self.words.number(text)),
            Some(InputField::Text(values)) => values
                .iter()
                .try_for_each(|(value, slot)| set(slots, *slot, f64::from(**value == *text))),
        }
    }

    /// Returns the value of a slot, `missing` where absent.
    #[inline]
    pub(crate) fn value(&self, slots: &[f64], slot: usize) -> f64 {
        match slots[slot] {
            absent if absent.is_nan() => self.missing[slot],
            value => value,
        }
    }

    pub(crate) fn slot(&self, name: &FeatureName) -> usize {
        let slot = self.names.iter().position(|known| known == name);
        slot.expect("every user and context feature of the model has a slot")
    }

    fn add(&mut self, InputSlot { name, is_word, missing, bounds }: InputSlot) {
        let slot = self.names.len();
        if name.source == FeatureSource::User && name.field.starts_with(AFFINITY) {
            self.affinity.push(slot);
        }
        self.missing.push(missing);
        self.bounds.push(bounds);
        let fields =
            if name.source == FeatureSource::User { &mut self.user } else { &mut self.context };
        self.name_bytes_max = self.name_bytes_max.max(name.field.len());
        let key = name.field.as_str().into();
        match (&name.equals, fields.get_mut(name.field.as_str())) {
            (Some(value), Some(InputField::Text(values))) => {
                values.push((value.as_str().into(), slot))
            }
            (Some(value), _) => {
                fields.insert(key, InputField::Text(vec![(value.as_str().into(), slot)]));
            }
            (None, _) => {
                let field = if is_word { InputField::Word(slot) } else { InputField::Number(slot) };
                fields.insert(key, field);
            }
        }
        self.names.push(name);
    }

    #[inline]
    fn field(&self, source: FeatureSource, field: &str) -> Option<&InputField> {
        // A longer one is no name, and to hash it for each leaf of a body would take for ever.
        if field.len() > self.name_bytes_max {
            return None;
        }
        match source {
            FeatureSource::User => self.user.get(field),
            FeatureSource::Context => self.context.get(field),
            FeatureSource::Item => None,
        }
    }
}

#[inline]
fn set(slots: &mut [f64], slot: usize, value: f64) -> Result<(), RequestError> {
    if !slots[slot].is_nan() {
        return Err(RequestError::Twice);
    }
    slots[slot] = value;
    Ok(())
}

#[cfg(test)]
mod tests;
