//! Writes and reads the file `sessions`: at which offset each process that wrote the journal
//! began.
//!
//! An offset does not say of which journal it is. A directory that was removed, or replaced by an
//! older copy, has the same offsets again, with other lines. So each opening is a session of its
//! own, and whoever stores an offset stores its session beside it (`place`). The file has a line
//! for each session, of three numbers in 20 digits. They are its first offset, its id, and up to
//! where lines had been durable before. Where the last is greater than the first, the lines
//! between are lost. The id is the time of the opening in microseconds, but greater than the ids
//! before it. Invariant: sessions come in the order of their offsets. A session without a line is
//! forgotten, unless it says a loss. So is one whose lines are all deleted. One whose lines are
//! gone with the end of the journal begins at the new end from then on, and says a loss. So a
//! place in it is known to be of this journal. The file is replaced whole and synced before the
//! first line of the session can be read. A file that is missing or garbage costs little: a reader
//! whose place is gone then goes on at the first session that began since.

use std::io::{self, ErrorKind};
use std::path::Path;

use stdx::Disk;

const NAME: &str = "sessions";
/// Bytes of one line.
const LINE_BYTES: usize = 63;
/// What is read of the file at most: a quarter of a million sessions that all have lines.
const BYTES_MAX: u64 = 16 << 20;

/// One opening of the journal for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Session {
    /// The offset of its first line.
    pub start: u64,
    pub id: u64,
    /// Up to where there were lines before; they are lost behind the start.
    pub durable: u64,
}

/// What a journal holds when it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// The offset of its first line.
    pub first: u64,
    /// The end of its last line.
    pub end: u64,
    /// Up to where lines had been durable, which may lie behind the end.
    pub durable: u64,
}

impl Session {
    /// What is left of it in a journal that ends at `end`; its lines had ended at `ended`.
    fn cut_to(self, end: u64, ended: u64) -> Self {
        if self.start < end {
            return self;
        }
        Self { start: end, id: self.id, durable: self.durable.max(ended) }
    }
}

/// Begins a session at the end of a journal; returns its id.
pub(crate) fn begin(disk: &dyn Disk, dir: &Path, extent: Extent, now_us: u64) -> io::Result<u64> {
    let Extent { first, end, durable } = extent;
    let known = read(disk, dir)?;
    let id = known.iter().map(|session| session.id + 1).fold(now_us, u64::max);
    let end_before = end.max(durable);
    let ends = known.iter().skip(1).map(|next| next.start).chain([end_before]);
    let kept = known.iter().zip(ends).filter_map(|(session, ended)| {
        let has_lines = session.start < ended && ended > first;
        let has_loss = session.durable > session.start && session.start >= first;
        (has_lines || has_loss).then(|| session.cut_to(end, ended))
    });
    let text: String = kept
        .chain([Session { start: end, id, durable }])
        .map(|it| format!("{:020} {:020} {:020}\n", it.start, it.id, it.durable))
        .collect();
    let temporary = dir.join(format!("{NAME}.tmp"));
    let file = disk.open_write(&temporary)?;
    file.truncate(0)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&temporary, &dir.join(NAME))?;
    disk.sync_dir(dir)?;
    Ok(id)
}

/// Returns the sessions, by their offsets; none where the file is missing. Lines that are no
/// sessions are passed over.
pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Session>> {
    let file = match disk.open_read(&dir.join(NAME)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let length = file.len()?;
    // Of a file without end, the newest lines.
    let skipped = length.saturating_sub(BYTES_MAX).next_multiple_of(LINE_BYTES as u64);
    let mut text = vec![0; length.saturating_sub(skipped) as usize];
    crate::segment::read_exact_at(&*file, &mut text, skipped)?;
    let mut sessions: Vec<Session> = text.chunks(LINE_BYTES).filter_map(parse).collect();
    sessions.sort_by_key(|session| (session.start, session.id));
    Ok(sessions)
}

fn parse(line: &[u8]) -> Option<Session> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let mut numbers = text.split(' ').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Session { start: next()?, id: next()?, durable: next()? })
}

/// Returns up to where lines had stood behind an offset that are lost, as sessions after `known`
/// say that begin there. Also returns the last of these.
pub(crate) fn lost_at(sessions: &[Session], offset: u64, known: u64) -> Option<(u64, u64)> {
    let begun = sessions.iter().filter(|it| it.start == offset && it.id > known);
    begun.fold(None, |lost, it| {
        let (durable, id) = lost.unwrap_or((0, 0));
        Some((durable.max(it.durable), id.max(it.id)))
    })
}

/// Returns the session in which the byte before an offset was written.
pub(crate) fn before(sessions: &[Session], offset: u64) -> Option<Session> {
    let at = sessions.partition_point(|session| session.start < offset);
    at.checked_sub(1).map(|at| sessions[at])
}

#[cfg(test)]
mod tests;
