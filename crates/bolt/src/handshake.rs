//! The first bytes of a connection: which version both sides speak.
//!
//! A client sends four proposals, each a version or a range of minor versions, in its order of preference. One of them may
//! be the *manifest*: the server then lists its versions, and the client chooses.

use crate::version::Version;

/// First bytes of a Bolt client.
pub const PREAMBLE: [u8; 4] = [0x60, 0x60, 0xB0, 0x17];
/// The proposal that asks for a list.
const MANIFEST: [u8; 4] = [0, 0, 1, 0xFF];
/// Bytes of the preamble and the four proposals.
const OPENING_BYTES: usize = 20;
/// The newest minor version of 5 that is proposed.
const OWN_MINOR: u8 = 8;
/// A number of variable length has no more bytes than that.
const NUMBER_BYTES_MAX: usize = 10;

/// The first bytes of our own client: it speaks version 5, up to that minor version, in which values have one form.
pub fn opening() -> [u8; OPENING_BYTES] {
    let mut bytes = [0; OPENING_BYTES];
    bytes[..4].copy_from_slice(&PREAMBLE);
    bytes[4..8].copy_from_slice(&[0, OWN_MINOR, OWN_MINOR, 5]);
    bytes
}

/// The version of the answer to [`opening`]; `None` if the server speaks none that was proposed.
pub fn agreed(answer: [u8; 4]) -> Option<Version> {
    let [_, _, minor, major] = answer;
    Version::ALL.iter().copied().find(|version| (version.major, version.minor) == (major, minor) && major == 5)
}

/// Result of the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// More bytes are needed.
    More,
    /// Those bytes are to be sent, and more are needed.
    Send(Vec<u8>),
    /// Those bytes are to be sent, perhaps none; from now on that version is spoken.
    Agreed(Version, Vec<u8>),
    /// Those bytes are to be sent, and the connection closed.
    Refused(Vec<u8>),
    /// It is no Bolt client: the connection is to be closed.
    Foreign,
}

/// The handshake of one connection.
#[derive(Clone, Debug)]
pub struct Handshake {
    newest: Version,
    bytes: Vec<u8>,
    is_manifest: bool,
}

impl Handshake {
    /// A handshake in which no version newer than that is offered.
    pub fn new(newest: Version) -> Handshake {
        Handshake { newest, bytes: Vec::new(), is_manifest: false }
    }

    /// True if the list of versions was sent.
    pub fn is_by_manifest(&self) -> bool {
        self.is_manifest
    }

    /// Takes from the front of `input` what belongs to the handshake.
    pub fn feed(&mut self, input: &mut &[u8]) -> Outcome {
        while let Some((first, rest)) = input.split_first() {
            self.bytes.push(*first);
            *input = rest;
            let outcome = if self.is_manifest { self.choice() } else { self.opening() };
            if outcome != Outcome::More {
                return outcome;
            }
        }
        Outcome::More
    }

    fn offered(&self) -> impl Iterator<Item = Version> {
        let newest = self.newest;
        Version::ALL.iter().copied().filter(move |version| *version <= newest)
    }

    fn opening(&mut self) -> Outcome {
        let known = self.bytes.len().min(PREAMBLE.len());
        if self.bytes[..known] != PREAMBLE[..known] {
            return Outcome::Foreign;
        }
        if self.bytes.len() < OPENING_BYTES {
            return Outcome::More;
        }
        let proposals: Vec<[u8; 4]> =
            self.bytes[4..].chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect();
        self.bytes.clear();
        for proposal in proposals {
            if proposal == MANIFEST {
                self.is_manifest = true;
                return Outcome::Send(self.manifest());
            }
            let [_, range, minor, major] = proposal;
            let spans = |version: &Version| {
                version.major == major && version.minor <= minor && version.minor >= minor.saturating_sub(range)
            };
            if let Some(version) = self.offered().find(spans) {
                return Outcome::Agreed(version, vec![0, 0, version.minor, version.major]);
            }
        }
        Outcome::Refused(vec![0; 4])
    }

    /// The list of versions, one by one, and no capabilities.
    fn manifest(&self) -> Vec<u8> {
        let mut bytes = MANIFEST.to_vec();
        bytes.push(self.offered().count() as u8);
        self.offered().for_each(|version| bytes.extend([0, 0, version.minor, version.major]));
        bytes.push(0);
        bytes
    }

