//! Formats figures for people: two or three digits that matter, and a unit.
//!
//! Times, ticks of axes, values with their interval, shares, p-values, counts, bytes.
//! Invariant: a time or a share that is not finite reads as `unknown`, and so does a p-value that
//! is no number. Other functions take finite numbers. No time reads as a power of ten; a p-value
//! may.
//!
//! Rounding is for text and HTML only; JSON has the numbers as they are. Of the laboratory,
//! `load_test/text.rs` and `command/text.rs` have formats of their own.

/// Less than this many milliseconds is what arithmetic leaves of nothing.
const NOTHING_MS: f64 = 1e-9;

/// Returns a time as `850 µs`, `12.3 ms`, `1.50 s`, `2.5 min`.
pub fn time(ms: f64) -> String {
    let size = ms.abs();
    match size {
        _ if !ms.is_finite() => "unknown".to_owned(),
        _ if size < NOTHING_MS => "0 ms".to_owned(),
        _ if size < 0.001 => format!("{} ns", digits(ms * 1e6, 3)),
        _ if size < 0.9995 => format!("{} µs", digits(ms * 1e3, 3)),
        _ if size < 999.5 => format!("{} ms", digits(ms, 3)),
        _ if size < 120_000.0 => format!("{} s", digits(ms / 1e3, 3)),
        _ if size < 7_200_000.0 => format!("{} min", digits(ms / 60e3, 3)),
        _ => format!("{} h", digits(ms / 3.6e6, 3)),
    }
}

/// Returns a time on an axis: as short as it can be.
pub fn tick(ms: f64) -> String {
    let text = time(ms);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    if !number.contains('.') {
        return text;
    }
    format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns milliseconds to a tenth of what is certain of them: as many digits as its interval
/// justifies.
pub fn exact(ms: f64, ci_ms: [f64; 2]) -> String {
    let width = ci_ms[1] - ci_ms[0];
    if !(width > 0.0 && width.is_finite()) {
        return time(ms);
    }
    let places = (1.0 - width.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{ms:.places$} ms")
}

/// Returns an interval as `499.6 to 500.9 ms`.
pub fn interval(ci_ms: [f64; 2]) -> String {
    let width = ci_ms[1] - ci_ms[0];
    let places = match width {
        _ if width > 0.0 && width.is_finite() => {
            (1.0 - width.log10().floor()).clamp(0.0, 6.0) as usize
        }
        _ => 1,
    };
    format!("{:.places$} to {:.places$} ms", ci_ms[0], ci_ms[1])
}

/// Returns a share as `18 %`, `0.4 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if !percent.is_finite() => "unknown".to_owned(),
        0.0 => "0 %".to_owned(),
        _ if percent.abs() >= 10.0 || percent.fract() == 0.0 => format!("{percent:.0} %"),
        _ if percent.abs() >= 0.01 => format!("{} %", digits(percent, 2)),
        _ => "< 0.01 %".to_owned(),
    }
}

/// Returns a p-value as `p = 0.013`, `p = 2e-9`.
pub fn p(p: f64) -> String {
    match p {
        _ if p.is_nan() => "p unknown".to_owned(),
        _ if p >= 0.995 => "p = 1".to_owned(),
        _ if p >= 0.0995 => format!("p = {p:.2}"),
        _ if p >= 0.000_95 => format!("p = {}", digits(p, 2)),
        _ if p > 1e-300 => format!("p = {p:.0e}"),
        _ => "p < 1e-300".to_owned(),
    }
}

/// Returns bytes as `512 B`, `8.2 kB`, `1.34 GB`: a kB has 1,000 bytes.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    if !bytes.is_finite() {
        return "unknown".to_owned();
    }
    let step = (0..UNITS.len() - 1).find(|step| bytes.abs() < 999.5 * 1000_f64.powi(*step as i32));
    let step = step.unwrap_or(UNITS.len() - 1);
    format!("{} {}", digits(bytes / 1000_f64.powi(step as i32), 3), UNITS[step])
}

/// Returns a count with commas between thousands.
pub fn count(count: u64) -> String {
    let text = count.to_string();
    let mut out = String::new();
    for (at, digit) in text.chars().enumerate() {
        if at > 0 && (text.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns `count` things by their name: `1 call`, `1,000 calls`.
pub fn of(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { several })
}

/// Returns a number with so many digits that matter, never in powers of ten.
pub fn digits(value: f64, matter: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let places = (matter - 1 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests;
