//! Finds structural bytes on any machine, by the vectors that `memchr` has for it.
//!
//! Invariant: positions come in rising order, each once, also when a byte stands twice in the set.
//! `marks` uses it where there is no AVX2, and for the last bytes of a region.

/// Four bytes to be found; one may stand more than once.
pub(in crate::decode) type ByteSet = [u8; 4];

/// Appends the position of each byte of `set` in `bytes`, counted from `start`.
pub(super) fn find(bytes: &[u8], set: ByteSet, start: u32, out: &mut Vec<u32>) {
    let [a, b, c, d] = set;
    let (mut nearest, mut further) =
        (memchr::memchr3_iter(a, b, c, bytes), memchr::memchr_iter(d, bytes));
    let is_doubled = [a, b, c].contains(&d);
    let (mut left, mut right) = (nearest.next(), further.next().filter(|_| !is_doubled));
    loop {
        let place = match (left, right) {
            (Some(place), None) => place,
            (Some(place), Some(other)) if place < other => place,
            (_, Some(other)) => {
                right = further.next();
                out.push(start + other as u32);
                continue;
            }
            (None, None) => return,
        };
        left = nearest.next();
        out.push(start + place as u32);
    }
}
