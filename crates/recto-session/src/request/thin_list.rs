//! A list that takes little room while it is empty.

use std::fmt;
use std::ops::Deref;

/// A list that is mostly empty, in eight bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct ThinList<T>(Option<Box<Box<[T]>>>);

impl<T> Default for ThinList<T> {
    fn default() -> ThinList<T> {
        ThinList(None)
    }
}

impl<T> Deref for ThinList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_ref().map_or(&[], |list| list)
    }
}

impl<T> FromIterator<T> for ThinList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> ThinList<T> {
        let list: Box<[T]> = items.into_iter().collect();
        ThinList((!list.is_empty()).then(|| Box::new(list)))
    }
}

impl<T: fmt::Debug> fmt::Debug for ThinList<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
