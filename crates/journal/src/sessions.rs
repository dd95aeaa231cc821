//! Writes and reads the file `sessions`: at which offset each process that wrote the journal began.
//!
//! An offset does not say of which journal it is. A directory that was removed, or replaced by an
//! older copy, has the same offsets again, with other lines. So each opening is a session of its
//! own, and whoever stores an offset stores its session beside it (`place`). The file has a line
//! for each session, of three numbers in 20 digits. They are its first offset, its id, and up to
//! where lines had been durable before. Where the last is greater than the first, the lines between
//! are lost. Behind it stand its marks, which are as long and which older versions pass over. `mark
//! ID whole` or `mark ID doubt` says whether more may be lost, of a length that nobody knows
//! (`evidence`). `mark ID after OTHER` names a session of the journal whose lines are lost, where
//! that is not this one. The id is the time of the opening in microseconds, but greater than the
//! ids before it. Invariant: sessions come in the order of their offsets. A session without a line
//! is forgotten, unless it says a loss. So is one whose lines are all deleted. One whose lines are
//! gone with the end of the journal begins at the new end from then on, and says a loss. So a place
//! in it is known to be of this journal. The file is replaced whole and synced before the first
//! line of the session can be read. A file that is missing or garbage costs little: a reader whose
//! place is gone then goes on at the first session that began since.

use std::io::{self, ErrorKind};
use std::path::Path;

use stdx::Disk;

use crate::file_reader::read_exact_at;
use crate::limit::SESSIONS_MAX;

const NAME: &str = "sessions";
const MARK: &str = "mark ";
const AFTER: &str = "after ";
/// Bytes of one line.
const LINE_BYTES: usize = 63;
/// What is read of the file at most: a quarter of a million sessions that all have lines.
const BYTES_MAX: u64 = 16 << 20;

/// One opening of the journal for writing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    /// The offset of its first line.
    pub start: u64,
    pub id: u64,
    /// Up to where there were lines before; they are lost behind the start.
    pub durable: u64,
    /// A version wrote it that knows of doubt.
    pub is_marked: bool,
    /// More lines may be lost before it.
    pub in_doubt: bool,
    /// Sessions of the journal whose lines were lost before it, if it is another one.
    pub former: Vec<u64>,
}

/// What is known of the lines that had been durable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Up to where there had been lines; 0 if nothing says it.
    pub durable: u64,
    /// There may have been more.
    pub in_doubt: bool,
    /// Sessions of the journal whose lines these were, where it is not the one that is there now.
    pub former: Vec<u64>,
}

/// What a journal holds when it is opened.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    /// The offset of its first line.
    pub first: u64,
    /// The end of its last line.
    pub end: u64,
    /// Up to where lines had been durable, which may lie behind the end.
    pub evidence: Evidence,
}

impl Session {
    /// What is left of it in a journal that ends at `end`; its lines had ended at `ended`.
    fn cut_to(self, end: u64, ended: u64) -> Self {
        if self.start < end {
            return self;
        }
        Self { start: end, durable: self.durable.max(ended), ..self }
    }
}

/// Returns the id of the next session.
pub(crate) fn next_id(known: &[Session], now_us: u64) -> u64 {
    known.iter().map(|session| session.id.saturating_add(1)).fold(now_us, u64::max)
}

/// Returns the ids that a limit names in a session: its id, and those before it. These may be of a
/// journal whose place this one took.
pub(crate) fn named(id: u64, known: &[Session], former: &[u64]) -> Vec<u64> {
    let others = known.iter().flat_map(|session| session.former.iter().chain([&session.id]));
    let mut ids: Vec<u64> = others.chain(former).copied().chain([id]).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.dedup();
    ids.truncate(SESSIONS_MAX);
    ids
}

/// Begins the session `id` at the end of a journal.
pub(crate) fn begin(disk: &dyn Disk, dir: &Path, extent: &Extent, id: u64) -> io::Result<()> {
    let Extent { first, end, ref evidence } = *extent;
    let Evidence { durable, in_doubt, ref former } = *evidence;
    let known = read(disk, dir)?;
    let end_before = end.max(durable);
    let ends = known.iter().skip(1).map(|next| next.start).chain([end_before]);
    let kept = known.iter().zip(ends).filter_map(|(session, ended)| {
        let has_lines = session.start < ended && ended > first;
        let is_loss = session.durable > session.start || session.in_doubt;
        let has_loss = is_loss && session.start >= first;
        (has_lines || has_loss).then(|| session.clone().cut_to(end, ended))
    });
    let (former, durable) = (former.clone(), end_before);
    let begun = Session { start: end, id, durable, is_marked: true, in_doubt, former };
    let text: String = kept.chain([begun]).map(|session| lines(&session)).collect();
    let temporary = dir.join(format!("{NAME}.tmp"));
    let file = disk.open_write(&temporary)?;
    file.truncate(0)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename(&temporary, &dir.join(NAME))?;
    disk.sync_dir(dir)
}

