//! What a graph says that nobody here implements is refused, with the operator and the attribute.

use std::fs;
use std::path::Path;

use super::file::GraphNode;
use super::wire::Message;
use super::*;

/// A field of Protocol Buffers that holds bytes, or fewer than 128 of them as a varint's.
fn bytes_field(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 1 << 14, "two bytes of length");
    let length = [bytes.len() as u8 | 128, (bytes.len() >> 7) as u8];
    [&[number << 3 | 2][..], &length, bytes].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn varint_field(number: u8, value: i64) -> Vec<u8> {
    [vec![number << 3], varint(value as u64)].concat()
}

/// The type of an attribute: field 20 takes two bytes.
fn type_field(kind: u8) -> Vec<u8> {
    vec![160, 1, kind]
}

fn attribute(name: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    bytes_field(5, &[bytes_field(1, name.as_bytes()), fields.concat()].concat())
}

fn int(name: &str, value: i64) -> Vec<u8> {
    attribute(name, &[varint_field(3, value), type_field(2)])
}

fn ints(name: &str, values: &[i64]) -> Vec<u8> {
    let fields = values.iter().map(|value| varint_field(8, *value));
    attribute(name, &fields.chain([type_field(7)]).collect::<Vec<_>>())
}

fn float(name: &str, value: f32) -> Vec<u8> {
    attribute(name, &[[&[2 << 3 | 5][..], &value.to_le_bytes()].concat(), type_field(1)])
}

fn floats(name: &str, values: &[f32]) -> Vec<u8> {
    let fields = values.iter().map(|value| [&[7 << 3 | 5][..], &value.to_le_bytes()].concat());
    attribute(name, &fields.chain([type_field(6)]).collect::<Vec<_>>())
}

fn text(name: &str, value: &str) -> Vec<u8> {
    attribute(name, &[bytes_field(4, value.as_bytes()), type_field(3)])
}

/// A node by its operator, a blank and its inputs, `>` and its outputs: `Add x x > y`.
fn node(line: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    let (head, outputs) = line.split_once(" > ").unwrap();
    let mut words = head.split(' ');
    let operator = words.next().unwrap();
    let (domain, operator) = operator.split_once(':').unwrap_or(("", operator));
    let list = |field, names: &mut dyn Iterator<Item = &str>| -> Vec<u8> {
        names.flat_map(|name| bytes_field(field, name.trim_matches('_').as_bytes())).collect()
    };
    let parts = [
        list(1, &mut words),
        list(2, &mut outputs.split(' ')),
        bytes_field(4, operator.as_bytes()),
        bytes_field(7, domain.as_bytes()),
        attributes.concat(),
    ];
    bytes_field(1, &parts.concat())
}

/// A model of nodes that make `y` of `x`, three floats a row, with constant lists of integers.
fn model(version: i64, nodes: &[Vec<u8>], constants: &[(&str, &[i64])]) -> Vec<u8> {
    model_of(1, [version, 1], nodes, constants)
}

/// As `model`, of a data type by its number, and of two domains' versions.
fn model_of(
    kind: i64,
    [version, learning]: [i64; 2],
    nodes: &[Vec<u8>],
    constants: &[(&str, &[i64])],
) -> Vec<u8> {
    let constant = |(name, list): &(&str, &[i64])| {
        let raw: Vec<u8> = list.iter().flat_map(|number| number.to_le_bytes()).collect();
        let sizes = varint_field(1, list.len() as i64);
        let rest = [varint_field(2, 7), bytes_field(8, name.as_bytes()), bytes_field(9, &raw)];
        bytes_field(5, &[sizes, rest.concat()].concat())
    };
    let sizes = [bytes_field(1, &bytes_field(2, b"n")), bytes_field(1, &varint_field(1, 3))];
    let numbers = [varint_field(1, kind), bytes_field(2, &sizes.concat())].concat();
    let kind = bytes_field(2, &bytes_field(1, &numbers));
    let input = bytes_field(11, &[bytes_field(1, b"x"), kind].concat());
    let output = bytes_field(12, &bytes_field(1, b"y"));
    let constants: Vec<u8> = constants.iter().flat_map(constant).collect();
    let graph = bytes_field(7, &[nodes.concat(), constants, input, output].concat());
    let own = bytes_field(8, &varint_field(2, version));
    let ml = [bytes_field(1, b"ai.onnx.ml"), varint_field(2, learning)].concat();
    [graph, own, bytes_field(8, &ml)].concat()
}

