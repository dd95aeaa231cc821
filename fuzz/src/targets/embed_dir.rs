//! Directories of models that embed.
//!
//! Each is refused in words, or takes no more memory than its files are worth. A text then has one
//! vector, alone and beside others, or is refused in words.
//!
//! The first line of an input names the directory to begin with (`static`, `encoder` or another).
//! Files follow that replace or join its own, each behind a line `@@NAME`.

use std::fs;
use std::path::Path;

use models::{EmbedOptions, EmbedScratch, Embedder, Error, Precision};
use tempfile::TempDir;

use super::settings;

pub(super) const TOKENS: &[&str] = &[
    "static\n",
    "encoder\n",
    "\n@@config.json\n",
    "\n@@modules.json\n",
    "\n@@1_Pooling/config.json\n",
    "\n@@tokenizer.json\n",
    "\n@@sentence_bert_config.json\n",
    "\n@@tokenizer_config.json\n",
    "\n@@model.safetensors\n",
    "\"model_type\":\"model2vec\"",
    "\"hidden_size\":",
    "\"num_attention_heads\":",
    "\"hidden_act\":\"gelu\"",
    "\"layer_norm_eps\":",
    "\"max_seq_length\":",
    "\"pooling_mode_cls_token\":true",
    "\"type\":\"sentence_transformers.models.Pooling\"",
    "\"path\":\"..\"",
    "\"normalizer\":null",
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[",
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"a\"}",
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a*)*\"},\"content\":\"\"}",
    "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"lowercase\":true}",
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true}",
    "\"pre_tokenizer\":{\"type\":\"Whitespace\"}",
    "\"post_processor\":null",
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}",
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"]]}",
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",-1.0]]}",
    "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}",
    "\"max_input_chars_per_word\":",
    "\"continuing_subword_prefix\":\"\"",
    "\"added_tokens\":[{\"id\":0,\"content\":\"a\",\"single_word\":false,\"lstrip\":false,",
    "1e30",
    "-1",
    "16777216",
];

/// A directory to begin with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Base {
    Static,
    Encoder,
    Empty,
}

/// Of the small encoder that the corpus of `safetensors` holds.
pub(super) const SMALL_CONFIG: &[u8] = br#"{"model_type":"bert","hidden_size":2,
    "num_attention_heads":1,"num_hidden_layers":1,"intermediate_size":3,"hidden_act":"gelu",
    "max_position_embeddings":8,"type_vocab_size":1,"vocab_size":21}"#;

type File<'a> = (&'a str, &'a [u8]);

macro_rules! golden {
    ($file:literal) => {
        include_bytes!(concat!("../../../crates/models/golden/embeddings/", $file)).as_slice()
    };
}

const STATIC: [File<'_>; 3] = [
    ("config.json", golden!("static/config.json")),
    ("tokenizer.json", golden!("static/tokenizer.json")),
    ("model.safetensors", golden!("static/model.safetensors")),
];
const ENCODER: [File<'_>; 6] = [
    ("config.json", golden!("most/config.json")),
    ("modules.json", golden!("most/modules.json")),
    ("1_Pooling/config.json", golden!("most/1_Pooling/config.json")),
    ("sentence_bert_config.json", golden!("most/sentence_bert_config.json")),
    ("tokenizer.json", golden!("most/tokenizer.json")),
    ("model.safetensors", golden!("most/model.safetensors")),
];
const NAMES: [&str; 7] = [
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "model.safetensors",
];

const TEXTS: [&str; 5] = [
    "The dog walks, the dog walks.",
    "",
    "caf\u{e9} \u{72ac}\u{72ac} [MASK]a\0\u{301}",
    "dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Bytes of memory for one of a file: of a byte a float is made, and a single output is packed as
/// 48 of them.
const WORTH: usize = 4 * 48;

pub(super) fn run(input: &[u8]) {
    let (base, rest) = settings(input);
    let base = match base {
        b"static" => Base::Static,
        b"encoder" => Base::Encoder,
        _ => Base::Empty,
    };
    check(base, &files(rest));
}

/// The files of an input; what has no name that is read is left out.
fn files(mut rest: &[u8]) -> Vec<File<'_>> {
    let mut files = Vec::new();
    while let Some((name, after)) = rest.strip_prefix(b"@@").map(settings) {
        let end = after.windows(3).position(|three| three == b"\n@@").unwrap_or(after.len());
        if let Some(name) = NAMES.iter().find(|known| known.as_bytes() == name) {
            files.push((*name, &after[..end]));
        }
        rest = after.get(end + 1..).unwrap_or_default();
    }
    files
}

/// Loads a directory of these files in every precision, and embeds with it.
pub(super) fn check(base: Base, files: &[File<'_>]) {
    let base: &[File<'_>] = match base {
        Base::Static => &STATIC,
        Base::Encoder => &ENCODER,
        Base::Empty => &[],
    };
    let dir = temporary_dir();
    let mut bytes = 0;
    fs::create_dir(dir.path().join("1_Pooling")).expect("a directory can be made");
    for (name, content) in base.iter().chain(files) {
        fs::write(dir.path().join(name), content).expect("a file can be written");
        bytes += content.len();
    }
    for precision in [Precision::Single, Precision::Bf16, Precision::Int8] {
        match Embedder::load(dir.path(), precision) {
            Ok(embedder) => {
                let taken = embedder.about().bytes;
                assert!(taken <= WORTH * bytes, "{taken} bytes of memory for {bytes} of files");
                embed(&embedder);
            }
            Err(Error::Model(problems)) => {
                assert!(!problems.is_empty(), "refused without a word");
                let shown = problems[0].to_string();
                let path = dir.path().to_string_lossy();
                assert!(!shown.contains(&*path), "tells where the directory is: {shown}");
                return;
            }
            Err(error) => panic!("loading a directory fails as {error:?}"),
        }
    }
}

fn embed(embedder: &Embedder) {
    let dims = embedder.about().dims;
    let options = EmbedOptions::default();
    let mut scratch = EmbedScratch::default();
    let mut alone = Vec::new();
    let mut embedded = Vec::new();
    for text in TEXTS {
        let mut vector = vec![0.0; dims];
        match embedder.embed(&[text], options, &mut scratch, &mut vector) {
            Ok(()) => {
                assert!(vector.iter().all(|number| number.is_finite()), "{text:?}: {vector:?}");
                embedded.push(text);
                alone.extend(vector.into_iter().map(f32::to_bits));
            }
            Err(Error::Text { reason, .. }) => {
                assert!(!reason.is_empty(), "refused without a word")
            }
            Err(error) => panic!("embedding fails as {error:?}"),
        }
    }
    let mut together = vec![0.0; embedded.len() * dims];
    let done = embedder.embed(&embedded, options, &mut scratch, &mut together);
    done.expect("each of them was embedded alone");
    let together: Vec<u32> = together.into_iter().map(f32::to_bits).collect();
    assert_eq!(together, alone, "a text depends on those beside it");
}

/// In memory where there is such a place: a directory is made for every input.
fn temporary_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.expect("a directory can be made")
}
