//! Compresses segments that the writer has left, and has `retention` delete old ones.
//!
//! A segment is compressed into a temporary file (`.zst.tmp`, which `open` removes after a crash),
//! which is synced and then renamed. Only then is the plain one removed: at every point one of the
//! two is complete. The frame has a checksum, by which `reader` notices damage, and a
//! seal behind it, by which it notices another place (`seal`).
//! Compression runs on a thread that gets only what the other threads leave of a core, and holds no
//! lock. Its stretches and rests were measured (docs/decisions/events.md).
//! Invariant: the newest segment is left alone.
//! A round runs at the start, when the writer has created a segment, and every 60 s (`bell`). A
//! failure becomes the upkeep alarm and is tried again in the next round. A closing journal breaks
//! a compression off.
//! Refuses: to say which segments are to go; [`crate::retention`] does.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use stdx::DiskFile;

use crate::backlog::Backlog;
use crate::bell::Bell;
use crate::dir::JournalDir;
use crate::health::Alarms;
use crate::retention::Retention;
use crate::seal;
use crate::segment::{FileReader, Form, Segment};

/// Bytes compressed at a stretch, about a third of a millisecond; then the thread rests as long.
/// A thread that runs when idle still gets a turn on a busy core now and then. Unless the turn ends
/// by itself it lasts until the next tick, milliseconds away.
const CHUNK_BYTES: usize = 64 << 10;
/// Level 3 is zstd's default: about a tenth of the size for journal lines at over 200 MB/s.
const LEVEL: i32 = 3;

/// Compresses and deletes segments of a journal.
pub(crate) struct Sealer {
    pub dir: Arc<JournalDir>,
    pub retention: Arc<Retention>,
    pub bell: Arc<Bell>,
    pub alarms: Arc<Alarms>,
    pub backlog: Arc<Backlog>,
}

impl Sealer {
    /// Runs until the journal closes.
    pub(crate) fn run(self) {
        loop {
            self.backlog.watch();
            let compressed = self.compress_sealed().map_err(|error| format!("compress: {error}"));
            // At the cap the next segment will not be made; the alarm says so before that.
            let room = self.retention.make_room(0);
            self.alarms.upkeep.set(compressed.and(room).err());
            self.backlog.watch();
            if !self.bell.wait() {
                return;
            }
        }
    }

    /// Compresses every plain segment but the newest, which may still grow.
    fn compress_sealed(&self) -> io::Result<()> {
        let segments = self.dir.segments()?;
        for pair in segments.windows(2) {
            if self.bell.is_closing() {
                return Ok(());
            }
            if pair[0].form == Form::Plain {
                self.compress(pair[0].start, pair[1].start)?;
            }
        }
        Ok(())
    }

    fn compress(&self, start: u64, end: u64) -> io::Result<()> {
        let disk = &*self.dir.disk;
        let plain = Segment::plain(start).path(self.dir.path());
        let compressed = Segment::compressed(start).path(self.dir.path());
        let temporary = compressed.with_extension("zst.tmp");
        let source = match disk.open_read(&plain) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let input = FileReader { file: source, at: 0 }.take(end - start);
        let target = disk.create(&temporary);
        let complete = target.and_then(|target| {
            let seal = seal::frame(disk, self.dir.path(), start)?;
            copy_when_idle(&self.bell, input, (target, seal))
        });
        if !matches!(complete, Ok(true)) {
            // Unfinished, it only takes room, of which there may be none.
            let _ = disk.remove(&temporary);
            return complete.map(drop);
        }
        {
            let _alone = self.dir.lock_upkeep();
            if disk.metadata(&plain).is_err() {
                // Deleted meanwhile, as no longer kept.
                return disk.remove(&temporary);
            }
            let renamed = disk.rename(&temporary, &compressed);
            // Left there, it would keep the next round from making it.
            renamed.inspect_err(|_| drop(disk.remove(&temporary)))?;
        }
        self.dir.sync()?;
        disk.remove(&plain)
    }
}

fn copy_when_idle(
    bell: &Bell,
    input: impl Read + Send,
    target: (Arc<dyn DiskFile>, Vec<u8>),
) -> io::Result<bool> {
    thread::scope(|scope| {
        let copying = thread::Builder::new().name("journal-compress".to_owned());
        let copying = copying.spawn_scoped(scope, || {
            stdx::run_when_idle();
            copy(bell, input, target)
        })?;
        copying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns whether all was copied, sealed and synced, which it is unless the journal closes.
fn copy(
    bell: &Bell,
    mut input: impl Read,
    (target, seal): (Arc<dyn DiskFile>, Vec<u8>),
) -> io::Result<bool> {
    let mut encoder = zstd::Encoder::new(Appending(target.clone()), LEVEL)?;
    encoder.include_checksum(true)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if bell.is_closing() {
            return Ok(false);
        }
        let begun = Instant::now();
        let taken = input.read(&mut chunk)?;
        if taken == 0 {
            break;
        }
        encoder.write_all(&chunk[..taken])?;
        if taken == CHUNK_BYTES {
            thread::sleep(begun.elapsed());
        }
    }
    encoder.finish()?.write_all(&seal)?;
    target.sync()?;
    Ok(true)
}

struct Appending(Arc<dyn DiskFile>);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
