//! Reads the body of `infer`: JSON, and behind it the tensors that are sent in binary.
//!
//! Where `data` stands before the shape and data type, a table of numbers is read at once. Anything
//! else is passed over, and read once those are known. Unknown keys are ignored: clients send some.
//! `inputs` given twice is 400; no other key given twice is refused.
//! Also here: which outputs are wanted, a request's key for `answer_cache.rs`, and how inputs
//! become the rows or texts of a model. What changes an answer must go into the key. So does `id`,
//! which the reply repeats: `bench/src/rows/models/oip.rs` avoids kept answers by it.
//! How values are read is in `data.rs`.
//!
//! Invariant: a tensor has at most 2²⁸ values, in 8 dimensions.
//! `golden.rs` reads its files by this, and `python/tidegate/tensors.py` reads the same bodies for
//! worker pools. A new key goes into `describe/openapi.json`.

use exchange::Refusal;

use super::data::{decode, fitting, values};
use crate::digest::KeyHasher;
use crate::json::{Json, Kind, NumberTable, Parsed};
use crate::predictor::Predictor;
use crate::refusal;
use crate::tensor::{Data, Datatype, Tensor, TensorAbout};

/// Values of a tensor, at most; a larger shape is refused before anything is read for it.
const VALUES_MAX: usize = 1 << 28;

/// Dimensions of a tensor.
const RANK_MAX: usize = 8;

/// What is asked of a model.
#[derive(Debug, Default)]
pub(crate) struct InferRequest {
    pub(crate) id: Option<String>,
    pub(crate) inputs: Vec<Tensor>,
    outputs: Vec<RequestedOutput>,
    parameters: Parameters,
}

/// An output that is asked for by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RequestedOutput {
    name: String,
    parameters: Parameters,
}

/// Parameters that mean something here: numbers and truths by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Parameters(Vec<(String, Parameter)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Flag(bool),
    Size(usize),
    Other,
}

/// A tensor of which not all may be known yet.
#[derive(Default)]
struct PartialTensor<'a> {
    name: Option<String>,
    datatype: Option<Datatype>,
    shape: Option<Vec<usize>>,
    parameters: Parameters,
    data: Option<Data>,
    /// Where `data` begins, when it came too early.
    later: Option<Json<'a>>,
    /// What it holds, where that is a table of numbers.
    early: Option<NumberTable>,
}

impl InferRequest {
    /// Reads a body, of which the first `json_length` bytes are JSON where binary tensors follow.
    ///
    /// # Errors
    /// 400 with the byte for whatever is malformed, of a wrong kind, or does not fit its shape.
    pub(crate) fn read(body: &[u8], json_length: Option<usize>) -> Parsed<Self> {
        let json_length = json_length.unwrap_or(body.len());
        let Some((text, mut binary)) = body.split_at_checked(json_length) else {
            let length = body.len();
            let message = format!(
                "`inference-header-content-length` is {json_length}, the body has {length} bytes"
            );
            return Err(refusal::bad(message));
        };
        let mut request = Self::default();
        let mut json = Json::new(text)?;
        let mut seen_inputs = false;
        json.object(|json, key| {
            match key.decoded(&mut String::new()) {
                "id" => request.id = Some(text_of(json, "id")?),
                "parameters" => request.parameters = Parameters::read(json)?,
                "outputs" => json.array(|json| {
                    request.outputs.push(RequestedOutput::read(json)?);
                    Ok(())
                })?,
                "inputs" if seen_inputs => {
                    return Err(refusal::wrong(key.at, "inputs", "is given twice"));
                }
                "inputs" => {
                    seen_inputs = true;
                    json.array(|json| {
                        let tensor = PartialTensor::read(json)?.finish(&mut binary)?;
                        request.inputs.push(tensor);
                        Ok(())
                    })?;
                }
                _ => json.skip()?,
            }
            Ok(())
        })?;
        json.end()?;
        if !binary.is_empty() {
            let left = binary.len();
            return Err(refusal::bad(format!("{left} bytes follow the last binary tensor")));
        }
        match request.inputs.is_empty() {
            true => Err(refusal::bad("`inputs` is missing or empty")),
            false => Ok(request),
        }
    }

