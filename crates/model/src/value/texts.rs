//! Columns of texts: laid end to end, or, where the same come again and again, each once and a number for each row.

use std::sync::{Arc, OnceLock};

/// A dictionary with more entries than the rows taken from it by this factor is not taken along.
const SPARSE_SHARE: usize = 4;

/// Gathered bytes from which on texts that come again and again are numbered rather than copied.
const COPIED_BYTES_MAX: usize = 1 << 16;

/// Texts. Laid end to end, row `i` is `bytes[offsets[i]..offsets[i + 1]]`; coded, it is the text of its code.
#[derive(Clone, Debug)]
pub struct StringColumn {
    offsets: Vec<u64>,
    bytes: String,
    /// If it is there, the rows stand here.
    coded: Option<Box<Coded>>,
}

#[derive(Clone, Debug)]
struct Coded {
    /// For each row, which of the texts it is.
    codes: Vec<u32>,
    /// Laid end to end.
    texts: Arc<StringColumn>,
    /// The rows laid end to end, once somebody has asked for them so.
    laid: OnceLock<StringColumn>,
}

impl Default for StringColumn {
    fn default() -> StringColumn {
        StringColumn { offsets: vec![0], bytes: String::new(), coded: None }
    }
}

impl PartialEq for StringColumn {
    fn eq(&self, other: &StringColumn) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for StringColumn {}

impl StringColumn {
    /// Rows by the numbers of their texts.
    ///
    /// # Panics
    /// If there is no text of some number.
    pub fn coded(texts: Arc<StringColumn>, codes: Vec<u32>) -> StringColumn {
        assert!(codes.iter().max().is_none_or(|&code| (code as usize) < texts.len()), "each code has a text");
        if texts.coded.is_some() {
            return codes.iter().map(|&code| texts.get(code as usize)).collect();
        }
        let coded = Coded { codes, texts, laid: OnceLock::new() };
        StringColumn { coded: Some(Box::new(coded)), ..StringColumn::default() }
    }

    /// The number of each row's text and the texts, if the column is coded. Texts of different numbers may be equal.
    pub fn codes(&self) -> Option<(&[u32], &StringColumn)> {
        self.coded.as_deref().map(|coded| (coded.codes.as_slice(), &*coded.texts))
    }