fn refusal(version: i64, nodes: &[Vec<u8>], constants: &[(&str, &[i64])]) -> String {
    match OnnxModel::read(&model(version, nodes, constants)) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    }
}

/// What a model makes of one row.
fn answer(
    version: i64,
    nodes: &[Vec<u8>],
    constants: &[(&str, &[i64])],
    row: [f32; 3],
) -> Vec<f32> {
    let model = OnnxModel::read(&model(version, nodes, constants)).unwrap();
    let mut scratch = OnnxScratch::default();
    match model.run(&row, &mut scratch).unwrap().output(0) {
        OnnxValues::Floats(floats) => floats.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Reads a graph, as `read` does.
fn read_graph(file: &ModelFile<'_>) -> Result<(), Problem> {
    let (inputs, names) = inputs_of(file)?;
    let features: usize = inputs.iter().map(|input| input.width).sum();
    let (mut texts, mut scratch) = (TextInterner::default(), OnnxScratch::default());
    scratch.slots.resize_with(inputs.len(), Tensor::default);
    fill_inputs(&inputs, &vec![0.0_f32; TRIED[0] * features], &mut scratch.slots).unwrap();
    Graph::read(file, &names, &mut Trial::new(TRIED[0], &mut scratch, &mut texts, &file.reads()))
        .map(|_| ())
}

/// Changes each node of each golden model in turn, and claims that this is refused.
fn each_node_refuses<'a>(
    golden: &'a [Vec<u8>],
    wanted: &str,
    change: impl Fn(&mut GraphNode<'a>, usize) -> Option<&'a str>,
) {
    let mut changes = 0;
    for bytes in golden {
        let counts = ModelFile::read(bytes).unwrap().nodes;
        let counts = counts.iter().map(|node| node.attributes.len().max(1)).enumerate();
        for (at, attribute) in counts.flat_map(|(at, count)| (0..count).map(move |n| (at, n))) {
            let mut file = ModelFile::read(bytes).unwrap();
            let Some(name) = change(&mut file.nodes[at], attribute) else { continue };
            let place = file.nodes[at].place();
            let error = read_graph(&file).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{place}: `{name}` {wanted}")), "{error}: {name}");
            changes += 1;
        }
    }
    assert!(changes > 200, "{changes}");
}

fn golden() -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/onnx");
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "onnx"));
    files.map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn every_operator_refuses_an_attribute_that_it_does_not_know() {
    const OTHER: [u8; 5] = [24, 1, 160, 1, 2];
    let wanted = "is an attribute that is not supported in version";
    each_node_refuses(&golden(), wanted, |node, index| {
        node.attributes.push(("other", Message::of_file(&OTHER)));
        (index == 0).then_some("other")
    });
}

#[test]
fn every_operator_refuses_an_attribute_of_another_type() {
    // A graph, and a type that does not exist.
    for other in [&[50, 0, 160, 1, 5][..], &[160, 1, 99]] {
        each_node_refuses(&golden(), "is of another type, must be ", |node, index| {
            let (name, message) = node.attributes.get_mut(index)?;
            *message = Message::of_file(other);
            // A graph is what `body` of `Scan` must be.
            (*name != "body").then_some(*name)
        });
    }
}

#[test]
fn every_operator_refuses_an_attribute_twice() {
    each_node_refuses(&golden(), "is given twice", |node, index| {
        let again = *node.attributes.get(index)?;
        node.attributes.push(again);
        Some(again.0)
    });
}

