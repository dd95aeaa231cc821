//! Claims about retry budgets.

use super::RetryBudget;
use crate::plan::RetryPlan;

#[test]
fn a_retry_budget_saves_up_no_more_than_ten_seconds() {
    let budget = RetryBudget::new(RetryPlan { share: 0.0, min_per_second: 2 });
    let taken = (0..100).filter(|_| budget.take()).count();
    assert!((2..=4).contains(&taken), "{taken}");
    let shared = RetryBudget::new(RetryPlan { share: 0.2, min_per_second: 0 });
    assert!(!shared.take());
    (0..10).for_each(|_| shared.note_request());
    assert_eq!((0..100).filter(|_| shared.take()).count(), 2);
    (0..100_000).for_each(|_| shared.note_request());
    assert_eq!((0..5000).filter(|_| shared.take()).count(), 2000);
}
