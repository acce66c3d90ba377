//! Values to bytes, piece by piece: nothing is put together in memory before it is written.

/// Appends values in PackStream's form. Whoever announces a list, a map or a structure writes its parts next.
#[derive(Debug)]
pub struct Encoder<'o>(&'o mut Vec<u8>);

/// First bytes of values of one kind, by the width of their length: below 16, one byte, two, four.
struct Markers {
    tiny: Option<u8>,
    one: u8,
}

const STRING: Markers = Markers { tiny: Some(0x80), one: 0xD0 };
const LIST: Markers = Markers { tiny: Some(0x90), one: 0xD4 };
const MAP: Markers = Markers { tiny: Some(0xA0), one: 0xD8 };
const BYTES: Markers = Markers { tiny: None, one: 0xCC };

impl<'o> Encoder<'o> {
    /// An encoder that appends there.
    pub fn new(out: &'o mut Vec<u8>) -> Encoder<'o> {
        Encoder(out)
    }

    /// The absence of a value.
    pub fn null(&mut self) {
        self.0.push(0xC0);
    }

    /// True or false.
    pub fn bool(&mut self, value: bool) {
        self.0.push(if value { 0xC3 } else { 0xC2 });
    }

    /// An integer, in as few bytes as hold it.
    pub fn int(&mut self, value: i64) {
        if (-16..=127).contains(&value) {
            self.0.push(value as u8);
        } else if let Ok(value) = i8::try_from(value) {
            self.0.extend_from_slice(&[0xC8, value as u8]);
        } else if let Ok(value) = i16::try_from(value) {
            self.0.push(0xC9);
            self.0.extend_from_slice(&value.to_be_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.0.push(0xCA);
            self.0.extend_from_slice(&value.to_be_bytes());
        } else {
            self.0.push(0xCB);
            self.0.extend_from_slice(&value.to_be_bytes());
        }
    }

    /// A floating point number.
    pub fn float(&mut self, value: f64) {
        self.0.push(0xC1);
        self.0.extend_from_slice(&value.to_be_bytes());
    }

    /// Text.
    pub fn string(&mut self, text: &str) {
        self.length(&STRING, text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Raw bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.length(&BYTES, bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// The head of a list with this number of values, which follow.
    pub fn list(&mut self, length: usize) {
        self.length(&LIST, length);
    }

    /// The head of a map with this number of pairs of text and value, which follow.
    pub fn map(&mut self, length: usize) {
        self.length(&MAP, length);
    }

    /// The head of a structure with this number of fields, at most 15, which follow.
    pub fn structure(&mut self, tag: u8, fields: u8) {
        assert!(fields < 16, "a structure has at most 15 fields");
        self.0.extend_from_slice(&[0xB0 | fields, tag]);
    }

    /// A pair of a map whose value is text.
    pub fn entry(&mut self, key: &str, text: &str) {
        self.string(key);
        self.string(text);
    }

    fn length(&mut self, markers: &Markers, length: usize) {
        match (markers.tiny, length) {
            (Some(tiny), 0..=15) => self.0.push(tiny | length as u8),
            (_, 0..=0xFF) => self.0.extend_from_slice(&[markers.one, length as u8]),
            (_, 0x100..=0xFFFF) => {
                self.0.push(markers.one + 1);
                self.0.extend_from_slice(&(length as u16).to_be_bytes());
            }
            _ => {
                let length = u32::try_from(length).expect("values of the engine are far shorter than 2^32");
                self.0.push(markers.one + 2);
                self.0.extend_from_slice(&length.to_be_bytes());
            }
        }
    }
}
