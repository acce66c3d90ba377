//! The remedy that a profile names.

/// Remedy for a statement that was profiled, and its time as predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileAdvice {
    /// The statement that makes an index, a constraint or a sort key.
    pub statement: Option<String>,
    /// Another text of the statement.
    pub rewrite: Option<String>,
    /// Condition on the data under which it may be taken, in words; it has not been looked at.
    pub premise: Option<String>,
    /// Nanoseconds as predicted.
    pub after_ns: f64,
}

impl std::fmt::Display for ProfileAdvice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rewrite = self.rewrite.as_ref().map(|text| format!("writing it as {text}"));
        let parts: Vec<&str> = rewrite.iter().chain(&self.statement).map(String::as_str).collect();
        f.write_str(&parts.join(" and "))?;
        if let Some(premise) = &self.premise {
            write!(f, ", if {premise},")?;
        }
        write!(f, " would make it about {:.3} ms", self.after_ns / 1e6)
    }
}
