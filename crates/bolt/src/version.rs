//! The versions of the protocol that are spoken, and what differs between them.

use std::fmt;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// First number.
    pub major: u8,
    /// Second number.
    pub minor: u8,
}

const fn version(major: u8, minor: u8) -> Version {
    Version { major, minor }
}

impl Version {
    /// All that are spoken, the newest first. There never was a 5.5 of servers, though ranges of drivers span it.
    pub const ALL: &'static [Version] = &[
        version(6, 0),
        version(5, 8),
        version(5, 7),
        version(5, 6),
        version(5, 4),
        version(5, 3),
        version(5, 2),
        version(5, 1),
        version(5, 0),
        version(4, 4),
    ];

    /// The version of a text such as `5.4`, if it is spoken.
    pub fn parse(text: &str) -> Option<Version> {
        Version::ALL.iter().copied().find(|version| version.to_string() == text)
    }

    /// True if credentials come in a message of their own, not in `HELLO`.
    pub fn has_logon(self) -> bool {
        self >= version(5, 1)
    }

    /// True if nodes and relationships have element ids.
    pub fn has_element_ids(self) -> bool {
        self >= version(5, 0)
    }

    /// True if moments are always sent in UTC. In 4.4 that is a patch which both sides agree on.
    pub fn is_utc(self) -> bool {
        self >= version(5, 0)
    }

    /// True if there is `TELEMETRY`.
    pub fn has_telemetry(self) -> bool {
        self >= version(5, 4)
    }

    /// True if summaries have status objects in place of notifications.
    pub fn has_statuses(self) -> bool {
        self >= version(5, 6)
    }

    /// True if failures carry a GQL status.
    pub fn has_gql_errors(self) -> bool {
        self >= version(5, 7)
    }

    /// True if there are vectors.
    pub fn has_vectors(self) -> bool {
        self >= version(6, 0)
    }

    /// True if the database that was chosen for the client is told.
    pub fn tells_database(self) -> bool {
        self >= version(5, 8)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