#[test]
fn an_attribute_of_another_version_is_refused() {
    let unknown = "is an attribute that is not supported in version";
    for (version, line, attribute, wanted) in [
        (14, "Shape x > y", int("start", 1), "(Shape): `start`"),
        (13, "Reshape x whole > y", int("allowzero", 1), "(Reshape): `allowzero`"),
        (11, "Clip x > y", float("min", 0.0), "(Clip): `min`"),
        (11, "ArgMax x > y", int("select_last_index", 1), "(ArgMax): `select_last_index`"),
        (18, "ReduceMean x > y", ints("axes", &[1]), "(ReduceMean): `axes`"),
        (13, "ReduceSum x > y", ints("axes", &[1]), "(ReduceSum): `axes`"),
        (17, "ReduceMean x > y", int("noop_with_empty_axes", 1), "`noop_with_empty_axes`"),
        (13, "Squeeze x > y", ints("axes", &[1]), "(Squeeze): `axes`"),
        (12, "Dropout x > y", float("ratio", 0.5), "(Dropout): `ratio`"),
        (11, "Dropout x > y", int("seed", 1), "(Dropout): `seed`"),
        (12, "Add x x > y", int("broadcast", 1), "(Add): `broadcast`"),
        (11, "Constant > y", float("value_float", 1.0), "(Constant): `value_float`"),
        (13, "Constant > y", text("value_string", "a"), "(Constant): `value_string`"),
    ] {
        let line = line.replace("Constant > ", "Constant _ > ");
        let error = refusal(version, &[node(&line, &[attribute])], &[("whole", &[-1, 3])]);
        assert!(error.contains(wanted) && error.contains(unknown), "{error}, not {wanted}");
    }
    let cast =
        |version, attributes: &[Vec<u8>]| refusal(version, &[node("Cast x > y", attributes)], &[]);
    assert!(cast(18, &[int("to", 1), int("saturate", 1)]).contains("`saturate` is an attribute"));
    assert!(cast(23, &[int("to", 1), text("round_mode", "up")]).contains("`round_mode` is an"));
    let both = [int("to", 1), int("saturate", 0), text("round_mode", "down")];
    assert_eq!(answer(24, &[node("Cast x > y", &both)], &[], [1.5, 2.0, 3.0]), [1.5, 2.0, 3.0]);
}

#[test]
fn a_scalar_that_states_its_type_alone_is_zero() {
    // Files of proto3 leave zeros out; the default of `axis` is another.
    let axis = attribute("axis", &[type_field(2)]);
    let line = |attributes: &[Vec<u8>]| node("LogSoftmax x > y", attributes);
    let [zero, given] = [axis, int("axis", 0)].map(|axis| {
        let model = OnnxModel::read(&model(13, &[line(&[axis])], &[])).unwrap();
        let mut scratch = OnnxScratch::default();
        let answer = model.run(&[1.0_f32, 2.0, 3.0], &mut scratch).unwrap();
        format!("{:?}", answer.output(0))
    });
    assert_eq!(zero, given);
    assert_eq!(zero, "Floats([0.0, 0.0, 0.0])");
    // Without a type, the value tells.
    let old = attribute("axis", &[varint_field(3, 0)]);
    assert_eq!(answer(13, &[line(&[old])], &[], [1.0, 2.0, 3.0]), [0.0; 3]);
    let none = attribute("axis", &[]);
    assert!(
        refusal(13, &[line(&[none])], &[]).contains("`axis` is of another type, must be an int")
    );
    let reference = attribute("axis", &[type_field(2), vec![170, 1, 1, b'a']]);
    assert!(refusal(13, &[line(&[reference])], &[]).contains("`axis` refers to a function"));
}

