//! ONNX models beside ONNX Runtime and the libraries that trained them, and what hostile files and
//! many rows cost. Models and rows are those of `golden/onnx_models.py`: a small set kept here, and
//! a larger one made anew.
//!
//! Claim: labels are ONNX Runtime's, numbers differ by at most 1e-6 of the larger one (or of 1),
//! for any number of rows at once.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use models::{OnnxKind, OnnxModel, OnnxScratch, OnnxValues};
use testkit::{CountingAllocator, TempDir, allocated, skip};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// How far a number may be from ONNX Runtime's.
const ERROR_MAX: f64 = 1e-6;

/// A model with rows, and what ONNX Runtime and the library that trained it make of them.
struct Case {
    name: String,
    model: OnnxModel,
    rows: Vec<f32>,
    /// Names of the outputs.
    names: Vec<String>,
    /// By row: by output: elements as text.
    wanted: Vec<Vec<Vec<String>>>,
    theirs: Vec<Vec<f64>>,
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let model = OnnxModel::read(&fs::read(path).unwrap());
        let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = fs::read_to_string(path.with_extension("rows")).unwrap();
        let mut lines = text.lines();
        let names = lines.next().unwrap().split(' ').map(str::to_owned).collect();
        let (mut rows, mut wanted, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines {
            let mut parts: Vec<Vec<String>> = line
                .split('|')
                .map(|part| part.split_ascii_whitespace().map(str::to_owned).collect())
                .collect();
            let last = parts.pop().unwrap();
            theirs.push(last.iter().map(|number| number.parse().unwrap()).collect());
            // What is no number is a text of the row.
            let cell = |cell: &String| match cell.parse::<f32>() {
                Ok(number) => number,
                Err(_) => model.text_number(cell) as f32,
            };
            let start = rows.len();
            rows.extend(parts.remove(0).iter().map(cell));
            cut_integers(&model, &mut rows[start..]);
            wanted.push(parts);
        }
        Self { name, model, rows, names, wanted, theirs }
    }

    fn all_of(folder: &Path) -> Vec<Self> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "onnx"));
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    /// Runs so many rows at once.
    fn check(&self, at_once: usize, scratch: &mut OnnxScratch) {
        let about = self.model.about();
        let outputs: Vec<&str> = about.outputs.iter().map(|output| output.name.as_str()).collect();
        assert_eq!(outputs, self.names, "{}", self.name);
        let chunks = self.rows.chunks(at_once * about.features).zip(self.wanted.chunks(at_once));
        for (part, (rows, wanted)) in chunks.enumerate() {
            let answer = self.model.run(rows, scratch).unwrap();
            for (index, output) in about.outputs.iter().enumerate() {
                let values = answer.output(index);
                for (row, wanted) in wanted.iter().enumerate() {
                    let place = format!("{}, row {}", self.name, part * at_once + row);
                    let own = row * output.width..(row + 1) * output.width;
                    let error_max = error_max(&self.name);
                    compare(&place, values, own, (&wanted[index], error_max));
                }
            }
        }
    }

    /// Compares the last output with what the library that trained the model gives.
    fn check_theirs(&self, scratch: &mut OnnxScratch, error_max: f64) {
        if self.theirs.iter().all(Vec::is_empty) {
            return;
        }
        let answer = self.model.run(&self.rows, scratch).unwrap();
        let last = self.model.about().outputs.len() - 1;
        let values = numbers(answer.output(last));
        let width = values.len() / self.theirs.len();
        for (row, theirs) in self.theirs.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            for (got, wanted) in values[row * width..][..width].iter().zip(theirs) {
                let place = format!("{}, row {row}, beside its library", self.name);
                assert_close(&place, *got, *wanted, error_max);
            }
        }
    }
}

/// Makes integers of a row's numbers where the model takes them, as the export's check did.
fn cut_integers(model: &OnnxModel, row: &mut [f32]) {
    let kinds = model.about().inputs.iter().flat_map(|input| vec![input.kind; input.width]);
    for (number, _) in row.iter_mut().zip(kinds).filter(|(_, kind)| *kind == OnnxKind::Integer) {
        *number = number.trunc();
    }
}

