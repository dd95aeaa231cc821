//! The program around the targets.
//!
//! Built with `--cfg fuzzing` it is libFuzzer with the target `--target=NAME`. Built plainly it
//! turns corpus files into directories, as libFuzzer wants them, and back. `cargo xtask fuzz` does
//! both.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod guided {
    //! libFuzzer's entry.

    use std::sync::OnceLock;

    use fuzz::Target;

    static TARGET: OnceLock<&'static Target> = OnceLock::new();

    libfuzzer_sys::fuzz_target!(|input: &[u8]| {
        let target = TARGET.get_or_init(|| {
            // What panics in a foreign library is contained by those who call it.
            drop(std::panic::take_hook());
            let mut arguments = std::env::args();
            let name = arguments.find_map(|a| a.strip_prefix("--target=").map(str::to_owned));
            fuzz::find(&name.expect("--target=NAME is given")).expect("a target of that name")
        });
        (target.run)(input);
    });
}

#[cfg(not(fuzzing))]
fn main() -> anyhow::Result<()> {
    directories::run(&std::env::args().skip(1).collect::<Vec<_>>())
}

#[cfg(not(fuzzing))]
mod directories {
    //! Corpus files as directories and back.
    #![expect(clippy::print_stdout, reason = "a program for the terminal")]

    use std::fs;
    use std::path::Path;

    use anyhow::{Context, Result, bail};
    use fuzz::{TARGETS, Target, corpus};

    const PACKED_BYTES_MAX: usize = 120;

    /// `list`, `unpack TARGET DIR`, `pack TARGET DIR`.
    pub(crate) fn run(arguments: &[String]) -> Result<()> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words[..] {
            ["list"] => TARGETS.iter().for_each(|target| println!("{}", target.name)),
            ["unpack", name, dir] => unpack(find(name)?, Path::new(dir))?,
            ["pack", name, dir] => pack(find(name)?, Path::new(dir))?,
            _ => bail!("usage: fuzz list | unpack TARGET DIR | pack TARGET DIR"),
        }
        Ok(())
    }

    fn find(name: &str) -> Result<&'static Target> {
        fuzz::find(name).with_context(|| format!("no target is called `{name}`"))
    }

    fn unpack(target: &Target, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        for (number, input) in target.corpus().iter().enumerate() {
            fs::write(dir.join(format!("seed-{number:04}")), input)?;
        }
        let words = target.tokens.iter().map(|token| format!("\"{}\"\n", quoted(token)));
        fs::write(dir.with_extension("dict"), words.collect::<String>())?;
        Ok(())
    }

    /// A word of a dictionary of libFuzzer's.
    fn quoted(token: &str) -> String {
        let plain = |b: &u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\') || *b == b' ';
        let shown =
            |b: u8| if plain(&b) { char::from(b).to_string() } else { format!("\\x{b:02X}") };
        token.bytes().map(shown).collect()
    }

    /// Writes what is in the directory and was not written by hand; long inputs slow every run.
    fn pack(target: &Target, dir: &Path) -> Result<()> {
        let file = Path::new("fuzz/corpus/found").join(format!("{}.txt", target.name));
        let written = target.written();
        let mut inputs = Vec::new();
        for entry in fs::read_dir(dir)? {
            let input = fs::read(entry?.path())?;
            if input.len() <= PACKED_BYTES_MAX && !written.contains(&input) {
                inputs.push(input);
            }
        }
        println!("target `{}`: {} inputs", target.name, inputs.len());
        let text = corpus::render("# Found by `cargo xtask fuzz --keep`.", &inputs);
        fs::write(&file, text).context("in the root of the repository?")?;
        Ok(())
    }
}