    /// Returns what tells this request to a model's generation from others, whatever the order of
    /// its keys and the form of its data.
    pub(crate) fn key(&self, model: &str, version: &str) -> u128 {
        let mut key = KeyHasher::default();
        let asked = format!("{:?}{:?}{:?}", self.id, self.parameters, self.outputs);
        [model, version, &asked].iter().for_each(|part| key.part(part.as_bytes()));
        for Tensor { name, datatype, shape, data } in &self.inputs {
            key.part(format!("{name:?}{datatype:?}{shape:?}").as_bytes());
            match data {
                Data::Numbers(numbers) => key.numbers(numbers),
                Data::Texts(texts) => texts.iter().for_each(|text| key.part(text.as_bytes())),
            }
        }
        key.finish()
    }

    /// Checks that no output is asked for that the model does not have.
    pub(crate) fn wants_only(&self, outputs: &[TensorAbout]) -> Parsed<()> {
        let unknown = self.outputs.iter().find(|w| outputs.iter().all(|o| o.name != w.name));
        unknown.map_or(Ok(()), |wished| {
            let known: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
            let (name, known) = (&wished.name, known.join("`, `"));
            Err(refusal::bad(format!("no output `{name}`; the model has `{known}`")))
        })
    }

    /// Whether an output goes out; all do where none is asked for.
    pub(crate) fn wants(&self, output: &str) -> bool {
        self.outputs.is_empty() || self.outputs.iter().any(|wished| wished.name == output)
    }

    /// Whether an output goes out in binary.
    pub(crate) fn wants_binary(&self, output: &str) -> bool {
        let wished = self.outputs.iter().find(|wished| wished.name == output);
        match wished.and_then(|wished| wished.parameters.flag("binary_data")) {
            Some(binary) => binary,
            None => self.parameters.flag("binary_data_output").unwrap_or(false),
        }
    }

    /// Rows of the first input, as its shape says.
    pub(crate) fn rows_given(&self) -> usize {
        self.inputs.first().and_then(|input| input.shape.first()).copied().unwrap_or_default()
    }

    /// How many classes an output is asked for, where it is.
    pub(crate) fn classes(&self, output: &str) -> Parsed<Option<usize>> {
        let wished = self.outputs.iter().find(|wished| wished.name == output);
        match wished.and_then(|wished| wished.parameters.get("classification")) {
            None | Some(Parameter::Size(0)) => Ok(None),
            Some(Parameter::Size(count)) => Ok(Some(count)),
            Some(_) => Err(refusal::bad("parameter `classification` must be a whole number")),
        }
    }

    /// Returns a parameter of the request that is true or false.
    pub(crate) fn flag(&self, name: &str) -> Parsed<bool> {
        match self.parameters.get(name) {
            None => Ok(false),
            Some(Parameter::Flag(flag)) => Ok(flag),
            Some(_) => Err(refusal::bad(format!("parameter `{name}` must be true or false"))),
        }
    }

    /// Takes the rows of a model: its inputs side by side, or a tensor for each column.
    pub(crate) fn rows(&mut self, predictor: &Predictor, rows_max: usize) -> Parsed<Vec<f64>> {
        let inputs = predictor.inputs.iter().map(|one| (one.name.as_str(), one.width));
        let parts: Vec<(&str, usize)> = match self.is_by_column(predictor) {
            true => predictor.columns.iter().map(|column| (column.as_str(), 1)).collect(),
            false => inputs.collect(),
        };
        let unknown = self.inputs.iter().find(|input| parts.iter().all(|p| p.0 != input.name));
        if let Some(Tensor { name, .. }) = unknown {
            let known = refusal::listed(parts.iter().map(|(name, _)| *name));
            return Err(refusal::bad(format!("no input `{name}`; the model has {known}")));
        }
        let mut taken = Vec::with_capacity(parts.len());
        for (name, width) in &parts {
            let mut named = self.inputs.iter_mut().filter(|input| input.name == *name);
            let input =
                named.next().ok_or_else(|| refusal::bad(format!("input `{name}` is missing")))?;
            if named.next().is_some() {
                return Err(refusal::bad(format!("input `{name}` is given twice")));
            }
            let is_column = *width == 1 && input.shape.len() == 1 && parts.len() > 1;
            if !is_column && (input.shape.len() != 2 || input.shape[1] != *width) {
                return Err(misfit(input, &format!("[rows, {width}]")));
            }
            within(input.shape[0], rows_max)?;
            let about = predictor.inputs.iter().find(|input| input.name == *name);
            let numbers = match about.map(|about| about.datatype) {
                Some(Datatype::Bytes) => {
                    let texts = input.take_texts()?;
                    texts.iter().map(|text| predictor.text_number(text)).collect()
                }
                _ => input.take_numbers()?,
            };
            taken.push((input.shape[0], *width, numbers));
        }
        side_by_side(taken)
    }

