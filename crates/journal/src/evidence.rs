//! Weighs, as a journal is opened, what is known of how far its lines had been durable.
//!
//! Two files say it, the limit in the directory and the witness beside it (`limit`), and each names
//! the sessions that wrote it. Invariant: an offset counts only where the file is of the session
//! that wrote last, or of a later one of the same journal, whose lines are then gone. A witness may
//! also be of sessions that followed another copy of the journal. Where no file is, or where the
//! witness is foreign or garbage, the journal is in doubt: lines may be lost, and nobody knows how
//! many. Versions that name no sessions are believed as long as no newer one has
//! written. A witness that is missing, or lags behind, is no doubt while the limit is sound: the
//! directory was moved, or nothing could be written beside it.
//! Refuses: to read or to write.

use crate::limit::Testimony;
use crate::sessions::Session;

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

/// Weighs what two files say of a journal with these sessions, and whether it has a line.
pub(crate) fn weigh(
    limit: &Testimony,
    witness: &Testimony,
    sessions: &[Session],
    has_lines: bool,
) -> Evidence {
    let files = [limit, witness];
    let believed = |is_sound: &dyn Fn(&Testimony) -> bool| {
        let sound = files.into_iter().filter(|file| is_sound(file));
        sound.filter_map(Testimony::offset).fold(0, u64::max)
    };
    match sessions.last() {
        Some(last) if last.is_marked => {
            let is_sound = |file: &Testimony| file.sessions().contains(&last.id);
            let is_known = |id: &u64| sessions.iter().any(|known| known.id == *id);
            let is_related = witness.sessions().iter().any(is_known);
            let mut former = witness.sessions().to_vec();
            former.retain(|id| is_related && !is_known(id));
            let is_ours = is_related || *witness == Testimony::Missing;
            let in_doubt = !(files.into_iter().any(is_sound) && is_ours);
            let witnessed = witness.offset().filter(|_| is_related).unwrap_or(0);
            Evidence { durable: believed(&is_sound).max(witnessed), in_doubt, former }
        }
        // An older version wrote last, or `sessions` is gone, and the lines are there.
        None if has_lines => {
            let is_broken = files.contains(&&Testimony::Broken);
            let [one, other] = files.map(Testimony::sessions);
            let are_two = !one.is_empty() && !other.is_empty();
            let differ = are_two && !one.iter().any(|id| other.contains(id));
            let in_doubt = is_broken || differ;
            Evidence { durable: believed(&|_| true), in_doubt, former: Vec::new() }
        }
        Some(_) => Evidence { durable: believed(&|_| true), ..Evidence::default() },
        // The directory is new, or was removed.
        None => match witness {
            Testimony::Missing | Testimony::Says(0, _) => Evidence::default(),
            Testimony::Says(offset, former) if !former.is_empty() => {
                Evidence { durable: *offset, in_doubt: false, former: former.clone() }
            }
            // An older version made both.
            Testimony::Says(offset, _) if limit.offset().is_some() => {
                Evidence { durable: *offset, ..Evidence::default() }
            }
            _ => Evidence { in_doubt: true, ..Evidence::default() },
        },
    }
}

#[cfg(test)]
mod tests;
