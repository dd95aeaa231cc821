//! Hand-made files: every number format, and headers that lie.

use std::fs;
use std::path::Path;

use testkit::TempDir;

use super::*;

/// Writes a file of a header and data, and opens it.
fn open(header: &str, data: &[u8]) -> Result<Tensors, Problem> {
    let dir = TempDir::new().unwrap();
    let length = (header.len() as u64).to_le_bytes();
    write(dir.path(), &[&length, header.as_bytes(), data].concat());
    Tensors::open(&ModelDir::new(dir.path()))
}

fn write(dir: &Path, bytes: &[u8]) {
    fs::write(dir.join(FILE), bytes).unwrap();
}

fn one(dtype: &str, shape: &str, data: &[u8]) -> Result<Tensors, Problem> {
    let end = data.len();
    let header =
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[0,{end}]}}}}"#);
    open(&header, data)
}

#[test]
fn numbers_of_every_format_are_read() {
    let eights: Vec<u8> = [1.5_f64, -2.0].into_iter().flat_map(f64::to_le_bytes).collect();
    let fours: Vec<u8> = [1.5_f32, -2.0].into_iter().flat_map(f32::to_le_bytes).collect();
    for (dtype, data) in [
        ("F64", eights.as_slice()),
        ("F32", &fours),
        ("F16", &[0x00, 0x3e, 0x00, 0xc0]),
        ("BF16", &[0xc0, 0x3f, 0x00, 0xc0]),
    ] {
        let floats = one(dtype, "[1,2]", data).unwrap().floats("a", &[1, 2]).unwrap();
        assert_eq!(floats, [1.5, -2.0], "{dtype}");
    }
    let bytes = one("I8", "[3]", &[1, 0xff, 0x80]).unwrap();
    assert_eq!(bytes.floats("a", &[3]).unwrap(), [1.0, -1.0, -128.0]);
    let whole = one("I32", "[2]", &[1, 0, 0, 0, 3, 0, 0, 0]).unwrap();
    assert_eq!(whole.indices("a", 2, 4).unwrap(), [1, 3]);
    assert!(whole.indices("a", 2, 3).is_err());
}

#[test]
fn halves_are_widened_exactly() {
    for (bits, wanted) in [
        (0x0000, 0.0),
        (0x8000, -0.0),
        (0x3c00, 1.0),
        (0x0001, 2.0_f32.powi(-24)),
        (0x83ff, -1023.0 * 2.0_f32.powi(-24)),
        (0x0400, 2.0_f32.powi(-14)),
        (0x7bff, 65_504.0),
        (0xfc00, f32::NEG_INFINITY),
    ] {
        assert_eq!(half(bits).to_bits(), f32::to_bits(wanted), "{bits:x}");
    }
    assert!(half(0x7e00).is_nan());
}

#[test]
fn headers_that_lie_are_refused_before_anything_is_allocated() {
    let entry = |dtype: &str, shape: &str, from: u64, to: u64| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}}}"#)
    };
    for (header, reason) in [
        (entry("F32", "[4]", 0, 16), "lies from 0 to 16 of 8 bytes"),
        (entry("F32", "[2]", 8, 0), "lies from 8 to 0"),
        (entry("F32", "[3]", 0, 8), "of shape [3] in 8 bytes"),
        (entry("F32", "[4294967296,4294967296]", 0, 8), "in 8 bytes"),
        (entry("F32", "[-1]", 0, 8), "`a`"),
        (entry("F32", "[1e400]", 0, 8), "header"),
        (r#"{"a":7}"#.to_owned(), "`a`"),
        ("[]".to_owned(), "header"),
        ("{".to_owned(), "header"),
        ("[".repeat(100_000), "header"),
    ] {
        let problem = open(&header, &[0; 8]).unwrap_err().to_string();
        assert!(problem.contains(reason), "{problem} does not say {reason}");
        assert!(problem.starts_with("model.safetensors"), "{problem}");
    }
}

#[test]
fn files_without_a_whole_header_are_refused() {
    let dir = TempDir::new().unwrap();
    let read = || Tensors::open(&ModelDir::new(dir.path())).unwrap_err().to_string();
    assert!(read().contains("not in the folder"), "{}", read());
    for bytes in [&[][..], &[1, 2, 3], &[0xff; 8], &[9, 0, 0, 0, 0, 0, 0, 0, b'{']] {
        write(dir.path(), bytes);
        assert!(read().contains("header"), "{}", read());
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    let data: Vec<u8> = [1.0, f32::NAN].into_iter().flat_map(f32::to_le_bytes).collect();
    let problem = one("F32", "[2]", &data).unwrap().floats("a", &[2]).unwrap_err();
    assert_eq!(problem.to_string(), "model.safetensors: `a`: number 1 is not finite");
    let tensors = one("F8_E4M3", "[2]", &[0, 0]).unwrap();
    assert!(tensors.floats("a", &[2]).unwrap_err().to_string().contains("`F8_E4M3` is not read"));
    assert!(tensors.floats("a", &[3]).unwrap_err().to_string().contains("of shape [2]"));
    assert!(tensors.floats("b", &[3]).unwrap_err().to_string().contains("`b`: is missing"));
}

#[test]
fn tensors_that_share_bytes_are_refused() {
    let two = |start: u32, end: u32| {
        let first = r#""a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}"#;
        let count = end - start;
        let second =
            format!(r#""b":{{"dtype":"I8","shape":[{count}],"data_offsets":[{start},{end}]}}"#);
        open(&format!("{{{second},{first}}}"), &[0; 8])
    };
    assert!(two(4, 8).is_ok() && two(4, 4).is_ok());
    for (start, end) in [(0, 4), (3, 8), (1, 3)] {
        let problem = two(start, end).unwrap_err();
        assert_eq!(problem.to_string(), "model.safetensors: `b`: shares bytes with `a`");
    }
}
