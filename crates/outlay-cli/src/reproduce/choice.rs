//! Which claims were asked for.

use outlay::claims::{CLAIMS, Claim};

use crate::failure::Failure;
use crate::values::nearest;

/// The claims of these names, in the order of the list; all if there are none.
pub(super) fn chosen(names: &[String]) -> Result<Vec<Claim>, Failure> {
    for name in names {
        if !CLAIMS.iter().any(|claim| claim.name == name) {
            let known: Vec<&str> = CLAIMS.iter().map(|claim| claim.name).collect();
            let meant = nearest(name, known.iter().copied());
            let hint = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
            return Err(Failure(format!(
                "`{name}` is no claim: {hint}known are {}",
                known.join(", ")
            )));
        }
    }
    let is_asked = |claim: &&Claim| names.is_empty() || names.iter().any(|name| name == claim.name);
    Ok(CLAIMS.iter().filter(is_asked).copied().collect())
}
