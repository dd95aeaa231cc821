//! Finds the bytes that give lines their structure, 64 at a time where the machine has AVX2 or
//! AVX-512.
//!
//! The method is that of "Parsing Gigabytes of JSON per Second" (Langdale and Lemire 2019, §3.1).
//! Packing by AVX-512 was measured (docs/decisions/events.md).
//! Invariant: positions come in rising order, and the portable way finds the same ones. Bytes are
//! fewer than 4 GB.
//! Here are also searches that formats share: the next line, the inside of quotes, and the signs of
//! two lines in one. Lines are refused by these signs; `recount/src/cut.rs` and
//! `recount/src/formats.rs` must know the same.
//! Never here: what the bytes mean; each format has its own set of them. A set has four bytes and
//! must have the line feed, which `next_line` looks for.
#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "vector loads and stores, and functions for machines that have AVX2 or AVX-512"
    )
)]

mod portable;

pub(super) use self::portable::ByteSet;
use super::times::LOG_TIME;

/// Whole lines, with the positions of their structural bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkedRegion<'l, 'm> {
    pub bytes: &'l [u8],
    pub marks: &'m [u32],
}

/// Appends the position of each byte of `set` in `bytes`, which are fewer than 4 GB.
pub(super) fn find(bytes: &[u8], set: ByteSet, out: &mut Vec<u32>) {
    if !find_by_64(bytes, set, out) && !find_by_32(bytes, set, out) {
        portable::find(bytes, set, 0, out);
    }
}

/// Takes the next line of `region` off `marks`, which mark line feeds.
pub(super) fn next_line<'l>(
    region: &'l [u8],
    start: usize,
    marks: &mut &[u32],
) -> Option<&'l [u8]> {
    let at = marks.iter().position(|mark| region[*mark as usize] == b'\n')?;
    let end = marks[at] as usize;
    *marks = &marks[at + 1..];
    Some(&region[start..end])
}

/// Finds the inside of the quoted text that starts at `at`; a backslash escapes what follows it.
pub(super) fn quoted(line: &[u8], at: usize) -> Option<(usize, usize)> {
    if line.get(at) != Some(&b'"') {
        return None;
    }
    let mut end = at + 1;
    loop {
        end += memchr::memchr2(b'"', b'\\', line.get(end..)?)?;
        if line[end] == b'"' {
            return Some((at + 1, end));
        }
        end += 2;
    }
}

/// Whether the beginning of another line stands in what should be a user's name. Such a name may
/// hold spaces, but not the ` - ` between address and user.
pub(super) fn is_glued_user(user: &[u8]) -> bool {
    user.ends_with(b" -") || memchr::memmem::find(user, b" - ").is_some()
}

/// Whether a time in brackets, such as `[21/Nov/2026:03:54:12 +0000]`, stands in `text`.
pub(super) fn has_time_group(text: &[u8]) -> bool {
    memchr::memchr_iter(b'[', text).any(|bracket| {
        let time = text.get(bracket + 1..bracket + 1 + LOG_TIME);
        time.is_some_and(|time| exchange::parse_log_time(time).is_some())
    })
}

/// Finds them by AVX-512; false, and nothing done, on a machine that lacks it.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no such machine"))]
fn find_by_64(bytes: &[u8], set: ByteSet, out: &mut Vec<u32>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the machine has what the function is compiled for.
        unsafe { wide::find(bytes, set, out) };
        return true;
    }
    false
}

/// Finds them by AVX2; false, and nothing done, on a machine that lacks it.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no such machine"))]
fn find_by_32(bytes: &[u8], set: ByteSet, out: &mut Vec<u32>) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the machine has what the function is compiled for.
        unsafe { vectors::find(bytes, set, out) };
        return true;
    }
    false
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    //! The same by vectors of 32 bytes.

    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set1_epi8,
    };

    use super::portable::{self, ByteSet};

    const LANES: usize = 32;

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn find(bytes: &[u8], set: ByteSet, out: &mut Vec<u32>) {
        let needles = set.map(|byte| _mm256_set1_epi8(byte.cast_signed()));
        let (blocks, rest) = bytes.as_chunks::<{ 2 * LANES }>();
        for (at, block) in blocks.iter().enumerate() {
            let (low, high) = block.split_at(LANES);
            let mut word = u64::from(mask(low, &needles)) | u64::from(mask(high, &needles)) << 32;
            let base = (at * 2 * LANES) as u32;
            out.reserve(64);
            while word != 0 {
                out.push(base + word.trailing_zeros());
                word &= word - 1;
            }
        }
        portable::find(rest, set, (bytes.len() - rest.len()) as u32, out);
    }

    #[target_feature(enable = "avx2")]
    fn mask(half: &[u8], needles: &[__m256i; 4]) -> u32 {
        let half: &[u8; LANES] = half.try_into().expect("half a block has that many bytes");
        // SAFETY: 32 bytes are there; the load wants no alignment.
        let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let [a, b, c, d] = needles.map(|needle| _mm256_cmpeq_epi8(bytes, needle));
        let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        _mm256_movemask_epi8(any).cast_unsigned()
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    //! The same by vectors of 64 bytes, whose places are packed by one instruction, not one by one.

    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask,
        _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_set1_epi8,
        _mm512_set1_epi32, _mm512_shuffle_i64x2, _mm512_storeu_si512,
    };

    use super::portable::{self, ByteSet};

    const LANES: usize = 64;
    /// Places that are written at once.
    const PACK: usize = 16;
    const ORDER: [u8; LANES] = {
        let (mut order, mut at) = ([0; LANES], 0);
        while at < LANES {
            order[at] = at as u8;
            at += 1;
        }
        order
    };

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub(super) fn find(bytes: &[u8], set: ByteSet, out: &mut Vec<u32>) {
        let needles = set.map(|byte| _mm512_set1_epi8(byte.cast_signed()));
        let order = load(&ORDER);
        let (blocks, rest) = bytes.as_chunks::<LANES>();
        for (at, block) in blocks.iter().enumerate() {
            let block = load(block);
            let [a, b, c, d] = needles.map(|needle| _mm512_cmpeq_epi8_mask(block, needle));
            let found = a | b | c | d;
            let count = found.count_ones() as usize;
            let mut places = _mm512_maskz_compress_epi8(found, order);
            let base = _mm512_set1_epi32((at * LANES) as i32);
            out.reserve(LANES);
            let room = out.spare_capacity_mut().as_mut_ptr();
            for pack in 0..=count.saturating_sub(1) / PACK {
                let low = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
                // SAFETY: a block has at most 64 places, for which room was made.
                unsafe {
                    _mm512_storeu_si512(room.add(pack * PACK).cast(), _mm512_add_epi32(low, base))
                };
                places = _mm512_shuffle_i64x2::<0b11_11_10_01>(places, places);
            }
            // SAFETY: so many were just written.
            unsafe { out.set_len(out.len() + count) };
        }
        portable::find(rest, set, (bytes.len() - rest.len()) as u32, out);
    }

    #[target_feature(enable = "avx512f")]
    fn load(block: &[u8; LANES]) -> __m512i {
        // SAFETY: 64 bytes are there; the load wants no alignment.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests;