    /// The version that the client has chosen from the list, and its capabilities, of which none are known.
    fn choice(&self) -> Outcome {
        let Some((chosen, capabilities)) = self.bytes.split_at_checked(4) else { return Outcome::More };
        match capabilities.last() {
            Some(last) if last & 0x80 == 0 => {}
            _ if capabilities.len() >= NUMBER_BYTES_MAX => return Outcome::Refused(Vec::new()),
            _ => return Outcome::More,
        }
        match self.offered().find(|version| *chosen == [0, 0, version.minor, version.major]) {
            Some(version) => Outcome::Agreed(version, Vec::new()),
            None => Outcome::Refused(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Handshake, Outcome};
    use crate::version::Version;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
        digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    }

    fn answer(newest: &str, hex: &str) -> Outcome {
        Handshake::new(Version::parse(newest).unwrap()).feed(&mut bytes(hex).as_slice())
    }

    fn agreed(version: &str, hex: &str) -> Outcome {
        Outcome::Agreed(Version::parse(version).unwrap(), bytes(hex))
    }

    #[test]
    fn the_first_proposal_that_fits_is_taken() {
        let cases = [
            // The examples of the specification.
            ("6060B017 00000004 00000000 00000000 00000000", Outcome::Refused(vec![0; 4])),
            ("6060B017 00000404 00000000 00000000 00000000", agreed("4.4", "00000404")),
            ("6060B017 00030404 00000000 00000000 00000000", agreed("4.4", "00000404")),
            ("6060B017 00000005 00020404 00000000 00000000", agreed("5.0", "00000005")),
            // Proposals of drivers of today, without the manifest.
            ("6060B017 00080805 00020404 00000003 00000000", agreed("5.8", "00000805")),
            // A range that ends in the version that never was.
            ("6060B017 00000505 00000405 00000000 00000000", agreed("5.4", "00000405")),
            ("6060B017 00000505 00000000 00000000 00000000", Outcome::Refused(vec![0; 4])),
            ("6060B017 00010605 00000000 00000000 00000000", agreed("5.6", "00000605")),
            ("6060B017 00FFFF06 00000000 00000000 00000000", agreed("6.0", "00000006")),
        ];
        for (opening, expected) in cases {
            assert_eq!(answer("6.0", opening), expected, "{opening}");
        }
        assert_eq!(answer("5.4", "6060B017 00080805 00020404 00000003 00000000"), agreed("5.4", "00000405"));
        assert_eq!(answer("6.0", "474554202F"), Outcome::Foreign);
        assert_eq!(answer("6.0", "1603"), Outcome::Foreign);
        assert_eq!(answer("6.0", "6060B017 0008"), Outcome::More);
    }

    #[test]
    fn a_client_chooses_from_the_manifest() {
        let opening = bytes("6060B017 000001FF 00080805 00020404 00000003");
        for (newest, choice, expected) in [
            ("6.0", "00000006 00", agreed("6.0", "")),
            ("6.0", "00000805 8100", agreed("5.8", "")),
            ("5.4", "00000805 00", Outcome::Refused(Vec::new())),
            ("6.0", "00000505 00", Outcome::Refused(Vec::new())),
            ("6.0", "00000805 80808080808080808080", Outcome::Refused(Vec::new())),
        ] {
            let mut handshake = Handshake::new(Version::parse(newest).unwrap());
            let Outcome::Send(list) = handshake.feed(&mut opening.as_slice()) else { panic!("a list was asked for") };
            assert!(handshake.is_by_manifest());
            assert_eq!(usize::from(list[4]), (list.len() - 6) / 4);
            assert!(!list[5..list.len() - 1].chunks(4).any(|version| version == [0, 0, 5, 5]));
            // Bytes behind the choice are not the handshake's.
            let input = [bytes(choice), vec![0xAA]].concat();
            let mut input = input.as_slice();
            assert_eq!(handshake.feed(&mut input), expected, "{newest} {choice}");
            if let Outcome::Agreed(..) = expected {
                assert_eq!(input, [0xAA]);
            }
        }
    }

    #[test]
    fn servers_take_what_our_own_client_proposes() {
        for version in Version::ALL.iter().copied() {
            let outcome = Handshake::new(version).feed(&mut super::opening().as_slice());
            match outcome {
                Outcome::Agreed(agreed, answer) => {
                    assert_eq!(super::agreed(answer.try_into().unwrap()), Some(agreed), "{version}");
                }
                other => assert_eq!((other, version.major), (Outcome::Refused(vec![0; 4]), 4)),
            }
        }
        assert_eq!(super::agreed([0; 4]), None);
        assert_eq!(super::agreed(*b"HTTP"), None);
    }

    #[test]
    fn bytes_may_come_one_by_one() {
        let opening = bytes("6060B017 00080805 00020404 00000003 00000000");
        let mut handshake = Handshake::new(Version::ALL[0]);
        for (at, byte) in opening.iter().enumerate() {
            let expected = if at == 19 { agreed("5.8", "00000805") } else { Outcome::More };
            assert_eq!(handshake.feed(&mut [*byte].as_slice()), expected);
        }
    }
}
