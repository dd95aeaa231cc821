//! Reads one generation of a model of texts: the embedder, its version, an empty cache.
//!
//! Only the file with the weights is watched, so it is to be put in place last. The others are read
//! with it; a change of theirs alone is not noticed. The version is a digest of the weights alone,
//! unless the plan has one: after other changes `answer_cache.rs` gives old answers.
//! Invariant: what is returned has passed its check, and the files of `BESIDE` did not change while
//! they were read. Further files that `models::Embedder` reads, such as `tokenizer_config.json`,
//! are not compared. `generation::Watched` sees to the weights.
//! Also here: what the cache knows of a text. Where texts may not be cut, one that may have been
//! cut counts as unknown. What `models::Embedder` cuts and `is_whole` must agree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use generation::FileVersion;
use models::{Embedder, EmbedderKind};
use stdx::plain_file;

use super::cache::{KnownVector, TextKey, VectorCache};
use crate::config::TextPlan;
use crate::digest::digest;
use crate::error::LoadError;

/// Called with a freshly read model and its version before it is put to use; an error refuses it.
pub(crate) type GoldenCheck = Arc<dyn Fn(&Embedder, &str) -> Result<(), String> + Send + Sync>;

/// Files that belong to the weights, where they are there.
const BESIDE: [&str; 4] =
    ["config.json", "tokenizer.json", "modules.json", "1_Pooling/config.json"];

/// A model of texts, ready to embed.
#[derive(Debug)]
pub(crate) struct EmbeddingGeneration {
    pub(crate) embedder: Embedder,
    /// As the configuration says, or sixteen hexadecimal digits that tell its weights from others.
    pub(crate) version: String,
    pub(super) cache: VectorCache,
}

/// Tokens of an encoder that are a batch: more at once are no faster, and others wait for it.
const ENCODER_TOKENS_MAX: usize = 256;

impl EmbeddingGeneration {
    /// Whether a batch takes more than a few milliseconds.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.embedder.about().kind, EmbedderKind::Encoder { .. })
    }

    /// Returns how many tokens go together, of at most so many.
    pub(super) fn batch_tokens(&self, most: usize) -> usize {
        if self.is_slow() { most.min(ENCODER_TOKENS_MAX) } else { most }
    }

    /// Reads and checks a plan's folder.
    ///
    /// # Errors
    /// Whatever makes it unfit, with the folder or file.
    pub(super) fn load(plan: &TextPlan, check: &GoldenCheck) -> Result<Self, LoadError> {
        let dir = &plan.dir;
        let sources = sources(dir);
        let embedder = Embedder::load(dir, plan.precision)
            .map_err(|source| LoadError::Invalid { path: dir.clone(), source })?;
        let version = match &plan.version {
            Some(version) => version.clone(),
            None => version_of(&Embedder::weights(dir))?,
        };
        check(&embedder, &version)
            .map_err(|reason| LoadError::Check { path: dir.clone(), reason })?;
        if sources != self::sources(dir) {
            return Err(LoadError::Changed { path: dir.clone() });
        }
        let cache = VectorCache::new(plan.cache_bytes, embedder.about().dims);
        Ok(Self { embedder, version, cache })
    }
}

impl EmbeddingGeneration {
    /// Returns the key of a text, and its vector if it is remembered. Where the text may not be
    /// cut, one that may have been is not returned: its tokens are made again, and tell.
    pub(super) fn known(&self, text: &str, truncate: bool) -> (TextKey, Option<KnownVector>) {
        let key = self.cache.key(text);
        let known = self.cache.get(key).filter(|known| truncate || self.is_whole(text, known));
        (key, known)
    }

    fn is_whole(&self, text: &str, known: &KnownVector) -> bool {
        let about = self.embedder.about();
        let is_short = text.len() <= Embedder::TEXT_BYTES_MAX;
        let always_cut = about.kind == EmbedderKind::Static;
        always_cut || (is_short && (known.tokens as usize) < about.tokens_max)
    }
}

fn sources(dir: &Path) -> [Option<FileVersion>; BESIDE.len()] {
    BESIDE.map(|name| FileVersion::at(&dir.join(name)).ok())
}

fn version_of(path: &Path) -> Result<String, LoadError> {
    let digest = plain_file::open(path).and_then(digest);
    digest.map_err(|source| LoadError::Io { path: PathBuf::from(path), source })
}
