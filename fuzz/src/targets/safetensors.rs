//! Files of tensors, in the folder of a table and in that of a small encoder: refused in words, or
//! taken for no more memory than the file is worth.

use super::embed_folder::{self, Base, SMALL_CONFIG};

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
    embed_folder::check(Base::Static, &[("model.safetensors", input)]);
    let files = [("model.safetensors", input), ("config.json", SMALL_CONFIG)];
    embed_folder::check(Base::Encoder, &files);
}