#[test]
fn a_node_with_more_values_than_its_operator_has_is_refused() {
    for (line, wanted) in [
        ("Relu x x > y", "(Relu): takes 2 values, which is more than the 1 it knows"),
        ("Add x x x > y", "(Add): takes 3 values"),
        ("Relu x > y z", "(Relu): writes 2 values, which is more than the 1 it knows"),
    ] {
        let error = refusal(13, &[node(line, &[])], &[]);
        assert!(error.contains(wanted), "{error}, not {wanted}");
    }
    for (version, line, wanted) in [
        (10, "Clip x c > y", "(Clip): `min` and `max` are no inputs before version 11"),
        (11, "Dropout x c > y", "(Dropout): `ratio` is no input before version 12"),
        (17, "ReduceMax x c > y", "(ReduceMax): `axes` is no input before version 18"),
        (12, "Squeeze x c > y", "(Squeeze): `axes` is no input before version 13"),
    ] {
        let error = refusal(version, &[node(line, &[])], &[("c", &[1])]);
        assert!(error.contains(wanted), "{error}, not {wanted}");
    }
}

#[test]
fn what_onnx_calls_an_error_is_refused() {
    let refused = |version, line: &str, attributes: &[Vec<u8>], list: &[i64], wanted: &str| {
        let error = refusal(version, &[node(line, attributes)], &[("c", list)]);
        assert!(error.contains(wanted), "{error}, not {wanted}");
    };
    let zero = [int("allowzero", 1)];
    refused(14, "Reshape x c > y", &zero, &[0, -1], "`allowzero` does not go with a 0 and a -1");
    refused(14, "Reshape x c > y", &zero, &[0, 3], "9 elements do not make [0, 3]");
    refused(13, "Squeeze x c > y", &[], &[1], "axis 1 of [3, 3] is not of size 1");
    refused(13, "Squeeze x c > y", &[], &[2], "there is no axis 2 among 2");
    refused(13, "Squeeze x c > y", &[], &[], "`axes` are none");
    refused(13, "Unsqueeze x c > y", &[], &[3], "there is no axis 3 among 3");
    refused(13, "Unsqueeze x c > y", &[], &[-4], "there is no axis -4 among 3");
    refused(13, "Unsqueeze x c > y", &[], &[0, -4], "axis -4 is added twice");
    refused(13, "Unsqueeze x c > y", &[], &[0; 9], "more than 4 dimensions");
    for perm in [&[0, 0][..], &[1, 1], &[0], &[2, 1, 0], &[]] {
        refused(13, "Transpose x > y", &[ints("perm", perm)], &[], "is no order of a table's axes");
    }
    refused(13, "Concat x x > y", &[], &[], "`axis` is not given");
    refused(13, "Cast x > y", &[], &[], "`to` is data type 0");
    refused(13, "ConstantOfShape c > y", &[], &[3, -1], "-1 is no size");
    refused(13, "Gemm x x > y", &[int("transA", 1)], &[], "`transA` is not supported");
    refused(12, "Dropout x _ c > y", &[], &[1], "`training_mode` must be constant and false");
    refused(12, "Floor c > y", &[], &[1], "integers where floats must be");
    refused(13, "Mod x x > y", &[], &[], "`fmod` must be 1 for floats");
    refused(13, "Mod x c > y", &[int("fmod", 1)], &[1], "integers where floats must be");
    refused(13, "ai.onnx.ml:ArrayFeatureExtractor x c > y", &[], &[-1], "there is no -1 among 3");
    let both = [ints("axes", &[1, -1]), ints("starts", &[0, 1]), ints("ends", &[2, 3])];
    refused(9, "Slice x > y", &both, &[], "axis 1 is cut twice");
}

#[test]
fn values_are_put_side_by_side_only_where_all_other_sizes_agree() {
    let nodes = [
        node("Reshape x wide > a", &[]),
        node("Transpose x > t", &[]),
        node("Reshape t tall > b", &[]),
        node("Concat a b > y", &[int("axis", 2)]),
    ];
    // As many elements before the axis: 1 by 3 beside 3 by 1.
    let error = refusal(13, &nodes, &[("wide", &[1, 3, 3]), ("tall", &[3, 1, 3])]);
    assert!(error.contains("[1, 3, 3] and [3, 1, 3] do not go together"), "{error}");
}

