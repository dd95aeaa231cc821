//! Layers of every shape beside plain sums, on every kernel that this CPU has.

use super::*;

fn kernels() -> Vec<Kernel> {
    let mut kernels = vec![Kernel::Portable];
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            (vector::avx2::is_available(), Kernel::Avx2),
            (vector::avx512::is_available(), Kernel::Avx512),
            (vector::bf16::is_available(), Kernel::Avx512Bf16),
            (vector::int8::is_available(), Kernel::Avx512Int8),
        ];
        kernels.extend(known.iter().filter(|(is_there, _)| *is_there).map(|(_, kernel)| kernel));
    }
    kernels
}

/// Numbers from -1 to 1, the same in every run.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

fn run(layer: &Dense, inputs: &[f32], finish: Finish, rows: usize) -> Vec<f32> {
    let mut out = vec![0.5; rows * layer.outputs()];
    layer.apply(inputs, finish, &mut Rounded::default(), &mut out);
    out
}

#[test]
fn layers_of_any_shape_are_sums_of_products() {
    for kernel in kernels() {
        let error_max = if kernel.precision() == Precision::Single { 1e-5 } else { 0.1 };
        for (inputs, outputs, rows) in
            [(1, 1, 1), (5, 47, 3), (16, 48, 8), (33, 49, 9), (40, 120, 13), (7, 16, 25)]
        {
            let weights = numbers(inputs * outputs, 1);
            let (bias, values) = (numbers(outputs, 2), numbers(rows * inputs, 3));
            let layer = Dense::new(&weights, &bias, kernel);
            let written = run(&layer, &values, Finish::Write(Activation::None), rows);
            let added = run(&layer, &values, Finish::Add, rows);
            for (index, (written, added)) in written.iter().zip(&added).enumerate() {
                let (row, output) = (index / outputs, index % outputs);
                let products = weights[output * inputs..][..inputs].iter();
                let products = products.zip(&values[row * inputs..][..inputs]);
                let sum: f64 = products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                let wanted = sum as f32 + bias[output];
                let place = format!("{kernel:?} {inputs}x{outputs}, row {row}, output {output}");
                assert!((written - wanted).abs() < error_max, "{place}: {written} not {wanted}");
                assert!((added - 0.5 - wanted).abs() < error_max, "{place}: {added}");
            }
        }
    }
}

#[test]
fn a_row_gives_the_same_bits_whatever_stands_beside_it() {
    let (inputs, outputs, rows) = (70, 100, 29);
    let (weights, bias) = (numbers(inputs * outputs, 4), numbers(outputs, 5));
    let values = numbers(rows * inputs, 6);
    let finish = Finish::Write(Activation::Gelu);
    let mut of_single: Option<Vec<f32>> = None;
    for kernel in kernels() {
        let layer = Dense::new(&weights, &bias, kernel);
        let together = run(&layer, &values, finish, rows);
        for (row, values) in values.chunks(inputs).enumerate() {
            let alone = run(&layer, values, finish, 1);
            assert_eq!(alone, together[row * outputs..][..outputs], "{kernel:?}, row {row}");
        }
        if kernel.precision() == Precision::Single {
            let first = of_single.get_or_insert_with(|| together.clone());
            assert_eq!(*first, together, "{kernel:?} and the first kernel");
        }
    }
}

#[test]
fn the_best_kernel_is_one_that_the_cpu_has() {
    for precision in [Precision::Single, Precision::Bf16, Precision::Int8] {
        assert!(kernels().contains(&Kernel::best(precision)));
    }
    assert_eq!(Kernel::best(Precision::Single).precision(), Precision::Single);
}
