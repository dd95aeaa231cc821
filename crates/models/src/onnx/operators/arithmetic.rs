//! Operators of two values or more, element by element: arithmetic, comparison, choice.
//!
//! Invariant: what is repeated along a dimension of size 1, and how, is ONNX's multidirectional
//! broadcasting.

use multiversion::multiversion;

use super::dense::ABREAST;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Data, Element, RANK_MAX, Shape, Value};

#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Min,
    Max,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Xor,
}

/// `Sum`, `Min`, `Max` of any number of values.
#[derive(Debug)]
pub(super) struct Fold(pub(super) Arithmetic);

/// The first value where a flag is set, else the second.
#[derive(Debug)]
pub(super) struct Where;

/// A number of any kind.
pub(super) trait Numeric: Element + PartialOrd {
    fn double(self) -> f64;
    fn rounded(number: f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn pow(self, other: Self) -> Self;

    fn is_nan(self) -> bool {
        self.double().is_nan()
    }

    /// Adds to sums the products of each number on the left with its row on the right, `step`
    /// elements after the one before.
    fn add_products(left: &[f64], right: &[Self], step: usize, sums: &mut [f64; ABREAST]) {
        for (row, a) in left.iter().enumerate() {
            let own = &right[row * step..][..ABREAST];
            sums.iter_mut().zip(own).for_each(|(sum, b)| *sum += a * b.double());
        }
    }
}

macro_rules! float {
    ($float:ty, $add_products:ident) => {
        #[multiversion(targets("x86_64+avx2"))]
        fn $add_products(left: &[f64], right: &[$float], step: usize, sums: &mut [f64; ABREAST]) {
            let mut own_sums = *sums;
            for (row, a) in left.iter().enumerate() {
                let own: &[$float; ABREAST] =
                    right[row * step..].first_chunk().expect("a whole tile of columns");
                for (sum, b) in own_sums.iter_mut().zip(own) {
                    *sum += a * f64::from(*b);
                }
            }
            *sums = own_sums;
        }

        impl Numeric for $float {
            fn double(self) -> f64 {
                self.into()
            }
            fn rounded(number: f64) -> Self {
                number as Self
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn sub(self, other: Self) -> Self {
                self - other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            fn pow(self, other: Self) -> Self {
                self.powf(other)
            }
            fn add_products(left: &[f64], right: &[Self], step: usize, sums: &mut [f64; ABREAST]) {
                $add_products(left, right, step, sums);
            }
        }
    };
}

float!(f32, add_floats);
float!(f64, add_doubles);

/// Integers wrap around, and a quotient by 0 is 0.
impl Numeric for i64 {
    fn double(self) -> f64 {
        self as f64
    }
    fn rounded(number: f64) -> Self {
        number as Self
    }
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
    fn div(self, other: Self) -> Self {
        if other == 0 { 0 } else { self.wrapping_div(other) }
    }
    fn pow(self, other: Self) -> Self {
        (self as f64).powf(other as f64) as Self
    }
}

impl Operator for Arithmetic {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        self.combine(call, (a, b), &mut out[0])
    }
}

impl Arithmetic {
    fn combine(
        self,
        call: &mut Call<'_>,
        pair: (&Value, &Value),
        out: &mut Value,
    ) -> Result<(), String> {
        match pair.0.data {
            Data::Floats(_) => self.numbers::<f32>(call, pair, out),
            Data::Doubles(_) => self.numbers::<f64>(call, pair, out),
            _ => self.numbers::<i64>(call, pair, out),
        }
    }

    fn numbers<T: Numeric>(
        self,
        call: &mut Call<'_>,
        (a, b): (&Value, &Value),
        out: &mut Value,
    ) -> Result<(), String> {
        // Each arm is a loop of its own, so that the compiler makes vectors of it.
        match self {
            Self::Add => pairwise::<T, T>(call, (a, b), out, T::add),
            Self::Sub => pairwise::<T, T>(call, (a, b), out, T::sub),
            Self::Mul => pairwise::<T, T>(call, (a, b), out, T::mul),
            Self::Div => pairwise::<T, T>(call, (a, b), out, T::div),
            Self::Pow => pairwise::<T, T>(call, (a, b), out, T::pow),
            // NaN wins.
            Self::Min => pairwise::<T, T>(call, (a, b), out, |a, b| match a < b || a.is_nan() {
                true => a,
                false => b,
            }),
            Self::Max => pairwise::<T, T>(call, (a, b), out, |a, b| match a > b || a.is_nan() {
                true => a,
                false => b,
            }),
        }
    }
}

impl Operator for Fold {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let [sum, next] = out;
        let first = call.input(0)?;
        super::layout::copy(call, first, first.shape, sum)?;
        for index in 1..call.inputs() {
            let value = call.input(index)?;
            self.0.combine(call, (&*sum, value), next)?;
            std::mem::swap(sum, next);
        }
        Ok(())
    }
}

impl Operator for Comparison {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let (a, b) = (call.input(0)?, call.input(1)?);
        let out = &mut out[0];
        match (self, &a.data) {
            (Self::And, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a & b),
            (Self::Or, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a | b),
            (Self::Xor, _) => pairwise::<bool, bool>(call, (a, b), out, |a, b| a ^ b),
            (_, Data::Floats(_)) => self.numbers::<f32>(call, (a, b), out),
            (_, Data::Doubles(_)) => self.numbers::<f64>(call, (a, b), out),
            (Self::Equal, Data::Flags(_)) => {
                pairwise::<bool, bool>(call, (a, b), out, |a, b| a == b)
            }
            (Self::Equal, Data::Texts(_)) => {
                pairwise::<crate::onnx::value::TextCode, bool>(call, (a, b), out, |a, b| a == b)
            }
            _ => self.numbers::<i64>(call, (a, b), out),
        }
    }
}

