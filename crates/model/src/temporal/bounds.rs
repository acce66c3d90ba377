//! The bounds of values of time: the years that Cypher knows, the hours of a day, offsets of 18 hours. Calculations keep them;
//! values that come from elsewhere are compared with them before they are stored, and after they were read.

use super::{DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, NANOS_OF_SECOND, OFFSET_MAX, Time};

impl LocalTime {
    /// True if it is a time of one day.
    pub fn is_valid(self) -> bool {
        (0..NANOS_OF_DAY).contains(&self.0)
    }
}

impl Time {
    /// True if it is a time of one day, on clocks that some zone may have.
    pub fn is_valid(self) -> bool {
        self.local.is_valid() && (-OFFSET_MAX..=OFFSET_MAX).contains(&self.offset)
    }
}

impl LocalDateTime {
    /// True if it lies in the years that Cypher knows.
    pub fn is_valid(self) -> bool {
        i64::from(self.nanosecond) < NANOS_OF_SECOND && (LocalDateTime::MIN..=LocalDateTime::MAX).contains(&self)
    }
}

impl DateTime {
    /// True if the clocks of its zone show a moment of the years that Cypher knows.
    pub fn is_valid(self) -> bool {
        // No zone is further from UTC: its clocks are asked near the ends alone, and beyond them they cannot be.
        let (first, last, near) = (LocalDateTime::MIN.seconds, LocalDateTime::MAX.seconds, i64::from(OFFSET_MAX));
        if (first + near..=last - near).contains(&self.seconds) {
            return i64::from(self.nanosecond) < NANOS_OF_SECOND;
        }
        (first - near..=last + near).contains(&self.seconds) && self.local().is_valid()
    }
}

impl Duration {
    /// True if the nanoseconds are less than a second.
    pub fn is_valid(self) -> bool {
        i64::from(self.nanosecond) < NANOS_OF_SECOND
    }
}
