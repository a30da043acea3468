//! Symmetry classes: domains with equal forms and bounds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Index;

use super::curves::Curves;
use super::domain::{Domain, Form, Smooth};
use crate::curve::Curve;

/// The members of each class, in one array: most classes of 10^6 domains have one member.
#[derive(Debug)]
pub(super) struct Classes {
    members: Vec<u32>,
    /// The first member of each class, and the end of the last one's.
    starts: Vec<u32>,
}

impl Classes {
    /// Gives equal domains the same class. Classes are numbered by their first members.
    pub(super) fn new(domains: &mut [Domain], curves: &Curves) -> Self {
        let firsts = first_equals(domains, curves);
        let mut starts = vec![0];
        for (position, &first) in firsts.iter().enumerate() {
            if first as usize == position {
                domains[position].class = starts.len() as u32 - 1;
                starts.push(0);
            } else {
                domains[position].class = domains[first as usize].class;
            }
            starts[domains[position].class as usize + 1] += 1;
        }
        for class in 1..starts.len() {
            starts[class] += starts[class - 1];
        }
        let mut next = starts.clone();
        let mut members = vec![0; domains.len()];
        for (position, domain) in domains.iter().enumerate() {
            let place = &mut next[domain.class as usize];
            members[*place as usize] = position as u32;
            *place += 1;
        }
        Self { members, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|class| &self[class])
    }

    /// Calls `each` with the members of every class, which it may reorder.
    pub(super) fn for_each_mut(&mut self, mut each: impl FnMut(&mut [u32])) {
        for ends in self.starts.windows(2) {
            each(&mut self.members[ends[0] as usize..ends[1] as usize]);
        }
    }
}

impl Index<usize> for Classes {
    type Output = [u32];

    fn index(&self, class: usize) -> &[u32] {
        &self.members[self.starts[class] as usize..self.starts[class + 1] as usize]
    }
}

/// The first domain equal to each, which may be the domain itself.
fn first_equals(domains: &[Domain], curves: &Curves) -> Vec<u32> {
    let mut firsts: Vec<u32> = (0..domains.len() as u32).collect();
    // A user's function is refined individually and a group changes in every call: each is alone in
    // its class.
    let is_alone = |domain: &Domain| curves.get(domain.task).is_none_or(Curve::is_custom);
    let shared = domains.iter().enumerate().filter(|(_, domain)| !is_alone(domain));
    let mut prints: Vec<(u64, u32)> =
        shared.map(|(position, domain)| (fingerprint(domain), position as u32)).collect();
    prints.sort_unstable();
    for alike in prints.chunk_by(|(one, _), (other, _)| one == other) {
        // Different domains hardly ever have the same fingerprint: there is one first.
        let mut distinct: Vec<u32> = Vec::new();
        for &(_, position) in alike.iter().filter(|_| alike.len() > 1) {
            let equal =
                |&&first: &&u32| is_equal(&domains[first as usize], &domains[position as usize]);
            match distinct.iter().find(equal) {
                Some(&first) => firsts[position as usize] = first,
                None => distinct.push(position),
            }
        }
    }
    firsts
}

fn is_equal(one: &Domain, other: &Domain) -> bool {
    let bounds = |domain: &Domain| (domain.min, domain.max, domain.at_least);
    one.form == other.form && bounds(one) == bounds(other)
}

fn fingerprint(domain: &Domain) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |number: f64| number.to_bits().hash(&mut hasher);
    add(domain.min);
    add(domain.max);
    add(domain.at_least);
    match &domain.form {
        Form::Points { spend, success, .. } => {
            spend.iter().chain(success).for_each(|&number| add(number))
        }
        Form::Smooth(Smooth::Power(power)) => {
            [power.exponent(), power.scale()].into_iter().for_each(add)
        }
        Form::Smooth(Smooth::Exponential(exponential)) => add(exponential.scale()),
        Form::Smooth(Smooth::Hill(hill)) => {
            [hill.half_at(), hill.steepness()].into_iter().for_each(add)
        }
        Form::Smooth(Smooth::Logistic(logistic)) => {
            [logistic.mid(), logistic.width()].into_iter().for_each(add)
        }
    }
    hasher.finish()
}
