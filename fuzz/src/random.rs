//! An engine without instruments: takes an input of the corpus and changes it, again and again.
//!
//! Deterministic: the same corpus and seed try the same inputs in the same order. It knows nothing
//! of coverage; what libFuzzer finds with it comes in by the corpus.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use stdx::Random;

use crate::Target;

const INPUT_BYTES_MAX: usize = 4096;
/// What parsers stumble over.
const TOKENS: [&[u8]; 24] = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b",",
    b";",
    b"=",
    b":",
    b"\"",
    b"\\",
    b"-",
    b"+",
    b"0",
    b"1",
    b"9",
    b"18446744073709551616",
    b"4294967296",
    b"2147483648",
    b"%00",
    b"%",
    b"\xff",
    b"\xc3\xa9",
];

/// Runs a target on its corpus and then on changed inputs, until `executions` or `time` are used
/// up; returns how many there were.
///
/// # Panics
/// When the target does; the message ends with the input as a line of a corpus.
pub fn run(target: &Target, seed: u64, executions: u64, time: Duration) -> u64 {
    let corpus = target.corpus();
    let mut mutator = Mutator { random: Random::new(seed), tokens: target.tokens };
    let deadline = Instant::now() + time;
    let mut done = 0;
    let mut input = Vec::new();
    while done < executions && (!done.is_multiple_of(256) || Instant::now() < deadline) {
        match corpus.get(done as usize) {
            Some(seed) => input.clone_from(seed),
            None => mutator.make(&corpus, &mut input),
        }
        run_once(target, &input);
        done += 1;
    }
    done
}

fn run_once(target: &Target, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        let line = crate::corpus::render("", &[input.to_vec()]);
        panic!("target `{}` fails, as told above, on this line:\n{line}", target.name);
    }
}

#[derive(Debug)]
struct Mutator {
    random: Random,
    tokens: &'static [&'static str],
}

impl Mutator {
    fn make(&mut self, corpus: &[Vec<u8>], input: &mut Vec<u8>) {
        input.clear();
        input.extend_from_slice(self.pick(corpus).map_or(b"", Vec::as_slice));
        for _ in 0..=self.below(5) {
            self.change(corpus, input);
        }
        input.truncate(INPUT_BYTES_MAX);
    }

    fn change(&mut self, corpus: &[Vec<u8>], input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(16)).min(input.len());
        match self.below(10) {
            0 | 1 => {
                let token = TOKENS[self.below(TOKENS.len())];
                input.splice(at..at, token.iter().copied());
            }
            2 | 3 => {
                let tokens = self.tokens;
                let token = self.pick(tokens).map_or(&b""[..], |token| token.as_bytes());
                input.splice(at..at, token.iter().copied());
            }
            4 => drop(input.drain(at..end)),
            5 => {
                let piece = input[at..end].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            6 => {
                let other = self.pick(corpus).map_or(b"".as_slice(), Vec::as_slice);
                let from = self.below(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            7 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            8 => input.insert(at, self.random.bits() as u8),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = self.random.bits() as u8;
                }
            }
        }
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    fn below(&mut self, end: usize) -> usize {
        self.random.up_to(end.saturating_sub(1) as u64) as usize
    }
}
