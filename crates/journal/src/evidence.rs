//! Weighs, as a journal is opened, what is known of how far its lines had been durable.
//!
//! Two files say it, the limit in the directory and the witness beside it (`limit`), and each names
//! the sessions that wrote it. Invariant: an offset counts only where the file is of the session
//! that wrote last, or of a later one of the same journal. The lines of a later one are gone. A
//! witness may also be of sessions that followed another copy of the journal. Where neither file
//! is, or the witness is foreign or garbage, the journal is in doubt. Lines may be lost then, and
//! nobody knows how many. Versions that name no sessions are believed as long as no newer one has
//! written. While the limit is sound, a witness may be missing, or lag behind. The directory was
//! moved then, or nothing could be written beside it. Refuses: to read or to write.

use crate::limit::Testimony;
use crate::sessions::{Evidence, Session};

/// Weighs what two files say of a journal with these sessions, and whether it has a line.
pub(crate) fn weigh(
    limit: &Testimony,
    witness: &Testimony,
    sessions: &[Session],
    has_lines: bool,
) -> Evidence {
    match sessions.last() {
        Some(last) if last.is_marked => weigh_known([limit, witness], sessions, last.id),
        // An older version wrote last.
        Some(_) => {
            Evidence { durable: believed([limit, witness], |_| true), ..Evidence::default() }
        }
        None if has_lines => weigh_without_sessions([limit, witness]),
        None => weigh_without_lines(limit, witness),
    }
}

/// Weighs limit and witness of a journal whose last session is known.
fn weigh_known(files: [&Testimony; 2], sessions: &[Session], last: u64) -> Evidence {
    let is_sound = |file: &Testimony| file.sessions().contains(&last);
    let is_known = |id: &u64| sessions.iter().any(|known| known.id == *id);
    let [_, witness] = files;
    let is_related = witness.sessions().iter().any(is_known);
    let mut former = if is_related { witness.sessions().to_vec() } else { Vec::new() };
    former.retain(|id| !is_known(id));
    let is_ours = is_related || *witness == Testimony::Missing;
    let in_doubt = !(is_ours && files.into_iter().any(is_sound));
    let witnessed = witness.offset().filter(|_| is_related).unwrap_or(0);
    Evidence { durable: believed(files, is_sound).max(witnessed), in_doubt, former }
}

/// The file of sessions is gone, or an older version knew none.
fn weigh_without_sessions(files: [&Testimony; 2]) -> Evidence {
    let [one, other] = files.map(Testimony::sessions);
    let are_two = !one.is_empty() && !other.is_empty();
    let differ = are_two && !one.iter().any(|id| other.contains(id));
    let in_doubt = differ || files.contains(&&Testimony::Broken);
    Evidence { durable: believed(files, |_| true), in_doubt, former: Vec::new() }
}

/// The directory is new, or was removed.
fn weigh_without_lines(limit: &Testimony, witness: &Testimony) -> Evidence {
    match witness {
        Testimony::Missing | Testimony::Says(0, _) => Evidence::default(),
        Testimony::Says(offset, former) if !former.is_empty() => {
            Evidence { durable: *offset, in_doubt: false, former: former.clone() }
        }
        // An older version made both.
        Testimony::Says(offset, _) if limit.offset().is_some() => {
            Evidence { durable: *offset, ..Evidence::default() }
        }
        _ => Evidence { in_doubt: true, ..Evidence::default() },
    }
}

/// The highest offset that those say which are sound.
fn believed(files: [&Testimony; 2], is_sound: impl Fn(&Testimony) -> bool) -> u64 {
    let sound = files.into_iter().filter(|file| is_sound(file));
    sound.filter_map(Testimony::offset).fold(0, u64::max)
}

#[cfg(test)]
mod tests;