/// How far a number of a model may be from ONNX Runtime's.
fn error_max(name: &str) -> f64 {
    // Its formulas lose digits, more of them than 1e-6 allows: it adds kernels as floats.
    let loses_digits = name.contains("probit") || name.starts_with("sv");
    if loses_digits { 3e-5 } else { ERROR_MAX }
}

fn compare(
    place: &str,
    values: OnnxValues<'_>,
    own: std::ops::Range<usize>,
    (wanted, error_max): (&[String], f64),
) {
    assert_eq!(own.len(), wanted.len(), "{place}");
    match values {
        OnnxValues::Texts(texts) => {
            let got: Vec<&str> = texts.iter().skip(own.start).take(own.len()).collect();
            assert_eq!(got, wanted, "{place}");
        }
        OnnxValues::Integers(numbers) => {
            let wanted: Vec<i64> = wanted.iter().map(|number| number.parse().unwrap()).collect();
            assert_eq!(numbers[own], wanted, "{place}");
        }
        other => {
            for (got, wanted) in numbers(other)[own].iter().zip(wanted) {
                assert_close(place, *got, wanted.parse().unwrap(), error_max);
            }
        }
    }
}

fn numbers(values: OnnxValues<'_>) -> Vec<f64> {
    match values {
        OnnxValues::Floats(numbers) => numbers.iter().map(|number| f64::from(*number)).collect(),
        OnnxValues::Doubles(numbers) => numbers.to_vec(),
        other => panic!("no numbers: {other:?}"),
    }
}

fn assert_close(place: &str, got: f64, wanted: f64, error_max: f64) {
    let close = got == wanted
        || (got.is_nan() && wanted.is_nan())
        // A share of infinity allows any difference, so an infinity is near nothing else.
        || (got.is_finite()
            && wanted.is_finite()
            && (got - wanted).abs() <= error_max * got.abs().max(wanted.abs()).max(1.0));
    assert!(close, "{place}: {got} not {wanted}");
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// The Python of the set-up, where it has what exports models.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/bin/python");
    // Importing them takes a second, looking for them does not.
    let find = "import sys; from importlib.util import find_spec; \
                sys.exit(not all(map(find_spec, sys.argv[1:])))";
    let found = Command::new(&python)
        .args(["-c", find])
        .args(["onnxmltools", "onnxruntime", "skl2onnx"])
        .output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip("skl2onnx and onnxruntime are not there; `cargo xtask setup --test` installs them");
    None
}

#[test]
fn models_of_every_kind_answer_as_onnx_runtime_does() {
    let cases = Case::all_of(&golden().join("onnx"));
    assert!(cases.len() > 60, "{} models", cases.len());
    // One scratch for all: nothing of a model is left in it for the next.
    let mut scratch = OnnxScratch::default();
    for case in &cases {
        for at_once in [1, 5, case.wanted.len()] {
            case.check(at_once, &mut scratch);
        }
    }
}

#[test]
fn models_of_every_kind_answer_as_the_libraries_that_trained_them() {
    let mut scratch = OnnxScratch::default();
    for case in Case::all_of(&golden().join("onnx")) {
        case.check_theirs(&mut scratch, error_max(&case.name));
    }
}

#[test]
fn models_exported_anew_answer_as_onnx_runtime_does() {
    let Some(python) = python() else { return };
    let folder = TempDir::new().unwrap();
    let mut maker = Command::new(python);
    maker.args(["-W", "ignore"]).arg(golden().join("onnx_models.py")).arg(folder.path());
    maker.args(["--rows", "200", "--trees", "10"]).env("ORT_DISABLE_TELEMETRY", "1");
    // Threads of OpenMP that wait for each other cost more than the training.
    maker.env("OMP_NUM_THREADS", "1");
    let made = maker.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let cases = Case::all_of(folder.path());
    assert!(cases.len() > 60, "{} models", cases.len());
    let mut scratch = OnnxScratch::default();
    cases.iter().for_each(|case| case.check(case.wanted.len(), &mut scratch));
}

