//! Defines what flows along the edges of a graph: numbers, flags or texts of up to four dimensions.
//!
//! A text is a number in the model's list of texts, so a label is copied like an integer.
//!
//! Invariant: [`Tensor::new`] refuses what has not as many elements as its shape says. The fields
//! are open: `call.rs` sets both at once when it makes room, as `fill_inputs` of `onnx.rs` does.
//! Nothing else may set one of them. A shape that was `checked` has at most 2^40 elements, and no
//! product of its sizes overflows. `Shape::of` trusts its caller.
//! More than four dimensions, and more than 2^20 texts, are errors.
//! Also here: arithmetic of shapes and axes. Repeating by shape is in `elementwise.rs`.
//! A new kind of element is a variant of `Data`, a line of `element!` and of `by_element!`. It also
//! goes into `OnnxKind`, `OnnxValues` and `fill_inputs`, and into `file.rs` and
//! `operators/cast.rs`.

use std::collections::HashMap;

/// Dimensions of a value.
pub(super) const RANK_MAX: usize = 4;

/// Elements of a value.
const ELEMENTS_MAX: usize = 1 << 40;

/// Whole numbers from here on are rounded as doubles.
pub(super) const EXACT_END: u64 = 1 << 53;

/// Texts of a model: labels of classes.
const TEXTS_MAX: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub(super) shape: Shape,
    pub(super) data: Data,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    /// Of 64 or of 32 bits.
    Integers(Vec<i64>),
    Flags(Vec<bool>),
    Texts(Vec<TextCode>),
}

/// A text by its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct TextCode(u32);

/// All texts of a model, each once.
#[derive(Debug, Default)]
pub(super) struct TextInterner {
    texts: Vec<String>,
    codes: HashMap<String, TextCode>,
}

/// Sizes, outermost first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    sizes: [usize; RANK_MAX],
    rank: usize,
}

/// What values are made of.
pub(super) trait Element: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    /// What to call several of them.
    const PLURAL: &'static str;
    fn found(data: &Data) -> Option<&[Self]>;
    /// Makes the data one of this element, keeping memory where it is already.
    fn room(data: &mut Data) -> &mut Vec<Self>;
}

/// Runs an expression for whatever the data is made of.
macro_rules! by_element {
    ($data:expr, $elements:ident => $do:expr) => {
        match $data {
            $crate::onnx::tensor::Data::Floats($elements) => $do,
            $crate::onnx::tensor::Data::Doubles($elements) => $do,
            $crate::onnx::tensor::Data::Integers($elements) => $do,
            $crate::onnx::tensor::Data::Flags($elements) => $do,
            $crate::onnx::tensor::Data::Texts($elements) => $do,
        }
    };
}
pub(super) use by_element;

macro_rules! element {
    ($element:ty, $variant:ident, $plural:literal) => {
        impl Element for $element {
            const PLURAL: &'static str = $plural;

            fn found(data: &Data) -> Option<&[Self]> {
                match data {
                    Data::$variant(elements) => Some(elements),
                    _ => None,
                }
            }

            fn room(data: &mut Data) -> &mut Vec<Self> {
                if !matches!(data, Data::$variant(_)) {
                    *data = Data::$variant(Vec::new());
                }
                match data {
                    Data::$variant(elements) => elements,
                    _ => unreachable!("made so above"),
                }
            }
        }
    };
}

element!(f32, Floats, "floats");
element!(f64, Doubles, "doubles");
element!(i64, Integers, "integers");
element!(bool, Flags, "flags");
element!(TextCode, Texts, "texts");

impl Default for Tensor {
    /// No element, and no memory.
    fn default() -> Self {
        Self { shape: Shape::of(&[0]), data: Data::Floats(Vec::new()) }
    }
}

impl Tensor {
    pub(super) fn new(shape: Shape, data: Data) -> Result<Self, String> {
        match (shape.elements(), data.len()) {
            (wanted, count) if wanted == count => Ok(Self { shape, data }),
            (_, count) => Err(format!("holds {count} elements, its shape is {shape}")),
        }
    }

    pub(super) fn elements<T: Element>(&self) -> Result<&[T], String> {
        T::found(&self.data)
            .ok_or_else(|| format!("{} where {} must be", self.data.plural(), T::PLURAL))
    }

    /// Returns the columns of rows, for which there are as many settings, or one for all.
    pub(super) fn columns(&self, settings: usize) -> Result<usize, String> {
        match self.rows() {
            (_, columns) if columns > 0 && (settings == 1 || settings == columns) => Ok(columns),
            _ => Err(format!("settings of {settings} columns do not fit {}", self.shape)),
        }
    }

    /// Returns how many rows there are and how many numbers each has, of which `wanted` are asked.
    pub(super) fn table(&self, wanted: usize) -> Result<(usize, usize), String> {
        match *self.shape.sizes() {
            [count, features] if features >= wanted => Ok((count, features)),
            _ => Err(format!("rows of {wanted} numbers are wanted, not {}", self.shape)),
        }
    }

