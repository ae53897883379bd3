//! The wire format of protocol buffers, as much of it as OTLP needs.

/// A message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, kind: u32) {
        self.number(u64::from(field << 3 | kind));
    }

    /// An integer or an enumeration.
    pub(crate) fn varint(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.number(value);
    }

    /// Eight bytes: `fixed64` and `sfixed64`.
    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// Bytes or a string.
    pub(crate) fn text(&mut self, field: u32, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        self.tag(field, 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A message in the message.
    pub(crate) fn within(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        write(&mut inner);
        self.text(field, inner.0);
    }

    /// An attribute: a name and a text.
    pub(crate) fn attribute(&mut self, field: u32, name: &str, value: &str) {
        self.within(field, |pair| {
            pair.text(1, name);
            pair.within(2, |any| any.text(1, value));
        });
    }

    /// An attribute: a name and a number.
    pub(crate) fn attribute_number(&mut self, field: u32, name: &str, value: u64) {
        self.within(field, |pair| {
            pair.text(1, name);
            pair.within(2, |any| any.varint(3, value));
        });
    }
}

/// A field of a message that is read: its number, and its bytes or its value.
pub(crate) enum Field<'a> {
    Number(u32, u64),
    Bytes(u32, &'a [u8]),
}

/// The next field; none at the end, or where it cannot be read.
pub(crate) fn field<'a>(rest: &mut &'a [u8]) -> Option<Field<'a>> {
    let tag = take_number(rest)?;
    let number = u32::try_from(tag >> 3).ok()?;
    match tag & 7 {
        0 => Some(Field::Number(number, take_number(rest)?)),
        1 => {
            let (bytes, after) = rest.split_at_checked(8)?;
            *rest = after;
            Some(Field::Bytes(number, bytes))
        }
        2 => {
            let length = usize::try_from(take_number(rest)?).ok()?;
            let (bytes, after) = rest.split_at_checked(length)?;
            *rest = after;
            Some(Field::Bytes(number, bytes))
        }
        _ => None,
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut message = Message::default();
        message.varint(1, 300);
        message.text(2, "é");
        message.within(3, |inner| inner.varint(1, u64::MAX));
        let bytes = message.bytes();
        assert_eq!(&bytes[..3], &[0x08, 0xac, 0x02]);
        let mut rest = &bytes[..];
        assert!(matches!(field(&mut rest), Some(Field::Number(1, 300))));
        assert!(matches!(field(&mut rest), Some(Field::Bytes(2, text)) if text == "é".as_bytes()));
        let Some(Field::Bytes(3, mut inner)) = field(&mut rest) else { panic!() };
        assert!(matches!(field(&mut inner), Some(Field::Number(1, u64::MAX))));
        assert!(field(&mut rest).is_none());
        for end in 0..bytes.len() {
            let mut rest = &bytes[..end];
            while field(&mut rest).is_some() {}
        }
    }
}
