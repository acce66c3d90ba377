//! Tables of settings: a row states the name, the type, the default and the meaning of a setting. Calls are read by the
//! rows, and the reference in `docs/algorithms.md` is made from them.
//!
//! Invariant: a default is written once, in its row; `Config::default` of an algorithm takes it from there.

use std::fmt::Debug;

use super::kind::Kind;

/// A setting: a row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Setting<K, D = Required> {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) kind: K,
    pub(crate) default: D,
    pub(crate) sentence: &'static str,
}

impl<K: Copy, D: Copy> Setting<K, D> {
    /// A setting with one name.
    pub(crate) const fn new(name: &'static str, kind: K, default: D, sentence: &'static str) -> Setting<K, D> {
        Setting { name, aliases: &[], kind, default, sentence }
    }

    /// The same setting under other names as well.
    pub(crate) const fn or(self, aliases: &'static [&'static str]) -> Setting<K, D> {
        let Setting { name, kind, default, sentence, .. } = self;
        Setting { name, aliases, kind, default, sentence }
    }
}

/// A setting of any type, as tables hold it.
pub trait Row: Debug + Sync {
    /// The name that messages use.
    fn name(&self) -> &'static str;
    /// Other names.
    fn aliases(&self) -> &'static [&'static str];
    /// The values that it takes.
    fn domain(&self) -> String;
    /// The value that stands for a setting left out.
    fn default_text(&self) -> String;
    /// One sentence: its meaning.
    fn sentence(&self) -> &'static str;
}

/// Settings of one procedure, or those that several share.
pub type Table = &'static [&'static dyn Row];

impl<K: Kind, D: Absence<K>> Row for Setting<K, D> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }

    fn domain(&self) -> String {
        self.kind.domain()
    }

    fn default_text(&self) -> String {
        self.default.text(self.kind)
    }

    fn sentence(&self) -> &'static str {
        self.sentence
    }
}

/// The meaning of a setting that is left out.
pub trait Absence<K: Kind>: Copy + Debug + Sync + 'static {
    /// The result of reading the setting.
    type Found;
    /// The result for a setting that is given.
    fn given(value: K::Value) -> Self::Found;
    /// The result for one that is left out; `None` if it must be given.
    fn left_out(self) -> Option<Self::Found>;
    /// The default as the reference shows it.
    fn text(self, kind: K) -> String;
}

/// It must be given.
#[derive(Clone, Copy, Debug)]
pub struct Required;

impl<K: Kind> Absence<K> for Required {
    type Found = K::Value;

    fn given(value: K::Value) -> K::Value {
        value
    }

    fn left_out(self) -> Option<K::Value> {
        None
    }

    fn text(self, _kind: K) -> String {
        "required".to_owned()
    }
}

/// It may be left out, and has no value then.
#[derive(Clone, Copy, Debug)]
pub struct Unset(
    /// The words, as the reference shows them.
    pub(crate) &'static str,
);

impl<K: Kind> Absence<K> for Unset {
    type Found = Option<K::Value>;

    fn given(value: K::Value) -> Option<K::Value> {
        Some(value)
    }

    fn left_out(self) -> Option<Option<K::Value>> {
        Some(None)
    }

    fn text(self, _kind: K) -> String {
        self.0.to_owned()
    }
}

/// It may be left out, and has this value then.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<C>(pub(crate) C);

impl<K: Kind> Absence<K> for Fixed<K::Constant>
where
    K::Constant: Into<K::Value>,
{
    type Found = K::Value;

    fn given(value: K::Value) -> K::Value {
        value
    }

    fn left_out(self) -> Option<K::Value> {
        Some(self.0.into())
    }

    fn text(self, kind: K) -> String {
        format!("`{}`", kind.text(self.0))
    }
}
