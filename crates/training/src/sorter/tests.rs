//! Claims about the order of records that do not fit memory.

use stdx::Random;

use super::{RUNS_MAX, Sorter};

#[test]
fn records_come_back_in_order_whatever_fits_memory() {
    let mut random = Random::new(3);
    // The last makes more runs than are merged at once.
    for run_bytes in [1 << 20, 2000, 200, 20] {
        let dir = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(dir.path(), run_bytes);
        let mut wanted = Vec::new();
        for _ in 0..500 {
            let record: Vec<u8> = (0..random.up_to(9)).map(|_| random.bits() as u8 % 4).collect();
            let (left, right) = record.split_at(record.len() / 2);
            sorter.push(&[left, right]).unwrap();
            wanted.push(record);
        }
        assert!(run_bytes > 20 || sorter.made > RUNS_MAX);
        wanted.sort();
        let mut merged = sorter.finish().unwrap();
        let mut sorted = Vec::new();
        while let Some(record) = merged.next().unwrap() {
            sorted.push(record.to_vec());
        }
        assert_eq!(sorted, wanted);
        assert!(std::fs::read_dir(dir.path()).unwrap().count() < RUNS_MAX);
    }
}