/// The lines of a session.
fn lines(session: &Session) -> String {
    let Session { start, id, durable, is_marked, in_doubt, former } = session;
    let mut text = format!("{start:020} {id:020} {durable:020}\n");
    let state = if *in_doubt { "doubt" } else { "whole" };
    let state = is_marked.then(|| format!("{MARK}{id:020} {state}"));
    let former = former.iter().map(|other| format!("{MARK}{id:020} {AFTER}{other:020}"));
    for mark in state.into_iter().chain(former) {
        text += &format!("{mark:<width$}\n", width = LINE_BYTES - 1);
    }
    text
}

/// Returns the sessions, by their offsets; none where the file is missing. Lines that are no
/// sessions are passed over.
pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<Session>> {
    Ok(read_all(disk, dir)?.0)
}

/// Returns the session in which the byte at an offset was written, if that is known for certain.
pub(crate) fn of_byte(disk: &dyn Disk, dir: &Path, offset: u64) -> io::Result<Option<u64>> {
    let (sessions, is_whole) = read_all(disk, dir)?;
    Ok(before(&sessions, offset.saturating_add(1)).filter(|_| is_whole))
}

/// Returns the sessions, and whether the file has nothing else.
fn read_all(disk: &dyn Disk, dir: &Path) -> io::Result<(Vec<Session>, bool)> {
    let file = match disk.open_read(&dir.join(NAME)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), true)),
        file => file?,
    };
    let length = file.len()?;
    // Of a file without end, the newest lines.
    let skipped = length.saturating_sub(BYTES_MAX).next_multiple_of(LINE_BYTES as u64);
    let mut text = vec![0; length.saturating_sub(skipped) as usize];
    read_exact_at(&*file, &mut text, skipped)?;
    let (mut sessions, mut is_whole) = (Vec::<Session>::new(), true);
    for line in text.chunks(LINE_BYTES) {
        if let Some(session) = parse(line) {
            sessions.push(session);
        } else if let Some((id, mark)) = parse_mark(line)
            && let Some(session) = sessions.last_mut().filter(|session| session.id == id)
        {
            session.is_marked = true;
            session.in_doubt |= mark == "doubt";
            let former = mark.strip_prefix(AFTER).and_then(|other| other.parse::<u64>().ok());
            session.former.extend(former);
        } else {
            is_whole = false;
        }
    }
    sessions.sort_by_key(|session| (session.start, session.id));
    Ok((sessions, is_whole))
}

fn parse(line: &[u8]) -> Option<Session> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let mut numbers = text.split(' ').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    let (start, id, durable) = (next()?, next()?, next()?);
    Some(Session { start, id, durable, ..Session::default() })
}

fn parse_mark(line: &[u8]) -> Option<(u64, &str)> {
    let text = std::str::from_utf8(line).ok()?.strip_prefix(MARK)?;
    let (id, mark) = text.trim_end().split_once(' ')?;
    Some((id.parse().ok()?, mark))
}

/// What sessions that begin at an offset say of lines that had stood behind it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LossBefore {
    /// Up to where they had stood.
    pub to: u64,
    /// The last of these sessions.
    pub session: u64,
    /// More may be lost.
    pub in_doubt: bool,
    /// Sessions of the journal whose lines are lost, if that is another one.
    former: Vec<u64>,
    is_marked: bool,
}

impl LossBefore {
    /// Whether the lines may be of the journal that had the session.
    pub(crate) fn is_of(&self, session: u64) -> bool {
        self.former.is_empty() || self.former.contains(&session)
    }

    /// Returns up to where lines are lost of the journal that had the session, if that is known.
    pub(crate) fn to_for(&self, session: Option<u64>) -> Option<u64> {
        let is_its = session.is_some_and(|id| self.former.contains(&id));
        (!self.in_doubt && (is_its || !self.is_marked)).then_some(self.to)
    }
}

/// Returns what sessions after `known` that begin at an offset say of lines that had stood there.
pub(crate) fn lost_at(sessions: &[Session], offset: u64, known: u64) -> Option<LossBefore> {
    let begun = sessions.iter().filter(|it| it.start == offset && it.id > known);
    begun.fold(None, |lost, it| {
        let mut lost: LossBefore = lost.unwrap_or_default();
        lost.to = lost.to.max(it.durable);
        lost.session = lost.session.max(it.id);
        lost.in_doubt |= it.in_doubt;
        lost.is_marked |= it.is_marked;
        lost.former.extend(&it.former);
        Some(lost)
    })
}

/// Returns the session in which the byte before an offset was written.
pub(crate) fn before(sessions: &[Session], offset: u64) -> Option<u64> {
    let at = sessions.partition_point(|session| session.start < offset);
    at.checked_sub(1).map(|at| sessions[at].id)
}

#[cfg(test)]
mod tests;