#[test]
fn two_classes_of_one_sum_have_no_probit() {
    let attributes = [
        floats("coefficients", &[1.0, 2.0, 3.0]),
        floats("intercepts", &[0.5]),
        ints("classlabels_ints", &[0, 1]),
        text("post_transform", "PROBIT"),
    ];
    let error = refusal(13, &[node("ai.onnx.ml:LinearClassifier x > l y", &attributes)], &[]);
    assert!(error.contains("`post_transform` `PROBIT` of one sum is not defined"), "{error}");
    let both = [
        &attributes[..3],
        &[attribute("classlabels_strings", &[bytes_field(9, b"a"), type_field(8)])],
    ];
    let error = refusal(13, &[node("ai.onnx.ml:LinearClassifier x > l y", &both.concat())], &[]);
    assert!(
        error.contains("`classlabels_ints` and `classlabels_strings` are both given"),
        "{error}"
    );
}

/// A constant of zeros.
fn zeros(name: &str, sizes: &[i64]) -> Vec<u8> {
    let raw = vec![0; sizes.iter().product::<i64>() as usize * 4];
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| varint_field(1, *size)).collect();
    let rest = [varint_field(2, 1), bytes_field(8, name.as_bytes()), bytes_field(9, &raw)];
    bytes_field(5, &[sizes, rest.concat()].concat())
}

#[test]
fn a_constant_of_more_dimensions_than_a_layer_is_added_behind_it() {
    let nodes = [
        node("MatMul x w > m", &[]),
        node("Add m c > a", &[]),
        node("Squeeze a first > y", &[]),
        zeros("w", &[3, 2]),
        zeros("c", &[1, 1, 2]),
    ];
    assert_eq!(answer(13, &nodes, &[("first", &[0])], [1.0, 2.0, 3.0]), [0.0, 0.0]);
}

/// What a model of integers or flags says of a second row that begins with a number.
fn second_row(kind: i64, number: f64) -> Result<(), String> {
    let nodes = [node("Cast x > y", &[int("to", 1)])];
    let model = OnnxModel::read(&model_of(kind, [13, 1], &nodes, &[])).unwrap();
    let rows = [0.0, 0.0, 0.0, number, 1.0, 1.0];
    let mut scratch = OnnxScratch::default();
    model.run(&rows, &mut scratch).map(drop).map_err(|error| error.to_string())
}

#[test]
fn a_number_that_is_no_value_of_an_integer_input_is_refused_with_its_row() {
    const INT32: i64 = 6;
    const INT64: i64 = 7;
    const BOOL: i64 = 9;
    for (kind, number) in [
        (INT64, 2.5),
        (INT64, 1e30),
        (INT64, f64::NAN),
        (INT64, f64::NEG_INFINITY),
        (INT64, 9_223_372_036_854_775_808.0),
        (INT32, 2_147_483_648.0),
        (INT32, -2_147_483_649.0),
        (INT32, 0.5),
        (BOOL, 2.0),
        (BOOL, f64::NAN),
    ] {
        let wanted = format!("row 1 of input `x` is {number}, a value outside its type");
        let error = second_row(kind, number).unwrap_err();
        assert!(error.ends_with(&wanted), "{error}");
    }
    for (kind, number) in [(INT64, 9_007_199_254_740_991.0), (INT32, -2_147_483_648.0), (BOOL, 1.0)]
    {
        second_row(kind, number).unwrap();
    }
}

