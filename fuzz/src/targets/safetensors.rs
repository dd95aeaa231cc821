//! Files of tensors, in the directory of a table and in that of a small encoder.
//!
//! Each is refused in words, or takes no more memory than the file is worth.

use super::embed_dir::{self, Base, SMALL_CONFIG};

pub(super) const TOKENS: &[&str] = &[
    "\"embeddings\":{\"dtype\":\"I8\",\"shape\":[21,2],\"data_offsets\":[0,42]}",
    "\"mapping\":{",
    "\"weights\":{",
    "\"dtype\":\"F64\"",
    "\"dtype\":\"F32\"",
    "\"dtype\":\"F16\"",
    "\"dtype\":\"BF16\"",
    "\"dtype\":\"I64\"",
    "\"shape\":[",
    "\"data_offsets\":[0,",
    "18446744073709551615",
    "9223372036854775807",
    "[21,2]",
    "[]",
    "encoder.layer.0.",
    "LayerNorm.gamma",
    "LayerNorm.beta",
    "\"__metadata__\":{}",
    "\u{1}\0\0\0\0\0\0\0",
];

pub(super) fn run(input: &[u8]) {
    embed_dir::check(Base::Static, &[("model.safetensors", input)]);
    let files = [("model.safetensors", input), ("config.json", SMALL_CONFIG)];
    embed_dir::check(Base::Encoder, &files);
}