#[test]
fn a_warm_thread_runs_without_allocating() {
    for name in ["forest-three", "pipeline-impute", "network-names", "sgd-three"] {
        let case = Case::read(&golden().join(format!("onnx/{name}.onnx")));
        let mut scratch = OnnxScratch::default();
        let mut run = || {
            case.model.run(&case.rows, &mut scratch).unwrap();
            case.model.run(&case.rows[..case.model.about().features], &mut scratch).unwrap();
            case.model.run(&case.rows, &mut scratch).unwrap();
        };
        run();
        let before = allocated();
        run();
        assert_eq!(allocated() - before, 0, "{name}");
    }
}

#[test]
fn a_model_says_what_it_takes_and_gives() {
    let case = Case::read(&golden().join("onnx/logistic-names.onnx"));
    let about = case.model.about();
    assert_eq!((about.producer.as_str(), about.features), ("skl2onnx", 5));
    let inputs: Vec<_> = about.inputs.iter().map(|i| (i.name.as_str(), i.kind, i.width)).collect();
    assert_eq!(inputs, [("x", OnnxKind::Float, 5)]);
    let outputs: Vec<_> =
        about.outputs.iter().map(|o| (o.name.as_str(), o.kind, o.width)).collect();
    let wanted = [("output_label", OnnxKind::Text, 1), ("output_probability", OnnxKind::Float, 3)];
    assert_eq!(outputs, wanted);
    assert_eq!(about.outputs[1].columns, ["high", "low", "middle"]);
    let columns = Case::read(&golden().join("onnx/pipeline-columns.onnx"));
    assert_eq!(columns.model.about().inputs.len(), 5);
    assert_eq!(columns.model.about().features, 5);
}

#[test]
fn a_file_cut_anywhere_is_refused_with_its_place() {
    for name in ["pipeline-impute", "boosting-three", "network-two"] {
        let whole = fs::read(golden().join(format!("onnx/{name}.onnx"))).unwrap();
        for length in 0..whole.len() {
            // What is cut between two fields of the file itself may be whole.
            if let Err(error) = OnnxModel::read(&whole[..length]) {
                let text = error.to_string();
                assert!(text.starts_with("read model: "), "{text}");
            }
        }
    }
}

#[test]
fn a_file_with_wrong_bytes_never_panics() {
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut scratch = OnnxScratch::default();
    let names =
        ["pipeline-parts", "hist-three", "sgd-two", "ada", "logistic-columns", "hand-min-1"];
    for name in names {
        let case = Case::read(&golden().join(format!("onnx/{name}.onnx")));
        let whole = fs::read(golden().join(format!("onnx/{name}.onnx"))).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=next(3) {
                let at = next(bytes.len());
                bytes[at] = match next(3) {
                    0 => bytes[at] ^ (1 << next(8)),
                    1 => [0, 1, 127, 128, 255][next(5)],
                    _ => next(256) as u8,
                };
            }
            // A model that is still one may answer anything, or refuse to.
            if let Ok(model) = OnnxModel::read(&bytes) {
                let rows = case.rows.iter().copied().cycle().take(4 * model.about().features);
                let _answer = model.run(&rows.collect::<Vec<_>>(), &mut scratch);
            }
        }
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let read = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = fs::read(golden().join(format!("onnx/{name}.onnx"))).unwrap();
        let found = bytes.windows(from.len()).position(|window| window == from);
        let at = found.unwrap_or_else(|| panic!("{name} holds it"));
        bytes[at..at + from.len()].copy_from_slice(to);
        OnnxModel::read(&bytes).unwrap_err().to_string()
    };
    let error = read("network-tanh", b"\x22\x04Tanh", b"\x22\x04Tanq");
    assert!(
        error.contains("(Tanq): the operator is not supported; hint: ONNX Runtime runs it"),
        "{error}"
    );
    let error = read("tree", b"BRANCH_LEQ", b"BRANCH_LOT");
    assert!(error.contains("`nodes_modes` `BRANCH_LOT` is not known"), "{error}");
    // OperatorSetIdProto of ONNX-ML: the version is the byte behind the domain.
    let error = read("tree", b"ai.onnx.ml\x10\x01", b"ai.onnx.ml\x10\x63");
    assert!(error.contains("version 99 of the operators of `ai.onnx.ml`"), "{error}");
    for bytes in [&b""[..], b"onnx", b"{}", b"tree\nversion=v4"] {
        let error = OnnxModel::read(bytes).unwrap_err().to_string();
        assert!(error.starts_with("read model: "), "{error}");
    }
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let case = Case::read(&golden().join("onnx/linear.onnx"));
    let mut scratch = OnnxScratch::default();
    let error = case.model.run(&[1.0_f32; 7], &mut scratch).unwrap_err().to_string();
    assert_eq!(error, "score rows: 7 numbers are no rows of 5");
    let none = case.model.run::<f32>(&[], &mut scratch).unwrap();
    assert_eq!(none.named("variable"), Some(OnnxValues::Floats(&[])));
    assert_eq!(none.named("other"), None);
}

