//! A candidate set scored eight rows at a time, and its sums beside those of the plain loop.

use super::{Matrix, Packed, RequestWeights, WIDTH, add_packed, add_packed_anywhere};

const COLUMNS: usize = 13;

/// Values whose sums round, so that another order would show.
fn matrix(rows: usize) -> Matrix {
    let column = |column: usize| {
        (0..rows).map(|row| ((row * 31 + column * 17) as f32).sin() * 1e3).collect::<Vec<_>>()
    };
    Matrix::from_columns(&(0..COLUMNS).map(column).collect::<Vec<_>>(), rows)
}

fn weights() -> RequestWeights {
    let weight = |index: usize| if index < COLUMNS { (index as f64 + 0.1).cos() } else { 0.0 };
    (0..COLUMNS.div_ceil(WIDTH))
        .map(|lane| std::array::from_fn(|index| weight(lane * WIDTH + index)))
        .collect()
}

#[test]
fn packed_rows_score_the_same_to_the_bit_with_and_without_wide_registers() {
    for rows in 1..40_u32 {
        let matrix = matrix(rows as usize);
        let order: Vec<u32> = (0..rows).rev().collect();
        let Packed { lanes, .. } = matrix.pack(&order);
        let start = |row: &u32| f64::from(*row) / 3.0;
        let mut by_rows: Vec<f64> = order.iter().map(start).collect();
        let mut by_this_cpu = by_rows.clone();
        let mut anywhere = by_rows.clone();
        matrix.add(&weights(), &order, &mut by_rows);
        add_packed(&lanes, &weights(), &mut by_this_cpu);
        add_packed_anywhere(&lanes, &weights(), &mut anywhere);
        assert_eq!(by_this_cpu, by_rows, "{rows} rows");
        assert_eq!(anywhere, by_rows, "{rows} rows");
    }
}
