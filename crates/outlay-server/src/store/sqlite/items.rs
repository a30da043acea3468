//! Encodes lists in one column: items of a report, floats, masks.
//!
//! A report is one row instead of one row per task: a third of the bytes, and one statement.

use crate::store::{Delivery, Item, Outcome};

/// Set in the first number of an item that has a number of completions.
const HAS_COUNT: u64 = 1 << 33;
/// Set in the first number of an item that has a spend.
const HAS_SPEND: u64 = 1 << 34;

/// Encodes items, each as three numbers: twice the task, plus one if it succeeded; the reward; the
/// predicted completions. Flags above the task in the first number mean that more numbers follow: the
/// completions if there are several, and the actual and the allocated spend. Numbers are written with seven bits per byte, low bits first; the high bit
/// means that more bytes follow (LEB128).
pub(super) fn written<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(48);
    for Item { task, outcome, expected } in items {
        let Outcome { completions, reward, delivery } = *outcome;
        let count = if completions > 1 { HAS_COUNT } else { completions };
        let spend = delivery.map_or(0, |_| HAS_SPEND);
        push(&mut bytes, u64::from(*task) << 1 | count | spend);
        push(&mut bytes, reward);
        push(&mut bytes, *expected);
        if completions > 1 {
            push(&mut bytes, completions);
        }
        if let Some(Delivery { spent, allocated }) = delivery {
            push(&mut bytes, spent);
            push(&mut bytes, allocated);
        }
    }
    bytes
}

/// Decodes items one by one; invalid bytes give `None` once and end the iteration.
pub(super) struct Items<'a>(pub(super) &'a [u8]);

impl Iterator for Items<'_> {
    type Item = Option<Item>;

    fn next(&mut self) -> Option<Option<Item>> {
        if self.0.is_empty() {
            return None;
        }
        let item = self.item();
        if item.is_none() {
            self.0 = &[];
        }
        Some(item)
    }
}

impl Items<'_> {
    fn item(&mut self) -> Option<Item> {
        let (head, reward, expected) = (self.number()?, self.number()?, self.number()?);
        let task = u32::try_from((head & !(HAS_COUNT | HAS_SPEND)) >> 1).ok()?;
        let completions = if head & HAS_COUNT == 0 {
            head & 1
        } else {
            self.number().filter(|count| *count > 1 && head & 1 == 0)?
        };
        let delivery = if head & HAS_SPEND == 0 {
            None
        } else {
            Some(Delivery { spent: self.number()?, allocated: self.number()? })
        };
        Some(Item { task, outcome: Outcome { completions, reward, delivery }, expected })
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for (place, &byte) in self.0.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if place == 9 && bits > 1 {
                return None;
            }
            number |= bits << (7 * place);
            if byte < 0x80 {
                self.0 = &self.0[place + 1..];
                return Some(number);
            }
        }
        None
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn floats(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// None if the length does not fit.
pub(super) fn read_floats(bytes: &[u8]) -> Option<Vec<f64>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| numbers.iter().map(|number| f64::from_le_bytes(*number)).collect())
}

pub(super) fn mask(there: &[bool]) -> Vec<u8> {
    there.iter().map(|there| u8::from(*there)).collect()
}

pub(super) fn read_mask(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().map(|byte| *byte != 0).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item() -> impl Strategy<Value = Item> {
        let number = || prop_oneof![0..300_u64, 0..=1_000_000_000_u64, any::<u64>()];
        let delivery = prop::option::of((number(), number()))
            .prop_map(|known| known.map(|(spent, allocated)| Delivery { spent, allocated }));
        let completions = prop_oneof![0..3_u64, number()];
        (any::<u32>(), completions, number(), delivery, number()).prop_map(
            |(task, completions, reward, delivery, expected)| Item {
                task,
                outcome: Outcome { completions, reward, delivery },
                expected,
            },
        )
    }

    proptest! {
        #[test]
        fn written_items_are_read_back(items in prop::collection::vec(item(), 0..9)) {
            let bytes = written(items.iter());
            prop_assert_eq!(Items(&bytes).collect::<Option<Vec<_>>>(), Some(items));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let read: Vec<_> = Items(&bytes).collect();
            prop_assert!(read.len() <= bytes.len());
            if let Some(items) = read.into_iter().collect::<Option<Vec<_>>>() {
                prop_assert_eq!(Items(&written(items.iter())).collect::<Option<Vec<_>>>(), Some(items));
            }
        }
    }

    #[test]
    fn cut_items_are_refused() {
        let single = Outcome::success(500_000_000);
        let delivery = Some(Delivery { spent: 300, allocated: 400 });
        let counted = Outcome { completions: 24, reward: 12_500_000_000, delivery };
        for outcome in [single, counted] {
            let item = Item { task: 3, outcome, expected: 7 };
            let bytes = written([item, item].iter());
            for length in 0..bytes.len() {
                let read: Option<Vec<_>> = Items(&bytes[..length]).collect();
                let expected = [(0, Some(vec![])), (bytes.len() / 2, Some(vec![item]))]
                    .into_iter()
                    .find(|(whole, _)| *whole == length);
                assert_eq!(read, expected.and_then(|(_, items)| items), "{length} bytes");
            }
        }
    }

    /// Single outcomes are written as in versions before counts.
    #[test]
    fn single_outcomes_keep_their_bytes() {
        let items = [(5, Outcome::success(300)), (2, Outcome::FAILED)]
            .map(|(task, outcome)| Item { task, outcome, expected: 9 });
        assert_eq!(written(items.iter()), [11, 0xac, 2, 9, 4, 0, 9]);
    }
}