    /// Whether the inputs are columns rather than the model's inputs: they have names of columns.
    fn is_by_column(&self, predictor: &Predictor) -> bool {
        let count = |names: &mut dyn Iterator<Item = &String>| {
            names.filter(|name| self.inputs.iter().any(|input| input.name == **name)).count()
        };
        let columns = count(&mut predictor.columns.iter());
        columns > 0 && columns >= count(&mut predictor.inputs.iter().map(|input| &input.name))
    }

    /// Takes the texts of a model's one input.
    pub(crate) fn texts(&mut self, about: &TensorAbout) -> Parsed<Vec<String>> {
        let [input] = &mut self.inputs[..] else {
            let count = self.inputs.len();
            let message = format!("{count} inputs; the model has one, `{}`", about.name);
            return Err(refusal::bad(message));
        };
        if input.name != about.name {
            let name = &input.name;
            return Err(refusal::bad(format!("no input `{name}`; the model has `{}`", about.name)));
        }
        if !matches!(input.shape[..], [_] | [_, 1]) {
            return Err(misfit(input, "[texts]"));
        }
        input.take_texts()
    }
}

/// Makes rows of tables with as many rows each: their number, their width, their values.
fn side_by_side(mut tables: Vec<(usize, usize, Vec<f64>)>) -> Parsed<Vec<f64>> {
    if tables.len() == 1 {
        return Ok(tables.remove(0).2);
    }
    let (count, width) = (tables[0].0, tables.iter().map(|(_, width, _)| width).sum::<usize>());
    if let Some((other, ..)) = tables.iter().find(|(other, ..)| *other != count) {
        return Err(refusal::bad(format!("inputs have {count} rows and {other}")));
    }
    let mut rows = vec![0.0; count * width];
    let mut place = 0;
    for (_, part_width, values) in tables {
        for (row, part) in rows.chunks_exact_mut(width).zip(values.chunks_exact(part_width)) {
            row[place..place + part_width].copy_from_slice(part);
        }
        place += part_width;
    }
    Ok(rows)
}

fn within(rows: usize, rows_max: usize) -> Parsed<()> {
    match rows > rows_max {
        true => Err(refusal::too_large(format!("{rows} rows, more than {rows_max}"))),
        false => Ok(()),
    }
}

fn misfit(input: &Tensor, wanted: &str) -> Refusal {
    let Tensor { name, shape, .. } = input;
    refusal::bad(format!("input `{name}` has shape {shape:?}; the model takes {wanted}"))
}

fn wrong_type(input: &Tensor, wanted: &str) -> Refusal {
    let (name, datatype) = (&input.name, input.datatype.name());
    refusal::bad(format!("input `{name}` is {datatype}; the model takes {wanted}"))
}

impl Tensor {
    fn take_numbers(&mut self) -> Parsed<Vec<f64>> {
        match std::mem::replace(&mut self.data, Data::Numbers(Vec::new())) {
            Data::Numbers(numbers) => Ok(numbers),
            Data::Texts(_) => Err(wrong_type(self, "numbers")),
        }
    }

    fn take_texts(&mut self) -> Parsed<Vec<String>> {
        match std::mem::replace(&mut self.data, Data::Texts(Vec::new())) {
            Data::Texts(texts) => Ok(texts),
            Data::Numbers(_) => Err(wrong_type(self, "texts, BYTES")),
        }
    }
}

