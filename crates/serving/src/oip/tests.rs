//! Requests as clients send them, and everything that can be wrong with one.

use serde_json::{Value, json};

use models::Iterations;

use super::*;

/// Two columns: 1 + 2 a - b.
fn model() -> Predictor {
    let text = r#"{"format":"tidegate-linear-1","name":"m","version":"7","intercept":1.0,
        "features":[{"name":"item.a","weight":2.0},
                    {"name":"item.b","weight":-1.0,"missing":4.0}]}"#;
    Predictor::read(text.as_bytes(), None, Iterations::Best).unwrap()
}

fn infer_bytes(
    body: &[u8],
    json_length: Option<usize>,
) -> Result<(Vec<u8>, Option<usize>), Refusal> {
    let mut out = Vec::new();
    let mut request = InferRequest::read(body, json_length)?;
    let length = infer(("m", &model()), &mut request, 1000, &mut out)?;
    Ok((out, length))
}

fn infer_json(body: &Value) -> Result<Value, Refusal> {
    let (out, length) = infer_bytes(body.to_string().as_bytes(), None)?;
    assert_eq!(length, None);
    Ok(serde_json::from_slice(&out).unwrap())
}

fn refusal(body: &Value) -> (u16, String) {
    let refusal = infer_json(body).unwrap_err();
    (refusal.status, refusal.reason)
}

fn input(shape: &Value, datatype: &str, data: &Value) -> Value {
    json!({"inputs": [{"name": "input", "shape": shape, "datatype": datatype, "data": data}]})
}

#[test]
fn flat_and_nested_data_are_the_same_and_the_id_is_echoed() {
    for data in [json!([1, 2, 3.5, -1]), json!([[1, 2], [3.5, -1]])] {
        let mut body = input(&json!([2, 2]), "FP64", &data);
        body["id"] = "mine".into();
        let expected = json!({"model_name": "m", "model_version": "7", "id": "mine", "outputs": [
            {"name": "predict", "datatype": "FP64", "shape": [2, 1], "data": [1.0, 9.0]}]});
        assert_eq!(infer_json(&body).unwrap(), expected);
    }
}

#[test]
fn keys_may_come_in_any_order_and_unknown_ones_are_left_alone() {
    let body = r#"{"extra":[{}],"inputs":[{"data":[[1,2]],"x":1,"datatype":"FP32","shape":[1,2],
        "parameters":{"content_type":"np"},"name":"input"}],"parameters":{"a":"b"}}"#;
    let (out, _) = infer_bytes(body.as_bytes(), None).unwrap();
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(out["outputs"][0]["data"], json!([1.0]));
}

#[test]
fn data_before_its_shape_means_the_same_as_data_behind_it() {
    let shapes = [
        json!([2, 2]),
        json!([4, 1]),
        json!([4]),
        json!([1, 4]),
        json!([2]),
        json!([2, 0]),
        json!([3, 2]),
        json!([0]),
    ];
    let all = [
        "[1,2,0.5,-1]",
        "[[1,2],[0.5,-1]]",
        "[[1],[2],[3],[4]]",
        "[[1,2,3,4]]",
        "[[1,2],[3]]",
        "[1,null,2,3]",
        "[[1,2],[3,1e400]]",
        "[[1,2],[3,300]]",
        "[]",
        "[[],[]]",
        "[true,false]",
        "5",
        "[\"a\",\"b\"]",
    ];
    for (shape, datatype, data) in shapes
        .iter()
        .flat_map(|shape| ["FP64", "FP32", "INT8", "BYTES"].map(|datatype| (shape, datatype)))
        .flat_map(|(shape, datatype)| all.map(|data| (shape, datatype, data)))
    {
        let about = format!("\"name\":\"input\",\"shape\":{shape},\"datatype\":\"{datatype}\"");
        let read = |tensor: String| {
            let body = format!("{{\"inputs\":[{{{tensor}}}]}}");
            let read = InferRequest::read(body.as_bytes(), None);
            // The bytes that errors name differ.
            let inputs = read.map(|request| format!("{:?}", request.inputs));
            inputs.map_err(|refusal| refusal.reason.split(" at byte").next().unwrap().to_owned())
        };
        let behind = read(format!("{about},\"data\":{data}"));
        let before = read(format!("\"data\":{data},{about}"));
        assert_eq!(before, behind, "{shape} {datatype} {data}");
    }
}

