//! Arrays of numbers across the border: the memory of a vector lent to NumPy, and numbers gathered at nodes.
//!
//! Arrays are lent by NumPy's array interface, a dictionary that names address, length and type, which needs no header of
//! NumPy. The unsafe code works on the memory of arrays of NumPy, which it finds the same way.
#![allow(unsafe_code, reason = "arrays of NumPy are changed where they lie")]

use model::error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raised;

/// A vector that Python may look at: `numpy.asarray` gives an array that keeps it, and is not to be written.
#[pyclass(frozen, module = "knotwork._knotwork")]
pub(crate) struct Numbers(Vector);

/// The vectors there are.
pub(crate) enum Vector {
    /// Numbers of nodes.
    U32(Vec<u32>),
    /// Integers, ids among them.
    I64(Vec<i64>),
    /// Floats.
    F64(Vec<f64>),
    /// Booleans.
    Bool(Vec<bool>),
}

impl Vector {
    /// Address, length, and kind and width as NumPy writes them.
    fn parts(&self) -> (usize, usize, &'static str) {
        match self {
            Vector::U32(vector) => (vector.as_ptr().addr(), vector.len(), "u4"),
            Vector::I64(vector) => (vector.as_ptr().addr(), vector.len(), "i8"),
            Vector::F64(vector) => (vector.as_ptr().addr(), vector.len(), "f8"),
            Vector::Bool(vector) => (vector.as_ptr().addr(), vector.len(), "b1"),
        }
    }
}

impl From<Vector> for Numbers {
    fn from(vector: Vector) -> Numbers {
        match &vector {
            Vector::U32(vector) => drop(vector.as_ptr().expose_provenance()),
            Vector::I64(vector) => drop(vector.as_ptr().expose_provenance()),
            Vector::F64(vector) => drop(vector.as_ptr().expose_provenance()),
            Vector::Bool(vector) => drop(vector.as_ptr().expose_provenance()),
        }
        Numbers(vector)
    }
}

/// The byte order of this machine, as NumPy writes it.
const ORDER: &str = if cfg!(target_endian = "little") { "<" } else { ">" };

#[pymethods]
impl Numbers {
    fn __len__(&self) -> usize {
        self.0.parts().1
    }

