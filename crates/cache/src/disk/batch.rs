//! Encodes and decodes what a batch of the log lists: the keys of its records, and their tags.
//!
//! When a batch is evicted, `log` finds by this list what the index and the tags still have of it.
//! Layout of a record, little-endian: the length of the key and the number of tags (32 bits each).
//! Then follow the key and the fingerprints of the tags (64 bits each).
//! Another layout needs another `FORMAT` in `log`. A list that is cut or damaged ends early. The
//! rows that it no longer names stay in the index, and their records are not found.

use crate::tags::Tags;

/// Appends a record's key and tags to a list.
pub(super) fn append(batch: &mut Vec<u8>, key: &[u8], tags: &Tags) {
    batch.extend_from_slice(&(key.len() as u32).to_le_bytes());
    batch.extend_from_slice(&(tags.len() as u32).to_le_bytes());
    batch.extend_from_slice(key);
    tags.iter().for_each(|tag| batch.extend_from_slice(&tag.to_le_bytes()));
}

/// Returns the keys of a list, each with its tags.
pub(super) fn records(batch: &[u8]) -> impl Iterator<Item = (&[u8], impl Iterator<Item = u64>)> {
    let mut rest = batch;
    std::iter::from_fn(move || {
        let key_length = number(&mut rest)?;
        let tags_length = number(&mut rest)?.checked_mul(size_of::<u64>())?;
        let (key, behind) = rest.split_at_checked(key_length)?;
        let (tags, behind) = behind.split_at_checked(tags_length)?;
        rest = behind;
        Some((key, tags.as_chunks().0.iter().map(|tag| u64::from_le_bytes(*tag))))
    })
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

#[cfg(test)]
mod tests;