#[test]
fn a_configuration_and_counts_are_as_triton_has_them() {
    let predictor = passengers("one-hot");
    let about = metadata(("m", "1", "onnx"), (&predictor.inputs, &predictor.outputs));
    let config = config(&about, 1000);
    assert_eq!(config["max_batch_size"], 1000);
    let town = json!({"name": "town", "data_type": "TYPE_STRING", "dims": [1]});
    assert_eq!(config["input"][3], town);
    assert_eq!(config["output"][1]["data_type"], "TYPE_FP32");
    let counts = InferCounts::default();
    counts.add(Some(5), std::time::Duration::from_nanos(70));
    counts.add(Some(2), std::time::Duration::from_nanos(30));
    counts.add(None, std::time::Duration::from_nanos(9));
    let stats = counts.as_json(("m", "7"));
    assert_eq!((&stats["inference_count"], &stats["execution_count"]), (&json!(7), &json!(2)));
    assert_eq!(stats["inference_stats"]["success"], json!({"count": 2, "ns": 100}));
    assert_eq!(stats["inference_stats"]["fail"], json!({"count": 1, "ns": 9}));
    assert!(stats["last_inference"].as_u64().unwrap() > 0);
}

#[test]
fn null_is_an_absent_number() {
    let reply = infer_json(&input(&json!([1, 2]), "FP64", &json!([1, null]))).unwrap();
    assert_eq!(reply["outputs"][0]["data"], json!([-1.0]));
}

#[test]
fn a_tensor_for_each_column_makes_the_rows() {
    let column = |name: &str, data: [i32; 2]| {
        let shape = [2, 1];
        json!({"name": name, "shape": shape, "datatype": "INT64", "data": data})
    };
    let body = json!({"inputs": [column("item.b", [2, -1]), column("item.a", [1, 3])]});
    assert_eq!(infer_json(&body).unwrap()["outputs"][0]["data"], json!([1.0, 8.0]));
}

#[test]
fn binary_tensors_go_in_and_out() {
    let head = json!({
        "inputs": [{"name": "input", "shape": [2, 2], "datatype": "FP32",
                    "parameters": {"binary_data_size": 16}}],
        "outputs": [{"name": "predict", "parameters": {"binary_data": true}}],
    });
    let head = head.to_string();
    let mut body = head.clone().into_bytes();
    [1.0_f32, 2.0, 3.5, -1.0].iter().for_each(|n| body.extend_from_slice(&n.to_le_bytes()));
    let (out, length) = infer_bytes(&body, Some(head.len())).unwrap();
    let (json, binary) = out.split_at(length.unwrap());
    let json: Value = serde_json::from_slice(json).unwrap();
    assert_eq!(json["outputs"][0]["parameters"]["binary_data_size"], 16);
    assert_eq!(json["outputs"][0].get("data"), None);
    let numbers: Vec<f64> =
        binary.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(numbers, [1.0, 9.0]);
}

#[test]
fn a_row_whose_answer_is_no_number_spoils_no_other() {
    let head = |binary: bool| {
        let head = json!({
            "inputs": [{"name": "input", "shape": [2, 2], "datatype": "FP64",
                        "parameters": {"binary_data_size": 32}}],
            "outputs": [{"name": "predict", "parameters": {"binary_data": binary}}],
        });
        head.to_string()
    };
    let ask = |binary: bool| {
        let head = head(binary);
        let mut body = head.clone().into_bytes();
        let rows = [f64::INFINITY, f64::INFINITY, 1.0, 2.0];
        rows.iter().for_each(|number| body.extend_from_slice(&number.to_le_bytes()));
        infer_bytes(&body, Some(head.len())).unwrap()
    };
    let json: Value = serde_json::from_slice(&ask(false).0).unwrap();
    assert_eq!(json["outputs"][0]["data"], json!([null, 1.0]));
    let (out, length) = ask(true);
    let numbers = out[length.unwrap()..].as_chunks().0.iter().map(|b| f64::from_le_bytes(*b));
    let numbers: Vec<f64> = numbers.collect();
    assert!(numbers[0].is_nan() && numbers[1] == 1.0, "{numbers:?}");
}

