//! Embeds or groups the lines of a file, for `tidegate model embed` and `tidegate model cluster`.
//!
//! Each line is a text, the output JSON. Lines are read in blocks, and a thread for each core
//! embeds a part of a block. Texts with too many tokens are cut. Grouping leaves out empty lines;
//! embedding does not.
//!
//! Bounds: a line of more than 1 MiB is an error. `embed_lines` holds one block of about 8 MiB of
//! text at most. `cluster_lines` holds all sentences and vectors; more than
//! [`Clustering::ROWS_MAX`] are an error.
//! Groups are those of `/cluster`, but for rounding and the similarity: without a plan it is the
//! method's own. Scripts read the lines of `embed_lines`, so `text` and `embedding` must stay.
//! Elsewhere: grouping and its JSON (`clusters.rs`), numbers as JSON (`texts/vectors.rs`), the
//! server's batches (`texts/batcher.rs`).

use std::io::{BufRead, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use models::{Clustering, EmbedScratch, Embedder, Precision, Tokens};

use crate::clusters::{ClusterOptions, grouped};
use crate::error::LinesError;
use crate::json::push_text;
use crate::texts::write_numbers;

/// Bytes of a line.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Tokens that a thread embeds at once: enough to fill its vector units.
const PART_TOKENS: usize = 4096;

/// Bytes of text in a block.
const BLOCK_BYTES: usize = 8 << 20;

/// A directory with a model of texts, and what is computed in.
#[derive(Debug, Clone, Copy)]
pub struct ModelDir<'a> {
    pub path: &'a Path,
    pub precision: Precision,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinesDone {
    pub texts: usize,
    pub tokens: usize,
    /// Of the lines read, line breaks among them.
    pub bytes: usize,
}

/// Embeds each line, and writes a line `{"text":"…","embedding":[…]}` for it, the vector of length
/// 1. Calls `progress` after each block.
///
/// # Errors
/// The first trouble with the model's folder, a line, or the writer; blocks before it were written.
pub fn embed_lines(
    model: ModelDir<'_>,
    reader: impl BufRead,
    mut writer: impl Write,
    mut progress: impl FnMut(LinesDone),
) -> Result<LinesDone, LinesError> {
    let embedder = model.load()?;
    let dims = embedder.about().dims;
    let mut lines = LineReader { reader, line: 0 };
    let mut done = LinesDone::default();
    let mut out = Vec::new();
    while let Some(block) = Block::read(&mut lines, &embedder)? {
        let numbers = block.embed(&embedder)?;
        out.clear();
        for (text, numbers) in block.texts.iter().zip(numbers.chunks_exact(dims)) {
            out.extend_from_slice(b"{\"text\":");
            push_text(&mut out, text);
            out.extend_from_slice(b",\"embedding\":");
            write_numbers(&mut out, numbers);
            out.extend_from_slice(b"}\n");
        }
        writer.write_all(&out).map_err(|source| LinesError::Write { source })?;
        done.add(&block);
        progress(done);
    }
    writer.flush().map_err(|source| LinesError::Write { source })?;
    Ok(done)
}

/// Groups the lines that are not empty, and writes what `POST /cluster` answers, and a newline.
///
/// # Errors
/// The first trouble with the model's folder, a line, the settings, or the writer.
pub fn cluster_lines(
    model: ModelDir<'_>,
    options: ClusterOptions,
    reader: impl BufRead,
    mut writer: impl Write,
    mut progress: impl FnMut(LinesDone),
) -> Result<LinesDone, LinesError> {
    let embedder = model.load()?;
    let mut lines = LineReader { reader, line: 0 };
    let mut done = LinesDone::default();
    let (mut sentences, mut values) = (Vec::new(), Vec::new());
    while let Some(block) = Block::read(&mut lines, &embedder)? {
        let numbers = block.embed(&embedder)?;
        done.add(&block);
        let rows = block.texts.into_iter().zip(numbers.chunks_exact(embedder.about().dims));
        for (text, numbers) in rows.filter(|(text, _)| !text.is_empty()) {
            sentences.push(text);
            values.extend_from_slice(numbers);
        }
        if sentences.len() > Clustering::ROWS_MAX {
            let reason = format!("is one too many; at most {} are grouped", Clustering::ROWS_MAX);
            return Err(LinesError::Line { line: lines.line, reason });
        }
        progress(done);
    }
    let kind = embedder.about().kind;
    let options = options.clustering(sentences.len(), kind, |_| None);
    let mut answer = grouped(&sentences, &values, embedder.about().dims, options)
        .map_err(|source| LinesError::Group { source })?;
    answer.push(b'\n');
    let written = writer.write_all(&answer).and_then(|()| writer.flush());
    written.map_err(|source| LinesError::Write { source })?;
    Ok(done)
}

impl ModelDir<'_> {
    fn load(self) -> Result<Embedder, LinesError> {
        Embedder::load(self.path, self.precision)
            .map_err(|source| LinesError::Load { path: self.path.to_owned(), source })
    }
}

