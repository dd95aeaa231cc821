//! Encodes what a record is sorted by: ranking, user, and then the latest first.
//!
//! Invariant: the bytes of keys have the order in which a pass wants their records. The ranking
//! itself comes before all that refers to it. Of one group the latest comes first. An impression
//! comes before feedback of the same microsecond, which cannot belong to it. `pending.rs` panics or
//! counts wrongly in any other order.
//! The bytes live only as long as one export, so their layout may change.
//! A user stands there as a 128-bit hash (XXH3), which is not secret; clients without an id share
//! 0.
//! Splitting a record that is shorter than a key panics: `join.rs` writes them all with one. What
//! follows the key is a line or an item, and is `join.rs`'s to read. A new `RecordContent` needs a
//! byte of its own in `to_bytes` and `split`: the compiler does not ask.

use exchange::Exchange;
use twox_hash::XxHash3_128;

/// Ranking, whether it is the ranking itself, user, time, and kind.
pub(crate) const KEY_BYTES: usize = 16 + 1 + 16 + 8 + 1;

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordContent {
    /// The line of the ranking, with its items.
    Ranking,
    /// The line of an impression.
    Impression,
    /// The item that there was feedback for.
    Feedback,
}

/// The beginning of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordKey {
    pub ranking: u128,
    /// A hash of the user's id; 0 for a ranking, and for nobody.
    pub user: u128,
    /// Microseconds since the Unix epoch; 0 for a ranking.
    pub time_us: u64,
    pub content: RecordContent,
}

impl RecordKey {
    /// The key of the ranking itself.
    pub(crate) fn of_ranking(ranking: u128) -> Self {
        Self { ranking, user: 0, time_us: 0, content: RecordContent::Ranking }
    }

    /// The key of an exchange that refers to a ranking.
    pub(crate) fn of(ranking: u128, exchange: &Exchange<'_>, content: RecordContent) -> Self {
        let user = exchange.user.as_ref().map_or(0, |user| XxHash3_128::oneshot(user));
        Self { ranking, user, time_us: exchange.time_us, content }
    }

    /// Whether two records may belong together.
    pub(crate) fn is_of_group(&self, other: &Self) -> bool {
        let is_ranking = |key: &Self| key.content == RecordContent::Ranking;
        (self.ranking, self.user, is_ranking(self))
            == (other.ranking, other.user, is_ranking(other))
    }

    pub(crate) fn to_bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..16].copy_from_slice(&self.ranking.to_be_bytes());
        bytes[16] = u8::from(self.content != RecordContent::Ranking);
        bytes[17..33].copy_from_slice(&self.user.to_be_bytes());
        bytes[33..41].copy_from_slice(&(!self.time_us).to_be_bytes());
        bytes[41] = u8::from(self.content == RecordContent::Feedback);
        bytes
    }

    /// Splits a record into its key and what it holds.
    pub(crate) fn split(record: &[u8]) -> (Self, &[u8]) {
        const WRITTEN: &str = "every record was written with a key";
        let (ranking, rest) = record.split_first_chunk().expect(WRITTEN);
        let ([refers], rest) = rest.split_first_chunk().expect(WRITTEN);
        let (user, rest) = rest.split_first_chunk().expect(WRITTEN);
        let (time, rest) = rest.split_first_chunk().expect(WRITTEN);
        let ([feedback], rest) = rest.split_first_chunk().expect(WRITTEN);
        let content = match (refers, feedback) {
            (0, _) => RecordContent::Ranking,
            (_, 0) => RecordContent::Impression,
            _ => RecordContent::Feedback,
        };
        let (ranking, user) = (u128::from_be_bytes(*ranking), u128::from_be_bytes(*user));
        (Self { ranking, user, time_us: !u64::from_be_bytes(*time), content }, rest)
    }
}

#[cfg(test)]
mod tests;