/// Ages and fares beside sexes and towns, one-hot, as scikit-learn's pipelines are exported.
fn passengers(name: &str) -> Predictor {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/golden/onnx");
    let bytes = std::fs::read(format!("{golden}/texts-{name}.onnx")).unwrap();
    Predictor::read(&bytes, None, Iterations::Best).unwrap()
}

fn passengers_body(towns: &[&str]) -> Value {
    let count = towns.len();
    let column = |name: &str, datatype: &str, data: Value| {
        let shape = [count, 1];
        json!({"name": name, "shape": shape, "datatype": datatype, "data": data})
    };
    json!({"inputs": [
        column("town", "BYTES", json!(towns)),
        column("age", "FP32", vec![30; count].into()),
        column("fare", "FP32", vec![50; count].into()),
        column("sex", "BYTES", vec!["female"; count].into()),
    ]})
}

fn ask(predictor: &Predictor, body: &Value) -> Result<Value, Refusal> {
    let mut request = InferRequest::read(body.to_string().as_bytes(), None)?;
    let mut out = Vec::new();
    infer(("m", predictor), &mut request, 1000, &mut out)?;
    Ok(serde_json::from_slice(&out).unwrap())
}

#[test]
fn columns_of_texts_are_taken_beside_columns_of_numbers() {
    let predictor = passengers("one-hot");
    let metadata = metadata(("m", "1", "onnx"), (&predictor.inputs, &predictor.outputs));
    assert_eq!(
        metadata["inputs"][3],
        json!({"name": "town", "datatype": "BYTES", "shape": [-1, 1]})
    );
    let answer = ask(&predictor, &passengers_body(&["Cork", "Southampton", "Paris", "Rome"]));
    let answer = answer.unwrap();
    let chances = answer["outputs"][1]["data"].as_array().unwrap();
    assert_ne!(chances[1], chances[3], "the towns differ");
    assert_eq!(chances[5], chances[7], "neither is a town that the model knows");
    let mut body = passengers_body(&["Cork"]);
    body["inputs"][0]["datatype"] = "INT64".into();
    body["inputs"][0]["data"] = json!([1]);
    let refusal = ask(&predictor, &body).unwrap_err();
    assert_eq!(refusal.status, 400);
    assert_eq!(refusal.reason, "input `town` is INT64; the model takes texts, BYTES");
}

#[test]
fn a_category_that_a_strict_model_does_not_know_is_the_clients_error_and_names_the_row() {
    let mut predictor = passengers("one-hot-strict");
    predictor.warm_up().unwrap();
    ask(&predictor, &passengers_body(&["Cork", "Southampton"])).unwrap();
    let refusal = ask(&predictor, &passengers_body(&["Cork", "Paris"])).unwrap_err();
    assert_eq!(refusal.status, 400);
    let reason = &refusal.reason;
    assert!(
        reason.starts_with("model `m`: ") && reason.contains("row 1 of `town` is no"),
        "{reason}"
    );
}

#[test]
fn a_misspelt_column_is_the_one_that_is_named() {
    let mut body = passengers_body(&["Cork"]);
    body["inputs"][1]["name"] = "agee".into();
    let refusal = ask(&passengers("one-hot"), &body).unwrap_err();
    let wanted = "no input `agee`; the model has `age`, `fare`, `sex`, `town`";
    assert_eq!(refusal.reason, wanted);
    let column = |name: &str| json!({"name": name, "shape": [1], "datatype": "FP64", "data": [1]});
    for (names, wanted) in [
        (vec!["item.a", "item.c"], "no input `item.c`; the model has `item.a`, `item.b`"),
        (vec!["item.a"], "input `item.b` is missing"),
        (vec!["inputs"], "no input `inputs`; the model has `input`"),
    ] {
        let inputs: Vec<Value> = names.into_iter().map(column).collect();
        assert_eq!(self::refusal(&json!({ "inputs": inputs })).1, wanted);
    }
}

