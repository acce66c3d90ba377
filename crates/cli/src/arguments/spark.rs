//! Flags about Spark, for algorithms with `execution: 'spark'`.

use std::path::PathBuf;

use clap::Args;
use database::SparkSettings;

/// Flags about Spark.
#[derive(Clone, Debug, Args)]
pub(crate) struct SparkArguments {
    /// Python with PySpark, for algorithms with execution 'spark' [default: python3]
    #[arg(long, value_name = "PROGRAM")]
    spark_python: Option<PathBuf>,
    /// Spark's master, as spark://HOST:PORT or yarn [default: local[*], this machine]
    #[arg(long, value_name = "MASTER")]
    spark_master: Option<String>,
    /// Folder for the tables of Spark's jobs, which its machines see by the same path [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    spark_folder: Option<PathBuf>,
    /// A setting of Spark, as spark.driver.memory=4g; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = option)]
    spark_option: Vec<(String, String)>,
}

impl SparkArguments {
    /// True if any flag is given.
    pub(crate) fn are_given(&self) -> bool {
        let Self { spark_python, spark_master, spark_folder, spark_option } = self;
        spark_python.is_some() || spark_master.is_some() || spark_folder.is_some() || !spark_option.is_empty()
    }

    /// The settings that the flags say.
    pub(crate) fn settings(&self) -> SparkSettings {
        let default = SparkSettings::default();
        SparkSettings {
            python: self.spark_python.clone().unwrap_or(default.python),
            master: self.spark_master.clone().unwrap_or(default.master),
            folder: self.spark_folder.clone(),
            options: self.spark_option.clone(),
        }
    }
}

fn option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if name.starts_with("spark.") => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected a setting of Spark as spark.driver.memory=4g, found {text}")),
    }
}
