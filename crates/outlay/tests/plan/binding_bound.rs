//! The bound that keeps a task's spend where it is.

use outlay::plan::BindingBound;
use outlay::problem::Bounds;

#[test]
fn the_binding_bound_is_named() {
    let bounds = Bounds { min: 2.0, max: 8.0, at_least: 0.0 };
    assert_eq!(BindingBound::of(bounds, 2.0, 0.0), Some(BindingBound::Min));
    assert_eq!(BindingBound::of(bounds, 8.0, 0.0), Some(BindingBound::Max));
    assert_eq!(BindingBound::of(bounds, 5.0, 0.0), None);
    assert_eq!(
        BindingBound::of(Bounds { min: 3.0, max: 3.0, at_least: 0.0 }, 3.0, 0.0),
        Some(BindingBound::Fixed)
    );
    assert_eq!(
        BindingBound::of(Bounds { max: 0.0, ..Bounds::NONE }, 0.0, 0.0),
        Some(BindingBound::Excluded)
    );
    let at_least = Bounds { at_least: 4.0, ..Bounds::NONE };
    assert_eq!(BindingBound::of(at_least, 4.0, 0.0), Some(BindingBound::AtLeast));
    assert_eq!(BindingBound::of(at_least, 0.0, 0.0), None);
    assert_eq!(BindingBound::of(Bounds::NONE, 0.0, 0.0), None);
}

#[test]
fn in_whole_units_a_bound_binds_at_its_last_multiple() {
    let bounds = Bounds { max: 8.5, ..Bounds::NONE };
    assert_eq!(BindingBound::of(bounds, 8.0, 0.0), None);
    assert_eq!(BindingBound::of(bounds, 8.0, 1.0), Some(BindingBound::Max));
    assert_eq!(BindingBound::of(bounds, 7.0, 1.0), None);
}