#[test]
fn classes_are_the_largest_values_with_their_places_and_labels() {
    let mut body = passengers_body(&["Cork", "Southampton"]);
    body["outputs"] = json!([{"name": "output_probability", "parameters": {"classification": 1}}]);
    let answer = ask(&passengers("one-hot"), &body).unwrap();
    let output = &answer["outputs"][0];
    assert_eq!((&output["datatype"], &output["shape"]), (&json!("BYTES"), &json!([2, 1])));
    let class = output["data"][0].as_str().unwrap();
    let parts: Vec<&str> = class.split(':').collect();
    assert!(parts.len() == 3 && parts[0].len() == "0.000000".len(), "{class}");
    assert!(["0", "1"].contains(&parts[1]), "{class}");
    assert!(["False", "True", "0", "1"].contains(&parts[2]), "{class}");
    let mut body = input(&json!([2, 2]), "FP64", &json!([1, 2, 3.5, -1]));
    body["outputs"] = json!([{"name": "predict", "parameters": {"classification": 9}}]);
    let reply = infer_json(&body).unwrap();
    assert_eq!(reply["outputs"][0]["data"], json!(["1.000000:0", "9.000000:0"]));
    body["outputs"][0]["parameters"]["classification"] = 0.into();
    assert_eq!(infer_json(&body).unwrap()["outputs"][0]["data"], json!([1.0, 9.0]));
    body["outputs"][0]["parameters"]["classification"] = true.into();
    let wanted = "parameter `classification` must be a whole number";
    assert_eq!(refusal(&body), (400, wanted.to_owned()));
}

#[test]
fn no_rows_have_an_answer_of_no_rows_as_wide_as_any() {
    let reply = infer_json(&input(&json!([0, 2]), "FP64", &json!([]))).unwrap();
    assert_eq!(reply["outputs"][0]["shape"], json!([0, 1]));
    assert_eq!(reply["outputs"][0]["data"], json!([]));
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    let good = json!([1, 2]);
    let cases = [
        (json!({}), 400, "`inputs` is missing or empty"),
        (json!({"inputs": []}), 400, "`inputs` is missing or empty"),
        (
            input(&json!([1, 3]), "FP64", &json!([1, 2, 3])),
            400,
            "shape [1, 3]; the model takes [rows, 2]",
        ),
        (input(&json!([2]), "FP64", &good), 400, "shape [2]; the model takes [rows, 2]"),
        (input(&json!([1, 1, 2]), "FP64", &good), 400, "the model takes [rows, 2]"),
        (input(&json!([1, 2]), "FP64", &json!([1])), 400, "has 1 values, its shape [1, 2] wants 2"),
        (input(&json!([1, 2]), "FP64", &json!([[1, 2], [3, 4]])), 400, "has 4 values"),
        (input(&json!([2, 2]), "FP64", &json!([[1], [2, 3, 4]])), 400, "has an array of 1"),
        (input(&json!([1, 2]), "FP64", &json!([[[1, 2]]])), 400, "nested deeper than its shape"),
        (input(&json!([1, 2]), "FP64", &json!(["a", "b"])), 400, "must hold numbers"),
        (
            input(&json!([1, 2]), "BYTES", &json!(["a", "b"])),
            400,
            "is BYTES; the model takes numbers",
        ),
        (input(&json!([1, 2]), "FP99", &good), 400, "`FP99` is no data type of the protocol"),
        (input(&json!([1, 2]), "INT8", &json!([1, 300])), 400, "holds 300, which is no INT8"),
        (input(&json!([1, 2]), "INT32", &json!([1, 1.5])), 400, "holds 1.5, which is no INT32"),
        (input(&json!([1, 2]), "FP32", &json!([1, 1e39])), 400, "which is no FP32"),
        (input(&json!([-1, 2]), "FP64", &good), 400, "must hold whole numbers from 0"),
        (input(&json!([]), "FP64", &good), 400, "at least one dimension"),
        (input(&json!([1_000_000_000_000_u64, 2]), "FP64", &good), 400, "larger than any body"),
        (input(&json!([1001, 2]), "FP64", &json!(vec![0; 2002])), 413, "1001 rows, more than 1000"),
        (
            json!({"inputs": [{"name": "other", "shape": [1, 2], "datatype": "FP64",
                               "data": good}]}),
            400,
            "no input `other`; the model has `input`",
        ),
        (
            json!({"inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP64"}]}),
            400,
            "input `input` has no `data`",
        ),
        (
            json!({"inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP64", "data": good}],
                "outputs": [{"name": "none"}]}),
            400,
            "no output `none`; the model has `predict`",
        ),
    ];
    for (body, status, said) in cases {
        let (found, message) = refusal(&body);
        assert!(found == status && message.contains(said), "{body}: {found} {message}");
    }
}

