//! A comparison as text: what became slower by layer, the lowest first, since the layers above are made of it.

use super::{Change, Comparison, Verdict};
use crate::findings::duration_text;
use crate::report::table;

/// The noise in a sentence.
const REPEATED: &str =
    "noise: what no operation exceeds in 19 of 20 comparisons of the same, from measurements of one side\n";
const NOT_REPEATED: &str =
    "noise: what no operation exceeds in 19 of 20 comparisons of the same, from the halves of the calls of a run
hint: two measurements differ more; measure both again, and pass them with --again and --new-again\n";

/// The comparison; `all` shows what did not change too.
pub fn to_text(held: &Comparison, all: bool) -> String {
    let mut out = format!("{} compared with {}\n", held.names[1], held.names[0]);
    out += if held.is_repeated { REPEATED } else { NOT_REPEATED };
    for doubt in &held.doubts {
        out += &format!("doubt: {doubt}\n");
    }
    out += "\n";
    let shown: Vec<&Change> = held.changes.iter().filter(|change| all || is_told(change)).collect();
    if !shown.is_empty() {
        let head = ["operation", "by", "caches", "starts", "base", "new", "ratio", "95 % from", "to", "noise", ""];
        table(&mut out, &head, &shown.into_iter().map(row).collect::<Vec<_>>());
    }
    let missing = [("no longer there", &held.only_base), ("not in the base", &held.only_new)];
    for (verdict, name) in
        missing.into_iter().flat_map(|(verdict, names)| names.iter().map(move |name| (verdict, name)))
    {
        out += &format!("{verdict}: {name}\n");
    }
    out + &summary(held)
}

fn is_told(change: &Change) -> bool {
    matches!(change.verdict, Verdict::Fails | Verdict::Slower | Verdict::Faster)
}

fn row(change: &Change) -> Vec<String> {
    let verdict = match change.verdict {
        Verdict::Fails => "SLOWER",
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Same => "",
        Verdict::TooFew => "too few calls",
    };
    let ratio = |ratio: f64| format!("{ratio:.3}");
    let times = [duration_text(change.base_ns), duration_text(change.new_ns)];
    let ratios = [change.ratio, change.interval.0, change.interval.1, change.noise].map(ratio);
    change.name.iter().cloned().chain(times).chain(ratios).chain([verdict.to_owned()]).collect()
}

fn summary(held: &Comparison) -> String {
    let count = |verdict: Verdict| held.changes.iter().filter(|change| change.verdict == verdict).count();
    let (fails, slower) = (count(Verdict::Fails), count(Verdict::Slower));
    let percent = 100.0 * (held.ratio_max - 1.0);
    let mut out = format!(
        "{} operations: {} slower beyond noise, {fails} of them by more than {percent:.0} %; {} faster; {} within noise; {} \
         with too few calls\n",
        held.changes.len(),
        fails + slower,
        count(Verdict::Faster),
        count(Verdict::Same),
        count(Verdict::TooFew)
    );
    // Runs come by state of the caches, so that the lowest layer is looked for.
    let lowest = ["micro", "graph", "algorithm"].into_iter().find_map(|layer| {
        let mut of_layer = held.changes.iter().filter(|change| change.layer == layer);
        of_layer.find(|change| change.verdict == Verdict::Fails)
    });
    if let Some(change) = lowest {
        out += &format!(
            "begin with the lowest layer that is slower: {}, {} ({} to {})\n",
            change.layer,
            change.name.join(", "),
            duration_text(change.base_ns),
            duration_text(change.new_ns)
        );
    }
    out
}