impl Comparison {
    fn numbers<T: Numeric>(
        self,
        call: &mut Call<'_>,
        pair: (&Value, &Value),
        out: &mut Value,
    ) -> Result<(), String> {
        match self {
            Self::Less => pairwise::<T, bool>(call, pair, out, |a, b| a < b),
            Self::LessOrEqual => pairwise::<T, bool>(call, pair, out, |a, b| a <= b),
            Self::Greater => pairwise::<T, bool>(call, pair, out, |a, b| a > b),
            Self::GreaterOrEqual => pairwise::<T, bool>(call, pair, out, |a, b| a >= b),
            _ => pairwise::<T, bool>(call, pair, out, |a, b| a == b),
        }
    }
}

impl Operator for Where {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let (flags, a, b) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let shape = broadcast(flags.shape, broadcast(a.shape, b.shape)?)?;
        crate::onnx::value::by_element!(&a.data, a_elements => {
            let b_elements = b.elements()?;
            choose(call, [flags, a, b], (a_elements, b_elements), shape, &mut out[0])
        })
    }
}

fn choose<T: Element>(
    call: &mut Call<'_>,
    [flags, a, b]: [&Value; 3],
    (a_elements, b_elements): (&[T], &[T]),
    shape: Shape,
    out: &mut Value,
) -> Result<(), String> {
    let steps = [flags, a, b].map(|value| steps(value.shape));
    let flags = flags.elements::<bool>()?;
    let room = call.room::<T>(out, shape)?;
    let mut places = Places::new(shape);
    for room in room {
        let [flag, a, b] = steps.map(|steps| places.of(steps));
        *room = if flags[flag] { a_elements[a] } else { b_elements[b] };
        places.advance();
    }
    Ok(())
}

/// Combines two values element by element.
fn pairwise<T: Element, O: Element>(
    call: &mut Call<'_>,
    (a, b): (&Value, &Value),
    out: &mut Value,
    of: impl Fn(T, T) -> O,
) -> Result<(), String> {
    let shape = broadcast(a.shape, b.shape)?;
    let (a_steps, b_steps) = (steps(a.shape), steps(b.shape));
    let (a, b) = ((a.shape, a.elements::<T>()?), (b.shape, b.elements::<T>()?));
    let room = call.room::<O>(out, shape)?;
    if a.0 == b.0 {
        let pairs = a.1.iter().zip(b.1);
        room.iter_mut().zip(pairs).for_each(|(room, (a, b))| *room = of(*a, *b));
        return Ok(());
    }
    let columns = shape.padded()[RANK_MAX - 1];
    if columns == 0 {
        return Ok(());
    }
    let mut places = Places::new(shape);
    for room in room.chunks_exact_mut(columns) {
        let (a, b) = (&a.1[places.of(a_steps)..], &b.1[places.of(b_steps)..]);
        match (a_steps[RANK_MAX - 1], b_steps[RANK_MAX - 1]) {
            (0, 0) => room.fill(of(a[0], b[0])),
            (0, _) => room.iter_mut().zip(b).for_each(|(room, b)| *room = of(a[0], *b)),
            (_, 0) => room.iter_mut().zip(a).for_each(|(room, a)| *room = of(*a, b[0])),
            _ => {
                let pairs = a.iter().zip(b);
                room.iter_mut().zip(pairs).for_each(|(room, (a, b))| *room = of(*a, *b));
            }
        }
        places.advance_row();
    }
    Ok(())
}

/// Returns the shape that two values are repeated to.
pub(super) fn broadcast(a: Shape, b: Shape) -> Result<Shape, String> {
    let rank = a.sizes().len().max(b.sizes().len());
    let mut sizes = [1; RANK_MAX];
    for ((size, a), b) in sizes.iter_mut().zip(a.padded()).zip(b.padded()) {
        *size = match (a, b) {
            (1, b) => b,
            (a, 1) => a,
            (a, b) if a == b => a,
            _ => return Err(format!("{a} and {b} elements do not go together")),
        };
    }
    Shape::checked(sizes[RANK_MAX - rank..].iter().copied())
}

/// Returns how far apart the neighbours along each axis stand; 0 where one is repeated.
fn steps(shape: Shape) -> [usize; RANK_MAX] {
    let mut steps = [0; RANK_MAX];
    let mut next = 1;
    for (step, size) in steps.iter_mut().zip(shape.padded()).rev() {
        *step = if size == 1 { 0 } else { next };
        next *= size;
    }
    steps
}

/// A way through all places of a shape, the last axis first.
struct Places {
    sizes: [usize; RANK_MAX],
    at: [usize; RANK_MAX],
}

impl Places {
    fn new(shape: Shape) -> Self {
        Self { sizes: shape.padded(), at: [0; RANK_MAX] }
    }

    fn of(&self, steps: [usize; RANK_MAX]) -> usize {
        self.at.iter().zip(steps).map(|(at, step)| at * step).sum()
    }

    fn advance(&mut self) {
        self.advance_from(RANK_MAX - 1);
    }

    fn advance_row(&mut self) {
        self.advance_from(RANK_MAX - 2);
    }

    fn advance_from(&mut self, axis: usize) {
        for axis in (0..=axis).rev() {
            self.at[axis] += 1;
            if self.at[axis] < self.sizes[axis] {
                return;
            }
            self.at[axis] = 0;
        }
    }
}