#[test]
fn words_that_are_not_json_are_refused_with_their_byte() {
    let body = br#"{"inputs":[{"name":"input","shape":[1,2],"datatype":"FP64","data":[1,NaN]}]}"#;
    let refusal = infer_bytes(body, None).unwrap_err();
    assert_eq!(refusal.status, 400);
    assert!(refusal.reason.contains("`NaN` is not JSON"), "{}", refusal.reason);
}

#[test]
fn binary_data_that_does_not_fit_is_refused() {
    let head = |size: usize, shape: usize| {
        json!({"inputs": [{"name": "input", "shape": [shape, 2], "datatype": "FP32",
                           "parameters": {"binary_data_size": size}}]})
        .to_string()
    };
    let cases = [
        (head(16, 2), 8, "has 16 bytes of binary data, the body has 8 left"),
        (head(8, 2), 8, "its shape [2, 2] wants 4 values"),
        (head(8, 1), 12, "4 bytes follow the last binary tensor"),
    ];
    for (head, bytes, said) in cases {
        let body = [head.as_bytes(), &vec![0; bytes]].concat();
        let refusal = infer_bytes(&body, Some(head.len())).unwrap_err();
        assert!(refusal.reason.contains(said), "{}", refusal.reason);
    }
    let refusal = infer_bytes(b"{}", Some(3)).unwrap_err();
    assert!(refusal.reason.contains("the body has 2 bytes"), "{}", refusal.reason);
}

#[test]
fn paths_are_those_of_the_protocol() {
    let model = |version| ModelPath { name: "m", version };
    let cases = [
        ("/v2", Some(OipEndpoint::Server)),
        ("/v2/", Some(OipEndpoint::Server)),
        ("/v2/health/live", Some(OipEndpoint::Live)),
        ("/v2/models/m", Some(OipEndpoint::Metadata(model(None)))),
        ("/v2/models/m/versions/3", Some(OipEndpoint::Metadata(model(Some("3"))))),
        ("/v2/models/m/ready", Some(OipEndpoint::ModelReady(model(None)))),
        ("/v2/models/m/versions/3/infer", Some(OipEndpoint::Infer(model(Some("3"))))),
        ("/v2/repository/index", Some(OipEndpoint::Index)),
        ("/v2/models/m/config", Some(OipEndpoint::Config(model(None)))),
        ("/v2/models/m/versions/3/stats", Some(OipEndpoint::Stats(Some(model(Some("3")))))),
        ("/v2/models/stats", Some(OipEndpoint::Stats(None))),
        ("/v2/models", None),
        ("/v2/models/", None),
        ("/v2/models/m/infer/x", None),
        ("/v2/models/m/versions", None),
        ("/v2x", None),
    ];
    for (path, asked) in cases {
        assert_eq!(OipEndpoint::of(path), asked, "{path}");
    }
}

