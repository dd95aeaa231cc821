//! Curves beside sums of their series, and their edges.

use super::*;

/// erf by its Taylor series, in f64; good to 1e-12 up to 3.
fn series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

fn steps(from: i32, to: i32) -> impl Iterator<Item = f32> {
    (from * 1000..=to * 1000).map(|step| step as f32 / 1000.0)
}

#[test]
fn erf_is_near_its_series() {
    for x in steps(-3, 3) {
        let wanted = series(f64::from(x)) as f32;
        assert!((erf(x) - wanted).abs() < 5e-7, "erf({x}) = {}, not {wanted}", erf(x));
    }
    assert!((erf(40.0) - 1.0).abs() < 5e-7);
    assert!((erf(-40.0) + 1.0).abs() < 5e-7);
}

#[test]
fn exp_is_near_that_of_the_library() {
    for x in steps(-87, 88) {
        let wanted = f64::from(x).exp();
        let error = (f64::from(exp(x)) - wanted).abs() / wanted;
        assert!(error < 2.5e-7, "exp({x}) = {}, not {wanted}", exp(x));
    }
    assert_eq!(exp(0.0), 1.0);
    assert!(exp(f32::NEG_INFINITY) < 1e-37);
    assert!(exp(1000.0) > 1e38 && exp(1000.0).is_finite());
}

#[test]
fn gelu_by_tanh_is_its_formula() {
    for x in steps(-6, 6) {
        let wide = f64::from(x);
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (wide + 0.044_715 * wide.powi(3));
        let wanted = (wide / 2.0 * (1.0 + inner.tanh())) as f32;
        let mut values = [x];
        Activation::GeluTanh.apply(&mut values);
        assert!((values[0] - wanted).abs() < 1e-6, "{x} gives {}, not {wanted}", values[0]);
    }
    let mut edges = [f32::MIN, -1e20, 1e20];
    Activation::GeluTanh.apply(&mut edges);
    assert!(edges[..2].iter().all(|edge| edge.abs() < 1e-6 || edge.is_finite()));
    assert_eq!(edges[2], 1e20);
}

#[test]
fn nan_stays_nan() {
    assert!(exp(f32::NAN).is_nan() && erf(f32::NAN).is_nan());
    for activation in [Activation::None, Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
        let mut values = [f32::NAN, -1.0];
        activation.apply(&mut values);
        assert!(values[0].is_nan(), "{activation:?}");
    }
    let mut values = [-1.0, 0.0, 2.0];
    Activation::Relu.apply(&mut values);
    assert_eq!(values, [0.0, 0.0, 2.0]);
}
