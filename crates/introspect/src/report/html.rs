//! One or several measurements as a page of HTML that needs nothing else: no network, and without scripts no charts, but
//! every table.
//!
//! - `figures`: the charts and the tables under them, from the limits of the machine to the fitted costs.
//! - `waterfall`: the time of a statement from the limits of the machine up.

mod figures;
mod waterfall;

use std::fmt::Write;

use model::{Error, ErrorCode, Result};
use serde_json::{Value, json};

use super::Stored;
use super::stored::tell_apart;

/// Apache ECharts with the charts of this page only; assets/echarts/README.md says how it is made.
const ECHARTS: &[u8] = include_bytes!("../../assets/echarts/echarts.js.zst");
const ECHARTS_LICENSE: &str = include_str!("../../assets/echarts/LICENSE.txt");
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");
/// Bytes of the script when unpacked, at most.
const ECHARTS_BYTES_MAX: usize = 4 << 20;
/// Rows up to which a table is open from the start.
const OPEN_ROWS_MAX: usize = 12;

/// A chart and the table under it.
#[derive(Debug)]
struct Figure {
    /// Name in links.
    id: String,
    title: String,
    /// Sentences below the title.
    note: String,
    /// Description of the chart for the script; none where a table says it all.
    chart: Option<Value>,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The page.
pub fn to_html(measured: &[Stored]) -> Result<String> {
    let mut all = measured.to_vec();
    tell_apart(&mut all);
    let figures: Vec<(&str, Vec<Figure>)> = [
        ("From the machine to a statement", waterfall::figures(&all)),
        ("Limits of the machine", figures::machine(&all)),
        ("Micro operations", figures::layer(&all, "micro")),
        ("Graph operations", figures::graph(&all)),
        ("Algorithms", figures::layer(&all, "algorithm")),
        ("Statements", figures::layer(&all, "statement")),
        ("Writes", figures::layer(&all, "write")),
        ("Measured and modelled", figures::models(&all)),
    ]
    .into_iter()
    .filter(|(_, figures)| !figures.is_empty())
    .collect();
    let charts: Vec<Value> = figures
        .iter()
        .flat_map(|(_, figures)| figures)
        .filter_map(|figure| figure.chart.as_ref().map(|chart| json!({"id": figure.id, "chart": chart})))
        .collect();
    let names: Vec<&str> = all.iter().map(|stored| stored.name.as_str()).collect();
    let mut out = String::new();
    head(&mut out, &names.join(", "));
    let sections: Vec<&str> = figures.iter().map(|(title, _)| *title).collect();
    contents(&mut out, &sections);
    out += "<main>\n";
    findings(&mut out, &all, &figures);
    subjects(&mut out, &all);
    for (title, figures) in &figures {
        let _ = writeln!(out, "<section id=\"{}\">\n<h2>{}</h2>", slug(title), escape(title));
        figures.iter().for_each(|held| figure(&mut out, held));
        out += "</section>\n";
    }
    out += "</main>\n";
    scripts(&mut out, &charts)?;
    Ok(out)
}

fn head(out: &mut String, names: &str) {
    let title = format!("Measurement of {names}");
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n<header>\n<h1>{title}</h1>\n\
         <p>Times of operations in layers, each layer also predicted from the one below. Axes of time are logarithmic \
         where they say so; medians unless said otherwise.</p>\n\
         <noscript><p>Charts need scripts. The tables have all figures.</p></noscript>\n</header>\n",
        title = escape(&title)
    );
}

fn contents(out: &mut String, sections: &[&str]) {
    out.push_str("<nav aria-label=\"Contents\">\n<ul>\n");
    for title in ["Findings", "Subjects"].iter().chain(sections) {
        let _ = writeln!(out, "<li><a href=\"#{}\">{}</a></li>", slug(title), escape(title));
    }
    out.push_str("</ul>\n</nav>\n");
}

/// The figure that shows what a rule is about.
fn figure_of(rule: &str) -> &'static str {
    match rule {
        "slow-direction" => "neighbours",
        "no-amortization" => "modelled",
        "step" => "working-sets",
        "out-of-model" => "fitted",
        "slow-cold" | "useless-cache" => "graph",
        "slow-language" => "waterfall",
        "slow-commit" | "slow-increment" => "write",
        _ => "micro",
    }
}

