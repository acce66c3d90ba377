//! Pages of a temporary file, some of them in memory: for what is read and written at any place.
//!
//! A page that was never written is all zeros. Pages in memory give way in turn, those used since the last turn later.
//!
//! Memory: two pages at least, and as many as the limit allows up to a number that is never refused; beyond it a quarter of
//! the limit, as long as a quarter of it is left to others. And a bit for each page of the file.
//! Cost: a page that is not in memory is one read of the file, and one write if it takes the place of one that was changed;
//! the page asked for last is found without a look into a table.

use model::{Map, Result};

use crate::memory::{Charge, SpillFile};

/// Bytes of a page.
pub(super) const PAGE_BYTES: usize = 4 << 10;
/// Most pages of a table that are held whatever the limit.
const TABLE_PAGES: usize = 16;
/// Most pages of a list that are held whatever the limit: there are several lists to a table.
const LIST_PAGES: usize = 4;
/// After a refusal, as many pages are read before more memory is asked for.
const REFUSAL_READS: u32 = 256;

/// See the module.
pub(super) struct Pages<'m> {
    charge: Charge<'m>,
    file: Option<SpillFile>,
    /// Most pages that are held whatever the limit.
    free_max: usize,
    /// True if a share of the limit is held if there is room.
    is_wide: bool,
    frames: Vec<Frame>,
    /// The frame of each page in memory.
    places: Map<u64, usize>,
    /// The frame asked for last.
    last: usize,
    /// Frame at which the search for one to evict begins.
    hand: usize,
    /// Reads before more memory is asked for.
    patience: u32,
    /// A bit for each page, set if it is in the file.
    written: Vec<u64>,
}

struct Frame {
    page: u64,
    bytes: Box<[u8]>,
    is_changed: bool,
    is_used: bool,
}

impl<'m> Pages<'m> {
    /// Zeros, to be read and written at any place.
    pub(super) fn of_table(charge: Charge<'m>) -> Pages<'m> {
        let (frames, places, written) = (Vec::new(), Map::default(), Vec::new());
        let (free_max, is_wide) = (TABLE_PAGES, true);
        Pages { charge, file: None, free_max, is_wide, frames, places, last: 0, hand: 0, patience: 0, written }
    }

    /// Zeros, to be read and written in order until [`Pages::widen`] is called.
    pub(super) fn of_list(charge: Charge<'m>) -> Pages<'m> {
        Pages { free_max: LIST_PAGES, is_wide: false, ..Pages::of_table(charge) }
    }

    /// Holds more pages from here on, as reads at any place come.
    pub(super) fn widen(&mut self) {
        self.is_wide = true;
    }

    /// The bytes of a page.
    #[inline]
    pub(super) fn read(&mut self, page: u64) -> Result<&[u8]> {
        let frame = self.frame(page)?;
        Ok(&self.frames[frame].bytes)
    }

    /// The bytes of a page, to be changed.
    #[inline]
    pub(super) fn write(&mut self, page: u64) -> Result<&mut [u8]> {
        let frame = self.frame(page)?;
        let frame = &mut self.frames[frame];
        frame.is_changed = true;
        Ok(&mut frame.bytes)
    }

    #[inline]
    fn frame(&mut self, page: u64) -> Result<usize> {
        if self.frames.get(self.last).is_none_or(|frame| frame.page != page) {
            self.last = match self.places.get(&page) {
                Some(&place) => place,
                None => self.load(page)?,
            };
            self.frames[self.last].is_used = true;
        }
        Ok(self.last)
    }

    fn load(&mut self, page: u64) -> Result<usize> {
        let place = self.free_frame()?;
        let frame = &mut self.frames[place];
        let is_written = self.written.get((page / 64) as usize).is_some_and(|word| word >> (page % 64) & 1 == 1);
        match &self.file {
            Some(file) if is_written => file.read_at(page * PAGE_BYTES as u64, &mut frame.bytes)?,
            _ => frame.bytes.fill(0),
        }
        frame.page = page;
        self.places.insert(page, place);
        Ok(place)
    }

    /// A frame that holds no page.
    fn free_frame(&mut self) -> Result<usize> {
        if self.may_grow() {
            let bytes = vec![0; PAGE_BYTES].into_boxed_slice();
            self.frames.push(Frame { page: u64::MAX, bytes, is_changed: false, is_used: false });
            return Ok(self.frames.len() - 1);
        }
        loop {
            self.hand = (self.hand + 1) % self.frames.len();
            let frame = &mut self.frames[self.hand];
            if !std::mem::take(&mut frame.is_used) {
                break;
            }
        }
        self.write_back(self.hand)?;
        let frame = &mut self.frames[self.hand];
        self.places.remove(&frame.page);
        // Should the read that follows fail, the frame must not be taken for the page.
        frame.page = u64::MAX;
        Ok(self.hand)
    }

    fn may_grow(&mut self) -> bool {
        let memory = self.charge.memory();
        let limit = memory.limit() / PAGE_BYTES;
        let (free, most) = ((limit / 16).clamp(2, self.free_max), limit / 4);
        let bytes = (self.frames.len() + 1) * PAGE_BYTES;
        if self.frames.len() < free {
            self.charge.count(bytes);
            return true;
        }
        if !self.is_wide || self.frames.len() >= most {
            return false;
        }
        if self.patience > 0 {
            self.patience -= 1;
            return false;
        }
        let leaves_others_room = memory.used() / PAGE_BYTES < limit - limit / 4;
        let fits = leaves_others_room && self.charge.try_hold(bytes).is_ok();
        self.patience = if fits { 0 } else { REFUSAL_READS };
        fits
    }

    fn write_back(&mut self, place: usize) -> Result<()> {
        let frame = &mut self.frames[place];
        if !std::mem::take(&mut frame.is_changed) {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(self.charge.spill_file()?),
        };
        self.charge.spill_at(file, frame.page * PAGE_BYTES as u64, &frame.bytes)?;
        let word = (frame.page / 64) as usize;
        if self.written.len() <= word {
            self.written.resize(word + 1, 0);
        }
        self.written[word] |= 1 << (frame.page % 64);
        Ok(())
    }
}
