//! Figures of the server and its store, as OpenMetrics has them.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use model::Consumer;

use crate::connection::Connection;
use crate::counts::{Protocol, Statements, TIMES_MS};
use crate::serve::Server;

/// The form of the answer.
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers with all figures.
pub(super) fn tell(connection: &mut Connection) {
    let link = &mut connection.link;
    let Some(mut reply) = link.reply.take() else { return };
    let mut page = Page(String::new());
    server(&mut page, &link.server);
    store(&mut page, &link.server);
    page.0.push_str("# EOF\n");
    reply.body().extend_from_slice(page.0.as_bytes());
    link.is_last |= reply.finish_as(200, KIND, &mut link.out);
}

struct Page(String);

impl Page {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a string takes all text");
        self.0.push('\n');
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# TYPE knotwork_{name} {kind}\n# HELP knotwork_{name} {help}"));
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, "gauge", help);
        self.line(format_args!("knotwork_{name} {value}"));
    }

    fn counter(&mut self, name: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, "counter", help);
        self.line(format_args!("knotwork_{name}_total {value}"));
    }

    /// Figures of several kinds, each with its label.
    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.head(name, "counter", help);
        for (kind, value) in values {
            self.line(format_args!("knotwork_{name}_total{{{label}=\"{kind}\"}} {value}"));
        }
    }
}

fn server(page: &mut Page, server: &Server) {
    page.head("build", "info", "The version that runs.");
    page.line(format_args!("knotwork_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")));
    let counts = &server.counts;
    page.gauge("connections", "Connections that are open.", server.connections.load(Ordering::Relaxed));
    page.gauge(
        "connections_before_login",
        "Connections whose client has not logged in.",
        server.strangers.load(Ordering::Relaxed),
    );
    page.counter("connections_accepted", "Connections since the start.", counts.connections());
    let [welcome, refused] = counts.logins();
    let logins = [("welcome", welcome), ("refused", refused)];
    page.counters(
        "logins",
        "Names and passwords that were checked: at logins over Bolt, and with each request over HTTP.",
        "outcome",
        &logins,
    );
    page.gauge("http_transactions", "Transactions that are open over HTTP.", server.transactions.count());
    page.head("statements", "counter", "Statements since the start.");
    let protocols = [("bolt", Protocol::Bolt), ("http", Protocol::Http)];
    for (name, protocol) in protocols {
        let [succeeded, failed] = counts.of(protocol).outcomes();
        for (outcome, count) in [("success", succeeded), ("failure", failed)] {
            let labels = format!("protocol=\"{name}\",outcome=\"{outcome}\"");
            page.line(format_args!("knotwork_statements_total{{{labels}}} {count}"));
        }
    }
    let help = "Time of statements, with that in which their clients took rows.";
    page.head("statement_seconds", "histogram", help);
    protocols.iter().for_each(|(name, protocol)| times(page, name, counts.of(*protocol)));
}

fn times(page: &mut Page, protocol: &str, statements: &Statements) {
    let up_to = statements.up_to();
    let bounds = TIMES_MS.iter().map(|bound| (*bound as f64 / 1e3).to_string()).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(up_to) {
        let labels = format!("protocol=\"{protocol}\",le=\"{bound}\"");
        page.line(format_args!("knotwork_statement_seconds_bucket{{{labels}}} {count}"));
    }
    let all = up_to[TIMES_MS.len()];
    page.line(format_args!("knotwork_statement_seconds_count{{protocol=\"{protocol}\"}} {all}"));
    let sum = statements.total_s();
    page.line(format_args!("knotwork_statement_seconds_sum{{protocol=\"{protocol}\"}} {sum}"));
}

fn store(page: &mut Page, server: &Server) {
    let memory = server.database.memory();
    page.gauge("memory_limit_bytes", "Memory that the database may use.", memory.limit());
    page.head("memory_bytes", "gauge", "Memory that the database uses, by its use.");
    for consumer in Consumer::ALL {
        let (name, bytes) = (consumer.name(), memory.used_by(consumer));
        page.line(format_args!("knotwork_memory_bytes{{use=\"{name}\"}} {bytes}"));
    }
    page.gauge("temporary_files", "Temporary files that are open.", server.database.spill_space().open_files());
    let stats = server.database.stats();
    for (name, help, value) in [
        ("commits", "Transactions that were committed and wrote something.", stats.commits),
        ("conflicts", "Commits that were refused since another came first.", stats.conflicts),
        ("log_syncs", "Waits for the disk on behalf of the log.", stats.syncs),
        ("log_bytes", "Bytes that were written to the log.", stats.log_bytes),
        ("flushes", "Merges of writes into files.", stats.flushes),
        ("compactions", "Merges of files.", stats.compactions),
        ("stalls", "Commits that waited since too much was held in memory.", stats.stalls + stats.merge_stalls),
    ] {
        page.counter(name, help, value);
    }
    let stalled_s = (stats.stall_ns + stats.merge_stall_ns) as f64 / 1e9;
    page.counter("stalled_seconds", "Time that commits waited so, all together.", stalled_s);
}
