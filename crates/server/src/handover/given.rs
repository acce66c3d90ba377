//! Settings of a server as another process is told them: JSON, with paths that do not depend on the folder of a process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bolt::Version;
use database::FileAccess;
use database::line_log::LineLog;
use model::{Error, Result, error};
use serde_json::{Value, json};

use crate::databases::Folder;
use crate::settings::{Admission, Settings};
use crate::tls::Tls;

/// The build that two processes must have in common: settings of another may be missing or mean something else.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The settings, but for addresses, which go with the sockets.
pub(super) fn to_json(settings: &Settings) -> Result<Value> {
    let (users, folder, files) = (users_of(settings)?, folder_of(settings)?, files_of(&settings.files)?);
    let audit_log = settings.audit_log.as_ref().map(|log| absolute(log.path())).transpose()?;
    let tls = settings.tls.as_ref().map(|tls| -> Result<Value> {
        let (certificate, key) = (absolute(&tls.certificate)?, absolute(&tls.key)?);
        Ok(json!({"certificate": certificate, "key": key, "required": tls.is_required}))
    });
    Ok(json!({
        "build": BUILD,
        "users": users,
        "databases": folder,
        "files": files,
        "user_memory": settings.user_memory_bytes_max,
        "audit_log": audit_log,
        "tls": tls.transpose()?,
        "advertised": settings.advertised,
        "newest": settings.newest.to_string(),
        "connections": settings.connections_max,
        "statements": settings.statements_max,
        "message": settings.message_bytes_max,
        "timeout": settings.timeout.map(nanos),
        "idle_transaction": nanos(settings.idle_transaction),
        "idle_http_transaction": nanos(settings.idle_http_transaction),
        "origins": settings.origins,
        "patience": nanos(settings.patience),
        "drain": nanos(settings.drain),
        "keep_alive": nanos(settings.keep_alive),
    }))
}

fn users_of(settings: &Settings) -> Result<Option<String>> {
    match &settings.admission {
        Admission::Users(path) => absolute(path).map(Some),
        Admission::Everybody => Ok(None),
    }
}

fn folder_of(settings: &Settings) -> Result<Option<Value>> {
    let told = settings.databases.as_ref().map(|folder| -> Result<Value> {
        Ok(json!({"path": absolute(&folder.path)?, "memory": folder.memory_bytes_max}))
    });
    told.transpose()
}

fn files_of(files: &FileAccess) -> Result<Value> {
    Ok(match files {
        FileAccess::Nowhere => Value::Null,
        FileAccess::Within(folder) => json!({"within": absolute(folder)?}),
        FileAccess::Everywhere(folder) => {
            json!({"everywhere": absolute(folder.as_deref().unwrap_or(Path::new(".")))?})
        }
    })
}

fn absolute(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path).map_err(|cause| Error::of_file(path, &cause))?;
    whole.into_os_string().into_string().map_err(|name| {
        error!(
            Argument,
            "{}: the process that has the store open cannot be told a name that is not UTF-8",
            name.display()
        )
        .with_remedy("give the file another name")
    })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The settings that [`to_json`] gives.
