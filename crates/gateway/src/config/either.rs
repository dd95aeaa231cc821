//! Reads the keys whose value is text or a larger form: `compress` (a table), `to` and
//! `personalise.user` (lists).
//!
//! Invariant: an error inside the larger form names its key. serde's `untagged` would lose it: it
//! says only that no variant matches. A value of another type is an error that names both forms. A
//! new key of this kind also needs its type in `config`, with `#[schemars(untagged)]` for the
//! reference. Never here: the types themselves (`config`), checks of the values (`plan::check`).

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{CompressConfig, ToConfig, UserConfig};

impl<'de> Deserialize<'de> for CompressConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CompressVisitor)
    }
}

struct CompressVisitor;

impl<'de> Visitor<'de> for CompressVisitor {
    type Value = CompressConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"on\", \"off\" or a table such as `{ encodings = [\"gzip\"] }`")
    }

    fn visit_str<E>(self, text: &str) -> Result<CompressConfig, E> {
        Ok(CompressConfig::Switch(text.to_owned()))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<CompressConfig, M::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(map)).map(CompressConfig::Rules)
    }
}

impl<'de> Deserialize<'de> for ToConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToVisitor)
    }
}

struct ToVisitor;

impl<'de> Visitor<'de> for ToVisitor {
    type Value = ToConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text such as \"upstream:NAME\", or a list of `{ to = …, share = … }`")
    }

    fn visit_str<E>(self, text: &str) -> Result<ToConfig, E> {
        Ok(ToConfig::One(text.to_owned()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<ToConfig, S::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(ToConfig::Shared)
    }
}

impl<'de> Deserialize<'de> for UserConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UserVisitor)
    }
}

struct UserVisitor;

impl<'de> Visitor<'de> for UserVisitor {
    type Value = UserConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text such as \"cookie:userId\", or a list of these")
    }

    fn visit_str<E>(self, text: &str) -> Result<UserConfig, E> {
        Ok(UserConfig::One(text.to_owned()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<UserConfig, S::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(UserConfig::Any)
    }
}