/// Lines that are embedded together.
struct Block {
    texts: Vec<String>,
    /// Texts one after the other, a part for each thread.
    parts: Vec<Tokens>,
}

impl Block {
    /// Reads as many lines as all cores have work with; `None` at the end.
    fn read(
        lines: &mut LineReader<impl BufRead>,
        embedder: &Embedder,
    ) -> Result<Option<Self>, LinesError> {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut block = Self { texts: Vec::new(), parts: vec![Tokens::default()] };
        let mut bytes = 0;
        while bytes < BLOCK_BYTES {
            if block.last().total() >= PART_TOKENS {
                if block.parts.len() == cores {
                    break;
                }
                block.parts.push(Tokens::default());
            }
            let Some(text) = lines.next()? else { break };
            embedder.tokenize(&text, true, block.last()).map_err(|error| LinesError::Line {
                line: lines.line,
                reason: format!("is no text: {error}"),
            })?;
            bytes += text.len();
            block.texts.push(text);
        }
        Ok(Some(block).filter(|block| !block.texts.is_empty()))
    }

    /// Returns the vectors of all texts.
    fn embed(&self, embedder: &Embedder) -> Result<Vec<f32>, LinesError> {
        let dims = embedder.about().dims;
        let mut numbers = vec![0.0; self.texts.len() * dims];
        let embedded = thread::scope(|scope| {
            let mut rest = &mut numbers[..];
            let mut threads = Vec::new();
            for part in &self.parts {
                let (out, behind) = rest.split_at_mut(part.len() * dims);
                rest = behind;
                threads.push(scope.spawn(move || {
                    embedder.embed_tokens(part, Some(true), &mut EmbedScratch::default(), out)
                }));
            }
            let ended = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().try_for_each(ended)
        });
        embedded.map(|()| numbers).map_err(|source| LinesError::Embed { source })
    }

    fn last(&mut self) -> &mut Tokens {
        self.parts.last_mut().expect("a block has a part from the start")
    }
}

/// Reads lines, and counts them.
struct LineReader<R> {
    reader: R,
    line: usize,
}

impl<R: BufRead> LineReader<R> {
    fn next(&mut self) -> Result<Option<String>, LinesError> {
        let mut bytes = Vec::new();
        let mut bounded = (&mut self.reader).take(LINE_BYTES_MAX as u64 + 1);
        let line = self.line + 1;
        let read = bounded.read_until(b'\n', &mut bytes);
        if read.map_err(|source| LinesError::Read { line, source })? == 0 {
            return Ok(None);
        }
        self.line = line;
        let wrong = |reason: &str| LinesError::Line { line, reason: reason.to_owned() };
        if bytes.len() > LINE_BYTES_MAX {
            return Err(wrong("has more than 1 MiB"));
        }
        let mut text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8"))?;
        text.truncate(text.trim_end_matches(['\n', '\r']).len());
        Ok(Some(text))
    }
}

impl LinesDone {
    fn add(&mut self, block: &Block) {
        self.texts += block.texts.len();
        self.bytes += block.texts.iter().map(|text| text.len() + 1).sum::<usize>();
        self.tokens += block.parts.iter().map(Tokens::total).sum::<usize>();
    }
}

#[cfg(test)]
mod tests;
