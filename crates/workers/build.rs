//! Packs `python/tidegate` into one file that Python 3.10 and later run: a zip with a
//! `__main__.py`.
//!
//! It takes files that end in `.py` or `.typed`; a file of another kind needs a line in `collect`.
//! The format is that of the standard library's `zipapp`. `src/dir.rs` writes the result into each
//! pool's directory.
//! Invariant: the same sources give the same bytes. Entries are sorted, stored as they are, and
//! undated.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const PACKAGE: &str = "../../python/tidegate";
const MAIN: &str =
    "import runpy\n\nrunpy.run_module(\"tidegate.workers\", run_name=\"__main__\")\n";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write")]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={PACKAGE}");
    println!("cargo::rerun-if-changed=build.rs");
    let out_dir = std::env::var_os("OUT_DIR").expect("cargo names the directory");
    let mut files = Vec::new();
    collect(Path::new(PACKAGE), &mut files)?;
    files.sort();
    let mut archive = ZipWriter::new(File::create(Path::new(&out_dir).join("tidegate.pyz"))?);
    // Stored: the binary is compressed or not as a whole, and imports need not inflate.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    archive.start_file("__main__.py", options)?;
    archive.write_all(MAIN.as_bytes())?;
    for file in files {
        let name = file.strip_prefix(PACKAGE).expect("it was found there");
        archive.start_file(Path::new("tidegate").join(name).to_string_lossy(), options)?;
        archive.write_all(&std::fs::read(&file)?)?;
    }
    archive.finish()?;
    Ok(())
}

/// Adds the files below `dir` that Python reads; caches of compiled code are not among them.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let extension = path.extension().and_then(OsStr::to_str);
        if path.is_dir() && path.file_name() != Some(OsStr::new("__pycache__")) {
            collect(&path, files)?;
        } else if matches!(extension, Some("py" | "typed")) {
            files.push(path);
        }
    }
    Ok(())
}