pub(super) fn of_json(given: &Value) -> Result<Settings> {
    let other = given["build"].as_str().unwrap_or_default();
    if other != BUILD {
        return Err(error!(
            Unsupported,
            "the process that has the store open is of Knotwork {BUILD}, this one of {other}"
        )
        .with_remedy("run the same version in both, or end that process first"));
    }
    let missing = || error!(Internal, "settings of a server arrived that cannot be read: {given}");
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    let count = |key: &str| given[key].as_u64().map(|count| count as usize).ok_or_else(missing);
    let time = |key: &str| given[key].as_u64().map(Duration::from_nanos).ok_or_else(missing);
    let (folder, files, tls) = (&given["databases"], &given["files"], &given["tls"]);
    let audit_log = path(&given["audit_log"]).map(|path| LineLog::open(&path).map(Arc::new)).transpose()?;
    let tls_files = path(&tls["certificate"]).zip(path(&tls["key"]));
    let origins = given["origins"].as_array().ok_or_else(missing)?;
    Ok(Settings {
        listen: Vec::new(),
        admission: path(&given["users"]).map_or(Admission::Everybody, Admission::Users),
        databases: path(&folder["path"])
            .zip(folder["memory"].as_u64())
            .map(|(path, memory)| Folder { path, memory_bytes_max: memory as usize }),
        files: match (path(&files["within"]), path(&files["everywhere"])) {
            (Some(folder), _) => FileAccess::Within(folder),
            (None, Some(folder)) => FileAccess::Everywhere(Some(folder)),
            (None, None) => FileAccess::Nowhere,
        },
        user_memory_bytes_max: given["user_memory"].as_u64().map(|bytes| bytes as usize),
        audit_log,
        tls: tls_files.map(|(certificate, key)| Tls { certificate, key, is_required: tls["required"] == true }),
        advertised: given["advertised"].as_str().map(str::to_owned),
        newest: given["newest"].as_str().and_then(Version::parse).ok_or_else(missing)?,
        connections_max: count("connections")?,
        statements_max: count("statements")?,
        message_bytes_max: count("message")?,
        timeout: given["timeout"].as_u64().map(Duration::from_nanos),
        idle_transaction: time("idle_transaction")?,
        idle_http_transaction: time("idle_http_transaction")?,
        origins: origins.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        patience: time("patience")?,
        drain: time("drain")?,
        keep_alive: time("keep_alive")?,
        ..Settings::default()
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::Duration;

    use bolt::Version;
    use database::FileAccess;
    use database::line_log::LineLog;

    use super::{of_json, to_json};
    use crate::databases::Folder;
    use crate::settings::{Admission, Settings};
    use crate::tls::Tls;

    #[test]
    fn every_setting_arrives() {
        let log = std::env::temp_dir().join(format!("knotwork-given-{}", std::process::id()));
        let settings = Settings {
            listen: Vec::new(),
            admission: Admission::Users(PathBuf::from("/s.users")),
            databases: Some(Folder { path: PathBuf::from("/folder"), memory_bytes_max: 1 << 27 }),
            files: FileAccess::Within(PathBuf::from("/files")),
            user_memory_bytes_max: Some(7),
            audit_log: Some(Arc::new(LineLog::open(&log).unwrap())),
            tls: Some(Tls { certificate: PathBuf::from("/c"), key: PathBuf::from("/k"), is_required: true }),
            advertised: Some("host:1".to_owned()),
            newest: Version::parse("5.4").unwrap(),
            connections_max: 3,
            statements_max: 4,
            message_bytes_max: 5,
            timeout: Some(Duration::from_millis(6)),
            idle_transaction: Duration::from_secs(7),
            idle_http_transaction: Duration::from_secs(8),
            origins: vec!["https://example.com".to_owned()],
            patience: Duration::from_secs(9),
            drain: Duration::from_secs(10),
            keep_alive: Duration::from_secs(11),
            notice: Settings::default().notice,
        };
        for settings in [settings, Settings::default()] {
            let arrived = of_json(&to_json(&settings).unwrap()).unwrap();
            // The log tells the place of its file, which is another handle here.
            let shown = |settings: &Settings| format!("{:?}", Settings { audit_log: None, ..settings.clone() });
            assert_eq!(shown(&arrived), shown(&settings));
            let log_of = |settings: &Settings| settings.audit_log.as_ref().map(|log| log.path().to_path_buf());
            assert_eq!(log_of(&arrived), log_of(&settings));
        }
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    fn settings_of_another_version_are_refused() {
        let mut given = to_json(&Settings::default()).unwrap();
        given["build"] = "0.0.1".into();
        assert_eq!(of_json(&given).unwrap_err().code(), model::ErrorCode::Unsupported);
    }
}
