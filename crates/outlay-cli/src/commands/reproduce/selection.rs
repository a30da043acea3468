//! Selection of claims by name.

use outlay::claims::{CLAIMS, Claim};

use crate::failure::Failure;
use outlay::text::nearest;

/// The claims with these names, in the order of the list; all claims if `names` is empty.
pub(super) fn selected(names: &[String]) -> Result<Vec<Claim>, Failure> {
    for name in names {
        if !CLAIMS.iter().any(|claim| claim.name == name) {
            let known: Vec<&str> = CLAIMS.iter().map(|claim| claim.name).collect();
            let meant = nearest(name, known.iter().copied());
            let hint = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            return Err(Failure(format!(
                "unknown claim `{name}`: {hint}expected one of {}",
                known.join(", ")
            )));
        }
    }
    let is_asked = |claim: &&Claim| names.is_empty() || names.iter().any(|name| name == claim.name);
    Ok(CLAIMS.iter().filter(is_asked).copied().collect())
}
