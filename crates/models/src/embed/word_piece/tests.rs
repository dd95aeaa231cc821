//! The short way beside the crate's, over texts with everything that parts the two.

use std::path::Path;

use super::super::model_dir::ModelDir;
use super::super::tokenizer::{TokenLimit, Tokenizer};
use super::super::tokens::Tokens;
use super::*;

fn golden() -> ModelDir {
    ModelDir::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/embeddings/mean"))
}

fn crate_of_theirs() -> tokenizers::Tokenizer {
    let bytes = golden().read("tokenizer.json", 1 << 20).unwrap().unwrap();
    let mut theirs = tokenizers::Tokenizer::from_bytes(bytes).unwrap();
    theirs.with_padding(None).with_truncation(None).unwrap();
    theirs
}

/// Texts of all that the two ways could see differently.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "The dog walks.",
        "the\tDOG\r\nwalking!,.!",
        "a\u{b}dog a\u{c}dog a\u{0}dog\u{7f}s\u{1f}s",
        "a\u{85}dog a\u{a0}dog a\u{2028}dog a\u{3000}dog",
        "café CAFE\u{301} cafe\u{301}\u{327}s \u{301}dog dog \u{301} s",
        "犬dog犬 犬犬 dog犬s \u{20000}dog",
        "dog\u{200b}s dog\u{ad}s \u{feff}dog \u{fffd}dog",
        "[MASK] the [CLS]dog[SEP] [mask] [UNK]",
        "dog [MASK",
        "İstanbul ΣΑΣ ß DOG",
        "“dog”—cat…",
        "🐕 dog🐕cat",
        "##s dog##s # ##",
        "walkss walkingxs walks",
    ]
    .map(str::to_owned)
    .into();
    for count in [99, 100, 101, 255, 256, 300] {
        texts.push("a".repeat(count));
        texts.push(format!("{}é", "a".repeat(count)));
        texts.push(format!("{}\u{0}", "walk".repeat(count)));
    }
    let parts = ["dog", " ", "é", "s", ".", "[MASK]", "犬", "\u{301}", "[", "\t", "Walk", "ing"];
    let mut state = 1_u32;
    for length in 0..400 {
        let mut text = String::new();
        for _ in 0..length % 12 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push_str(parts[(state >> 16) as usize % parts.len()]);
        }
        texts.push(text);
    }
    texts
}

#[test]
fn both_ways_give_the_same_tokens() {
    let tokenizer = Tokenizer::read(&golden(), 64).unwrap();
    let theirs = crate_of_theirs();
    let wanted = TokenLimit { tokens_max: usize::MAX, truncate: true };
    for text in texts() {
        let mut tokens = Tokens::default();
        tokenizer.add(&text, wanted, &mut tokens).unwrap();
        let encoding = theirs.encode_fast(text.as_str(), true).unwrap();
        assert_eq!(tokens.of(0), encoding.get_ids(), "{text:?}");
    }
}

#[test]
fn plain_ascii_never_goes_the_long_way() {
    let bytes = golden().read("tokenizer.json", 1 << 20).unwrap().unwrap();
    let plan: TokenizerFile = serde_json::from_slice(&bytes).unwrap();
    let pieces = WordPiece::of(&plan, || crate_of_theirs().get_vocab(false)).unwrap();
    let mut numbers = Vec::new();
    let other = |part: &str, _: &mut Vec<u32>| Err(part.to_owned());
    assert_eq!(pieces.add("The dog [walks]!", 99, &mut numbers, other), Ok(true));
    assert_eq!(pieces.add("dog [MASK]", 99, &mut numbers, other), Ok(false));
    assert_eq!(pieces.add("dog café", 99, &mut numbers, other), Err("café".to_owned()));
}

#[test]
fn other_tokenizers_have_no_short_way() {
    let bytes = golden().read("tokenizer.json", 1 << 20).unwrap().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    for (from, to) in [
        ("BertNormalizer", "Sequence"),
        ("BertPreTokenizer", "Whitespace"),
        ("\"WordPiece\"", "\"Unigram\""),
        ("\"normalized\": false", "\"normalized\": true"),
        ("\"clean_text\": true", "\"clean_text\": false"),
        ("\"max_input_chars_per_word\": 100", "\"max_input_chars_per_word\": 1000"),
    ] {
        assert!(text.contains(from), "{from}");
        let plan: TokenizerFile = serde_json::from_str(&text.replace(from, to)).unwrap();
        assert!(WordPiece::of(&plan, || crate_of_theirs().get_vocab(false)).is_none(), "{to}");
    }
}
