//! Against worked examples, brute force, and the false-alarm rate that p promises.

use stdx::Random;

use super::{paired, sums, sums::Pairs, unpaired};

#[test]
fn agrees_with_the_plants_of_hollander_and_wolfe() {
    // R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE): V = 40, p = 0.03906,
    // pseudomedian 0.46, interval 0.010 to 0.786.
    let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let y = [878, 647, 598, 2_050, 1_060, 1_290, 1_060, 3_140, 1_290].map(|y| f64::from(y) / 1e3);
    let difference = paired(&y, &x).unwrap();
    assert!((difference.p - 0.039_062_5).abs() < 1e-12, "{}", difference.p);
    assert!((difference.shift_ms - 0.46).abs() < 1e-9, "{}", difference.shift_ms);
    let [low, high] = difference.shift_ci_ms.unwrap();
    assert!((low - 0.010).abs() < 1e-9 && (high - 0.786).abs() < 1e-9, "{low} {high}");
}

#[test]
fn agrees_with_the_permeability_of_hollander_and_wolfe() {
    // R: wilcox.test(x, y): W = 35, two-sided p = 0.2544.
    let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let y = [1.15, 0.88, 0.90, 0.74, 1.21];
    let difference = unpaired(&y, &x).unwrap();
    assert!((difference.p - 0.254_4).abs() < 1e-4, "{}", difference.p);
    assert!((difference.shift_ms - 0.305).abs() < 1e-9, "{}", difference.shift_ms);
}

#[test]
fn finds_the_median_of_sums_as_brute_force_does() {
    let mut random = Random::new(3);
    for n in 1..40 {
        let values: Vec<f64> = (0..n).map(|_| (random.fraction() * 20.0).floor() - 7.0).collect();
        let sorted = crate::Sorted::new(&values);
        let walsh = sums::Walsh(sorted.values());
        let all: Vec<f64> = (0..n)
            .flat_map(|i| (i..n).map(move |j| (i, j)))
            .map(|(i, j)| sorted.values()[i] / 2.0 + sorted.values()[j] / 2.0)
            .collect();
        let brute = crate::Sorted::new(&all);
        assert_eq!(walsh.len() as usize, brute.len());
        assert_eq!(sums::median(&walsh), brute.median());
    }
}

#[test]
fn equal_samples_show_no_shift() {
    let same = [5.0; 30];
    let pairs = paired(&same, &same).unwrap();
    assert_eq!((pairs.p, pairs.shift_ms), (1.0, 0.0));
    let samples = unpaired(&same, &same).unwrap();
    assert_eq!((samples.p, samples.shift_ms), (1.0, 0.0));
    let many = [5.0; 500];
    assert_eq!(paired(&many, &many).unwrap().p, 1.0);
    assert_eq!(unpaired(&many, &many).unwrap().p, 1.0);
}

#[test]
fn few_calls_have_no_interval() {
    let difference = paired(&[1.0, 2.0], &[2.0, 4.0]).unwrap();
    assert_eq!((difference.shift_ci_ms, difference.median_ci_ms), (None, None));
    assert_eq!(unpaired(&[1.0], &[2.0]).unwrap().shift_ci_ms, None);
    assert_eq!(paired(&[], &[1.0]), None);
    assert_eq!(unpaired(&[f64::NAN], &[1.0]), None);
}

#[test]
fn intervals_hold_the_true_shift_and_p_is_honest() {
    for n in [12, 200] {
        let mut random = Random::new(11);
        let (mut covered, mut alarms) = (0, 0);
        for _ in 0..300 {
            let mut calls = |shift: f64| -> Vec<f64> {
                (0..n).map(|_| shift - (1.0 - random.fraction()).ln()).collect()
            };
            let (a, b) = (calls(0.0), calls(0.5));
            let [low, high] = unpaired(&a, &b).unwrap().shift_ci_ms.unwrap();
            covered += i32::from(low <= 0.5 && 0.5 <= high);
            let [low, high] = paired(&a, &b).unwrap().shift_ci_ms.unwrap();
            covered += i32::from(low <= 0.5 && 0.5 <= high);
            alarms += i32::from(unpaired(&a, &calls(0.0)).unwrap().p < 0.05);
        }
        assert!((555..=592).contains(&covered), "n {n}: {covered} of 600");
        assert!(alarms <= 27, "n {n}: {alarms} of 300");
    }
}