#[test]
fn another_version_is_not_found_and_told_which_there_is() {
    let refusal = ModelPath { name: "m", version: Some("3") }.check("7").unwrap_err();
    assert_eq!((refusal.status, &*refusal.reason), (404, "model `m` has version `7`, no `3`"));
}

#[test]
fn two_ways_to_say_the_same_have_one_key() {
    let key = |body: &str| InferRequest::read(body.as_bytes(), None).unwrap().key("m", "7");
    let one = r#"{"inputs":[{"name":"input","shape":[1,2],"datatype":"FP64","data":[1,2.50]}]}"#;
    let same =
        r#"{ "inputs":[{"data":[[1.0,2.5]],"datatype":"FP64","shape":[1,2],"name":"input"}]}"#;
    let other = r#"{"inputs":[{"name":"input","shape":[1,2],"datatype":"FP64","data":[1,2.51]}]}"#;
    assert_eq!(key(one), key(same));
    assert_ne!(key(one), key(other));
}

#[test]
fn raw_scores_of_what_has_none_are_refused() {
    let mut body = input(&json!([1, 2]), "FP64", &json!([1, 2]));
    body["parameters"] = json!({"raw_score": true});
    assert_eq!(refusal(&body), (400, "`raw_score` is for trees; `m` has none".to_owned()));
    body["parameters"] = json!({"raw_score": 1});
    assert_eq!(refusal(&body), (400, "parameter `raw_score` must be true or false".to_owned()));
}

#[test]
fn the_largest_integers_of_64_bits_are_taken_and_the_first_beyond_them_refused() {
    for (datatype, number) in [
        ("UINT64", "18446744073709551615"),
        ("INT64", "9223372036854775807"),
        ("INT64", "-9223372036854775808"),
    ] {
        for data in [format!("[{number},1]"), format!("[[1,{number}]]"), format!("[1e2,{number}]")]
        {
            let body = format!(
                "{{\"inputs\":[{{\"name\":\"input\",\"shape\":[1,2],\
                 \"datatype\":\"{datatype}\",\"data\":{data}}}]}}"
            );
            infer_bytes(body.as_bytes(), None).unwrap();
        }
    }
    for (datatype, number) in [
        ("UINT64", "18446744073709551616"),
        ("UINT64", "-1"),
        ("INT64", "9223372036854775808"),
        ("INT64", "-9223372036854777856"),
        ("UINT64", "1.8446744073709552e19"),
    ] {
        let body = format!(
            "{{\"inputs\":[{{\"data\":[1,{number}],\"name\":\"input\",\"shape\":[1,2],\
             \"datatype\":\"{datatype}\"}}]}}"
        );
        let refusal = infer_bytes(body.as_bytes(), None).unwrap_err();
        assert_eq!(refusal.status, 400);
        let wanted = format!("which is no {datatype}");
        assert!(refusal.reason.contains(&wanted), "{}", refusal.reason);
    }
}

/// Categories that are integers, one-hot, as scikit-learn exports them.
fn integers() -> Predictor {
    graph("integers-one-hot")
}

#[test]
fn an_id_that_would_be_rounded_is_the_clients_error_in_json_and_in_binary() {
    let predictor = integers();
    let (name, width) = (predictor.inputs[0].name.clone(), predictor.inputs[0].width);
    let mut ids = vec![1_i64; 2 * width];
    ids[width] = (1 << 53) + 1;
    let input = json!({"name": name, "shape": [2, width], "datatype": "INT64", "data": ids});
    let by_json = ask(&predictor, &json!({"inputs": [input]})).unwrap_err();
    let parameters = json!({"binary_data_size": 16 * width});
    let input = json!({"name": name, "shape": [2, width], "datatype": "INT64",
                       "parameters": parameters});
    let head = json!({"inputs": [input]}).to_string();
    let mut body = head.clone().into_bytes();
    ids.iter().for_each(|id| body.extend_from_slice(&id.to_le_bytes()));
    let mut request = InferRequest::read(&body, Some(head.len())).unwrap();
    let by_binary = infer(("m", &predictor), &mut request, 9, &mut Vec::new()).unwrap_err();
    for refusal in [by_json, by_binary] {
        let wanted = format!("model `m`: row 1 of input `{name}` is 2^53 or more");
        assert!(refusal.reason.starts_with(&wanted), "{}", refusal.reason);
        assert!(refusal.reason.contains("tidegate.onnx:app"), "{}", refusal.reason);
        assert_eq!(refusal.status, 400);
    }
}

