//! Labels and types from the names of tables and columns.

/// Endings of columns that hold a key, which say nothing of what they refer to.
const KEY_ENDINGS: &[&str] = &["id", "ids", "fk", "key", "no", "nr", "num", "number", "code", "uuid", "guid", "ref"];
/// Words that make a column's name a phrase of its own: `reports_to`, `created_by`, `from_station`.
const PREPOSITIONS: &[&str] = &["to", "by", "of", "from", "in", "at", "for", "with", "on", "via", "under", "as"];
/// Words whose singular follows no rule, and words that are their own.
const IRREGULAR: &[(&str, &str)] = &[
    ("people", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("mice", "mouse"),
    ("feet", "foot"),
    ("geese", "goose"),
    ("teeth", "tooth"),
    ("indices", "index"),
    ("vertices", "vertex"),
    ("matrices", "matrix"),
    ("criteria", "criterion"),
    ("analyses", "analysis"),
    ("leaves", "leaf"),
    ("shelves", "shelf"),
    ("wolves", "wolf"),
    ("knives", "knife"),
    ("wives", "wife"),
    ("lives", "life"),
    ("movies", "movie"),
    ("cookies", "cookie"),
    ("ties", "tie"),
    ("series", "series"),
    ("species", "species"),
    ("news", "news"),
    ("gas", "gas"),
    ("bus", "bus"),
    ("buses", "bus"),
    ("lens", "lens"),
    ("canvas", "canvas"),
    ("atlas", "atlas"),
    ("alias", "alias"),
    ("aliases", "alias"),
    ("bias", "bias"),
];

/// The words of a name, in lower case: it may be written with underscores, dashes, blanks or capitals.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut begins, mut before) = (true, ' ');
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            begins = true;
            continue;
        }
        let next_is_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let is_hump = letter.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && next_is_small);
        if begins || is_hump {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        (begins, before) = (false, letter);
    }
    words
}

/// One of what a word in the plural names.
pub(super) fn singular(word: &str) -> String {
    if let Some((_, one)) = IRREGULAR.iter().find(|(many, _)| *many == word) {
        return (*one).to_owned();
    }
    let stem = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.len() > 1);
    if let Some(stem) = stem("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zzes", "tuses", "ruses"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    match stem("s") {
        Some(stem) if !["s", "u", "i"].iter().any(|before| stem.ends_with(before)) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// The label of a table's rows: `order_details` is `OrderDetail`.
pub(super) fn label_of(table: &str) -> String {
    let mut words = words(table);
    if words.len() > 1 && matches!(&*words[0], "tbl" | "tb") {
        words.remove(0);
    }
    if let Some(last) = words.last_mut() {
        *last = singular(last);
    }
    let label: String = words.iter().map(|word| capitalised(word)).collect();
    match label.chars().next() {
        None => "Node".into(),
        Some(first) if first.is_numeric() => format!("T{label}"),
        Some(_) => label,
    }
}

/// A name as edge types are written: `reports_to` is `REPORTS_TO`.
pub(super) fn screaming(name: &str) -> String {
    words(name).join("_").to_uppercase()
}

/// The type of the edges that a foreign key makes: what its columns say of the node at the other end.
pub(super) fn type_of_key(columns: &[String], label: &str) -> String {
    let mut role = words(&columns[0]);
    if columns.len() > 1 {
        let alike = |at: usize| columns.iter().all(|column| words(column).get(at) == role.get(at));
        let length = (0..role.len()).take_while(|&at| alike(at)).count();
        role.truncate(length);
    }
    while role.len() > 1 && role.last().is_some_and(|word| KEY_ENDINGS.contains(&word.as_str())) {
        role.pop();
    }
    if let [only] = &mut role[..] {
        // `customerid` in one word, as schemas without capitals have it.
        let bare = ["uuid", "id"].iter().find_map(|ending| only.strip_suffix(ending));
        match bare {
            Some("") => role.clear(),
            Some(bare) if bare == label.to_lowercase() => role = words(label),
            _ => {}
        }
    }
    let is_preposition = |word: Option<&String>| word.is_some_and(|word| PREPOSITIONS.contains(&word.as_str()));
    match &role[..] {
        [] => format!("HAS_{}", screaming(label)),
        several @ [_, _, ..] if is_preposition(several.last()) || is_preposition(several.first()) => {
            role.join("_").to_uppercase()
        }
        [only] if is_preposition(Some(only)) => format!("{}_{}", only.to_uppercase(), screaming(label)),
        _ if matches!(&*role[0], "has" | "is") => role.join("_").to_uppercase(),
        _ => format!("HAS_{}", role.join("_").to_uppercase()),
    }
}

/// A name in capitals without blanks: `sales_eu` is `SalesEu`.
pub(super) fn camel(name: &str) -> String {
    words(name).iter().map(|word| capitalised(word)).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{label_of, type_of_key, words};

    #[test]
    fn labels_are_singular_and_in_capitals() {
        for (table, label) in [
            ("categories", "Category"),
            ("us_states", "UsState"),
            ("region", "Region"),
            ("order_details", "OrderDetail"),
            ("MediaType", "MediaType"),
            ("InvoiceLine", "InvoiceLine"),
            ("HTTPRequests", "HttpRequest"),
            ("people", "Person"),
            ("addresses", "Address"),
            ("statuses", "Status"),
            ("status", "Status"),
            ("boxes", "Box"),
            ("databases", "Database"),
            ("analysis", "Analysis"),
            ("tbl_user", "User"),
            ("Order Details", "OrderDetail"),
            ("movies", "Movie"),
            ("2024_sales", "T2024Sale"),
            ("straße", "Straße"),
            ("___", "Node"),
        ] {
            assert_eq!(label_of(table), label, "{table}");
        }
        assert_eq!(words("userIDs2 of-X"), ["user", "i", "ds2", "of", "x"]);
    }

    #[test]
    fn types_say_what_the_other_end_is() {
        for (columns, label, edge_type) in [
            (&["customer_id"][..], "Customer", "HAS_CUSTOMER"),
            (&["reports_to"], "Employee", "REPORTS_TO"),
            (&["ship_via"], "Shipper", "SHIP_VIA"),
            (&["support_rep_id"], "Employee", "HAS_SUPPORT_REP"),
            (&["ReportsTo"], "Employee", "REPORTS_TO"),
            (&["MediaTypeId"], "MediaType", "HAS_MEDIA_TYPE"),
            (&["customerid"], "Customer", "HAS_CUSTOMER"),
            (&["created_by_id"], "User", "CREATED_BY"),
            (&["from_station"], "Station", "FROM_STATION"),
            (&["id"], "Person", "HAS_PERSON"),
            (&["parent"], "Folder", "HAS_PARENT"),
            (&["to"], "Person", "TO_PERSON"),
            (&["country", "city"], "City", "HAS_CITY"),
            (&["from_country", "from_city"], "City", "FROM_CITY"),
            (&["home_country_id", "home_city_id"], "City", "HAS_HOME"),
        ] {
            let columns: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
            assert_eq!(type_of_key(&columns, label), edge_type, "{columns:?}");
        }
    }
}
