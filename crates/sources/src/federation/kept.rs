//! Questions as parts are asked them, kept as long as the view: cursors borrow them.
//!
//! A list to which anybody may add and from which nothing goes.

use std::sync::OnceLock;

pub(super) struct Kept<T> {
    first: OnceLock<Box<Link<T>>>,
}

struct Link<T> {
    value: T,
    next: OnceLock<Box<Link<T>>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { first: OnceLock::new() }
    }
}

impl<T> Kept<T> {
    /// The first value that is such a one; if there is none, the one that is made, unless there are `max` values already.
    pub(super) fn find_or_keep(
        &self,
        max: usize,
        is_it: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> Result<&T, T> {
        let mut make = Some(make);
        let mut place = &self.first;
        for _ in 0..max {
            let mut is_new = false;
            let link = place.get_or_init(|| {
                is_new = true;
                let value = make.take().expect("a value is made once at most")();
                Box::new(Link { value, next: OnceLock::new() })
            });
            if is_new || is_it(&link.value) {
                return Ok(&link.value);
            }
            place = &link.next;
        }
        Err(make.take().expect("nothing was made")())
    }
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn values_are_found_again_and_are_not_more_than_allowed() {
        let kept = Kept::default();
        let find = |text: &'static str| kept.find_or_keep(2, |held| *held == text, || text).copied();
        assert_eq!([find("a"), find("b"), find("a"), find("c")], [Ok("a"), Ok("b"), Ok("a"), Err("c")]);
    }
}
