//! Rows as a stream of Arrow's IPC format, in pieces as they are made.

use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use model::{Result, Value, error};

use super::arrow_rows::RowTypes;

/// Rows of one record batch at most.
const BATCH_ROWS: usize = 16_384;
/// Bytes of strings in one record batch, about.
const BATCH_BYTES: usize = 1 << 20;

/// Makes a stream of rows whose values are null, scalars or strings; whoever pushes turns anything else into a string before.
pub struct ArrowStream {
    names: Vec<String>,
    writer: Option<(StreamWriter<Vec<u8>>, RowTypes)>,
    held: Vec<Vec<Value>>,
    held_rows: usize,
    held_bytes: usize,
    rows: u64,
}

impl ArrowStream {
    /// A stream of columns with these names.
    pub fn new(names: Vec<String>) -> ArrowStream {
        let held = vec![Vec::new(); names.len()];
        ArrowStream { names, writer: None, held, held_rows: 0, held_bytes: 0, rows: 0 }
    }

    /// Adds a row; gives the bytes of a record batch once there are rows for one.
    ///
    /// # Errors
    /// Fails if a value does not have the type of those of the first rows.
    pub fn push(&mut self, row: impl Iterator<Item = Value>) -> Result<Option<Vec<u8>>> {
        for (column, value) in self.held.iter_mut().zip(row) {
            if let Value::String(text) = &value {
                self.held_bytes += text.len();
            }
            column.push(value);
        }
        self.held_rows += 1;
        self.rows += 1;
        let is_full = self.held_rows >= BATCH_ROWS || self.held_bytes >= BATCH_BYTES;
        if is_full { self.flush().map(Some) } else { Ok(None) }
    }

    /// The bytes of the rows that are held, and of the end.
    ///
    /// # Errors
    /// Fails as [`ArrowStream::push`] does.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        let mut bytes = if self.held_rows > 0 || self.writer.is_none() { self.flush()? } else { Vec::new() };
        if let Some((mut writer, _)) = self.writer.take() {
            writer.finish().map_err(|cause| failed(&cause))?;
            bytes.append(writer.get_mut());
        }
        Ok(bytes)
    }

    fn flush(&mut self) -> Result<Vec<u8>> {
        let (writer, types) = match &mut self.writer {
            Some(begun) => begun,
            none => {
                let types = RowTypes::of(&self.names, &self.held, "Arrow");
                let writer = StreamWriter::try_new(Vec::new(), &types.schema).map_err(|cause| failed(&cause))?;
                none.insert((writer, types))
            }
        };
        if self.held_rows > 0 {
            let batch = types.batch(&self.held, self.held_rows, self.rows)?;
            writer.write(&batch).map_err(|cause| failed(&cause))?;
        }
        self.held.iter_mut().for_each(Vec::clear);
        (self.held_rows, self.held_bytes) = (0, 0);
        Ok(std::mem::take(writer.get_mut()))
    }
}

fn failed(cause: &ArrowError) -> model::Error {
    error!(Internal, "rows cannot be written as a stream of Arrow: {cause}")
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_ipc::reader::StreamReader;
    use model::Value;

    use super::ArrowStream;

    fn stream(rows: impl Iterator<Item = [Value; 2]>) -> model::Result<Vec<u8>> {
        let mut stream = ArrowStream::new(vec!["a".into(), "b".into()]);
        let mut bytes = Vec::new();
        for row in rows {
            bytes.extend(stream.push(row.into_iter())?.unwrap_or_default());
        }
        bytes.extend(stream.finish()?);
        Ok(bytes)
    }

    #[test]
    fn rows_are_read_again() {
        for count in [0, 1, 16_384, 50_000] {
            let text = |i: i64| if i % 7 == 0 { Value::Null } else { Value::string(&format!("text {i}")) };
            let bytes = stream((0..count).map(|i| [Value::Int(i), text(i)])).unwrap();
            let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
            let mut next = 0;
            for batch in reader {
                let batch = batch.unwrap();
                let (numbers, texts) =
                    (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
                for row in 0..batch.num_rows() {
                    assert_eq!(numbers.value(row), next);
                    assert_eq!(texts.is_null(row), next % 7 == 0);
                    next += 1;
                }
            }
            assert_eq!(next, count);
        }
    }

    #[test]
    fn a_value_of_another_type_is_an_error() {
        let rows = (0..40_000).map(|i| [if i < 30_000 { Value::Int(i) } else { Value::string("x") }, Value::Null]);
        let error = stream(rows).unwrap_err();
        assert!(error.to_string().contains("the column a holds Int in the first rows"), "{error}");
    }
}