fn findings(out: &mut String, all: &[Stored], figures: &[(&str, Vec<Figure>)]) {
    out.push_str("<section id=\"findings\">\n<h2>Findings</h2>\n");
    let ids: Vec<&str> = figures.iter().flat_map(|(_, figures)| figures).map(|figure| figure.id.as_str()).collect();
    for stored in all {
        if all.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escape(&stored.name));
        }
        if stored.findings.is_empty() {
            out.push_str("<p>None: no rule is past its threshold.</p>\n");
        } else {
            out.push_str("<ul class=\"findings\">\n");
        }
        for (rule, _, sentence) in &stored.findings {
            let target = figure_of(rule);
            let found = ids.iter().find(|id| **id == target || id.starts_with(&format!("{target}-")));
            let name = escape(rule);
            let rule = found.map_or(name.clone(), |id| format!("<a href=\"#{}\">{name}</a>", escape(id)));
            let _ = writeln!(out, "<li><strong>{rule}</strong> {}.</li>", escape(sentence));
        }
        if !stored.findings.is_empty() {
            out.push_str("</ul>\n");
        }
        if !stored.disagreements.is_empty() {
            let operations = escape(&stored.disagreements.join(", "));
            let _ = writeln!(
                out,
                "<p class=\"warning\"><strong>Answers differ</strong> between calls and statements: {operations}. Do \
                 not compare their times.</p>"
            );
        }
        for run in stored.runs.iter().filter(|run| run.error.is_some()) {
            let cause = escape(run.error.as_deref().unwrap_or_default());
            let (operation, way, regime) = (escape(&run.operation), escape(&run.way), escape(&run.regime));
            let _ = writeln!(out, "<p class=\"warning\"><strong>{operation}</strong>, {way}, {regime}: {cause}</p>");
        }
        for sentence in &stored.cut {
            let _ = writeln!(out, "<p>The time was over: {}.</p>", escape(sentence));
        }
        if stored.left_out > 0 && stored.cut.is_empty() {
            let _ = writeln!(out, "<p>{} runs were left out: the time was over.</p>", stored.left_out);
        }
    }
    out.push_str("</section>\n");
}

/// Facts about the subjects, side by side.
fn subjects(out: &mut String, all: &[Stored]) {
    out.push_str("<section id=\"subjects\">\n<h2>Subjects</h2>\n");
    let facts = figures::names(all, |stored| stored.facts.iter().map(|(name, _)| name.as_str()).collect());
    let head = figures::head(&[""], all);
    let fact = |stored: &Stored, wanted: &str| {
        stored.facts.iter().find(|(name, _)| name == wanted).map_or(String::new(), |(_, value)| value.clone())
    };
    let rows: Vec<Vec<String>> = facts
        .iter()
        .map(|name| [(*name).to_owned()].into_iter().chain(all.iter().map(|stored| fact(stored, name))).collect())
        .collect();
    out.push_str("<div class=\"wide words\">\n");
    table(out, "What was measured", &head, &rows);
    out.push_str("</div>\n");
    let processors: Vec<&str> = all.iter().map(|stored| stored.processor.as_str()).collect();
    if processors.iter().any(|name| *name != processors[0]) {
        out.push_str("<p class=\"warning\">The machines differ: compare times with the limits of each.</p>\n");
    }
    if all.iter().any(|stored| stored.size != all[0].size) {
        out.push_str(
            "<p class=\"warning\">The graphs differ in size: operations that follow edges do different work.</p>\n",
        );
    }
    out.push_str("</section>\n");
}

fn figure(out: &mut String, held: &Figure) {
    let (id, title) = (escape(&held.id), escape(&held.title));
    let _ =
        writeln!(out, "<figure id=\"{id}\">\n<figcaption><h3>{title}</h3>\n<p>{}</p></figcaption>", escape(&held.note));
    if held.chart.is_some() {
        let _ = writeln!(
            out,
            "<div class=\"chart\" data-chart=\"{id}\" tabindex=\"0\" role=\"img\" aria-label=\"Chart: {title}. Arrow keys \
             go through its values; the table below has them.\"></div>"
        );
    }
    let open = if held.rows.len() <= OPEN_ROWS_MAX { " open" } else { "" };
    let _ = writeln!(out, "<details{open}>\n<summary>Table: {title}</summary>\n<div class=\"wide\" tabindex=\"0\">");
    table(out, &held.title, &held.head, &held.rows);
    out.push_str("</div>\n</details>\n</figure>\n");
}

fn table(out: &mut String, title: &str, head: &[String], rows: &[Vec<String>]) {
    let _ = write!(out, "<table>\n<caption>{}</caption>\n<thead><tr>", escape(title));
    for name in head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        let (first, rest) = row.split_first().expect("a row has a name");
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(first));
        for cell in rest {
            let _ = write!(out, "<td>{}</td>", escape(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
}

fn scripts(out: &mut String, charts: &[Value]) -> Result<()> {
    let unpacked = zstd::bulk::decompress(ECHARTS, ECHARTS_BYTES_MAX).map_err(|cause| {
        Error::new(ErrorCode::Internal, format!("the library of charts cannot be unpacked: {cause}"))
    })?;
    let library = String::from_utf8_lossy(&unpacked);
    // A text in JSON cannot end the element that holds it: the sign is written by its number.
    let data = Value::from(charts).to_string().replace('<', "\\u003c");
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"charts\">{data}</script>\n<script>\n/*!\n{ECHARTS_LICENSE}*/\n{library}\n\
         </script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    Ok(())
}

/// A text within HTML, also within quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            sign => out.push(sign),
        }
    }
    out
}

/// A title as the name in a link.
fn slug(title: &str) -> String {
    title.to_lowercase().chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect()
}

#[cfg(test)]
pub(super) mod tests;