impl RequestedOutput {
    fn read(json: &mut Json<'_>) -> Parsed<Self> {
        let mut wished = Self::default();
        let at = json.peek()?.1;
        json.object(|json, key| {
            match key.decoded(&mut String::new()) {
                "name" => wished.name = text_of(json, "name")?,
                "parameters" => wished.parameters = Parameters::read(json)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        match wished.name.is_empty() {
            true => Err(refusal::wrong(at, "outputs", "holds an output without a name")),
            false => Ok(wished),
        }
    }
}

impl Parameters {
    fn read(json: &mut Json<'_>) -> Parsed<Self> {
        let mut found = Vec::new();
        json.object(|json, key| {
            let name = key.decoded(&mut String::new()).to_owned();
            let value = match json.peek()?.0 {
                Kind::True => json.word("true").map(|()| Parameter::Flag(true))?,
                Kind::False => json.word("false").map(|()| Parameter::Flag(false))?,
                Kind::Number => json.number()?.parse().map_or(Parameter::Other, Parameter::Size),
                _ => json.skip().map(|()| Parameter::Other)?,
            };
            found.push((name, value));
            Ok(())
        })?;
        Ok(Self(found))
    }

    fn get(&self, name: &str) -> Option<Parameter> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Some(Parameter::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    fn size(&self, name: &str) -> Option<usize> {
        match self.get(name) {
            Some(Parameter::Size(size)) => Some(size),
            _ => None,
        }
    }
}

impl<'a> PartialTensor<'a> {
    fn read(json: &mut Json<'a>) -> Parsed<Self> {
        let mut tensor = Self::default();
        json.object(|json, key| match key.decoded(&mut String::new()) {
            "name" => {
                tensor.name = Some(text_of(json, "name")?);
                Ok(())
            }
            "datatype" => {
                let at = json.peek()?.1;
                let name = text_of(json, "datatype")?;
                let found = Datatype::of(&name);
                let unknown = || refusal::wrong(at, &name, "is no data type of the protocol");
                tensor.datatype = Some(found.ok_or_else(unknown)?);
                Ok(())
            }
            "shape" => {
                tensor.shape = Some(shape(json)?);
                Ok(())
            }
            "parameters" => {
                tensor.parameters = Parameters::read(json)?;
                Ok(())
            }
            "data" => tensor.data(json),
            _ => json.skip(),
        })?;
        Ok(tensor)
    }

    fn data(&mut self, json: &mut Json<'a>) -> Parsed<()> {
        match (self.datatype, &self.shape) {
            (Some(datatype), Some(shape)) => {
                self.data = Some(values(json, datatype, shape)?);
                Ok(())
            }
            _ => {
                self.later = Some(json.clone());
                self.early = json.table();
                if self.early.is_some() { Ok(()) } else { json.skip() }
            }
        }
    }

    /// Completes the tensor; takes its data off `binary` where it is there.
    fn finish(self, binary: &mut &[u8]) -> Parsed<Tensor> {
        let name = self.name.ok_or_else(|| refusal::bad("an input has no `name`"))?;
        let missing = |key| refusal::bad(format!("input `{name}` has no `{key}`"));
        let datatype = self.datatype.ok_or_else(|| missing("datatype"))?;
        let shape = self.shape.ok_or_else(|| missing("shape"))?;
        let data = match (self.data, self.later, self.parameters.size("binary_data_size")) {
            (None, None, Some(size)) => {
                let Some((bytes, rest)) = binary.split_at_checked(size) else {
                    let left = binary.len();
                    let message = format!(
                        "input `{name}` has {size} bytes of binary data, the body has {left} left"
                    );
                    return Err(refusal::bad(message));
                };
                *binary = rest;
                decode(&name, bytes, datatype, &shape)?
            }
            (Some(data), _, None) => data,
            (None, Some(mut json), None) => {
                match self.early.and_then(|table| fitting(table, datatype, &shape)) {
                    Some(data) => data,
                    // It is read anew to see what does not fit, and where.
                    None => values(&mut json, datatype, &shape)?,
                }
            }
            (None, None, None) => return Err(missing("data")),
            (_, _, Some(_)) => {
                let message = format!("input `{name}` has both `data` and `binary_data_size`");
                return Err(refusal::bad(message));
            }
        };
        Ok(Tensor { name, datatype, shape, data })
    }
}

fn text_of(json: &mut Json<'_>, key: &str) -> Parsed<String> {
    match json.peek()? {
        (Kind::Text, _) => Ok(json.text()?.decoded(&mut String::new()).to_owned()),
        (_, at) => Err(refusal::wrong(at, key, "must be a text")),
    }
}

fn shape(json: &mut Json<'_>) -> Parsed<Vec<usize>> {
    let (kind, at) = json.peek()?;
    if kind != Kind::Array {
        return Err(refusal::wrong(at, "shape", "must be an array of whole numbers"));
    }
    let mut shape: Vec<usize> = Vec::new();
    let mut values = 1_usize;
    json.array(|json| {
        let at = json.peek()?.1;
        let size = json.number()?.parse().ok();
        let size: usize =
            size.ok_or_else(|| refusal::wrong(at, "shape", "must hold whole numbers from 0"))?;
        values = values.saturating_mul(size.max(1));
        if values > VALUES_MAX || shape.len() == RANK_MAX {
            // Not 413: a body that held as many would have been refused by its bytes.
            return Err(refusal::wrong(at, "shape", "is larger than any body allowed"));
        }
        shape.push(size);
        Ok(())
    })?;
    match shape.is_empty() {
        true => Err(refusal::wrong(at, "shape", "is empty; a tensor has at least one dimension")),
        false => Ok(shape),
    }
}