    /// Returns sizes as rows: all but the last together, and the last.
    pub(super) fn rows(&self) -> (usize, usize) {
        match self.shape.sizes() {
            [] => (1, 1),
            [rows @ .., columns] => (rows.iter().product(), *columns),
        }
    }
}

impl Data {
    pub(super) fn len(&self) -> usize {
        by_element!(self, elements => elements.len())
    }

    pub(super) fn plural(&self) -> &'static str {
        fn plural<T: Element>(_: &[T]) -> &'static str {
            T::PLURAL
        }
        by_element!(self, elements => plural(elements))
    }
}

impl TextCode {
    /// A text of a row that the model does not name: equal to none that it does.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);

    /// # Panics
    /// The text is not known.
    pub(super) fn of(self, texts: &[String]) -> &str {
        &texts[self.0 as usize]
    }

    /// Returns the number that stands for the text in a row of numbers.
    pub(super) fn number(self) -> f64 {
        self.0.into()
    }

    pub(super) fn of_number(number: f64) -> Self {
        Self(number as u32)
    }
}

impl TextInterner {
    pub(super) fn code(&mut self, text: &str) -> Result<TextCode, String> {
        if let Some(code) = self.codes.get(text) {
            return Ok(*code);
        }
        if self.texts.len() == TEXTS_MAX {
            return Err(format!("more than {TEXTS_MAX} texts"));
        }
        let code = TextCode(self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.codes.insert(text.to_owned(), code);
        Ok(code)
    }

    /// Returns the code of a text that is there.
    pub(super) fn find(&self, text: &str) -> Option<TextCode> {
        self.codes.get(text).copied()
    }

    pub(super) fn list(&self) -> &[String] {
        &self.texts
    }
}

impl Shape {
    /// Returns the shape of up to [`RANK_MAX`] sizes.
    pub(super) fn of(sizes: &[usize]) -> Self {
        let mut shape = Self { sizes: [0; RANK_MAX], rank: sizes.len() };
        shape.sizes[..sizes.len()].copy_from_slice(sizes);
        shape
    }

    /// Returns the shape of these sizes, where it is one.
    pub(super) fn checked(sizes: impl IntoIterator<Item = usize>) -> Result<Self, String> {
        let mut shape = Self::default();
        for size in sizes {
            if shape.rank == RANK_MAX {
                return Err(format!("more than {RANK_MAX} dimensions are not supported"));
            }
            shape.sizes[shape.rank] = size;
            shape.rank += 1;
        }
        // Also where a size is 0, so that no product of some of them overflows.
        let each = shape.sizes().iter().map(|size| *size.max(&1));
        match each.into_iter().try_fold(1_usize, usize::checked_mul) {
            Some(elements) if elements <= ELEMENTS_MAX => Ok(shape),
            _ => Err(format!("{shape} is more than {ELEMENTS_MAX} elements")),
        }
    }

    pub(super) fn of_sizes(sizes: &[i64]) -> Result<Self, String> {
        let sizes = sizes.iter().map(|size| usize::try_from(*size).ok());
        let sizes: Vec<usize> = sizes.collect::<Option<_>>().ok_or("a size is negative")?;
        Self::checked(sizes)
    }

    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }

    pub(super) fn elements(&self) -> usize {
        self.sizes().iter().product()
    }

    /// Returns a dimension by its number, negative from the end.
    pub(super) fn axis(&self, axis: i64) -> Result<usize, String> {
        let from_start = if axis < 0 { axis + self.rank as i64 } else { axis };
        usize::try_from(from_start)
            .ok()
            .filter(|axis| *axis < self.rank)
            .ok_or_else(|| format!("{self} has no axis {axis}"))
    }

    /// Returns how many elements lie before an axis, along it, and within each of its steps.
    pub(super) fn around(&self, axes: std::ops::Range<usize>) -> (usize, usize, usize) {
        let product = |sizes: &[usize]| sizes.iter().product();
        let sizes = self.sizes();
        (product(&sizes[..axes.start]), product(&sizes[axes.clone()]), product(&sizes[axes.end..]))
    }

    /// Returns the shape without some axes, or with 1 in their place.
    pub(super) fn reduced(
        &self,
        axes: std::ops::Range<usize>,
        keeps: bool,
    ) -> Result<Self, String> {
        let sizes = self.sizes().iter().copied().enumerate();
        let kept = sizes.filter(|(axis, _)| keeps || !axes.contains(axis));
        Self::checked(kept.map(|(axis, size)| if axes.contains(&axis) { 1 } else { size }))
    }

    /// Returns the sizes with ones before them.
    pub(super) fn padded(&self) -> [usize; RANK_MAX] {
        let mut sizes = [1; RANK_MAX];
        sizes[RANK_MAX - self.rank..].copy_from_slice(self.sizes());
        sizes
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.sizes())
    }
}
