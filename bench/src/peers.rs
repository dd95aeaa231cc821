//! The servers that are compared, each set up as someone who knows it well would.
//!
//! One module per server with the same anatomy: `start` writes its configuration into a fresh
//! directory and returns the running server.

pub(crate) mod haproxy;
pub(crate) mod nginx;
pub(crate) mod python;
pub(crate) mod recorder;
pub(crate) mod statsd;
pub(crate) mod tidegate;
pub(crate) mod varnish;
pub(crate) mod workers;

use crate::machine::{MISSING, first_line};
use crate::setup::Setup;

/// Names and versions of `peers`, and of the compared parts of this repository.
pub(crate) fn versions(setup: &Setup, peers: &[&str]) -> Vec<String> {
    peers.iter().map(|peer| version(setup, peer)).collect()
}

/// Returns those of `peers` that are not installed.
pub(crate) fn missing<'p>(setup: &Setup, peers: &[&'p str]) -> Vec<&'p str> {
    let is_missing = |peer: &&&str| version(setup, peer).ends_with(MISSING);
    peers.iter().filter(is_missing).copied().collect()
}

fn version(setup: &Setup, peer: &str) -> String {
    let of_python = |program: &str| match setup.python() {
        Ok(python) => first_line(&python.to_string_lossy(), &["-c", program]),
        Err(_) => MISSING.to_owned(),
    };
    match peer {
        "nginx" => first_line("nginx", &["-v"]).replace("nginx version: ", ""),
        "haproxy" => first_line("haproxy", &["-v"])
            .split_whitespace()
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
            .replace("HAProxy version", "HAProxy"),
        "varnish" => first_line("varnishd", &["-V"]).replace("varnishd ", ""),
        "python" => of_python(VERSIONS),
        "libcachesim" => of_python(SIMULATOR_VERSION),
        "gunicorn" => of_python(GUNICORN_VERSION),
        "granian" => of_python(GRANIAN_VERSION),
        "onnxruntime" => of_python(ONNXRUNTIME_VERSION),
        "lightgbm" => of_python("import lightgbm; print('LightGBM ' + lightgbm.__version__)"),
        "tl2cgen" => of_python(TL2CGEN_VERSION),
        "model2vec" => of_python(MODEL2VEC_VERSION),
        "scikit-learn" => of_python("import sklearn; print('scikit-learn ' + sklearn.__version__)"),
        "diptest" => of_python(DIPTEST_VERSION),
        "duckdb" => of_python("import duckdb; print('DuckDB ' + duckdb.__version__)"),
        "cython" => of_python(CYTHON_VERSION),
        "postgresql" => {
            first_line("psql", &["--version"]).replace("psql (PostgreSQL)", "PostgreSQL")
        }
        "collectd" => first_line("sh", &["-c", "collectd -h | tail -n 2"])
            .split(", ")
            .next()
            .unwrap_or("collectd")
            .to_owned(),
        "node statsd" => {
            let package = statsd::node_program(setup).with_file_name("package.json");
            let version = "p => p.name + ' ' + p.version + ', Node ' + process.version";
            let program = format!("console.log(({version})(require({package:?})))");
            first_line("node", &["-e", &program])
        }
        "Net::Statsd" => first_line(
            "perl",
            &["-MNet::Statsd", "-e", "print 'Net::Statsd ', Net::Statsd->VERSION, ', Perl ', $^V"],
        ),
        "mawk" => first_line("mawk", &["-W", "version"]),
        "goaccess" => first_line("goaccess", &["--version"]),
        "curl" => {
            first_line("curl", &["--version"]).split(" (").next().unwrap_or("curl").to_owned()
        }
        "wrk" => first_line("wrk", &["-v"]).split(" [").next().unwrap_or("wrk").to_owned(),
        _ => setup.tidegate().map_or_else(
            |_| "tidegate missing".to_owned(),
            |path| first_line(&path.to_string_lossy(), &["--version"]),
        ),
    }
}

const VERSIONS: &str = "import sys, importlib.metadata as m; print('Python ' + \
    sys.version.split()[0] + ''.join(f', {n} {m.version(n)}' for n in \
    ('fastapi', 'uvicorn', 'uvloop', 'numpy', 'orjson')))";

const SIMULATOR_VERSION: &str =
    "import importlib.metadata as m; print('libcachesim ' + m.version('libcachesim'))";

const GUNICORN_VERSION: &str = "import importlib.metadata as m; print('gunicorn ' + \
    m.version('gunicorn') + ', uvicorn-worker ' + m.version('uvicorn-worker'))";

const GRANIAN_VERSION: &str =
    "import importlib.metadata as m; print('granian ' + m.version('granian'))";

const ONNXRUNTIME_VERSION: &str =
    "import importlib.metadata as m; print('onnxruntime ' + m.version('onnxruntime'))";

const TL2CGEN_VERSION: &str = "import importlib.metadata as m; \
    print('TL2cgen ' + m.version('tl2cgen') + ', treelite ' + m.version('treelite'))";

const MODEL2VEC_VERSION: &str = "import importlib.metadata as m; \
    print('Model2Vec ' + m.version('model2vec') + ', tokenizers ' + m.version('tokenizers'))";

const DIPTEST_VERSION: &str =
    "import importlib.metadata as m; print('diptest ' + m.version('diptest'))";

const CYTHON_VERSION: &str = "import sys, importlib.metadata as m; \
    print('Python ' + sys.version.split()[0] + ', Cython ' + m.version('cython'))";