#[test]
fn a_number_of_any_type_that_an_integer_input_does_not_hold_is_the_clients_error() {
    let predictor = integers();
    let (name, width) = (&predictor.inputs[0].name, predictor.inputs[0].width);
    for (datatype, number) in [
        ("FP32", json!(2.5)),
        ("FP64", json!(1e30)),
        ("INT64", json!(null)),
        ("UINT64", json!(9_223_372_036_854_775_813_u64)),
    ] {
        let mut data = vec![json!(1); width];
        data[width - 1] = number;
        let input = json!({"name": name, "shape": [1, width], "datatype": datatype, "data": data});
        let refusal = ask(&predictor, &json!({"inputs": [input]})).unwrap_err();
        let wanted = format!("row 0 of input `{name}` is ");
        assert!(refusal.reason.contains(&wanted), "{}", refusal.reason);
        assert!(refusal.reason.ends_with("a value outside its type"), "{}", refusal.reason);
        assert_eq!(refusal.status, 400);
    }
    let input = json!({"name": name, "shape": [1, width], "datatype": "FP32",
                       "data": vec![1.0; width]});
    ask(&predictor, &json!({"inputs": [input]})).unwrap();
}

/// Answers rows of zeros, in JSON.
fn zeros(predictor: &Predictor, count: usize, outputs: &Value) -> Value {
    let width = predictor.inputs[0].width;
    let input = json!({"name": predictor.inputs[0].name, "shape": [count, width],
                       "datatype": "FP32", "data": vec![0; count * width]});
    ask(predictor, &json!({"inputs": [input], "outputs": outputs})).unwrap()
}

fn graph(name: &str) -> Predictor {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../models/golden/onnx");
    let bytes = std::fs::read(format!("{golden}/{name}.onnx")).unwrap();
    Predictor::read(&bytes, None, Iterations::Best).unwrap()
}

#[test]
fn labels_of_a_graph_are_a_list_as_the_graph_declares_them() {
    let predictor = graph("forest-three");
    let about = metadata(("m", "1", "onnx"), (&predictor.inputs, &predictor.outputs));
    let [label, scores] = ["output_label", "output_probability"];
    assert_eq!(predictor.outputs[0].name, label);
    assert_eq!(about["outputs"][0]["shape"], json!([-1]));
    assert_eq!(about["outputs"][1]["shape"], json!([-1, 3]));
    assert_eq!(config(&about, 9)["output"][0]["dims"], json!([1]));
    for count in [0, 1, 3] {
        let answer = zeros(&predictor, count, &json!([{"name": label}, {"name": scores}]));
        assert_eq!(answer["outputs"][0]["shape"], json!([count]));
        assert_eq!(answer["outputs"][0]["data"].as_array().unwrap().len(), count);
        assert_eq!(answer["outputs"][1]["shape"], json!([count, 3]));
    }
    assert!(predictor.to_string().contains("   1  BYTES per row of output `output_label`"));
    let answer = zeros(&graph("ridge"), 2, &json!([]));
    assert_eq!(answer["outputs"][0]["shape"], json!([2, 1]), "declared as a table");
}

#[test]
fn classes_of_a_classifier_without_a_map_have_its_labels() {
    let predictor = graph("logistic-raw");
    let outputs = json!([{"name": "probabilities", "parameters": {"classification": 3}}]);
    let answer = zeros(&predictor, 1, &outputs);
    for class in answer["outputs"][0]["data"].as_array().unwrap() {
        let parts: Vec<&str> = class.as_str().unwrap().split(':').collect();
        assert!(parts.len() == 3 && parts[1] == parts[2], "{class}");
    }
}
