//! The sealer: compresses segments that the writer has left, and deletes old ones.
//!
//! A segment is compressed into a temporary file, that is synced, then renamed, and only then is
//! the plain one removed: at every point one of the two is complete. Compression itself runs on a
//! thread that gets only what the other threads leave of a core, and holds no lock.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use stdx::DiskFile;

use crate::retention;
use crate::segment::{self, Form, Segment};
use crate::state::{Shared, set_alarm};

/// How often the age of segments is looked at.
const ROUND: Duration = Duration::from_secs(60);

/// Bytes compressed at a stretch, about a third of a millisecond; then the thread rests as long.
/// A thread that runs when idle still gets a turn on a busy core now and then, and a turn lasts
/// until the next tick, milliseconds away, unless it ends by itself.
const CHUNK_BYTES: usize = 64 << 10;
/// Level 3 is zstd's default: about a tenth of the size for journal lines at over 200 MB/s.
const LEVEL: i32 = 3;

/// Tells the sealer to go round or to stop.
#[derive(Default)]
pub(crate) struct Bell {
    state: Mutex<Rung>,
    changed: Condvar,
}

#[derive(Default)]
struct Rung {
    round: bool,
    closing: bool,
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.state.lock().round = true;
        self.changed.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_one();
    }

    fn is_closing(&self) -> bool {
        self.state.lock().closing
    }

    /// Waits for a round; returns whether there is to be one.
    fn wait(&self) -> bool {
        let mut state = self.state.lock();
        if !state.round && !state.closing {
            self.changed.wait_for(&mut state, ROUND);
        }
        state.round = false;
        !state.closing
    }
}

/// Runs until the journal closes.
pub(crate) fn run(shared: &Shared) {
    loop {
        let compressed = compress_sealed(shared).map_err(|error| format!("compress: {error}"));
        // At the cap the next segment will not be made; the alarm says so before that.
        let room = retention::make_room(shared, 0);
        set_alarm(&shared.alarms.upkeep, compressed.and(room).err());
        if !shared.bell.wait() {
            return;
        }
    }
}

/// Compresses every plain segment but the newest, which may still grow.
fn compress_sealed(shared: &Shared) -> io::Result<()> {
    let segments = segment::list(&*shared.disk, shared.dir())?;
    for pair in segments.windows(2) {
        if shared.bell.is_closing() {
            return Ok(());
        }
        if pair[0].form == Form::Plain {
            compress(shared, pair[0].start, pair[1].start)?;
        }
    }
    Ok(())
}

fn compress(shared: &Shared, start: u64, end: u64) -> io::Result<()> {
    let disk = &*shared.disk;
    let plain = Segment::plain(start).path(shared.dir());
    let compressed = Segment::compressed(start).path(shared.dir());
    let temporary = compressed.with_extension("zst.tmp");
    let source = match disk.open_read(&plain) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let input = At { file: source, at: 0 }.take(end - start);
    let complete = disk.create(&temporary).and_then(|target| copy_when_idle(shared, input, target));
    if !matches!(complete, Ok(true)) {
        // Unfinished, it only takes room, of which there may be none.
        let _ = disk.remove(&temporary);
        return complete.map(drop);
    }
    {
        let _alone = shared.upkeep.lock();
        if disk.metadata(&plain).is_err() {
            // Deleted meanwhile, as no longer kept.
            return disk.remove(&temporary);
        }
        disk.rename(&temporary, &compressed)?;
    }
    disk.sync_dir(shared.dir())?;
    disk.remove(&plain)
}

fn copy_when_idle(
    shared: &Shared,
    input: impl Read + Send,
    target: Arc<dyn DiskFile>,
) -> io::Result<bool> {
    thread::scope(|scope| {
        let copying = thread::Builder::new().name("journal-compress".to_owned());
        let copying = copying.spawn_scoped(scope, || {
            stdx::run_when_idle();
            copy(shared, input, target)
        })?;
        copying.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns whether all was copied and synced, which it is unless the journal closes.
fn copy(shared: &Shared, mut input: impl Read, target: Arc<dyn DiskFile>) -> io::Result<bool> {
    let mut encoder = zstd::Encoder::new(Appending(target.clone()), LEVEL)?;
    encoder.include_checksum(true)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if shared.bell.is_closing() {
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
    encoder.finish()?;
    target.sync()?;
    Ok(true)
}

/// Reads a file from a place on.
pub(crate) struct At {
    pub file: Arc<dyn DiskFile>,
    pub at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.file.read_at(buffer, self.at)?;
        self.at += taken as u64;
        Ok(taken)
    }
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