#[test]
fn an_integer_that_would_be_rounded_is_refused_and_shown_the_way_to_a_worker() {
    for id in [9_007_199_254_740_992.0, -9_007_199_254_740_992.0, 1_541_815_603_606_036_480.0] {
        let error = second_row(7, id).unwrap_err();
        let wanted = "row 1 of input `x` is 2^53 or more in size, and would be rounded; hint: ONNX";
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_graph_whose_classes_or_keys_would_be_rounded_is_refused() {
    const LARGE: i64 = 1 << 53;
    let weights = [floats("coefficients", &[1.0; 6]), floats("intercepts", &[0.5, 0.5])];
    let classes = [&weights[..], &[ints("classlabels_ints", &[0, -LARGE])]].concat();
    let keys = [ints("keys_int64s", &[LARGE]), ints("values_int64s", &[1])];
    let values = [ints("keys_int64s", &[1]), ints("values_int64s", &[LARGE + 1])];
    for (line, attributes, wanted) in [
        ("LinearClassifier x > y scores", &classes[..], "`classlabels_ints` holds -90071992547409"),
        ("LabelEncoder x > y", &keys, "`keys` holds 9007199254740992, which would be rounded"),
        ("LabelEncoder x > y", &values, "`values` holds 9007199254740993"),
        ("OneHotEncoder x > y", &[ints("cats_int64s", &[1, LARGE])], "`cats_int64s` holds 90071"),
        ("ArrayFeatureExtractor ids first > y", &[], "`X` holds 9007199254740993"),
    ] {
        let nodes = [node(&format!("ai.onnx.ml:{line}"), attributes)];
        let constants: [(&str, &[i64]); 2] = [("ids", &[1, LARGE + 1]), ("first", &[0])];
        let error = OnnxModel::read(&model_of(7, [13, 2], &nodes, &constants)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(wanted) && error.contains("hint: ONNX Runtime"), "{error}");
    }
}

#[test]
fn an_end_beyond_all_sizes_is_no_integer_that_would_be_rounded() {
    let nodes = [node("Slice x start end > y", &[])];
    let constants: [(&str, &[i64]); 2] = [("start", &[0]), ("end", &[i64::MAX])];
    assert_eq!(answer(13, &nodes, &constants, [1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
}

#[test]
fn an_output_is_exact_and_tells_when_doubles_would_round_it() {
    let nodes = [node("Add x more > y", &[])];
    let more: [(&str, &[i64]); 1] = [("more", &[0, 1 << 52, i64::MAX])];
    let model = OnnxModel::read(&model_of(7, [13, 1], &nodes, &more)).unwrap();
    let mut scratch = OnnxScratch::default();
    let answer = model.run(&[1.0, 2.0, 0.0], &mut scratch).unwrap();
    assert_eq!(answer.output(0), OnnxValues::Integers(&[1, (1 << 52) + 2, i64::MAX]));
    answer.expect_doubles().unwrap();
    let sum_beyond = [1.0, ((1_i64 << 52) + 1) as f64, 0.0];
    let answer = model.run(&sum_beyond, &mut scratch).unwrap();
    assert_eq!(answer.output(0), OnnxValues::Integers(&[1, (1 << 53) + 1, i64::MAX]));
    let error = answer.expect_doubles().unwrap_err().to_string();
    assert!(error.contains("output `y` holds a whole number beyond 2^53"), "{error}");
}

#[test]
fn scores_have_the_classes_of_their_classifier_also_behind_what_keeps_the_columns() {
    let names = [bytes_field(9, b"calm"), bytes_field(9, b"wild"), type_field(8)];
    let attributes = [
        floats("coefficients", &[1.0; 6]),
        floats("intercepts", &[0.5, 0.5]),
        attribute("classlabels_strings", &names),
    ];
    let classifier = node("ai.onnx.ml:LinearClassifier x > label scores", &attributes);
    let columns = |last: &str| {
        let nodes = [classifier.clone(), node(last, &[])];
        let model = OnnxModel::read(&model(13, &nodes, &[])).unwrap();
        model.about().outputs[0].columns.clone()
    };
    assert_eq!(columns("Identity scores > y"), ["calm", "wild"]);
    assert_eq!(columns("ai.onnx.ml:Normalizer scores > y"), ["calm", "wild"]);
    assert_eq!(columns("Neg scores > y"), [""; 0], "no longer the scores of the classes");
    assert_eq!(columns("Identity label > y"), [""; 0]);
}
