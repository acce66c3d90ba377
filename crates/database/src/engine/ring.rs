//! A graph on a ring of machines, by its address.

use std::path::PathBuf;
use std::sync::Arc;

use cluster::cql::{CqlConfig, CqlTables};
use cluster::{ClusterStore, Settings};
use model::limits::MEMORY_BYTES_MIN;
use model::memory::parse_bytes;
use model::platform::Platform;
use model::{Consumer, Error, MemoryBudget, Result, error};

use super::RING_SCHEME;
use crate::settings::{Access, Config};

/// Port of Cassandra.
const PORT: u16 = 9_042;
/// Time between two looks for dead rows to purge.
const PURGE_INTERVAL_NS: u64 = 60_000_000_000;
/// Number of the graph in its keyspace, unless the address says another.
const GRAPH: i64 = 1;

/// A graph on a ring.
pub(crate) struct Ring {
    pub(super) store: Arc<ClusterStore>,
    pub(super) memory: Arc<MemoryBudget>,
    /// Its address, without a password.
    pub(super) address: PathBuf,
}

/// An address, taken apart:
/// `cql://[USER:PASSWORD@]HOST[:PORT][,HOST…]/KEYSPACE[?graph=N&copies=N&staleness=DURATION&cache=SIZE]`.
#[derive(Debug)]
struct Address {
    cql: CqlConfig,
    graph: i64,
    /// Nanoseconds by which a snapshot may be late.
    staleness_ns: u64,
    /// Bytes of the cache, if they are said.
    cache_bytes_max: Option<usize>,
    shown: String,
}

fn malformed(problem: &str) -> Error {
    error!(Argument, "the address of the ring: {problem}")
        .with_remedy("write cql://HOST/KEYSPACE, as cql://127.0.0.1:9042/social")
}

/// Nanoseconds of a duration such as `100ms` or `5s`; seconds where there is no unit.
fn nanoseconds(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match &text[split..] {
        "ms" => 1_000_000,
        "s" | "" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return None,
    };
    text[..split].parse::<u64>().ok()?.checked_mul(unit)
}

impl Address {
    fn parse(text: &str) -> Result<Address> {
        let rest = text.strip_prefix(RING_SCHEME).ok_or_else(|| malformed("it does not begin with cql://"))?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, keyspace) = place.split_once('/').ok_or_else(|| malformed("no keyspace is named"))?;
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                let parts = login.split_once(':').ok_or_else(|| malformed("a login is USER:PASSWORD"))?;
                (Some((parts.0.to_owned(), parts.1.to_owned())), hosts)
            }
            None => (None, authority),
        };
        let with_port = |host: &str| {
            let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            if has_port && !host.ends_with(']') { host.to_owned() } else { format!("{host}:{PORT}") }
        };
        let hosts: Vec<String> = hosts.split(',').filter(|host| !host.is_empty()).map(with_port).collect();
        if hosts.is_empty() || keyspace.is_empty() {
            return Err(malformed("a host and a keyspace are needed"));
        }
        let shown = format!("{RING_SCHEME}{}/{keyspace}", hosts.join(","));
        let cql = CqlConfig { login, ..CqlConfig::new(hosts, keyspace) };
        let mut address = Address { cql, graph: GRAPH, staleness_ns: 0, cache_bytes_max: None, shown };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            address.set(name, value)?;
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let number = || {
            let number = value.parse::<u32>().ok().filter(|number| *number > 0);
            number.ok_or_else(|| malformed(&format!("{name} is a number above 0")))
        };
        match name {
            "graph" => {
                self.graph = i64::from(number()?);
                self.shown += &format!("?graph={}", self.graph);
            }
            "copies" => self.cql.copies = number()?,
            "staleness" => {
                let wrong = || malformed(&format!("staleness is a duration as 0, 100ms or 5s, found {value}"));
                self.staleness_ns = nanoseconds(value).ok_or_else(wrong)?;
            }
            "cache" => {
                let wrong = || malformed(&format!("cache is a size as 0 or 256MiB, found {value}"));
                self.cache_bytes_max = Some(parse_bytes(value).ok_or_else(wrong)?);
            }
            _ => {
                let known = "known are graph, copies, staleness and cache";
                return Err(malformed(&format!("there is no option {name}; {known}")));
            }
        }
        Ok(())
    }
}

impl Ring {
    /// Connects to the ring, and opens the graph.
    pub(super) fn open(platform: &Platform, address: &str, config: &Config) -> Result<Ring> {
        let Address { mut cql, graph, staleness_ns, cache_bytes_max, shown } = Address::parse(address)?;
        cql.creates = config.access == Access::ReadWrite;
        let limit = config.memory_bytes_max.unwrap_or_else(storage::os::memory_limit);
        if limit < MEMORY_BYTES_MIN {
            let least = MEMORY_BYTES_MIN >> 10;
            return Err(error!(Argument, "a memory limit of {limit} bytes is too small, expected {least} KiB or more")
                .with_remedy("raise the limit, or leave it out"));
        }
        let tables = Arc::new(CqlTables::connect(&cql)?);
        let mut settings = Settings::new(graph, platform.clock.clone(), platform.random.clone());
        settings.is_read_only = config.access == Access::ReadOnly;
        settings.staleness_ns = staleness_ns;
        settings.purge_interval_ns = PURGE_INTERVAL_NS;
        let memory = MemoryBudget::new(limit);
        settings.cache_bytes_max = cache_bytes_max.unwrap_or_else(|| memory.share(Consumer::SourceCache));
        settings.memory = memory.clone();
        let store = Arc::new(ClusterStore::open(tables, settings)?);
        Ok(Ring { store, memory, address: PathBuf::from(shown) })
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorCode;

    use super::Address;

    #[test]
    fn addresses_are_taken_apart() {
        let address = Address::parse("cql://ann:a:b@one,[::1],two:9999/social?graph=7&copies=1").unwrap();
        assert_eq!(address.cql.hosts, ["one:9042", "[::1]:9042", "two:9999"]);
        assert_eq!(address.cql.login, Some(("ann".to_owned(), "a:b".to_owned())));
        assert_eq!((address.cql.keyspace.as_str(), address.cql.copies, address.graph), ("social", 1, 7));
        assert_eq!(address.shown, "cql://one:9042,[::1]:9042,two:9999/social?graph=7", "no password is shown");
        for wrong in ["cql://", "cql://host", "cql://host/", "cql:///social", "cql://ann@host/social", "cql://h/s?x=1"]
        {
            assert_eq!(Address::parse(wrong).unwrap_err().code(), ErrorCode::Argument, "{wrong}");
        }
        for wrong in ["graph=0", "staleness=1h", "staleness=-1", "staleness=ms", "cache=much", "cache"] {
            assert!(Address::parse(&format!("cql://host/social?{wrong}")).is_err(), "{wrong}");
        }
        let address = Address::parse("cql://host/social?staleness=250ms&cache=16MiB").unwrap();
        assert_eq!((address.staleness_ns, address.cache_bytes_max), (250_000_000, Some(16 << 20)));
        let address = Address::parse("cql://host/social?staleness=2&cache=0").unwrap();
        assert_eq!((address.staleness_ns, address.cache_bytes_max), (2_000_000_000, Some(0)));
        let address = Address::parse("cql://host/social").unwrap();
        assert_eq!((address.staleness_ns, address.cache_bytes_max), (0, None));
    }
}