    /// The texts of its codes, if it is coded. Columns of the same texts number them alike.
    pub fn dictionary(&self) -> Option<&Arc<StringColumn>> {
        self.coded.as_deref().map(|coded| &coded.texts)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.coded {
            None => self.offsets.len() - 1,
            Some(coded) => coded.codes.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of one row.
    #[inline]
    pub fn get(&self, row: usize) -> &str {
        match &self.coded {
            None => self.laid(row),
            Some(coded) => coded.texts.laid(coded.codes[row] as usize),
        }
    }

    #[inline]
    fn laid(&self, row: usize) -> &str {
        &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// Adds a row. A coded column is laid end to end first.
    #[inline]
    pub fn push(&mut self, text: &str) {
        if self.coded.is_some() {
            self.lay();
        }
        self.bytes.push_str(text);
        self.offsets.push(self.bytes.len() as u64);
    }

    #[cold]
    fn lay(&mut self) {
        let laid = self.iter().collect();
        *self = laid;
    }

    /// Adds all rows of another column.
    pub fn append(&mut self, other: &StringColumn) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        match (&mut self.coded, &other.coded) {
            (Some(mine), Some(more)) if Arc::ptr_eq(&mine.texts, &more.texts) => {
                mine.codes.extend_from_slice(&more.codes);
                mine.laid = OnceLock::new();
            }
            _ => other.iter().for_each(|text| self.push(text)),
        }
    }

    /// The rows at `rows`, in that order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> StringColumn {
        match &self.coded {
            Some(coded) if coded.texts.len() <= rows.len().saturating_mul(SPARSE_SHARE) => {
                let codes = rows.iter().map(|&row| coded.codes[row as usize]).collect();
                let coded = Coded { codes, texts: coded.texts.clone(), laid: OnceLock::new() };
                StringColumn { coded: Some(Box::new(coded)), ..StringColumn::default() }
            }
            _ if self.repeats_much(rows) => self.numbered(rows),
            _ => rows.iter().map(|&row| self.get(row as usize)).collect(),
        }
    }

    /// True if the rows at `rows` are much text, most of which is there more than once: a long text beside each row of a list,
    /// say.
    fn repeats_much(&self, rows: &[u32]) -> bool {
        let held = self.byte_count();
        // Few bytes a row cannot be much.
        if rows.len() <= 1 || held <= COPIED_BYTES_MAX / rows.len() {
            return false;
        }
        let gathered: usize = rows.iter().map(|&row| self.get(row as usize).len()).sum();
        gathered > COPIED_BYTES_MAX && gathered / 2 > held
    }

    /// The rows at `rows` by numbers of texts, of which each is copied once.
    fn numbered(&self, rows: &[u32]) -> StringColumn {
        if let Some(coded) = &self.coded {
            let codes = rows.iter().map(|&row| coded.codes[row as usize]).collect();
            return StringColumn::coded(coded.texts.clone(), codes);
        }
        StringColumn::coded(Arc::new(self.clone()), rows.to_vec())
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Bytes of text held, and of codes.
    pub fn byte_count(&self) -> usize {
        match &self.coded {
            None => self.bytes.len(),
            Some(coded) => coded.texts.bytes.len() + coded.texts.offsets.len() * size_of::<u64>(),
        }
    }

    /// The same laid end to end.
    fn as_laid(&self) -> &StringColumn {
        match &self.coded {
            None => self,
            Some(coded) => coded.laid.get_or_init(|| self.iter().collect()),
        }
    }

    /// The start of each row in [`StringColumn::text`], and the end of the last one: one more than there are rows. The
    /// rows of a coded column are laid end to end for that.
    pub fn offsets(&self) -> &[u64] {
        &self.as_laid().offsets
    }

    /// All texts, one after the other.
    pub fn text(&self) -> &str {
        &self.as_laid().bytes
    }

    /// Rows that lie in `bytes` as [`StringColumn::offsets`] tells it; `None` if offsets fall, leave the text or cut a
    /// character.
    pub fn from_parts(offsets: Vec<u64>, bytes: String) -> Option<StringColumn> {
        are_offsets_of(&offsets, &bytes).then_some(StringColumn { offsets, bytes, coded: None })
    }

    /// Adds rows that lie in `text` as [`StringColumn::offsets`] tells it; false, and nothing is added, if offsets fall, leave the
    /// text or cut a character.
    #[must_use]
    pub fn append_parts(&mut self, offsets: &[u64], text: &str) -> bool {
        if !are_offsets_of(offsets, text) {
            return false;
        }
        if self.coded.is_some() {
            self.lay();
        }
        let before = self.bytes.len() as u64;
        self.bytes.push_str(text);
        self.offsets.extend(offsets[1..].iter().map(|end| before + end));
        true
    }
}

/// True if rows lie in a text so, end to end and whole.
fn are_offsets_of(offsets: &[u64], text: &str) -> bool {
    let ends_match = offsets.first() == Some(&0) && offsets.last() == Some(&(text.len() as u64));
    ends_match
        && offsets.is_sorted()
        && (text.is_ascii() || offsets.iter().all(|&at| text.is_char_boundary(at as usize)))
}

impl<'a> FromIterator<&'a str> for StringColumn {
    fn from_iter<I: IntoIterator<Item = &'a str>>(rows: I) -> StringColumn {
        let rows = rows.into_iter();
        let mut column = StringColumn::default();
        column.offsets.reserve(rows.size_hint().0);
        rows.for_each(|row| column.push(row));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::StringColumn;
    use std::sync::Arc;

    #[test]
    fn texts_are_made_of_sound_parts_only() {
        let of = |offsets: &[u64], text: &str| StringColumn::from_parts(offsets.to_vec(), text.to_owned());
        let whole = of(&[0, 1, 1, 3], "aé").expect("it is sound");
        assert_eq!(whole.iter().collect::<Vec<_>>(), ["a", "", "é"]);
        assert_eq!((whole.offsets(), whole.text()), (&[0, 1, 1, 3][..], "aé"));
        for (offsets, text) in
            [(&[][..], ""), (&[0, 2], "aé"), (&[1, 3], "aé"), (&[0, 2, 3], "aé"), (&[0, 3, 1, 3], "abc")]
        {
            assert!(of(offsets, text).is_none(), "{offsets:?} of {text:?}");
            let mut column: StringColumn = ["b"].into_iter().collect();
            assert!(!column.append_parts(offsets, text) && column.len() == 1, "{offsets:?} of {text:?}");
        }
        let mut column = StringColumn::coded(Arc::new(["b"].into_iter().collect()), vec![0, 0]);
        assert!(column.append_parts(&[0, 1, 1, 3], "aé") && column.append_parts(&[0], ""));
        assert_eq!(column.iter().collect::<Vec<_>>(), ["b", "b", "a", "", "é"]);
    }

    #[test]
    fn a_long_text_that_is_gathered_again_and_again_is_copied_once() {
        let long = "x".repeat(1 << 20);
        let column: StringColumn = ["short", long.as_str(), ""].into_iter().collect();
        let rows: Vec<u32> = (0..2_000).map(|row| 1 + row % 2).collect();
        let gathered = column.gather(&rows);
        assert!(gathered.byte_count() < 2 << 20, "{} bytes", gathered.byte_count());
        assert!(gathered.codes().is_some());
        assert!(gathered.iter().zip(&rows).all(|(text, &row)| text == column.get(row as usize)));
        let again = gathered.gather(&(0..2_000).collect::<Vec<u32>>());
        assert!(again == gathered && again.byte_count() < 2 << 20);
        // Different texts, and few bytes, are laid end to end.
        assert!(column.gather(&[1, 0, 2]).codes().is_none() && column.gather(&[0; 100]).codes().is_none());
    }

    #[test]
    fn coded_texts_are_as_laid_ones() {
        let texts: Arc<StringColumn> = Arc::new(["a", "", "é", "a"].into_iter().collect());
        let codes = vec![2, 0, 1, 3, 2, 2];
        let laid: StringColumn = codes.iter().map(|&code| texts.get(code as usize)).collect();
        let coded = StringColumn::coded(texts.clone(), codes.clone());
        assert_eq!(coded, laid);
        assert_eq!(coded.codes().expect("it is coded").0, codes);
        assert_eq!((coded.offsets(), coded.text()), (laid.offsets(), laid.text()));
        for rows in [&[][..], &[5], &[1, 1, 0], &[0, 1, 2, 3, 4, 5, 5]] {
            assert_eq!(coded.gather(rows), laid.gather(rows), "{rows:?}");
        }
        for other in [&coded, &laid, &StringColumn::default(), &coded.gather(&[3, 2])] {
            let (mut a, mut b) = (coded.clone(), laid.clone());
            a.append(other);
            b.append(other);
            assert_eq!(a, b);
            assert_eq!((a.offsets(), a.text()), (b.offsets(), b.text()));
            a.push("z");
            b.push("z");
            assert_eq!(a, b);
            let mut none = StringColumn::default();
            none.append(other);
            assert_eq!(&none, other);
        }
        assert!(StringColumn::coded(texts, Vec::new()).is_empty());
    }

    #[test]
    #[should_panic(expected = "each code has a text")]
    fn a_code_without_a_text_is_a_bug() {
        let _ = StringColumn::coded(Arc::new(["a"].into_iter().collect()), vec![0, 1]);
    }
}
