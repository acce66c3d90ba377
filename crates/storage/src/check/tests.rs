//! Damage anywhere in a store is found: by opening it, or by the check.

use std::path::Path;
use std::sync::Arc;

use model::{Column, ErrorCode, Interrupt, NodeId, Value};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use super::check;
use crate::build::BuildConfig;
use crate::bulk::{BulkLoad, KeyRows, NodeRows};
use crate::torn_logs;
use crate::version::Version;

fn small_store(disk: &Arc<MemoryDisk>) -> Arc<Version> {
    let platform = platform(disk.clone(), 5);
    let directory = Path::new("small.knot");
    platform.disk.create_directory(directory).unwrap();
    let base = Version::create(&platform, directory).unwrap();
    let mut load = BulkLoad::new(&base, BuildConfig::default(), &Interrupt::new()).unwrap();
    let count = 500;
    let values = Column::from_values(&(0..count as i64).map(Value::Int).collect::<Vec<_>>());
    let texts: Vec<Value> = (0..count).map(|i| Value::string(&format!("name {}", i % 50))).collect();
    let columns = [Column::from_values(&texts)];
    let key = Some(KeyRows { group: "g", property: Some("id"), values: &values });
    load.push_nodes(&NodeRows { count, labels: &["A"], key, names: &["name"], columns: &columns, origin: 0 }).unwrap();
    let mut loader = load.edge_loader().unwrap();
    let nodes = |step: u64| (0..2_000).map(|i| NodeId(i * step % 500)).collect::<Vec<_>>();
    let weights = Column::from_values(&(0..2_000).map(|i| Value::Float(f64::from(i) / 7.0)).collect::<Vec<_>>());
    loader.push_ids("T", &nodes(7), &nodes(13), &["w"], &[weights]).unwrap();
    loader.finish().unwrap();
    load.finish().unwrap()
}

#[test]
fn a_flipped_byte_anywhere_is_found() {
    let seed = seed_or(17);
    let mut random = SeededRandom::new(seed);
    let disk = Arc::new(MemoryDisk::new());
    let version = small_store(&disk);
    let (platform, directory) = (version.platform().clone(), version.directory().to_owned());
    drop(version);
    assert_eq!(check(&platform, &directory, &Interrupt::new()).unwrap(), []);
    for path in disk.files() {
        let length = platform.disk.length(&path).unwrap() as usize;
        let places = (0..60).map(|_| random.index(length)).chain(length.saturating_sub(70)..length).chain(0..64);
        for place in places {
            let flip = |bytes: &mut Vec<u8>| bytes[place] ^= 1 << (place % 8);
            disk.corrupt(&path, flip).unwrap();
            let what = format!("seed {seed}: {} byte {place}", path.display());
            match check(&platform, &directory, &Interrupt::new()) {
                // The end of a log that is not sound is told apart from damage: a crash leaves it, too.
                Ok(problems) if problems.is_empty() => {
                    let torn = torn_logs(&platform, &directory).unwrap();
                    assert!(!torn.is_empty(), "{what}");
                }
                Ok(_) => {}
                Err(error) => {
                    let codes = [ErrorCode::Corrupt, ErrorCode::Version, ErrorCode::NotAStore];
                    assert!(codes.contains(&error.code()), "{what}: {error}");
                }
            }
            disk.corrupt(&path, flip).unwrap();
        }
    }
    assert_eq!(check(&platform, &directory, &Interrupt::new()).unwrap(), []);
}

#[test]
fn a_file_cut_short_is_damage_at_a_place() {
    let disk = Arc::new(MemoryDisk::new());
    let version = small_store(&disk);
    let (platform, directory) = (version.platform().clone(), version.directory().to_owned());
    drop(version);
    // A log that is cut short is what a crash leaves.
    let is_needed =
        |path: &std::path::PathBuf| path.extension().is_none_or(|ending| ending != "wal" && ending != "copy");
    for path in disk.files().into_iter().filter(is_needed) {
        let whole = platform.disk.read(&path).unwrap();
        for length in [0, 1, 63, 64, whole.len() / 2, whole.len() - 1] {
            disk.corrupt(&path, |bytes| bytes.truncate(length)).unwrap();
            let error = Version::open(&platform, &directory).map(|_| ()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Corrupt, "{} cut to {length}: {error}", path.display());
            assert!(error.message().contains("byte"), "{error}");
            disk.corrupt(&path, |bytes| bytes.clone_from(&whole)).unwrap();
        }
    }
}
