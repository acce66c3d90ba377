//! The rows of a result as an Arrow stream, for the C interface: its reader pulls batches from the query.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use database::{Error, ResultBatch};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::export::Layout;
use crate::pipe::{Found, Told};
use crate::statement::{SIGNAL_STEP, Stream};

/// The name of capsules that hold a stream.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";

/// Rows that come as record batches. It knows nothing of Python, so that it can be read without its lock.
pub(crate) struct Reader {
    layout: Layout,
    ready: VecDeque<ResultBatch>,
    rest: Option<Stream>,
    told: Arc<Told>,
}

impl Reader {
    pub(crate) fn new(layout: Layout, ready: VecDeque<ResultBatch>, rest: Option<Stream>, told: Arc<Told>) -> Reader {
        Reader { layout, ready, rest, told }
    }

    /// The same with strings for durations that have months.
    pub(crate) fn with_texts_for_months(self) -> Reader {
        Reader { layout: self.layout.with_texts_for_months(), ..self }
    }

    fn next_batch(&mut self) -> Result<Option<ResultBatch>, Error> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(stream) = &self.rest else { return Ok(None) };
            match stream.0.read(SIGNAL_STEP) {
                Found::Rows(batch) => return Ok(Some(batch)),
                Found::Nothing => {}
                Found::End(outcome) => {
                    self.rest = None;
                    self.told.tell((*outcome).transpose()?);
                }
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let made = self.next_batch().transpose()?.and_then(|batch| self.layout.record_batch(&batch));
        Some(made.map_err(|error| {
            self.rest = None;
            self.ready.clear();
            ArrowError::ExternalError(Box::new(error))
        }))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.layout.schema.clone()
    }
}

/// A stream of Arrow, to be given to a library that reads them.
#[pyclass(frozen, module = "knotwork")]
pub(crate) struct ArrowStream(Mutex<Option<Reader>>);

impl ArrowStream {
    pub(crate) fn new(reader: Reader) -> ArrowStream {
        ArrowStream(Mutex::new(Some(reader)))
    }
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A schema is a wish; types are what the values are.
        let _ = requested_schema;
        let reader = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        let reader = reader.ok_or_else(|| crate::error::raised(crate::error::consumed()))?;
        capsule(py, reader)
    }
}

/// A capsule with a stream of these rows.
pub(crate) fn capsule(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}