/// A field of Protocol Buffers that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 127 {
        field.push(length as u8 | 128);
        length >>= 7;
    }
    field.push(length as u8);
    [field, bytes.to_vec()].concat()
}

/// A model of nodes (operator, inputs, output) over the input `x` and the constant `c`, integers.
fn graph_of(nodes: &[(&str, &[&str], &str)], constant: &[i64]) -> Vec<u8> {
    let node = |(operator, inputs, output): &(&str, &[&str], &str)| {
        let inputs = inputs.iter().flat_map(|input| field(1, input.as_bytes()));
        let rest = [field(2, output.as_bytes()), field(4, operator.as_bytes())].concat();
        field(1, &inputs.chain(rest).collect::<Vec<u8>>())
    };
    let raw: Vec<u8> = constant.iter().flat_map(|number| number.to_le_bytes()).collect();
    let size = [8, constant.len() as u8, 16, 7];
    let tensor = [&size[..], &field(8, b"c"), &field(9, &raw)].concat();
    let shape = [field(1, &field(2, b"n")), field(1, &[8, 1])].concat();
    let tensor_type = field(1, &[&[8, 1][..], &field(2, &shape)].concat());
    let input = field(11, &[field(1, b"x"), field(2, &tensor_type)].concat());
    let output = field(12, &field(1, nodes.last().unwrap().2.as_bytes()));
    let nodes: Vec<u8> = nodes.iter().flat_map(node).collect();
    let graph = field(7, &[nodes, field(5, &tensor), input, output].concat());
    [graph, field(8, &[16, 13])].concat()
}

#[test]
fn a_small_file_cannot_ask_for_much_memory_or_time() {
    let refused = |nodes: &[(&str, &[&str], &str)], constant: &[i64], wanted: &str| {
        let error = OnnxModel::read(&graph_of(nodes, constant)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}, not {wanted}");
    };
    let fill: (&str, &[&str], &str) = ("ConstantOfShape", &["c"], "big");
    refused(&[fill], &[1 << 20, 1 << 10], "node `big` (ConstantOfShape): the graph writes more");
    refused(&[fill], &[1 << 40, 1 << 40], "is more than 1099511627776 elements");
    refused(&[fill], &[i64::MAX, 0, i64::MAX, 2], "elements");
    refused(&[fill], &[1; 9], "more than 4 dimensions are not supported");
    let square: (&str, &[&str], &str) = ("MatMul", &["big", "big"], "product");
    refused(&[fill, square, ("MatMul", &["product", "big"], "y")], &[1 << 14, 1], "do not go");
    refused(&[("Add", &["x", "y"], "y")], &[1], "reads `y`, which nothing before it writes");
    refused(&[("Add", &["x", "x"], "x")], &[1], "value `x`: is written twice");
    refused(&[("Reshape", &["x", "c"], "y")], &[-1, -1, 7], "`shape` has more than one -1");
    refused(&[("Reshape", &["x", "c"], "y")], &[2, -1], "elements do not make");
    refused(&[("Shape", &["x"], "y")], &[1], "output `y`: is not one row for each");
}
