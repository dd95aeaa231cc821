//! Files of ONNX: refused in words, or taken; then rows give the same alone and together.

use models::{Error, OnnxKind, OnnxModel, OnnxScratch, OnnxValues};

pub(super) const TOKENS: &[&str] = &[
    "ai.onnx.ml",
    "TreeEnsembleRegressor",
    "TreeEnsembleClassifier",
    "LinearRegressor",
    "LinearClassifier",
    "Scaler",
    "Normalizer",
    "ZipMap",
    "MatMul",
    "Gemm",
    "Concat",
    "Reshape",
    "Cast",
    "ArgMax",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_featureids",
    "nodes_values",
    "nodes_modes",
    "BRANCH_LEQ",
    "LEAF",
    "post_transform",
    "SOFTMAX",
    "\x08\x08",
    "\x12\x04",
];

/// Numbers per row up to which rows are run; more is the caller's own memory.
const FEATURES_MAX: usize = 4096;

const ROWS: usize = 5;

const VALUES: [f32; 7] = [f32::NAN, 0.0, -1.0, 2.5, f32::INFINITY, 1e-40, -3e38];

pub(super) fn run(input: &[u8]) {
    let model = match OnnxModel::read(input) {
        Ok(model) => model,
        Err(Error::Model(problems)) => {
            let problem = problems.first().expect("refused without a word");
            assert!(!problem.reason.is_empty(), "refused without a word");
            return;
        }
        Err(error) => panic!("reading a model fails as {error:?}"),
    };
    let features = model.about().features;
    if features > FEATURES_MAX {
        return;
    }
    let values = VALUES.iter().cycle().skip(input.len() % VALUES.len());
    let inputs = model.about().inputs.iter();
    let kinds: Vec<OnnxKind> =
        inputs.flat_map(|input| std::iter::repeat_n(input.kind, input.width)).collect();
    let taken = values.zip(kinds.iter().cycle()).map(|(value, kind)| taken(*kind, *value));
    let rows: Vec<f32> = taken.take(ROWS * features).collect();
    let together = outputs_as_text(&model, &rows);
    let alone: Option<Vec<Vec<String>>> =
        rows.chunks(features).map(|row| outputs_as_text(&model, row)).collect();
    // An index outside a table depends on the row; then all of them are refused together.
    let (Some(together), Some(alone)) = (together, alone) else { return };
    for (index, output) in together.iter().enumerate() {
        let alone: String = alone.iter().map(|outputs| outputs[index].as_str()).collect();
        assert_eq!(*output, alone, "a row depends on those beside it");
    }
}

/// A value that an input of this kind takes: of others nothing but the refusal would be seen.
fn taken(kind: OnnxKind, value: f32) -> f32 {
    match kind {
        OnnxKind::Integer | OnnxKind::Integer32 if value.abs() < 1e6 => value.trunc(),
        OnnxKind::Integer | OnnxKind::Integer32 => 7.0,
        OnnxKind::Bool => f32::from(value > 0.0),
        OnnxKind::Float | OnnxKind::Double | OnnxKind::Text => value,
    }
}

/// The elements of every output, as text; `None` where the graph cannot go on.
fn outputs_as_text(model: &OnnxModel, rows: &[f32]) -> Option<Vec<String>> {
    let mut scratch = OnnxScratch::default();
    let answer = model.run(rows, &mut scratch).ok()?;
    let outputs = 0..model.about().outputs.len();
    let texts = outputs.map(|index| match answer.output(index) {
        OnnxValues::Floats(all) => all.iter().map(|x| format!("{x} ")).collect::<String>(),
        OnnxValues::Doubles(all) => all.iter().map(|x| format!("{x} ")).collect(),
        OnnxValues::Integers(all) => all.iter().map(|x| format!("{x} ")).collect(),
        OnnxValues::Flags(all) => all.iter().map(|x| format!("{x} ")).collect(),
        OnnxValues::Texts(all) => all.iter().map(|x| format!("{x} ")).collect(),
    });
    Some(texts.collect())
}