    /// Location of the numbers.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, length, kind) = self.0.parts();
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("shape", (length,))?;
        dict.set_item("typestr", if kind == "b1" { "|b1".to_owned() } else { format!("{ORDER}{kind}") })?;
        // Not to be written: the vector is shared.
        dict.set_item("data", (address, true))?;
        Ok(dict)
    }

    /// Changes ``out`` at each of these places by the value beside it: ``add``, ``minimum`` or ``maximum``. False, and
    /// nothing done, if the arrays are not of a form that is known here: contiguous, of one type and one dimension.
    fn combine(&self, operation: &str, out: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Vector::U32(places) = &self.0 else { return Ok(false) };
        let (Some(out), Some(values)) = (Lent::of(out, Access::Write)?, Lent::of(values, Access::Read)?) else {
            return Ok(false);
        };
        if out.kind != values.kind || values.length != places.len() {
            return Ok(false);
        }
        if let Some(place) = places.iter().find(|&&place| place as usize >= out.length) {
            return Err(raised(error!(
                Argument,
                "expected an array with a place for node {place}, found {}", out.length
            )));
        }
        match &*out.kind {
            "f8" => Float::<f64>::combine(operation, places, &out, &values),
            "f4" => Float::<f32>::combine(operation, places, &out, &values),
            "i8" => Integer::<i64>::combine(operation, places, &out, &values),
            "i4" => Integer::<i32>::combine(operation, places, &out, &values),
            "u8" => Integer::<u64>::combine(operation, places, &out, &values),
            "u4" => Integer::<u32>::combine(operation, places, &out, &values),
            _ => Ok(false),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// The memory of an array of NumPy.
struct Lent {
    address: usize,
    length: usize,
    kind: String,
}

impl Lent {
    /// The memory of an array of one dimension without gaps, aligned, in this machine's byte order; `None` for another.
    fn of(array: &Bound<'_, PyAny>, access: Access) -> PyResult<Option<Lent>> {
        let Ok(interface) = array.getattr("__array_interface__") else { return Ok(None) };
        let (address, is_read_only): (usize, bool) = interface.get_item("data")?.extract()?;
        let (shape, kind): (Vec<usize>, String) =
            (interface.get_item("shape")?.extract()?, interface.get_item("typestr")?.extract()?);
        let has_gaps = interface.get_item("strides").is_ok_and(|strides| !strides.is_none());
        let [length] = shape[..] else { return Ok(None) };
        let Some(kind) = kind.strip_prefix(ORDER) else { return Ok(None) };
        let width: usize = kind.get(1..).and_then(|width| width.parse().ok()).unwrap_or(1);
        if has_gaps || address % width.max(1) != 0 || (is_read_only && access == Access::Write) {
            return Ok(None);
        }
        Ok(Some(Lent { address, length, kind: kind.to_owned() }))
    }
}

/// Numbers of one type, and what is done with them.
trait Kind {
    type Number: Copy;
    fn add(a: Self::Number, b: Self::Number) -> Self::Number;
    fn is_less(a: Self::Number, b: Self::Number) -> bool;
    fn is_nan(a: Self::Number) -> bool;

    fn combine(operation: &str, places: &[u32], out: &Lent, values: &Lent) -> PyResult<bool> {
        match operation {
            "add" => each::<Self::Number>(places, out, values, Self::add),
            // As NumPy has it, what is not a number stays so.
            "minimum" => {
                each::<Self::Number>(
                    places,
                    out,
                    values,
                    |a, b| {
                        if Self::is_less(b, a) || Self::is_nan(b) { b } else { a }
                    },
                )
            }
            "maximum" => {
                each::<Self::Number>(
                    places,
                    out,
                    values,
                    |a, b| {
                        if Self::is_less(a, b) || Self::is_nan(b) { b } else { a }
                    },
                )
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Combines the number at each place with the value beside it.
#[inline]
fn each<T: Copy>(places: &[u32], out: &Lent, values: &Lent, combine: impl Fn(T, T) -> T) {
    let (out, values) = (
        std::ptr::with_exposed_provenance_mut::<T>(out.address),
        std::ptr::with_exposed_provenance::<T>(values.address),
    );
    for (at, &place) in places.iter().enumerate() {
        // SAFETY: the caller holds both arrays and Python's lock, so neither is freed or moved; both hold numbers of this
        // type, aligned; there are as many values as places, and every place was seen to lie within `out`. No reference is
        // made, so the two may overlap.
        unsafe {
            let cell = out.add(place as usize);
            cell.write(combine(cell.read(), values.add(at).read()));
        }
    }
}

struct Float<T>(std::marker::PhantomData<T>);
struct Integer<T>(std::marker::PhantomData<T>);

macro_rules! kinds {
    ($($family:ident $number:ident $add:expr, $is_nan:expr;)*) => {$(
        impl Kind for $family<$number> {
            type Number = $number;
            #[inline]
            fn add(a: $number, b: $number) -> $number {
                $add(a, b)
            }
            #[inline]
            fn is_less(a: $number, b: $number) -> bool {
                a < b
            }
            #[inline]
            fn is_nan(a: $number) -> bool {
                $is_nan(a)
            }
        }
    )*};
}

kinds! {
    Float f64 |a, b| a + b, |a: f64| a.is_nan();
    Float f32 |a, b| a + b, |a: f32| a.is_nan();
    Integer i64 i64::wrapping_add, |_| false;
    Integer i32 i32::wrapping_add, |_| false;
    Integer u64 u64::wrapping_add, |_| false;
    Integer u32 u32::wrapping_add, |_| false;
}
