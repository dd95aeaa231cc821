//! Claims about `backoff`.

use super::*;

#[test]
fn delays_double_up_to_the_bound_and_start_over() {
    let ms = Duration::from_millis;
    let mut backoff = Backoff::new(ms(100), ms(500), 7);
    for whole in [100, 200, 400, 500, 500] {
        let delay = backoff.delay();
        assert!((ms(whole) / 2..=ms(whole)).contains(&delay), "{delay:?} of {whole} ms");
    }
    backoff.reset();
    assert!(backoff.delay() <= ms(100));
}
